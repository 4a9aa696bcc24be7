"""Sentences with hidden labels: what an HMM expects of them, and the HMM that such counts make.

    E step   n(a, b, c), n_k(c, x)    expected counts under q(y | x) ∝ q0(x, y)^β, over the labels that the sites allow
    M step   t(c | a, b) = (n(a, b, c) + λ) / Σ_c′ (n(a, b, c′) + λ)
             e_k(x | c)  = (n_k(c, x) + λ) / Σ_x′ (n_k(c, x′) + λ)         x′: <oov>, if λ > 0, and words that may be c

See optimize/em.py for what the steps gain.

text ──► chains of sites ──► expected counts (E) ──► HMM (M) ──► expected counts …
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from loglin.errors import LoglinError
from loglin.generative import counting
from loglin.generative.hmm import HMM
from loglin.problems.lattices import LatticeText
from loglin.structures.word_lattices import WordLattices
from loglin.threads import Threads

NOTHING = 1e-60  # a count below it is 0: products of such numbers would leave the quick kernel

Tables = list[np.ndarray]  # (H, S, L + 1) of transitions, then (L, V_k) per emitted column


class HiddenText:
    """Sentences with hidden labels: what an HMM expects of them, and the HMM that such counts make."""

    def __init__(
        self,
        text: LatticeText,
        labels: list,
        order: int,
        columns: Sequence[int] | None,
        smoothing: float,
        weight: np.ndarray | None,
        threads: Threads | None,
    ):
        counting.check_options(order, "unseen", "uniform", smoothing, smoothing)
        types, sites, L = text.types, text.sites, len(labels)
        weight = np.ones(text.n_sentences) if weight is None else np.asarray(weight, np.float64)
        used = np.flatnonzero((weight > 0) & (np.diff(text.offsets) > 0))
        if not len(used):
            raise LoglinError("no sentence has words and a weight above 0, so there is nothing to learn from; add some")
        chains = text.sentences(used, typed=False)
        self.lattices = text.readings.lattices(WordLattices.chains(chains, sites.n_sites), order)
        self.labels, self.order, self.smoothing = list(labels), order, smoothing
        self.weight, self.threads = weight[used], threads
        numbers = counting.checked_columns(types.corpus, columns)
        self.extractor, values = counting.emission_extractor(types.corpus, numbers, "unseen")
        site = np.repeat(np.arange(sites.n_sites), np.diff(sites.ptr))
        entry_values = values[text.site_type[site]]  # (entries, K)
        H, S = (L + 1 if order == 2 else 1), L + 1
        # what may have a probability, shaped as the tables, and the place of every entry in those of emissions
        self.possible = [counting.smoothed_transitions(np.zeros((H, S, S)), 1.0) > 0]
        self.places = []
        for k, size in enumerate(counting.value_counts(self.extractor)):
            self.places.append(sites.labels.astype(np.int64) * size + entry_values[:, k])
            table = np.zeros((L, size), bool)
            table.reshape(-1)[self.places[k]] = True
            table[:, counting.oov_numbers(self.extractor)[k]] |= smoothing > 0
            self.possible.append(table)
        self.alike = _alike(text, np.unique(np.concatenate(chains)))

    # ------------------------------------------------------------------ starts

    def start(self, kind: str, rng: np.random.Generator) -> HMM:
        """Uniform transitions and emissions of 1 / (words of the label) or 1 / (words), or all at random.

        Labels with the same words would stay alike forever, so their emissions are random anyway.
        """
        if kind == "random":
            return self.model_of([_noise(possible, rng) for possible in self.possible])
        tables = [counting.normalized(possible.astype(float)) for possible in self.possible]
        for table, possible in zip(tables[1:], self.possible[1:], strict=True):
            if kind == "uniform":
                table[:] = possible / possible.any(axis=0).sum()
            if self.alike.any():
                table[self.alike] = table[self.alike].sum(axis=1, keepdims=True) * _noise(possible[self.alike], rng)
        return self.model_of(tables)

    def model_of(self, tables: Tables) -> HMM:
        return HMM(self.labels, self.order, self.extractor, tables[0], tables[1:])

    # ------------------------------------------------------------------ the two steps

    def log_likelihood(self, hmm: HMM) -> float:
        return float(self.weight @ self.lattices.totals(*self._scores(hmm, 1.0), threads=self.threads).partitions)

    def expected(self, hmm: HMM, beta: float) -> tuple[float, Tables]:
        """log Σ_y q0(x, y)^β of all sentences, and expected counts with λ added."""
        L = len(self.labels)
        totals = self.lattices.totals(*self._scores(hmm, beta), self.weight, self.threads)
        steps = totals.steps[: len(hmm.transition), :-1]
        counts = [np.concatenate([steps[..., :L], steps[..., L + 1 :]], axis=-1)]
        for place, table in zip(self.places, hmm.emissions, strict=True):
            counts.append(np.bincount(place, totals.entries, table.size).reshape(table.shape))
        for table, possible in zip(counts, self.possible, strict=True):
            table[table < NOTHING] = 0.0
            table += self.smoothing * possible
        return float(self.weight @ totals.partitions), counts

    def maximized(self, counts: Tables) -> HMM:
        """Relative frequencies."""
        return self.model_of([counting.normalized(table) for table in counts])

    def _scores(self, hmm: HMM, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """W and E of structures/lattice.py: β log t, and β Σ_k log e_k of every entry."""
        E = np.zeros(self.lattices.sites.n_entries)
        with np.errstate(divide="ignore"):
            for place, table in zip(self.places, hmm.emissions, strict=True):
                E += beta * np.log(table.reshape(-1)[place])
        return beta * hmm.steps(), E

    # ------------------------------------------------------------------ what is told of an HMM

    def log_prior(self, hmm: HMM) -> float:
        """λ Σ log p, over all that is smoothed."""
        if not self.smoothing:
            return 0.0
        tables = zip(self.tables(hmm), self.possible, strict=True)
        return self.smoothing * math.fsum(float(np.log(table[possible]).sum()) for table, possible in tables)

    def gradient_norm(self, hmm: HMM, counts: Tables) -> float:
        """Of the MAP value by the logits of all rows, n(x) − p(x) Σ n."""
        tables = zip(self.tables(hmm), counts, strict=True)
        return math.sqrt(sum(float(np.square(n - p * n.sum(axis=-1, keepdims=True)).sum()) for p, n in tables))

    def active(self, hmm: HMM) -> int:
        return sum(int(np.count_nonzero(table)) for table in self.tables(hmm))

    def tables(self, hmm: HMM) -> Tables:
        return [hmm.transition, *hmm.emissions]


def _noise(possible: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows from the flat Dirichlet distribution over what is possible."""
    return counting.normalized(rng.standard_exponential(possible.shape) * possible)


def _alike(text: LatticeText, used: np.ndarray) -> np.ndarray:
    """Labels that no used site tells apart from some other: (labels,) bool."""
    sites = text.sites
    allowed = np.zeros((sites.n_sites, sites.n_labels), bool)
    allowed[np.repeat(np.arange(sites.n_sites), np.diff(sites.ptr)), sites.labels] = True
    allowed = np.unique(allowed[used], axis=0)
    _, group, size = np.unique(allowed, axis=1, return_inverse=True, return_counts=True)
    return (size[group.reshape(-1)] > 1) & allowed.any(axis=0)
