"""From text, a dictionary and a neighborhood to a criterion on lattices.

corpora ──► token types ──► sites: what labels a type may have, or an annotated token ──► chains (A)
                    └─────► neighborhood ──► word lattices (B)
                                                  └──► readings: words or windows, by what templates look at
templates, index ──► features of label n-grams (steps) and of readings (entries)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loglin.corpus.columns import Column, Corpus, concatenate
from loglin.errors import LoglinError
from loglin.features.ends import context_templates
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.template import Template
from loglin.neighborhoods.alphabet import written
from loglin.neighborhoods.named import Everything, Neighborhood
from loglin.objectives.lattice import AllSentences, Contrast, LatticeFeatures, Neighbors, Shared, Sums
from loglin.problems.readings import Readings, lattice_features
from loglin.structures.lattice import Lattices, Sites
from loglin.structures.word_lattices import WordLattices


@dataclass(frozen=True, eq=False)
class TokenTypes:
    """The distinct tokens of corpora, numbered as they first occur."""

    corpus: Corpus  # one type a sentence
    codes: np.ndarray  # (tokens,) int32: the type of every token of all corpora, one behind the other

    @classmethod
    def of(cls, *corpora: Corpus) -> TokenTypes:
        whole = concatenate(corpora, corpora[0].source) if len(corpora) > 1 else corpora[0]
        rows = np.stack([c.codes for c in whole.columns], axis=1)
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first))
        first = np.sort(first)
        columns = [Column(c.codes[first], c.vocabulary) for c in whole.columns]
        corpus = Corpus(columns, np.arange(len(first) + 1), whole.source)
        return cls(corpus, rank[inverse.reshape(-1)])

    @property
    def n(self) -> int:
        return self.corpus.n_sentences

    @cached_property
    def tokens(self) -> list:
        """What each type is: a word, or a tuple of columns."""
        return [row[0][0] if len(row[0]) == 1 else row[0] for row in self.corpus.sentences()]


@dataclass(frozen=True, eq=False)
class LatticeText:
    """Sentences of types, each token with a site: its type, or its type with fewer labels."""

    types: TokenTypes
    sites: Sites  # of all types, then of annotated tokens
    site_type: np.ndarray  # (sites,) the type of each
    offsets: np.ndarray  # (sentences + 1,)
    token_sites: np.ndarray  # (tokens,)

    @classmethod
    def of(
        cls,
        types: TokenTypes,
        offsets: np.ndarray,
        allowed: np.ndarray,  # (types, labels) bool
        annotation: np.ndarray | None = None,  # (tokens, labels) bool
    ) -> LatticeText:
        codes, n = types.codes[offsets[0] : offsets[-1]], types.n
        if annotation is None:
            return cls(types, Sites.of(allowed), np.arange(n), offsets - offsets[0], codes)
        both = allowed[codes] & annotation
        impossible = np.flatnonzero(~both.any(axis=1))
        if len(impossible):
            s = int(np.searchsorted(offsets - offsets[0], impossible[0], side="right")) - 1
            raise LoglinError(
                f"sentence {s}, token {impossible[0] - offsets[s] + offsets[0]} is labelled with what the dictionary "
                f"does not allow {written(types.tokens[codes[impossible[0]]])!r}; correct the label or the dictionary"
            )
        fewer = np.flatnonzero((both != allowed[codes]).any(axis=1))
        keys = np.concatenate([codes[fewer, None].astype(np.int64), both[fewer]], axis=1)
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        token_sites = codes.copy()
        token_sites[fewer] = n + which.reshape(-1)
        site_type = np.concatenate([np.arange(n), distinct[:, 0]]).astype(np.int64)
        every = np.concatenate([allowed, distinct[:, 1:].astype(bool)])
        return cls(types, Sites.of(every), site_type, offsets - offsets[0], token_sites)

    @property
    def n_sentences(self) -> int:
        return len(self.offsets) - 1

    def sentences(self, chosen: np.ndarray, typed: bool) -> list[np.ndarray]:
        """The sites of the chosen sentences, or their types."""
        symbols = self.site_type[self.token_sites] if typed else self.token_sites
        cuts = self.offsets.tolist()
        return [symbols[cuts[s] : cuts[s + 1]] for s in chosen.tolist()]

    @property
    def readings(self) -> Readings:
        return Readings(self.sites, self.types.corpus, np.arange(self.types.n), self.site_type)

    def words(self, chosen: np.ndarray, typed: bool = False) -> WordLattices:
        """The chosen sentences themselves, with their sites' labels, or with all labels of their types."""
        return WordLattices.chains(self.sentences(chosen, typed), self.sites.n_sites)

    def chains(self, order: int) -> Lattices:
        """All sentences themselves, with their sites' labels."""
        return self.readings.lattices(self.words(np.arange(self.n_sentences)), order)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sentences and what each is compared with, as words."""

    observed: WordLattices
    against: WordLattices | None  # None: all sentences
    weight: np.ndarray  # (sentences,)
    folds: bool = False  # whether the lattices compared with hold the observed sentences, with the same labels


def comparisons(
    text: LatticeText, neighborhood: Neighborhood, labeled: np.ndarray, weight: np.ndarray
) -> list[Comparison]:
    """Labelled sentences against themselves with other labels, the rest against their neighbors."""
    some, rest = np.flatnonzero(labeled & (weight > 0)), np.flatnonzero(~labeled & (weight > 0))
    found = []
    if len(some):
        found.append(Comparison(text.words(some), text.words(some, typed=True), weight[some]))
    if not len(rest):
        return found
    if isinstance(neighborhood, Everything):
        return [*found, Comparison(text.words(rest), None, weight[rest])]
    n = text.types.n
    around = neighborhood.lattices(text.sentences(rest, True), n, text.types.tokens, None, np.arange(n))
    annotated = bool((text.token_sites >= n).any())
    return [*found, Comparison(text.words(rest), around, weight[rest], not (around.separate or annotated))]


def features_and_contrasts(
    text: LatticeText,
    extractor: TemplateExtractor,
    index: FeatureIndex,
    order: int,
    neighborhood: Neighborhood,
    labeled: np.ndarray,  # (sentences,) bool: compared with themselves alone
    weight: np.ndarray,  # (sentences,)
    labels: list,
) -> tuple[LatticeFeatures, list[Contrast]]:
    """What the criterion on a text sums, and the features that it sums by."""
    readings, compared = text.readings, comparisons(text, neighborhood, labeled, weight)
    looking = context_templates(extractor, order)
    if looking and compared:
        readings, compared = _in_windows(readings, compared, looking, neighborhood)
    features = lattice_features(readings, extractor, index, order)
    return features, [contrast_of(c, readings, text.types.n, order, labels) for c in compared]


def _in_windows(
    readings: Readings, compared: list[Comparison], looking: list[Template], neighborhood: Neighborhood
) -> tuple[Readings, list[Comparison]]:
    """The comparisons with every word in the window that the templates look at."""
    batches = []
    for c in compared:
        if c.against is None or c.against.pools:
            raise LoglinError(
                f"the template {looking[0].text} looks at neighboring words, but in the neighborhood "
                f"{neighborhood.name} any word may stand beside any other; leave the template out, or take a "
                "neighborhood of edited sentences such as trans1"
            )
        batches += [c.observed, c.against]
    offsets = [item.offset for template in looking for item in template.items]
    readings, wide = readings.in_windows(batches, max(0, -min(offsets)), max(0, *offsets))
    pairs = zip(compared, wide[::2], wide[1::2], strict=True)
    return readings, [replace(c, observed=observed, against=against) for c, observed, against in pairs]


def contrast_of(c: Comparison, readings: Readings, n_types: int, order: int, labels: list) -> Contrast:
    """The lattices of labels of a comparison; ``n_types`` words can stand in any sentence."""
    ours = readings.lattices(c.observed, order)
    if c.against is None:
        words_of = readings.sites.select(np.arange(n_types))
        return Contrast(ours, AllSentences(words_of, len(c.weight), labels), c.weight)
    if c.against.separate:
        return Contrast(ours, _shared(readings.sites, c.against, order), c.weight)
    if c.folds:
        return Contrast(ours, Neighbors(readings.lattices(c.against, order, goals="observed")), c.weight)
    return Contrast(ours, readings.lattices(c.against, order), c.weight)


def _shared(sites: Sites, words: WordLattices, order: int) -> Sums:
    """Lattices that sentences share, with their pools as further sites."""
    ptr, labels, counts, members = [0], [], [], []
    for pool in words.pools:
        entries = np.concatenate([np.arange(b, e) for b, e in zip(sites.ptr[pool], sites.ptr[pool + 1], strict=True)])
        order_ = np.argsort(sites.labels[entries], kind="stable")
        present, count = np.unique(sites.labels[entries], return_counts=True)
        members.append(entries[order_])
        counts.append(count)
        labels.append(present)
        ptr.append(ptr[-1] + len(present))
    more = Sites(
        np.concatenate([sites.ptr, sites.n_entries + np.array(ptr[1:], np.int64)]),
        np.concatenate([sites.labels, *labels]).astype(np.int32),
        sites.n_labels,
    )
    cuts = np.concatenate([[0], *counts]).cumsum().astype(np.int64)
    site_of = np.concatenate([np.arange(words.n_symbols), sites.n_sites + np.arange(len(words.pools))])
    if not words.pools:
        return Shared(Lattices(words, more, site_of, order), words.of, cuts, np.empty(0, np.int64))
    tree, goal = words.prefix_tree()
    lattices = Lattices(tree, more, site_of, order, goals="ends")
    return Shared(lattices, goal[words.of], cuts, np.concatenate(members))
