"""What arcs of lattices read, and its features: words, or words together with those around them.

word lattices ──► readings ──► attributes by the model's templates ──► F: features of (reading, label)
     └──► windows of words, if some template looks at neighboring words
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Column, Corpus
from loglin.features import ends
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.kernels import entries as kernels
from loglin.neighborhoods.windows import widened
from loglin.objectives.lattice import LatticeFeatures
from loglin.structures.lattice import Lattices, Sites
from loglin.structures.word_lattices import WordLattices


@dataclass(frozen=True, eq=False)
class Readings:
    """Symbols of word lattices: each is a site, and as templates see it a token of a short sentence."""

    sites: Sites
    corpus: Corpus  # a sentence for each kind of reading
    centers: np.ndarray  # (kinds,) the token of ``corpus`` that is read
    kinds: np.ndarray  # (sites,) which kind a site is: annotated ones are the same kind with fewer labels

    def lattices(self, words: WordLattices, order: int, goals: str = "one") -> Lattices:
        return Lattices(words, self.sites, np.arange(self.sites.n_sites), order, goals)

    def in_windows(self, batches: Iterable[WordLattices], left: int, right: int) -> tuple[Readings, list[WordLattices]]:
        """The readings of all lattices with the words around them, and the lattices of these.

        A window has the labels of its center, and is a sentence of its words, cut where the sentence ends.
        """
        windows, wide = None, []
        for words in batches:
            lattices, windows = widened(words, left, right, windows)
            wide.append(lattices)
        assert windows is not None
        inside = windows >= 0  # (windows, left + 1 + right)
        tokens = self.centers[self.kinds[windows[inside]]]
        columns = [Column(c.codes[tokens], c.vocabulary) for c in self.corpus.columns]
        offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
        centers = offsets[:-1] + inside[:, :left].sum(axis=1)
        sites = self.sites.select(windows[:, left])
        return Readings(sites, Corpus(columns, offsets, self.corpus.source), centers, np.arange(len(windows))), wide


def lattice_features(
    readings: Readings, extractor: TemplateExtractor, index: FeatureIndex, order: int
) -> LatticeFeatures:
    """Features of label n-grams and of (reading, label) entries by the model's templates and index."""
    cells, features, ending = ends.step_cells(extractor, index, order)
    S = index.n_labels + 2
    steps = sp.csr_matrix((np.ones(len(cells)), (cells, features)), (S**3 if order == 2 else S**2, index.n_features))
    entries = _entry_features(readings, extractor, index, ending)
    return LatticeFeatures(readings.sites, steps, entries, (S if order == 2 else 1, S, S))


def _entry_features(
    readings: Readings, extractor: TemplateExtractor, index: FeatureIndex, ending: np.ndarray
) -> sp.csr_matrix:
    """F: the features of every (site, label), those of sentence ends left out."""
    attributes, sites = extractor.transform(readings.corpus).tokens, readings.sites
    if len(readings.centers) < readings.corpus.n_tokens:
        attributes = attributes.select(readings.centers)
    ids = np.where(np.append(ending, True)[attributes.ids], -1, attributes.ids)
    lists = (readings.kinds, sites.ptr, sites.labels, attributes.ptr, ids, index.ptr, index.labels)
    rows, nothing = np.zeros(sites.n_entries + 1, np.int64), np.empty(0, np.int64)
    kernels.entry_features(*lists, rows, nothing, nothing)
    features, places = np.empty((2, rows[-1]), np.int64)
    kernels.entry_features(*lists, rows, features, places)
    values = attributes.values[places] if attributes.values.size else np.ones(len(places))
    return sp.csr_matrix((values, features, rows), (sites.n_entries, index.n_features))
