"""Heads: one number per token for several templates of a training corpus, see features/design.py."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loglin.features.design import Heads, Incidence
from loglin.features.lookup import KeyTable
from loglin.features.template import Template
from loglin.features.views import OF_PLACES


def decides(head: Template, other: Template) -> bool:
    """Whether tokens with the same value of one template have the same value of the other."""
    items = {(i.offset, i.view) for i in head.items}
    return all(
        (i.offset, i.view) in items or (i.function not in OF_PLACES and (i.offset, (i.column, "x", ())) in items)
        for i in other.items
    )


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
    """Choose heads: templates whose values decide those of other templates, so that tokens share their sums.

    A word decides its affixes and its shape, a part-of-speech trigram its bigrams. m templates behind a head of k
    values cost a row for every token and m for every value, in place of m for every token. Greedily, the head that
    saves most first. Every token has every head, so no template is one whose attribute some token lacks.
    """
    whole = [f for f in fitted if len(f.keys) <= n_tokens // 4 and not (f.ids < 0).any()]
    decided = {f.template: [m for m in fitted if decides(f.template, m.template)] for f in whole}
    taken: set[Template] = set()
    of_token, lists, n_heads = [], [], 0

    def saved(head: Fitted) -> int:
        m = sum(m.template not in taken for m in decided[head.template])
        return (m - 1) * n_tokens - m * len(head.keys)

    while whole:
        head = max(whole, key=saved)
        if saved(head) < n_tokens // 2:
            break
        members = [m for m in decided[head.template] if m.template not in taken]
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
