"""Attributes as conditions on the tokens around them: weights of a hidden Markov model's states.

    U:%x[-1,0]/%x[0,1]/%x[0,0]   →   W_{-1}[s, key] = e_0(word | s)   W_0[s, key] = e_1(tag | s) e_0(word | s)

Items that look at one column at one offset are taken together: the mass of all values that fit them jointly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.template import Item, Template
from loglin.generative.hmm import HMM


@dataclass
class _Cell:
    """Items of one column at one offset: the codes that its values can have, and their emission mass."""

    codes: np.ndarray  # (n,) int64, rising: mixed-radix numbers of the items' codes
    mass: np.ndarray  # (L, n + 1), the last one zero: of codes that no value has

    def of(self, codes: np.ndarray) -> np.ndarray:
        """(L, keys)"""
        place = np.searchsorted(self.codes, codes)
        place[np.append(self.codes, -1)[place] != codes] = len(self.codes)
        return np.take(self.mass, place, axis=1)


class Windows:
    def __init__(self, hmm: HMM, extractor: TemplateExtractor):
        self.hmm, self.extractor = hmm, extractor
        self._cells: dict[tuple, _Cell] = {}
        self._check()

    def _check(self) -> None:
        wanted = "first" if self.extractor.templates.oov == "first" else "unseen"
        if wanted != self.hmm.oov:
            raise LoglinError(
                f"{self.extractor.templates.source} has oov={self.extractor.templates.oov} but the base model "
                f"oov={self.hmm.oov!r}; fit the base model with oov={wanted!r}"
            )
        if self.extractor.templates.tool is not None:
            raise LoglinError(
                f"{self.extractor.templates.source} has like={self.extractor.templates.like}, whose features have no "
                "expectations under a base model here; leave it out, or take criterion crf"
            )
        for template in self.extractor.observed_templates:
            for item in template.items:
                if item.function != "edge" and item.column not in self.hmm.columns:
                    raise LoglinError(
                        f"the base model does not emit column {item.column}, but {template.text!r} looks at it; "
                        "fit the base model to that column too"
                    )

    def weights(self, template: Template, keys: np.ndarray) -> dict[int, np.ndarray]:
        """Offset → W (S, keys); the last state is START at offsets below 0 and END above. Others weigh 1."""
        codes = self.extractor.item_codes(template, keys)
        found = {}
        for offset in sorted({item.offset for item in template.items}):
            here = [(item, c) for item, c in zip(template.items, codes, strict=True) if item.offset == offset]
            found[offset] = self._at_offset(here, len(keys))
        if self.extractor.templates.boundary == "distance":
            for item, c in zip(template.items, codes, strict=True):
                self._fix_ends(item, c, found)
        return found

    def _side(self, item: Item, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the code is inside the sentence, and where it is outside on the side of the item's offset."""
        size, reach = len(self.extractor.vocabularies[item.view]), self.extractor.templates.reach
        inside, before = codes < size, codes < size + reach
        return inside, before & ~inside if item.offset < 0 else ~before & bool(item.offset > 0)

    def _at_offset(self, items: list[tuple[Item, np.ndarray]], n_keys: int) -> np.ndarray:
        L = len(self.hmm.labels)
        weights = np.ones((L + 1, n_keys))
        columns: dict[int, list[tuple[Item, np.ndarray]]] = {}
        for item, codes in items:
            weights[L] *= self._side(item, codes)[1]
            columns.setdefault(item.column, []).append((item, codes))
        for of_column in columns.values():
            joint = np.zeros(n_keys, np.int64)
            for item, codes in of_column:
                inside = (codes < len(self.extractor.vocabularies[item.view])) & (joint >= 0)
                joint = np.where(inside, joint * len(self.extractor.vocabularies[item.view]) + codes, -1)
            weights[:L] *= self._cell([item for item, _ in of_column]).of(joint)
        return weights

    def _cell(self, items: list[Item]) -> _Cell:
        views = tuple(item.view for item in items)
        if views not in self._cells:
            if any(view[1] == "edge" for view in views):
                self._cells[views] = _Cell(np.empty(0, np.int64), np.zeros((len(self.hmm.labels), 1)))
            else:
                self._cells[views] = self._make_cell(views)
        return self._cells[views]

    def _make_cell(self, views: tuple) -> _Cell:
        k = self.hmm.columns.index(views[0][0])
        values = self.hmm.values[k]
        if views[0][1] == "ngrams":
            lists = self.extractor.ngrams_of_values(views[0], values)
            joint, value = lists.ids.astype(np.int64), np.repeat(np.arange(len(values)), np.diff(lists.ptr))
        else:
            joint, value = np.zeros(len(values), np.int64), np.arange(len(values))
            for view in views:
                codes = self.extractor.codes_of_values(view, values)
                size = len(self.extractor.vocabularies[view])
                joint = np.where((codes < 0) | (joint < 0), -1, joint * size + codes)
        known = joint >= 0
        codes, number = np.unique(joint[known], return_inverse=True)
        mass = [np.bincount(number, row[value[known]], len(codes) + 1) for row in self.hmm.emissions[k]]
        return _Cell(codes, np.stack(mass))

    def _fix_ends(self, item: Item, codes: np.ndarray, weights: dict[int, np.ndarray]) -> None:
        """Set weights for boundary symbols that tell the distance d, and so where the sentence begins or ends.

        d before the first token: START stands at offset + d − 1 and a label behind it; likewise END.
        """
        outside = self._side(item, codes)[1]
        if not outside.any():
            return
        size, reach = len(self.extractor.vocabularies[item.view]), self.extractor.templates.reach
        inwards, beyond = (1, 0) if item.offset < 0 else (-1, reach)
        distance = codes - size - beyond + 1
        for d in np.unique(distance[outside]).tolist():
            keys = outside & (distance == d)
            end = item.offset + inwards * (d - 1)  # the outside place that is nearest to the sentence
            if end * inwards >= 0:
                weights[item.offset][:, keys] = 0  # the token itself would lie outside
                continue
            for place in (end, end + inwards):
                weights.setdefault(place, np.ones_like(weights[item.offset]))
            weights[end][:-1, keys] = 0
            weights[end + inwards][-1, keys] = 0
