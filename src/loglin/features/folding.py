"""Heads: one number per token for several templates of a training corpus, see features/design.py."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loglin.features.design import Heads, Incidence
from loglin.features.lookup import KeyTable
from loglin.features.template import Template


@dataclass
class Fitted:
    """One template's attributes while fitting."""

    template: Template
    keys: np.ndarray  # distinct keys in order of first use
    ids: np.ndarray  # (tokens,) numbers into keys, before any cut-off; -1: the token lacks the attribute
    counts: np.ndarray  # (keys,) how often each occurs
    numbers: np.ndarray = field(
        init=False
    )  # (keys + 1,) attributes, -1 for those cut off and, at the end, for ids of -1
    table: KeyTable = field(init=False)  # the keys that are kept


def fold_templates(fitted: list[Fitted], n_tokens: int) -> tuple[Heads | None, set[Template]]:
    """Choose heads: templates of few distinct values whose items include those of other templates.

    A head pays when its values are few beside the tokens (an eighth) and it stands for at least two
    templates. Greedily, the one that covers most first. Every token has every head, so templates stay out whose
    attribute some token lacks.
    """
    items = {f.template: {(i.offset, i.view) for i in f.template.items} for f in fitted}
    small = [f for f in fitted if len(f.keys) * 8 <= n_tokens and not (f.ids < 0).any()]
    taken: set[Template] = set()
    of_token, lists, n_heads = [], [], 0
    while True:
        covers = [
            (f, [m for m in small if m.template not in taken and items[m.template] <= items[f.template]]) for f in small
        ]
        head, members = max(covers, key=lambda c: len(c[1]), default=(None, []))
        if head is None or len(members) < 2:
            break
        taken |= {m.template for m in members}
        example = np.empty(len(head.keys), np.int64)
        example[head.ids[::-1]] = np.arange(n_tokens)[::-1]
        of_token.append(head.ids + n_heads)
        lists.append(np.stack([m.numbers[m.ids[example]] for m in members]))
        n_heads += len(head.keys)
    if not of_token:
        return None, taken
    parts = [Incidence.from_matrix(matrix) for matrix in lists]
    ptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p.ptr) for p in parts]))])
    attributes = Incidence(ptr, np.concatenate([p.ids for p in parts]))
    return Heads(np.ascontiguousarray(np.stack(of_token).T), attributes), taken
