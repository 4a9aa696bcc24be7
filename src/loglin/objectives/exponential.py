"""M-estimation (Jeon & Lin 2006; m_estimation.txt Eq. 3): no inference in the loop.

    value(w) = 1/n Σ_i exp(−w·f(xᵢ, yᵢ)) + w·E_q0[f]
    gradient = −1/n Σ_i exp(−w·fᵢ)·fᵢ + E_q0[f]                Hessian·v = 1/n Σ_i exp(−w·fᵢ)·(fᵢ·v)·fᵢ

At the optimum with penalty ½·l2·‖w‖²,  w = (Fᵀ e^{−Fw} / n − E) / l2. Sums over sentences weigh each by its
instance weight, normalized to mean one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.kernels import exponential as kernels
from loglin.kernels import keys
from loglin.kernels.sentences import Attributes
from loglin.optimize.checkpoint import Stage
from loglin.optimize.reporter import Reporter
from loglin.threads import Threads, chunks_by_size

STEEPEST = 50.0  # e^−z goes on as a straight line above this −z; far beyond any optimum that was met
NEARLY = 1e-3  # an expectation that is missed by less, relative to itself, is taken as reached


class ExponentialLoss:
    """Value, gradient and Hessian products of M-estimation."""

    convex, nonnegative = True, False

    def __init__(
        self,
        lists: tuple[np.ndarray, np.ndarray, np.ndarray],  # of every sentence's features; see sentence_features
        expected: np.ndarray,  # (features,)
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float32,
        threads: Threads | None = None,
    ):
        self.threads, self.dtype = threads or Threads(1), np.dtype(dtype)
        self.expected, self.n_features = np.asarray(expected, np.float64), len(expected)
        self.ptr, self.ids = lists[:2]
        self.values: np.ndarray = lists[2].astype(dtype)
        n = max(len(self.ptr) - 1, 1)
        self.share = np.full(n, 1 / n)
        if instance_weights is not None:
            self.share = np.asarray(instance_weights, np.float64) / np.sum(instance_weights)
        self._chunks = chunks_by_size(self.ptr)
        self.evaluations = 0

    @cached_property
    def _postings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list]:
        """For every feature the sentences that have it: lists, and chunks of them."""
        sizes = np.zeros(self.n_features, np.int64)
        keys.count(self.ids, sizes)
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        postings, values = np.empty(len(self.ids), np.uint32), np.empty(len(self.values), self.dtype)
        keys.transpose(self.ptr, self.ids, self.values, 0, ptr[:-1].copy(), postings, values)
        return ptr, postings, values, chunks_by_size(ptr)

    def margins(self, weights: np.ndarray) -> np.ndarray:
        """w·f of every sentence."""
        x, z = np.ascontiguousarray(weights, self.dtype), np.empty(len(self.share))
        self.threads.map(lambda b, e: kernels.sum_weights(b, e, self.ptr, self.ids, self.values, x, z), self._chunks)
        return z

    def total(self, amounts: np.ndarray) -> np.ndarray:
        """Σ_s amounts[s]·f_s."""
        out, a = np.empty(self.n_features, self.dtype), amounts.astype(self.dtype)
        *lists, chunks = self._postings
        self.threads.map(lambda b, e: kernels.sum_weights(b, e, *lists, a, out), chunks)
        return out

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        z = -self.margins(weights)
        steep = self.share * np.exp(np.minimum(z, STEEPEST))
        value = float(steep @ (1 + np.maximum(z - STEEPEST, 0))) + float(np.dot(weights, self.expected))
        gradient = self.expected - self.total(steep)
        return value, gradient.astype(self.dtype)

    def hessian_product(self, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Hessian · direction, at the weights."""
        steep = self.share * np.exp(np.minimum(-self.margins(weights), STEEPEST))
        return self.total(steep * self.margins(direction)).astype(np.float64)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """The Hessian's diagonal, where no feature occurs twice in a sentence."""
        return self.total(self.share * np.exp(np.minimum(-self.margins(weights), STEEPEST)))

    @cached_property
    def _squares(self) -> np.ndarray:
        """‖f‖² of every sentence."""
        squares = np.empty(len(self.share))
        kernels.square_norms(self.ptr, self.ids, self.values, np.zeros(self.n_features), squares)
        return squares

    def dual_ascent(
        self,
        l2: float,
        tol: float,
        max_epochs: int,
        seed: int,
        report: Callable[[int, float, float, np.ndarray], None],
        stage: Stage | None = None,
    ) -> tuple[np.ndarray, float, bool]:
        """Weights of the l2-penalized optimum by coordinate ascent on one number a_s per sentence.

            D(a) = Σ share·(a − a·log a) − ‖Σ share·a·f − E‖² / 2·l2 ≤ value(w) + ½·l2·‖w‖²

        An epoch costs an evaluation, and the gap between the two sides tells how far the optimum is at most;
        it ends when the gap is below ``tol`` of the value. Calls report(epoch, value, gap, weights).
        """
        a, order = np.ones(len(self.share)), np.random.default_rng(seed)
        lists, value, gap = (self.ptr, self.ids, self.values), np.inf, np.inf
        w, done, stage = self._dual_weights(a, l2).astype(self.dtype), 0, stage or Stage(Reporter())
        if stage.state is not None:
            done = stage.state["done"]

        def restore(state: dict[str, Any]) -> None:
            a[...], w[...], order.bit_generator.state = state["a"], state["w"], state["random"]

        stage.resume(restore)
        for epoch in range(done + 1, max_epochs + 1):
            stage.save({"a": a, "w": w, "random": order.bit_generator.state, "done": epoch - 1})
            self.evaluations += 1
            sentences = order.permutation(len(a))
            kernels.ascend_dual(sentences, *lists, self._squares, self.share, l2, a, w)
            z = self.margins(w)
            steep = np.exp(np.minimum(-z, 700.0))
            gap = float(self.share @ (steep - a + a * (np.log(np.maximum(a, 1e-300)) + z)))
            exact = w.astype(np.float64)  # products of two precisions are slow
            value = float(self.share @ steep + np.dot(exact, self.expected)) + 0.5 * l2 * float(np.dot(exact, exact))
            report(epoch, value, gap, w)
            if gap <= tol * abs(value):
                break
        return self._dual_weights(a, l2), value, gap <= tol * abs(value)

    def _dual_weights(self, a: np.ndarray, l2: float) -> np.ndarray:
        """w = (Σ share·a·f − E) / l2."""
        total = -self.expected.copy()
        kernels.add_lists(self.ptr, self.ids, self.values, self.share * a, total)
        return total / l2

    def outside(self, l1: float = 0.0, passes: int = 200) -> tuple[float, bool]:
        """How far E lies outside the cone of the observed f, as a share of ‖E‖, and whether that is proven.

        min_{a ≥ 0} ‖Fᵀa − E‖ > 0 has a residual d = Fᵀa − E with F·d ≥ 0 and E·d = −‖d‖² < 0: along d the
        unpenalized value falls for ever. An l1 penalty forgives that much of every coordinate.
        """
        n, size = len(self.share), float(np.linalg.norm(self.expected))
        a, residual, order = np.zeros(n), -self.expected.copy(), np.arange(n)
        left, before = size, np.inf
        for number in range(passes):
            moved = kernels.descend_dual(order, self.ptr, self.ids, self.values, self._squares, l1, a, residual)
            d = np.sign(residual) * np.maximum(np.abs(residual) - l1, 0)
            left = float(np.linalg.norm(d))
            if moved <= 1e-9 * size or left <= 1e-9 * size:
                break
            if number % 10 == 9:
                if self._falls_along(d, l1) or left > 0.9999 * before:
                    break
                before = left
        return (left / size if size > 0 else 0.0), self._falls_along(d, l1)

    def _falls_along(self, d: np.ndarray, l1: float) -> bool:
        """Whether the value falls for ever along d, or along d and a little of every feature, so that F·d ≥ 0."""
        width = self.margins(np.ones_like(d))
        if not np.all(width > 0):
            return False
        d = d + max(0.0, float(np.max(-self.margins(d) / width)))
        return float(d @ self.expected + l1 * np.abs(d).sum()) < 0


