"""Templates that ask for the ends of a sentence alone, as label n-grams with START and STOP.

A label model of order 2 sees a sentence as START START y₁ … yₙ STOP, one of order 1 as START y₁ … yₙ STOP. So

    U:%edge[-1,0]                 START START y     (START y in order 1)
    U:%edge[1,0]                  · y STOP          (y STOP)
    U:%edge[-1,0]/%edge[1,0]      START y STOP
    U:%edge[-2,0]                 START START y, START · y
    B:%edge[-2,0]                 START y z
    B:%edge[1,0]                  y z STOP

in which · is any label or START. Others would need a longer n-gram: of one label they are read off windows of words,
of two they are refused.
"""

from __future__ import annotations

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.template import Template

Cells = tuple[np.ndarray, np.ndarray]  # (k,) cell of W, flat, and (k,) which of the labels, or pairs, it is of


def end_offsets(template: Template) -> tuple[int, ...] | None:
    """The places that a template asks to lie outside the sentence, if it asks for nothing else."""
    if not template.items or any(item.function != "edge" for item in template.items):
        return None
    return tuple(sorted({item.offset for item in template.items}))


def label_cells(offsets: tuple[int, ...], labels: np.ndarray, order: int, L: int) -> Cells | None:
    """Label n-grams of a label where all of ``offsets`` lie outside; None if n-grams of this order cannot tell."""
    near = min((-o for o in offsets if o < 0), default=0)  # the nearest place to the left
    right = [o for o in offsets if o > 0]
    start, stop, which = L, L + 1, np.arange(len(labels))
    anything = np.arange(L + 1)  # any label or START
    if right and max(right) > 1:
        return None
    if order == 1:
        if near > 1 or (near and right):
            return None
        return (_cell(0, labels, stop, L) if right else _cell(0, start, labels, L)), which
    if right:
        if near > 1:
            return None
        if near == 1:
            return _cell(start, labels, stop, L), which
        return _cell(anything[None, :], labels[:, None], stop, L).reshape(-1), np.repeat(which, L + 1)
    if near == 1:
        return _cell(start, start, labels, L), which
    if near > 2:
        return None
    cells = _cell(start, anything[None, :], labels[:, None], L)
    return cells.reshape(-1), np.repeat(which, L + 1)


def pair_cells(offsets: tuple[int, ...], pairs: np.ndarray, order: int, L: int) -> Cells | None:
    """Label n-grams of two labels in a row, b · L + c, where all of ``offsets``, from the second one, lie outside."""
    near = min((-o for o in offsets if o < 0), default=0)
    right = [o for o in offsets if o > 0]
    b, c, which = pairs // L, pairs % L, np.arange(len(pairs))
    if near == 1:
        return which[:0], which[:0]  # a label stands before the second
    if order == 1 or near > 2 or (near and right) or (right and max(right) > 1):
        return None
    return (_cell(b, c, L + 1, L) if right else _cell(L, b, c, L)), which


def anywhere_cells(pairs: np.ndarray, order: int, L: int) -> Cells:
    """Label n-grams that end in two labels, whatever stands before."""
    b, c, which = pairs // L, pairs % L, np.arange(len(pairs))
    if order == 1:
        return _cell(0, b, c, L), which
    before = np.arange(L + 1)
    return _cell(before[None, :], b[:, None], c[:, None], L).reshape(-1), np.repeat(which, L + 1)


def triple_cells(triples: np.ndarray, L: int) -> Cells:
    a, rest = np.divmod(triples, L * L)
    return _cell(a, rest // L, rest % L, L), np.arange(len(triples))


def _cell(a, b, c, L: int) -> np.ndarray:
    return (a * (L + 2) + b) * (L + 2) + c + np.zeros(1, np.int64)


def told_by_labels(template: Template, order: int, reach: int) -> bool:
    """Whether label n-grams tell all that a unigram template asks; ``reach`` boundary symbols tell distances apart."""
    offsets = end_offsets(template)
    if offsets is None or label_cells(offsets, np.empty(0, np.int64), order, 1) is None:
        return False
    return reach < 2 or max(offsets) != -2  # else the first token and the second have attributes of their own


def context_templates(extractor: TemplateExtractor, order: int) -> list[Template]:
    """The unigram templates that look at other tokens than their own, and not as label n-grams."""
    found = [t for t in extractor.observed_templates if t.kind == "unigram" and any(i.offset for i in t.items)]
    return [t for t in found if not told_by_labels(t, order, extractor.templates.reach)]


def step_cells(
    extractor: TemplateExtractor, index: FeatureIndex, order: int, unigrams: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(cell, feature) of every feature of label n-grams, and which unigram attributes are among them.

    Unigram attributes among them only ask for the ends of a sentence; ``unigrams`` false leaves them out.
    """
    reach = extractor.templates.reach
    L, sizes = index.n_labels, np.concatenate([[0], np.cumsum(index.sizes)])
    of_kind = {kind: extractor.template_of(kind) for kind in ("unigram", "bigram")}
    ending = np.zeros(len(of_kind["unigram"]), bool)
    cells: list[tuple[np.ndarray, np.ndarray]] = []  # cell, feature
    for t, template in enumerate(extractor.observed_templates):
        offsets, unigram = end_offsets(template), template.kind == "unigram"
        if unigram and not (unigrams and told_by_labels(template, order, reach)):
            continue
        for a in np.flatnonzero(of_kind[template.kind] == t).tolist():
            if not unigram and offsets and max(offsets) == -2 and not _is_of_a_step(extractor, t, a):
                continue
            ptr = index.ptr if unigram else index.bigram_ptr
            features = np.arange(ptr[a], ptr[a + 1])
            labels = (index.labels if unigram else index.bigram_pairs)[features].astype(np.int64)
            found = None
            if offsets is not None:
                found = (label_cells if unigram else pair_cells)(offsets, labels, order, L)
            if found is None:
                raise not_local(template, order)
            if unigram:
                ending[a] = True
            cells.append((found[0], (0 if unigram else sizes[1]) + features[found[1]]))
    cell, which = anywhere_cells(index.pairs.astype(np.int64), order, L)
    cells.append((cell, sizes[2] + which))
    cell, which = triple_cells(index.triples, L)
    cells.append((cell, sizes[3] + which))
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    return rows, columns, ending


def _is_of_a_step(extractor: TemplateExtractor, t: int, attribute: int) -> bool:
    """Whether an attribute of two labels that asks for the end two places before is that of second tokens.

    Where boundary symbols tell distances, first tokens have another, but no step leads to them.
    """
    table, reach, key = extractor.tables[t], extractor.templates.reach, 0
    for item in extractor.observed_templates[t].items:  # numbered as in kernels/keys.py
        key = key * 2 * reach + min(-item.offset - 1, reach) - 1
    return int(table.keys[attribute - table.base]) == key


def not_local(template: Template, order: int) -> LoglinError:
    return LoglinError(
        f"the template {template.text} crosses two labels with more than label n-grams of order {order} tell: where "
        "labels are hidden, templates of two labels may ask for the ends of the sentence next to them (%edge); write "
        "U for templates of words"
    )
