"""The structured perceptron on trees (Collins, 2002): w += f(x, right tree) − f(x, best tree), averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from loglin.features.spans import Constituents
from loglin.grammars.uses import TreeUses
from loglin.optimize.checkpoint import Stage
from loglin.structures.forest import Derivation, Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, features_of, scores_with


class TreePerceptron:
    """Weights that change with every tree that is parsed wrong."""

    def __init__(
        self,
        index: TreeIndex,
        base: Base,
        design: TreeDesign,
        uses: TreeUses,
        features: sp.csr_matrix,
        weight: np.ndarray | None = None,  # (trees,): how far a mistake moves the weights
        start: np.ndarray | None = None,
    ):
        self.index, self.base, self.features, self.weight = index, base, features, weight
        self.weights = np.zeros(index.n_features) if start is None else np.array(start, np.float64)
        self.total, self.steps = np.zeros(index.n_features), 0
        cuts = [np.concatenate([[0], np.cumsum(n)]) for n in _sizes(uses.lengths)]
        self._designs = [_part(design, *(c[s : s + 2] for c in cuts)) for s in range(len(uses.lengths))]
        shapes = {int(n): Forests.of_sentences(index.grammar, index.tags, [n]) for n in np.unique(uses.lengths)}
        self._forests = [shapes[int(n)] for n in uses.lengths]

    def course(self, seed: int, interrupted: Callable[[], bool]) -> Callable[[int, Callable, bool, Stage], np.ndarray]:
        """A function that goes over all trees so many times, and reports every epoch until it is told to end."""

        def perceptron(epochs: int, report: Callable, averaged: bool, stage: Stage) -> np.ndarray:
            rng, done = np.random.default_rng(seed), 0
            weights = self.average if averaged else self.weights.copy

            def restore(state: dict[str, Any]) -> None:
                self.weights[...], self.total[...], self.steps = state["weights"], state["total"], state["steps"]
                rng.bit_generator.state = state["random"]

            if stage.state is not None:
                done = stage.state["done"]
            stage.resume(restore)
            for epoch in range(done + 1, epochs + 1):
                arrays = {"weights": self.weights, "total": self.total, "steps": self.steps}
                stage.save(arrays | {"random": rng.bit_generator.state, "done": epoch - 1})
                mistakes = self.epoch(rng.permutation(self.features.shape[0]), interrupted)
                if report(epoch, mistakes, weights):
                    break
            return weights()

        return perceptron

    def epoch(self, order: np.ndarray, interrupted: Callable[[], bool]) -> int:
        """One step for every sentence; how many best trees were wrong."""
        mistakes = 0
        for s in order.tolist():
            if interrupted():
                break
            self.steps += 1
            scores = scores_with(self.index, self.base, self._designs[s], self.weights)
            best = self._forests[s].best(scores)[0]
            if best is None:
                continue
            found = features_of(self.index, self._designs[s], self._uses(best))
            change = (self.features[s] - found).tocoo()
            if not change.nnz or not change.data.any():
                continue
            mistakes += self.weight is None or self.weight[s] > 0
            step = change.data if self.weight is None else self.weight[s] * change.data
            self.weights[change.col] += step
            self.total[change.col] += self.steps * step
        return mistakes

    def average(self) -> np.ndarray:
        """The mean of the weights after every step: w − Σ t·Δ_t / T."""
        return self.weights - self.total / max(self.steps, 1)

    def _uses(self, tree: Derivation) -> TreeUses:
        return derivation_uses(tree, self.index)


def derivation_uses(tree: Derivation, index: TreeIndex) -> TreeUses:
    """What a tree without unary rules uses."""
    nodes, column = tree.nodes, np.full(index.grammar.n_symbols, -1)
    column[index.tags] = np.arange(len(index.tags))
    words = nodes[nodes[:, 3] < 0]
    inner = nodes[nodes[:, 3] >= 0].astype(np.int64)
    words = words[np.argsort(words[:, 1])]
    # in preorder the left child follows its parent, and the right child begins where it ends
    splits = nodes[np.flatnonzero(nodes[:, 3] >= 0) + 1, 2].astype(np.int64)
    constituents = Constituents(
        np.zeros(len(inner), np.int64), inner[:, 1], inner[:, 2], splits, inner[:, 3], inner[:, 0]
    )
    return TreeUses(np.array([len(words)]), nodes[:1, 0], column[words[:, 0]].astype(np.int32), constituents)


def _sizes(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, cells and states of sentences."""
    return lengths, lengths * (lengths + 1) // 2, lengths + 1


def _part(design: TreeDesign, words: np.ndarray, cells: np.ndarray, states: np.ndarray) -> TreeDesign:
    """The design of one sentence."""
    return TreeDesign(
        design.tokens[words[0] : words[1]],
        design.spans[cells[0] : cells[1]],
        design.splits[states[0] : states[1]],
        design.leaves[words[0] : words[1]],
    )
