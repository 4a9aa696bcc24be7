"""M-estimation: a base model, its expectations of the features, and a loss without inference.

base     memm        the chain of an MEMM's weights, given the training sentences: q0(y | x) ∝ exp(w0·f(x, y))
         hmm         counted on the training data
         uniform     locally uniform labels, words regardless of them (Eq. 15)
         empirical   the HMM's labels for the training sentences themselves (Eq. 16)
         sampled     sentences that the HMM draws (Eq. 7)
         an HMM, the file of a model that has one, or a function (n, rng) → sentences, labels: any sampler
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.generative import Counted, chosen_columns, problem_corpus
from loglin.criteria.minimizing import Initialized
from loglin.criteria.settings import choice, flag, number, whole, word_or_object
from loglin.criteria.trees import FromTrees, minimizing_trees
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.generative.hmm import HMM
    from loglin.objectives.exponential import ExponentialLoss
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.trees import TreeProblem

BASES = ("memm", "hmm", "uniform", "empirical", "sampled")
BASE_ITERATIONS = 5  # of the MEMM behind its stochastic start: its very optimum does not matter


@dataclass(frozen=True)
class MEstimation(Counted, Initialized):
    """1/n Σ exp(−w·f(xᵢ, yᵢ)) + w·E_q0[f], minimized: no inference at all in the loop."""

    name = "m-estimation"
    line = "exponential loss against a base model's expectations (Smith, Vail & Lafferty 2007)"
    structures = ("chain",)
    defaults = Defaults(l2="auto", tol=0.005)  # the duality gap is a bound, and labels have settled before
    base: Any = word_or_object(*BASES, other="the file of a model that has one", help="the base model q0")
    base_order: int = choice(1, 2, default=2, help="how many labels a label of the base model looks back")
    keep_base: bool = flag(True, "the model is q0 · exp(w·f), not exp(w·f) alone")
    input_features: bool = flag(False, "each attribute has a weight besides those with its labels")
    samples: int = whole(10_000, "of base=sampled: sentences drawn")
    sample_smoothing: float = number(0.0, "of base=sampled: added to the count of every feature")
    optimizer: str = choice(
        "auto", "dual", "lbfgs", "newton", help="coordinate ascent on the dual where it can be, or another"
    )

    @property
    def _on_steps(self) -> bool:
        """Whether the base model is the chain of an MEMM's weights."""
        from loglin.criteria.memm import MEMM

        return isinstance(self.base, str) and self.base == MEMM.name

    def way(self, problem: ChainProblem, run: Run) -> Way:
        if self._on_steps:
            return self._way_from(base_weights(problem, run), problem)
        base = self.base_model(problem)
        kept = base if self.keep_base else None

        def solve(first: np.ndarray | None, run: Run) -> Any:
            return self._solve(problem, self.loss(problem, base, run.seed), first, run)

        def objective(dtype: type) -> Any:
            return self.loss(problem, base, run.seed)(dtype)

        return Way(solve, lambda weights: problem.model(weights, kept), objective=objective)

    def _way_from(self, base: np.ndarray, problem: ChainProblem) -> Way:
        """The way from a base model of the same features: the trained model is the sum of both weights."""
        from functools import cache

        from loglin.problems.base_features import posterior_features

        n, kept = problem.index.n_features, base if self.keep_base else 0 * base
        loss = cache(lambda: self.loss_given(problem, posterior_features(problem, base, self.input_features)))

        def solve(first: np.ndarray | None, run: Run) -> Any:
            return self._solve(problem, loss(), None if first is None else first - kept, run)

        return Way(solve, lambda w: problem.model(w[:n] + kept), objective=lambda dtype: loss()(dtype))

    def path(self, problem: ChainProblem, run: Run) -> Callable[[float], Any]:
        if not self._on_steps:
            return super().path(problem, run)
        way = self._way_from(base_weights(problem, run), problem)  # the same for every l2

        def at(l2: float) -> Any:
            make = way.objective
            assert make is not None
            return way.keep(self._solve(problem.with_l2(l2), make, None, run).weights)

        return at

    def l2_of(self, l2: float, share: float) -> float:
        """The loss is a mean over sentences, and the mean of more of them is surer: l2 falls, slower than 1 / √n.

        Best with the default template on 1,000, 4,000 and all sentences: Spanish entities 0.3, 0.1, 0.09; chunks 0.1,
        0.03, 0.02. Too small an l2 does more harm than too large a one.
        """
        return l2 * share**0.4

    # ------------------------------------------------------------------ the base model

    def base_model(self, problem: ChainProblem) -> HMM | None:
        """The base model, checked to hold the data possible; None where there is only a sampler."""
        from loglin.corpus import schemes
        from loglin.generative.hmm import HMM

        base = self._loaded()
        if callable(base) and not isinstance(base, HMM):
            return None
        corpus, codes = problem_corpus(problem), problem.gold.codes
        if isinstance(base, HMM):
            hmm = base.with_labels(problem.labels)
        elif base == "uniform":
            names = [str(label) for label in problem.labels]
            scheme = schemes.detect(names)
            legal = schemes.legal(names, scheme) if scheme else None
            columns, oov = chosen_columns(self.columns), self.unknown_values(problem)
            hmm = HMM.locally_uniform(corpus, codes, problem.labels, columns=columns, oov=oov, legal=legal)
        else:
            hmm = self.count(problem, self.base_order)
        hmm.check_support(corpus, codes)
        return hmm

    def _loaded(self) -> Any:
        """The base model of a model file, where the setting names one."""
        if not isinstance(self.base, str) or self.base in BASES:
            return self.base
        from loglin.models.chain import Model

        found = Model.load(self.base).base
        if found is None:
            raise LoglinError(f"{self.base} has no base model; train one with criterion hmm")
        return found

    def expected_features(self, problem: ChainProblem, base: HMM | None, seed: int = 0) -> np.ndarray:
        """E_q0[f] of every feature and, with input-only features, of every attribute behind them."""
        import numpy as np

        from loglin.generative.expectations import expectations
        from loglin.problems.base_features import empirical_features, sampled_features

        inputs = self.input_features
        if base is None or self.base == "sampled":
            sampler = self.base if base is None else base
            return sampled_features(problem, sampler, self.samples, self.sample_smoothing, inputs, seed)
        if self.base == "empirical":
            return empirical_features(problem, base, inputs)
        found = expectations(base, problem.extractor, problem.index, input_only=inputs)
        return np.concatenate(found) if isinstance(found, tuple) else found

    # ------------------------------------------------------------------ the loss

    def loss(self, problem: ChainProblem, base: HMM | None, seed: int = 0) -> Callable[[type], ExponentialLoss]:
        """The loss with the base model's expectations, of any precision."""
        return self.loss_given(problem, self.expected_features(problem, base, seed))

    def loss_given(self, problem: ChainProblem, expected: np.ndarray) -> Callable[[type], ExponentialLoss]:
        """The loss with these expectations of all features, of any precision."""
        import numpy as np

        from loglin.objectives.exponential import ExponentialLoss, sentence_features

        p = problem
        if not np.isfinite(expected).all():
            raise LoglinError(
                "the base model's expectations are no finite numbers; it may not end its sentences: smooth it"
            )
        lists = sentence_features(p.design, p.gold, p.index, len(expected) > p.index.n_features)

        return lambda dtype: ExponentialLoss(lists, expected, p.weight, dtype, p.threads)

    def _solve(self, problem: ChainProblem, make: Callable[[type], Any], first: np.ndarray | None, run: Run) -> Any:
        import numpy as np

        from loglin.optimize.minimize import minimize
        from loglin.optimize.penalties import Penalties
        from loglin.problems.base_features import check_bounded

        p = problem
        l1, l2 = penalties = p.penalties
        if not np.all(l2 > 0):
            check_bounded(make(np.float64), float(l1.min(initial=0.0)))
        if self.input_features:
            more = Penalties.uniform(p.design.n_attributes, p.options.l1, p.options.l2)
            penalties = Penalties(np.concatenate([l1, more.l1]), np.concatenate([l2, more.l2]))
            first = None if first is None else np.concatenate([first, 0 * more.l1])
        l1, l2 = penalties
        uniform = not np.any(l1) and np.all(l2 == l2[0]) and l2[0] > 0
        by_default = run.optimizer == "auto"
        chosen = self.optimizer if by_default else run.optimizer
        if chosen == "dual" and not uniform:
            raise LoglinError("dual ascent needs one l2 above 0 for all weights and no l1; set optimizer to lbfgs")
        if chosen == "dual" or (chosen == "auto" and uniform and first is None):
            return dual_ascent(make(np.float32 if run.single else np.float64), float(l2[0]), run)
        if by_default and chosen == "lbfgs":  # the setting's lbfgs is the default without its dual ascent
            chosen = "auto"
        return minimize(make, penalties, replace(run, optimizer=chosen), first, p.feature_name)


