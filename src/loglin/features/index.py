"""Which (attribute, label) pairs have a weight, and where in the weight vector it stands.

    weights = [ attribute × label | bigram attribute × (label, label) | label bigrams | label trigrams ]

The pairs are those seen in training (*observed*) or all of them. Attributes with three labels or more
are scored as whole rows of a table, the others weight by weight.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from loglin.corpus.columns import first_tokens
from loglin.corpus.labels import Gold
from loglin.corpus.sections import Section
from loglin.features.design import Design
from loglin.kernels import keys as kernels

ROW_LABELS = 3  # the fewest labels of an attribute that is a row
MANY_LABELS = 64  # with fewer, steps over all pairs cost less than those over observed ones
PAIR_COST = 8  # of an observed pair, in pairs of a step over all of them
ROW_SHARE = 16  # among many labels, an attribute is a row if it has a weight for one in so many


@dataclass
class FeatureIndex:
    """Where in the weight vector the weight of each feature stands."""

    n_labels: int
    ptr: np.ndarray  # (attributes + 1,) int64: features of attribute a are ptr[a] … ptr[a+1] − 1
    labels: np.ndarray  # (unigram features,) uint16
    bigram_ptr: np.ndarray  # (bigram attributes + 1,) int64
    bigram_pairs: np.ndarray  # (observed bigram features,) int32: previous label · L + label
    pairs: np.ndarray  # (label bigrams,) int32
    triples: np.ndarray  # (label trigrams,) int64, empty in a model of order 1

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return len(self.labels), len(self.bigram_pairs), len(self.pairs), len(self.triples)

    @property
    def n_features(self) -> int:
        return sum(self.sizes)

    @property
    def few_pairs(self) -> bool:
        """Whether steps over observed label pairs cost less than over all: first order, many labels, few pairs."""
        L = self.n_labels
        if len(self.bigram_pairs) or len(self.triples) or L < MANY_LABELS:
            return False
        return PAIR_COST * (L + len(self.pairs)) < L * L

    def split(self, weights: np.ndarray) -> list[np.ndarray]:
        """The weight vector's four parts, as views."""
        return np.split(weights, np.cumsum(self.sizes)[:3])

    def selected(self, keep: np.ndarray) -> FeatureIndex:
        """The index of the features to keep, (features,) bool; every attribute stays, with or without features."""
        unigrams, bigrams, pairs, triples = self.split(keep)
        return FeatureIndex(
            self.n_labels,
            np.concatenate([[0], np.cumsum(unigrams)])[self.ptr],
            self.labels[unigrams],
            np.concatenate([[0], np.cumsum(bigrams)])[self.bigram_ptr],
            self.bigram_pairs[bigrams],
            self.pairs[pairs],
            self.triples[triples],
        )

    def local(self, attributes: np.ndarray, bigrams: np.ndarray) -> tuple[FeatureIndex, np.ndarray]:
        """The index of some attributes alone, given by their numbers, and where its weights stand in all weights."""
        sizes = np.cumsum(self.sizes)
        places = [_ranges(self.ptr, attributes), sizes[0] + _ranges(self.bigram_ptr, bigrams)]
        places.append(np.arange(sizes[1], sizes[3]))
        index = FeatureIndex(
            self.n_labels,
            np.concatenate([[0], np.cumsum(np.diff(self.ptr)[attributes])]),
            self.labels[places[0]],
            np.concatenate([[0], np.cumsum(np.diff(self.bigram_ptr)[bigrams])]),
            self.bigram_pairs[places[1] - sizes[0]],
            self.pairs,
            self.triples,
        )
        return index, np.concatenate(places)

    def transitions(self, weights: np.ndarray) -> np.ndarray:
        """Label bigram weights as a matrix (labels, labels), zero where there is none."""
        matrix = np.zeros(self.n_labels**2)
        matrix[self.pairs] = self.split(weights)[2]
        return matrix.reshape(self.n_labels, self.n_labels)

    def trigrams(self, weights: np.ndarray) -> np.ndarray | None:
        if not len(self.triples):
            return None
        cube = np.zeros(self.n_labels**3)
        cube[self.triples] = self.split(weights)[3]
        return cube.reshape((self.n_labels,) * 3)

    def to_section(self) -> Section:
        return Section(arrays={name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_section(cls, section: Section, n_labels: int, n_attributes: int, n_bigrams: int) -> FeatureIndex:
        labels = section.numbers("labels", np.uint16, n_labels)
        bigram_pairs = section.numbers("bigram_pairs", np.int32, n_labels**2)
        return cls(
            n_labels,
            section.cuts("ptr", len(labels), n_attributes),
            labels,
            section.cuts("bigram_ptr", len(bigram_pairs), n_bigrams),
            bigram_pairs,
            section.numbers("pairs", np.int32, n_labels**2),
            section.numbers("triples", np.int64, n_labels**3),
        )


_ARRAYS = [f.name for f in fields(FeatureIndex) if f.name != "n_labels"]


@dataclass
class Everything:
    """Where weights for all labels are wanted, not only for those seen."""

    attributes: np.ndarray  # (attributes,) bool
    bigrams: np.ndarray  # (bigram attributes,) bool
    pairs: bool
    triples: bool

    @classmethod
    def of(cls, design: Design, wanted: bool) -> Everything:
        sizes = design.n_attributes, design.n_bigram_attributes
        return cls(np.full(sizes[0], wanted), np.full(sizes[1], wanted), wanted, wanted)


@dataclass
class Observed:
    """Which features a corpus, or a part of it, shows."""

    bits: np.ndarray  # (attributes, bytes) uint8: the labels seen with each attribute
    pairs: np.ndarray  # label bigrams, sorted
    bigrams: np.ndarray  # attribute·L² + pair of bigram attributes, distinct
    triples: np.ndarray  # label trigrams, sorted

    @classmethod
    def of(cls, design: Design, gold: Gold, everything: Everything, order: int) -> Observed:
        """The features of a design, without label n-grams that are wanted in any case."""
        bits = _attribute_bits(design, gold.possible(), gold.n_labels, everything.attributes)
        step = np.flatnonzero(~first_tokens(design.offsets))  # no step into a first token
        pairs = keys = triples = np.empty(0, np.int64)
        if len(step) and not (everything.pairs and everything.bigrams.all()):
            pairs, keys = _observed_pairs(design, gold, step)
        if order == 2 and not everything.triples:
            inside = np.flatnonzero(np.diff(step, prepend=-9) == 1)
            triples = _observed_triples(gold, step[inside])
        return cls(bits, pairs, keys, triples)

    def add(self, other: Observed) -> None:
        """Take in what another part of the corpus shows."""
        self.bits |= other.bits
        self.pairs, self.triples = np.union1d(self.pairs, other.pairs), np.union1d(self.triples, other.triples)
        self.bigrams = np.union1d(self.bigrams, other.bigrams)

    def index(self, n_labels: int, everything: Everything, transitions: bool, order: int) -> FeatureIndex:
        """The index of these features and of those that are wanted in any case."""
        L, keys = n_labels, self.bigrams
        ptr = np.zeros(len(self.bits) + 1, np.int64)
        kernels.count_bits(self.bits, ptr)
        labels = np.empty(ptr[-1], np.uint16)
        kernels.list_bits(self.bits, labels)
        pairs = self.pairs if transitions else np.empty(0)
        if transitions and everything.pairs:
            pairs = np.arange(L * L)
        if everything.bigrams.any():
            full = np.flatnonzero(everything.bigrams)[:, None] * (L * L) + np.arange(L * L)
            keys = np.unique(np.concatenate([keys, full.ravel()]))
        triples = np.arange(L**3) if everything.triples and order == 2 else self.triples
        return FeatureIndex(
            L,
            ptr,
            labels,
            np.searchsorted(keys // (L * L), np.arange(len(everything.bigrams) + 1)),
            (keys % (L * L)).astype(np.int32),
            pairs.astype(np.int32),
            triples,
        )


def build_index(
    design: Design, gold: Gold, all_features: Everything | bool, transitions: bool, order: int
) -> FeatureIndex:
    """Index the features of a training design."""
    everything = all_features if isinstance(all_features, Everything) else Everything.of(design, all_features)
    return Observed.of(design, gold, everything, order).index(gold.n_labels, everything, transitions, order)


def _ranges(ptr: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """The places of all entries of some lists: ptr[l] … ptr[l + 1] − 1 of each."""
    lengths = np.diff(ptr)[lists]
    starts = ptr[lists] - np.cumsum(lengths) + lengths
    return np.repeat(starts, lengths) + np.arange(lengths.sum())


def _attribute_bits(design: Design, possible: np.ndarray, n_labels: int, everything: np.ndarray) -> np.ndarray:
    """Labels seen with each attribute (all of them where wanted), as bits (attributes, bytes)."""
    row = np.packbits(np.arange(possible.shape[1] * 8) < n_labels, bitorder="little")
    if everything.all():
        return np.tile(row, (design.n_attributes, 1))
    bits = np.zeros((design.n_attributes, possible.shape[1]), np.uint8)
    kernels.observed_labels(design.tokens.ptr, design.tokens.ids, possible, bits)
    if design.silent is not None:
        kernels.observed_labels(design.silent.ptr, design.silent.ids, possible, bits)
    if design.heads is not None:
        attributes = design.heads.attributes
        head_bits = np.zeros((attributes.n_lists, possible.shape[1]), np.uint8)
        folds = design.heads.of_token.shape[1]
        ptr = np.arange(design.n_tokens + 1) * folds
        kernels.observed_labels(ptr, design.heads.of_token.reshape(-1), possible, head_bits)
        kernels.observed_labels(attributes.ptr, attributes.ids, head_bits, bits)
    bits[everything] = row
    return bits


def _observed_pairs(design: Design, gold: Gold, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Label pairs seen on any step, and attribute·L² + pair seen with each bigram attribute."""
    L, codes = gold.n_labels, gold.codes.astype(np.int64)
    certain = step[(codes[step] >= 0) & (codes[step - 1] >= 0)]
    pair = codes[certain - 1] * L + codes[certain]
    pairs = [np.flatnonzero(np.bincount(pair, minlength=L * L))]
    keys = [_with_attributes(design, certain, pair, L)]
    doubtful = np.setdiff1d(step, certain, assume_unique=True)
    if len(doubtful):
        allowed, lengths = gold.allowed(), np.diff(design.bigrams.ptr)
        for t in doubtful:
            many = np.flatnonzero(np.outer(allowed[t - 1], allowed[t]))
            pairs.append(many)
            if lengths[t]:
                ids = design.bigrams.ids[design.bigrams.ptr[t] : design.bigrams.ptr[t + 1]]
                keys.append((ids[:, None].astype(np.int64) * L * L + many).ravel())
    return np.unique(np.concatenate(pairs)), np.unique(np.concatenate(keys))


def _with_attributes(design: Design, tokens: np.ndarray, pair: np.ndarray, L: int) -> np.ndarray:
    """The distinct attribute·L² + pair of steps into the tokens, whose label pairs are given."""
    n = np.diff(design.bigrams.ptr)[tokens]
    start = np.repeat(design.bigrams.ptr[tokens] - np.cumsum(n) + n, n)
    keys = design.bigrams.ids[start + np.arange(n.sum())] * np.int64(L * L) + np.repeat(pair, n)
    distinct, _ = kernels.factorize(keys, np.empty(len(keys), np.int32))
    return distinct


def _observed_triples(gold: Gold, tokens: np.ndarray) -> np.ndarray:
    """Label triples seen at t − 2, t − 1, t for the given tokens t."""
    L, codes = gold.n_labels, gold.codes.astype(np.int64)
    a, b, c = codes[tokens - 2], codes[tokens - 1], codes[tokens]
    certain = (a >= 0) & (b >= 0) & (c >= 0)
    seen = np.bincount((a * L * L + b * L + c)[certain], minlength=L**3).reshape(L, L, L) > 0
    if not certain.all():
        allowed, doubtful = gold.allowed(), tokens[~certain]
        patterns = np.concatenate([allowed[doubtful - 2], allowed[doubtful - 1], allowed[doubtful]], axis=1)
        for x, y, z in np.unique(patterns, axis=0).reshape(-1, 3, L):
            seen |= x[:, None, None] & y[:, None] & z
    return np.flatnonzero(seen)
