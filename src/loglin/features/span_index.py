"""Which attributes of spans and splits have a weight with which rule or symbol, and where it stands.

    weights = [ rule | root symbol | attribute of a span × target | attribute of a split × rule | token features ]

A target is a rule, or, behind the R rules, a symbol: R + its number. The pairs are those seen in gold trees. Token
features are those of ``FeatureIndex`` over tags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.corpus.sections import Section
from loglin.features.spans import Constituents, SpanDesign
from loglin.kernels import keys as kernels


@dataclass(frozen=True, eq=False)
class SpanIndex:
    n_rules: int
    n_symbols: int
    ptr: np.ndarray  # (attributes + 1,) int64: pairs of attribute a are ptr[a] … ptr[a + 1] − 1
    targets: np.ndarray  # (pairs,) int32, rising within an attribute
    split_ptr: np.ndarray  # (split attributes + 1,) int64
    split_rules: np.ndarray  # (split pairs,) int32, rising within an attribute

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return self.n_rules, self.n_symbols, len(self.targets), len(self.split_rules)

    @property
    def n_features(self) -> int:
        """The number of features without the token features."""
        return sum(self.sizes)

    def to_arrays(self) -> dict[str, np.ndarray]:
        spans, splits = (self.ptr, self.targets), (self.split_ptr, self.split_rules)
        return dict(zip(_ARRAYS, (*spans, *splits), strict=True))

    @classmethod
    def from_section(
        cls, section: Section, rules_and_symbols: tuple[int, int], attributes: tuple[int, int]
    ) -> SpanIndex:
        """The index in a section, checked; ``attributes`` are the numbers of attributes of spans and of splits."""
        n_rules, n_symbols = rules_and_symbols
        spans = section.sorted_lists(*_ARRAYS[:2], n_rules + n_symbols, attributes[0])
        return cls(n_rules, n_symbols, *spans, *section.sorted_lists(*_ARRAYS[2:], n_rules, attributes[1]))


_ARRAYS = ("span.ptr", "span.targets", "split.ptr", "split.rules")
_NO_PTR, _NO_TARGETS = np.zeros(1, np.int64), np.empty(0, np.int32)
NO_SPANS = SpanIndex(0, 0, _NO_PTR, _NO_TARGETS, _NO_PTR, _NO_TARGETS)  # of no attributes


def build_span_index(design: SpanDesign, gold: Constituents, n_rules: int, n_symbols: int) -> SpanIndex:
    """Index the pairs that gold trees hold; the design is of the same sentences."""
    attributes = design.attributes[design.cells(gold)]  # (nodes, templates)
    targets = np.where(design.by_label, n_rules + gold.symbols[:, None], gold.rules[:, None])  # (nodes, templates)
    binary = gold.splits >= 0
    parted = design.splits[design.states(gold)[binary]]  # (binary nodes, split templates)
    rules = np.broadcast_to(gold.rules[binary][:, None], parted.shape)
    spans = _pairs(attributes, targets, design.n_attributes, n_rules + n_symbols)
    return SpanIndex(n_rules, n_symbols, *spans, *_pairs(parted, rules, design.n_split_attributes, n_rules))


def _pairs(attributes: np.ndarray, targets: np.ndarray, n: int, n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct (attribute, target) as lists by attribute; attributes of -1 are left out."""
    keys = np.where(attributes < 0, -1, attributes.astype(np.int64) * n_targets + targets).reshape(-1)
    distinct, _ = kernels.factorize(keys, np.empty(len(keys), np.int32))
    distinct.sort()
    ptr = np.searchsorted(distinct, np.arange(n + 1, dtype=np.int64) * n_targets)
    return ptr.astype(np.int64), (distinct % max(n_targets, 1)).astype(np.int32)
