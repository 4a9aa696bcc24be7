"""Naive Bayes: the joint model of classes and attributes, counted, or with its parameters trained conditionally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Criterion, Defaults, Way
from loglin.criteria.settings import anything, choice, number
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class JointModel(Criterion):
    """Σ log P(c)·Π P(a | c), whose maximum are relative frequencies; or Σ log P(c | x) in the same parameters."""

    name = "naive-bayes"
    line = "joint likelihood of classes and attributes: naive Bayes, counted"
    structures = ("joint",)
    defaults = Defaults(max_iter=500)
    optimizes = False
    counts = True
    kind: str = choice(
        "multinomial", "bernoulli", help="attributes are drawn, so that counts matter, or each is there or not"
    )
    alpha: float = number(1.0, "added to every count")
    objective: str = choice(
        "joint", "conditional", help="count, or go on from the counts to the best Σ log P(c | x) (Klein & Manning 2002)"
    )
    class_prior: Any = anything(None, "a dict", "{class: P(c)} in place of the shares of the examples; in Python only")

    def check(self) -> None:
        if self.objective == "conditional" and self.alpha == 0:
            raise LoglinError("alpha is 0, with which the conditional objective may have no maximum; give some above 0")

    def way(self, problem: ChainProblem, run: Run) -> Way:
        solve = self._optimized if self.objective == "conditional" else self._counted
        return Way(lambda first, run: solve(problem, run), problem.model)

    def report(self, problem: ChainProblem, model: Any) -> None:
        if self.objective == "joint":
            del model.record["objective"]  # counts are its optimum, whatever it is

    def _counted(self, problem: ChainProblem, run: Run) -> Result:
        from loglin.optimize.record import COUNTED, Result, Stop

        stop = Stop(COUNTED, "naive Bayes is counted, not optimized")
        return Result(self.table(problem).ravel(), 0.0, stop, True)

    def _optimized(self, problem: ChainProblem, run: Run) -> Result:
        """L-BFGS on the conditional likelihood in the joint model's parameters, from the counts."""
        import numpy as np

        from loglin.criteria.minimizing import likelihood
        from loglin.objectives.naive_bayes import NaiveBayesLikelihood
        from loglin.optimize.lbfgs import minimize

        inner = likelihood(problem, np.float64)
        start, intercept = self.table(problem).ravel(), problem.unpenalized
        assert intercept is not None
        objective = NaiveBayesLikelihood(inner, intercept, self.kind, self.alpha)
        start = objective.parameters(start)
        result = minimize(objective, start, max_iter=run.max_iter, tol=run.tol, reporter=run.reporter)
        result.weights = objective.weights(result.weights)
        return result

    def table(self, problem: ChainProblem) -> np.ndarray:
        """The counted model's weights: (attributes, classes)."""
        import numpy as np

        from loglin.generative import naive_bayes

        design, intercept, n_classes = problem.design, problem.unpenalized, len(problem.labels)
        assert intercept is not None
        weight = np.ones(design.n_tokens) if problem.weight is None else problem.weight
        gold = problem.gold
        sizes = gold.counts(weight)
        n = naive_bayes.counts(design.tokens, design.n_attributes, gold.codes, n_classes, weight)[~intercept]
        w, b = naive_bayes.log_linear(n, sizes, self.alpha, self.kind)
        table = np.empty((design.n_attributes, n_classes))
        table[~intercept], table[intercept] = w, b + naive_bayes.log(self._prior(problem.labels, sizes))
        return table

    def _prior(self, labels: list, sizes: np.ndarray) -> np.ndarray:
        """P(c) of every class: (classes,)."""
        import numpy as np

        given = self.class_prior
        if given is None:
            return sizes / sizes.sum()
        table = dict(given) if isinstance(given, Mapping) else {}
        prior = np.array([table.get(label, 0.0) for label in labels], np.float64)
        if set(table) != set(labels) or (prior <= 0).any() or abs(prior.sum() - 1) > 1e-6:
            raise LoglinError(
                f"class_prior is {table or given!r}; give each class ({', '.join(map(str, labels))}) a probability "
                "above 0, in all 1"
            )
        return prior