def sentence_features(
    design: Design, gold: Gold, index: FeatureIndex, input_only: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of every sentence with its labels, as lists: ptr, ids, values (empty: all 1).

    With ``input_only`` the attributes without a label follow, numbered behind the features.
    """
    tokens = design.unfolded()
    L, (u, b, p, _) = index.n_labels, index.sizes
    pair_number, triple_number = np.full(L * L, -1), np.full(L**3 if len(index.triples) else 0, -1)
    pair_number[index.pairs] = u + b + np.arange(p)
    triple_number[index.triples] = u + b + p + np.arange(len(index.triples))
    lists = (index.ptr, index.labels, index.bigram_ptr, index.bigram_pairs)
    numbers = kernels.Numbers(*lists, pair_number, triple_number)
    text = Attributes(design.offsets, tokens.ptr, tokens.ids, tokens.values, design.bigrams.ptr, design.bigrams.ids)
    arguments = (text, gold.codes, L, numbers)
    ptr = np.empty(design.n_sentences + 1, np.int64)
    kernels.gold_features(*arguments, ptr, np.empty(0, np.uint32), np.empty(0))
    ids, values = np.empty(ptr[-1], np.uint32), np.ones(ptr[-1] if tokens.values.size else 0)
    kernels.gold_features(*arguments, ptr, ids, values)
    if not input_only:
        return ptr, ids, values
    inputs = tokens.ptr[design.offsets]
    both = ptr + inputs
    sizes = np.stack([np.diff(ptr), np.diff(inputs)], axis=1).ravel()  # a sentence's features, then its attributes
    source = np.repeat(np.tile([False, True], len(ptr) - 1), sizes)
    all_ids, all_values = np.empty(both[-1], np.uint32), np.ones(both[-1] if values.size else 0)
    all_ids[~source], all_ids[source] = ids, tokens.ids.astype(np.uint32) + np.uint32(index.n_features)
    if values.size:
        all_values[~source], all_values[source] = values, tokens.values
    return both, all_ids, all_values
