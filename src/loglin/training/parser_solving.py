"""What all ways of training a parser share: a course that can be followed, weights at an optimum, the likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loglin.generative.pcfg import PCFG
from loglin.grammars.transforms import TreeCoder
from loglin.models.parser import ParserModel, token_index
from loglin.objectives.forest import ForestCriterion, Term
from loglin.optimize.fit import fit_weights
from loglin.optimize.record import Iteration, Result
from loglin.structures.tree_scores import Base, TreeIndex
from loglin.training.parser_options import ParserOptions
from loglin.training.parser_problem import TreeProblem, no_spans

Callback = Callable[[Iteration], None]
Trained = tuple[ParserModel, Result, list[int]]  # and the lengths of the sentences that were learnt from


class Follow:
    """Tells a callback of every iteration, and ends training when asked."""

    def __init__(self, callback: Callback | None, interrupted: Callable[[], str | None]):
        self.callback, self.interrupted = callback, interrupted

    def __call__(self, iteration: Iteration, weights: Any) -> None:
        if self.callback is not None:
            self.callback(iteration)


def fitted(
    criterion: Any,
    options: ParserOptions,
    follow: Follow,
    start: np.ndarray | None = None,
    max_iter: int = 0,
    scaled: bool = True,  # by a guess of the Hessian, which a criterion that is not convex has not
) -> Result:
    """Weights at an optimum of a penalized criterion."""
    ones = np.ones(criterion.n_features)
    return fit_weights(
        lambda dtype: criterion,
        l1=options.l1 * ones,
        l2=options.l2 * ones,
        start=start,
        warm_start=False,
        scaled=scaled,
        dtype="float64",
        max_iter=max_iter or options.max_iter,
        tol=options.tol,
        callback=follow,
        stop=follow.interrupted,
    )


def likelihood(problem: TreeProblem, base: Base) -> ForestCriterion:
    """−Σ log p(tree | sentence)."""
    goals = np.tile([0.0, 1.0], (len(problem.trees), 1))
    observed = np.asarray(problem.features.sum(axis=0)).ravel()
    fixed = fixed_score(problem, base)
    return ForestCriterion(
        problem.index, base, [Term(problem.forests, problem.design, goals)], observed, fixed, problem.threads
    )


def fixed_score(problem: TreeProblem, base: Base) -> float:
    """What the base gives to the annotated trees: Σ rules + roots + words."""
    uses = problem.uses
    words = problem.design.leaves[np.arange(len(uses.tags)), uses.tags]
    return float(base.rules[uses.nodes.rules].sum() + base.roots[uses.roots].sum() + words.sum())


def model_of_pcfg(pcfg: PCFG, coder: TreeCoder | None = None) -> ParserModel:
    """A parser with the probabilities of a grammar; without a coder, one that was written by hand."""
    index = TreeIndex(pcfg.grammar, pcfg.lexicon.tags, no_spans(pcfg), token_index(len(pcfg.lexicon.tags)))
    model = ParserModel(coder, index, Base(pcfg.rules, pcfg.roots), pcfg.lexicon, np.zeros(index.n_features))
    model.record |= {"criterion": "pcfg", "symbols": pcfg.grammar.n_symbols, "rules": pcfg.grammar.n_rules}
    return model


def record_of(options: ParserOptions, model: ParserModel, lengths: list[int], result: Result, seconds: float) -> dict:
    """How a model was trained on sentences of so many words, for people."""
    return {
        "criterion": options.criterion,
        "settings": {name: value for name, value in options.checked.items() if isinstance(value, int | float | str)},
        "l1": options.l1,
        "l2": options.l2,
        "sentences": len(lengths),
        "tokens": sum(lengths),
        "symbols": model.grammar.n_symbols,
        "rules": model.grammar.n_rules,
        "features": model.index.n_features,
        "objective": result.value,
        "iterations": len(result.iterations),
        "evaluations": result.evaluations,
        "converged": result.converged,
        "stopped": result.stopped,
        "seconds": round(seconds, 3),
    }