def base_weights(problem: ChainProblem, run: Run) -> np.ndarray:
    """The weights of an MEMM with its own usual l2, near its optimum."""
    from loglin.criteria.memm import MEMM, true_steps
    from loglin.optimize.fit import fit_weights

    own = problem.with_l2(MEMM.defaults.usual_l2)
    few = min(run.max_iter, BASE_ITERATIONS)
    rough = replace(run, optimizer="auto", max_iter=few, reporter=run.reporter.quietly())
    return fit_weights(own.objective(true_steps), own.penalties, rough).weights


def dual_ascent(loss: Any, l2: float, run: Run) -> Any:
    """M-estimation by one number per sentence; the duality gap decides convergence."""
    import numpy as np

    from loglin.optimize.record import Result, StopTraining, converged, limit

    reporter, first, best = run.reporter, len(run.reporter.iterations), np.zeros(loss.n_features)
    stage = reporter.stage(loss)
    if stage.ended:
        return stage.outcome

    def report(epoch: int, value: float, gap: float, weights: np.ndarray) -> None:
        nonlocal best
        best = weights
        reporter.note(value, gap, weights, epoch)

    try:
        weights, value, settled = loss.dual_ascent(l2, run.tol, run.max_iter, run.seed, report, stage)
    except StopTraining as request:
        history = reporter.since(first)
        return Result(best.astype(np.float64), history[-1].value, request.stop, False, history, len(history))
    history = reporter.since(first)
    gap = history[-1].gradient_norm / max(abs(value), 1e-300)
    stop = converged(
        f"the optimum is at most {gap:.1g} of the objective away: the duality gap is below tol = {run.tol:g}"
    )
    stop = stop if settled else limit(run.max_iter, "epochs")
    return stage.end(Result(weights, value, stop, settled, history, len(history)))


