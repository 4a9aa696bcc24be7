"""The strings of all attributes of a template extractor, as other programs know them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.template import Item, Template

Spelling = Callable[[Item, int], str]  # of a place outside a sentence, at that distance from it


def strings(extractor: TemplateExtractor, kind: str, spelled: Spelling) -> Iterator[tuple[int, Template, list[str]]]:
    """Every attribute of a kind with its template and its items' values, once for each way to write it."""
    for template, table in zip(extractor.observed_templates, extractor.tables, strict=True):
        if template.kind != kind:
            continue
        numbers = extractor.attributes(kind, table.base + np.arange(len(table.keys)))
        vocabularies = [extractor.vocabularies[item.view] for item in template.items]
        rows = extractor.item_codes(template, table.keys).T.tolist()
        for number, codes in zip(numbers.tolist(), rows, strict=True):
            beyond = [code - len(v) for code, v in zip(codes, vocabularies, strict=True)]
            inside = [v.strings[c] if c < len(v) else "" for c, v in zip(codes, vocabularies, strict=True)]
            for outside in outsides(template, beyond, extractor.templates.reach):
                pairs = zip(template.items, inside, outside, strict=True)
                yield number, template, [v if d is None else spelled(item, d) for item, v, d in pairs]


def outsides(template: Template, beyond: list[int], reach: int) -> list[list[int | None]]:
    """How far every item may lie outside the sentence, given its boundary symbol: −1 is the last place before it, 1 the
    first one behind; None is inside.

    Where symbols do not tell distances, there is a way for every distance of the token from the ends of the sentence.
    """
    if all(b < 0 for b in beyond):
        return [[None] * len(beyond)]
    offsets = [item.offset for item in template.items]
    sides = [0 if b < 0 else -1 if b < reach else 1 for b in beyond]
    if reach > 1:
        return [[None if b < 0 else -b - 1 if b < reach else b - reach + 1 for b in beyond]]
    ways = {
        side: [t for t in range(max([side * o for o in offsets] + [1])) if _fits(side, t, offsets, sides)]
        for side in (-1, 1)
        if side in sides
    }
    found: list[list[int | None]] = []
    for before, behind in product(ways.get(-1, [0]), ways.get(1, [0])):
        places = {-1: before, 1: behind}
        found.append([None if s == 0 else s * (s * o - places[s]) for s, o in zip(sides, offsets, strict=True)])
    if not found:
        raise LoglinError(f"the template {template.text!r:.80} has an attribute that no sentence has; train it again")
    return found


def _fits(side: int, t: int, offsets: list[int], sides: list[int]) -> bool:
    """Whether, t tokens from an end of the sentence, just those items lie beyond it that shall."""
    return all((side * o > t) == (s == side) for o, s in zip(offsets, sides, strict=True))
