"""From text, a dictionary and a neighborhood to a criterion on lattices.

corpora ──► token types ──► sites: what labels a type may have, or an annotated token ──► chains (A)
                    └─────► neighborhood ──► word lattices (B)
templates, index ──► features of label n-grams (steps) and of sites (entries)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Column, Corpus, concatenate
from loglin.criteria.lattice import AllSentences, Contrast, LatticeFeatures, Shared, Sums
from loglin.errors import LoglinError
from loglin.features import ends
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.neighborhoods.alphabet import written
from loglin.neighborhoods.lattices import WordLattices
from loglin.neighborhoods.named import Everything, Neighborhood
from loglin.structures.lattice import Lattices, Sites


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

    def lattices(self, words: WordLattices, order: int, goals: str = "one") -> Lattices:
        return Lattices(words, self.sites, np.arange(self.sites.n_sites), order, goals)

    def chains(self, order: int, chosen: np.ndarray | None = None, typed: bool = False) -> Lattices:
        """The sentences themselves, with their sites' labels, or with all labels of their types."""
        chosen = np.arange(self.n_sentences) if chosen is None else chosen
        return self.lattices(WordLattices.chains(self.sentences(chosen, typed), self.sites.n_sites), order)


def lattice_features(
    text: LatticeText, extractor: TemplateExtractor, index: FeatureIndex, order: int
) -> LatticeFeatures:
    """Features of label n-grams and of (word, label) entries by the model's templates and index."""
    for template in extractor.observed_templates:
        if ends.end_offsets(template) is None and any(item.offset for item in template.items):
            raise ends.not_local(template, order)
    cells, features, ending = ends.step_cells(extractor, index, order)
    S = index.n_labels + 2
    steps = sp.csr_matrix((np.ones(len(cells)), (cells, features)), (S**3 if order == 2 else S**2, index.n_features))
    return LatticeFeatures(
        text.sites, steps, _entry_features(text, extractor, index, ending), (S if order == 2 else 1, S, S)
    )


def _entry_features(
    text: LatticeText, extractor: TemplateExtractor, index: FeatureIndex, ending: np.ndarray
) -> sp.csr_matrix:
    """F: the features of every (site, label), those of sentence ends left out."""
    design = extractor.transform(text.types.corpus)
    tokens = design.tokens.with_ids(design.tokens.ids)
    keep = ~ending[tokens.ids]
    type_of = np.repeat(np.arange(text.types.n), np.diff(tokens.ptr))[keep]
    attribute = tokens.ids[keep]
    value = tokens.values[keep] if tokens.values.size else np.ones(len(attribute))
    counts = np.diff(index.ptr)[attribute]
    starts = np.repeat(index.ptr[attribute] - np.cumsum(counts) + counts, counts)
    feature = starts + np.arange(counts.sum())
    first = text.sites.ptr[: text.types.n + 1]
    entry = np.full((text.types.n, index.n_labels), -1)
    entry[np.repeat(np.arange(text.types.n), np.diff(first)), text.sites.labels[: first[-1]]] = np.arange(first[-1])
    rows = entry[np.repeat(type_of, counts), index.labels[feature]]
    there = rows >= 0
    of_types = sp.csr_matrix(
        (np.repeat(value, counts)[there], (rows[there], feature[there])), (first[-1], index.n_features)
    )
    if text.sites.n_sites == text.types.n:
        return of_types
    site = np.repeat(np.arange(text.sites.n_sites), np.diff(text.sites.ptr))
    return of_types[entry[text.site_type[site], text.sites.labels]]


def contrasts(
    text: LatticeText,
    order: int,
    neighborhood: Neighborhood,
    labelled: np.ndarray,  # (sentences,) bool: compared with themselves alone
    weight: np.ndarray,  # (sentences,)
    labels: list,
    n_varying: int,  # so many types, the first, may take the place of another
) -> list[Contrast]:
    """What every sentence is compared with: labelled ones with their other labels, the rest with their neighbors."""
    some, rest = np.flatnonzero(labelled & (weight > 0)), np.flatnonzero(~labelled & (weight > 0))
    found = []
    if len(some):
        found.append(Contrast(text.chains(order, some), text.chains(order, some, typed=True), weight[some]))
    if len(rest):
        ours, typed = text.chains(order, rest), text.sentences(rest, True)
        if isinstance(neighborhood, Everything):
            ptr = text.sites.ptr[: n_varying + 1]
            words_of = Sites(ptr, text.sites.labels[: ptr[-1]], text.sites.n_labels)
            return [*found, Contrast(ours, AllSentences(words_of, len(rest), labels, order), weight[rest])]
        words = neighborhood.lattices(typed, text.types.n, text.types.tokens, None, np.arange(n_varying))
        annotated = (text.token_sites >= text.types.n).any()
        if words.separate:
            found.append(Contrast(ours, _shared(text, words, order), weight[rest]))
        else:
            both = text.lattices(words, order, goals="observed")
            against = text.lattices(words, order)
            found.append(Contrast(ours, against, weight[rest], None if annotated else both))
    return found


def _shared(text: LatticeText, words: WordLattices, order: int) -> Sums:
    """Lattices that sentences share, with their pools as further sites."""
    sites, L = text.sites, text.sites.n_labels
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
        L,
    )
    cuts = np.concatenate([[0], *counts]).cumsum().astype(np.int64)
    site_of = np.concatenate([np.arange(words.n_symbols), sites.n_sites + np.arange(len(words.pools))])
    if not words.pools:
        return Shared(Lattices(words, more, site_of, order), words.of, cuts, np.empty(0, np.int64))
    tree, goal = words.prefix_tree()
    lattices = Lattices(tree, more, site_of, order, goals="ends")
    return Shared(lattices, goal[words.of], cuts, np.concatenate(members))