# ---------------------------------------------------------------------- trees


@dataclass(frozen=True)
class MEstimationTrees(FromTrees):
    """1/n Σ exp(−w·f(treeᵢ)) + w·E_q0[f], minimized; q0 is a PCFG, and no tree is parsed."""

    name = "m-estimation"
    line = "exponential loss against a PCFG's expectations (Smith, Vail & Lafferty 2007, §4.1.2)"
    # The loss is a mean over trees, where others are sums. On held-out trees of the Treebank sample 0.04 is best for
    # sentences of at most 15 words, 0.1 for those of at most 10 and of at most 40.
    defaults = Defaults(template="spans", l2=0.06, max_iter=200)
    as_terminals = True  # as the base model writes them
    keep_base: bool = flag(True, "trees also score as the base grammar says")

    def way(self, problem: TreeProblem, run: Run) -> Way:
        import time

        import numpy as np

        from loglin.generative.tree_feature_expectations import expected_features
        from loglin.objectives.exponential import ExponentialLoss
        from loglin.problems.base_features import check_bounded

        p, F = problem, problem.features
        impossible = next((n for n, t in enumerate(p.trees) if p.pcfg.log_probability(t) == -np.inf), None)
        if impossible is not None:
            raise LoglinError(
                f"tree {impossible} of those to learn from has probability zero in the grammar, the base model of "
                "M-estimation; add its words to the grammar's file, or count the grammar"
            )
        began = time.perf_counter()
        expected = expected_features(p.pcfg, p.index, p.tokens, p.spans)
        more = {"expectation_seconds": round(time.perf_counter() - began, 3)}
        lists = F.indptr.astype(np.int64), F.indices.astype(np.uint32), F.data
        loss = ExponentialLoss(lists, expected, p.weight, np.float64, p.threads)
        if not p.options.l2:
            check_bounded(loss, p.options.l1)
        base = p.base("pcfg" if self.keep_base else "lexicon")
        return minimizing_trees(p, lambda problem, dtype: loss, base, finished=lambda result: result.more.update(more))
