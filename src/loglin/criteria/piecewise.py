"""Piecewise training: local steps, or rules at spans, with none-of-the-above instances for mistakes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.mecfg import RuleByRule, local_rules, right_expansions, right_rules
from loglin.criteria.memm import true_steps
from loglin.criteria.settings import choice, number, whole
from loglin.criteria.steps import DECODING, StepByStep, plain_likelihood
from loglin.criteria.trees import exact
from loglin.problems.request import ALL_PAIRS, FeatureRequest

if TYPE_CHECKING:
    import numpy as np

    from loglin.criteria.steps import Prepared
    from loglin.objectives.expansions import ExpansionCriterion, Expansions
    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.trees import TreeProblem


NOTA = "which wrong labels before become instances; auto: all where most templates see label pairs, else selected"


@dataclass(frozen=True)
class Piecewise(StepByStep):
    """Σ log p(y_t | y_{t−1}, x) with none of the above as one more label, right after every wrong label before."""

    name = "piecewise"
    line = "local steps with none-of-the-above instances (Sutton & McCallum 2005)"
    structures = ("chain",)
    by_parts = True
    defaults = Defaults(tol=0.0025)  # labels have settled before
    nota: str = choice("auto", "all", "sampled", "selected", "none", help=NOTA)
    rate: float = number(1.0, "of nota=sampled: wrong labels drawn for each token")
    threshold: float = number(0.2, "of nota=selected: the marginal probability from which a wrong label is a mistake")
    iterations: int = whole(5, "of nota=selected: iterations of the MEMM whose mistakes they are")
    decoding: str = choice("auto", "local", "global", "nota", "scaled", help=f"{DECODING}; auto goes by nota")

    def features(self) -> FeatureRequest:
        return ALL_PAIRS

    def steps(self) -> str:
        """All wrong sources make a global model, some of them a local one."""
        if self.decoding != "auto":
            return self.decoding
        return "global" if self.nota == "all" else "nota"

    def way(self, problem: ChainProblem, run: Run) -> Way:
        if self.nota == "auto":
            return replace(self, nota="all" if _sees_pairs(problem) else "selected").way(problem, run)

        def prepared(first: np.ndarray | None, run: Run) -> Prepared:
            guess = first
            if self.nota == "selected" and guess is None:
                guess = _partly_trained(self.iterations, problem, run)
            return problem.objective(partial(self.right_and_wrong_steps, guess=guess, seed=run.seed)), first

        return self.step_way(problem, prepared, run)

    def right_and_wrong_steps(self, p: ChainProblem, dtype: type, guess: np.ndarray | None, seed: int) -> Any:
        """The likelihood of right steps, and of none of the above behind wrong labels, ``guess`` saying which."""
        import numpy as np

        from loglin.objectives.local import LocalLikelihood, true_instances, wrong_instances, wrong_sources

        true, L = true_instances(p.design, p.gold, p.order, p.weight), p.index.n_labels
        if self.nota == "selected":
            assert guess is not None
            wrong = _likely_mistakes(p, true, guess if p.places is None else guess[p.places], self.threshold)
        elif self.nota == "none":
            wrong = np.zeros((len(true.tokens), L**p.order), bool)
        else:
            wrong = wrong_sources(true, L)
        if self.nota == "sampled":
            share = min(1.0, self.rate / max(wrong.shape[1] - 1, 1))
            wrong &= np.random.default_rng(seed).random(wrong.shape) < share
        instances = true.joined(wrong_instances(true, wrong, L))
        return LocalLikelihood(p.design, p.index, instances, True, dtype, p.threads)


def _sees_pairs(p: ChainProblem) -> bool:
    """Whether more templates cross an observation with label pairs than with single labels.

    A wrong label before a token makes none of the above right. Weights of single labels do not see that label: they
    would learn the same observation once with its label and many times with none.
    """
    templates = getattr(getattr(p.extractor, "templates", None), "templates", ())
    crossed = sum(t.kind == "bigram" and bool(t.items) for t in templates)
    return crossed > sum(t.kind == "unigram" for t in templates)


def _partly_trained(iterations: int, p: ChainProblem, run: Run) -> np.ndarray:
    """The weights of an MEMM after a few iterations."""
    from loglin.optimize.fit import fit_weights
    from loglin.optimize.run import Run

    few = Run(warm_start=False, dtype="float32", max_iter=max(iterations, 1), reporter=run.reporter.quietly())
    return fit_weights(p.objective(true_steps), p.penalties, few).weights


def _likely_mistakes(p: ChainProblem, true: Any, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Wrong labels (or pairs) before a token whose marginal probability exceeds the threshold."""
    import numpy as np

    from loglin.objectives.sentences import local_marginals

    L = p.index.n_labels
    marginals, chain = np.full((1, 1), np.nan), plain_likelihood(p)
    if p.order == 1:
        marginals = chain.step_marginals(weights)
    if not np.isfinite(marginals).all():  # second order, or out of the range of numbers
        marginals = local_marginals(chain, weights)
    likely = marginals > threshold
    likely[np.arange(len(likely)), p.gold.codes] = False
    before = np.zeros_like(likely)
    has = np.flatnonzero(true.before[:, -1] >= 0)
    before[has] = likely[has - 1]
    if p.order == 1:
        return before
    wrong = np.zeros((len(before), L, L), bool)
    token, label = np.nonzero(before)
    wrong[token, np.maximum(true.before[token, 0], 0), label] = True
    return wrong.reshape(len(before), -1)


# ---------------------------------------------------------------------- trees


@dataclass(frozen=True)
class PiecewiseTrees(RuleByRule):
    """Σ log p(rule | symbol, span) with none of the above as one more rule, right for mistaken edges of charts."""

    name = "piecewise"
    line = "the same as mecfg with none-of-the-above instances from mistaken edges: PT-CFG (Sutton & McCallum 2005, §5)"
    threshold: float = number(15.0, "edges within this of the best of their length are mistakes")
    iterations: int = whole(10, "iterations of mecfg whose mistakes they are")
    decoding: str = choice("local", "global", "nota", help="how rules score: normalized, as they are, or normalized "
                           "with none of the above")  # fmt: skip

    def way(self, problem: TreeProblem, run: Run) -> Way:
        from loglin.optimize.minimize import minimize

        self.require_spans(problem)

        def solve(first: np.ndarray | None, run: Run) -> Result:
            run = exact(run)
            if first is None:
                few = replace(run, max_iter=self.iterations or run.max_iter, reporter=run.reporter.quietly())
                make = problem.objective(right_rules)
                first = minimize(make, problem.penalties, few, None, problem.feature_name).weights
            make = problem.objective(partial(right_and_mistaken_rules, weights=first, threshold=self.threshold))
            made: Any = make(float)
            result = minimize(lambda dtype: made, problem.penalties, run, first, problem.feature_name)
            if problem.parts is None:
                right = right_expansions(problem).counts
                result.more = {"nota_instances": made.n_given - len(right), "distinct_instances": made.n_instances}
            return result

        base = problem.base("roots")
        return Way(solve, lambda weights: problem.model(weights, base, self.decoding))


def right_and_mistaken_rules(
    problem: TreeProblem, dtype: type, weights: np.ndarray, threshold: float
) -> ExpansionCriterion:
    """The likelihood of the rules of annotated trees, and of none of the above at edges that ``weights`` mistake."""
    from loglin.objectives.expansions import Expansions

    wrong = mistaken_edges(problem, weights.copy(), threshold)  # those that a worker was sent are read-only
    return local_rules(problem, Expansions.joined([right_expansions(problem), wrong]), nota=True)


def mistaken_edges(problem: TreeProblem, weights: np.ndarray, threshold: float) -> Expansions:
    """Edges outside the annotated trees that score within ``threshold`` of the best of their length."""
    from itertools import pairwise

    import numpy as np

    from loglin.models.parser import LOCAL
    from loglin.objectives.expansions import Expansions, nota_instances
    from loglin.structures.tree_scores import scores_with

    assert problem.span_design is not None
    forests, nodes, lengths = problem.forests, problem.uses.nodes, problem.uses.lengths
    scores = scores_with(problem.index, problem.base("roots"), problem.design, weights, LOCAL["local"])
    found = []
    ends = np.searchsorted(nodes.sentences, np.arange(len(lengths) + 1))
    for s, (b, e) in enumerate(pairwise(ends.tolist())):
        chart = forests.best_chart(s, scores).chart
        gold = nodes.symbols[b:e], nodes.begins[b:e], nodes.ends[b:e]
        edges = nota_instances(chart, int(lengths[s]), gold, threshold)
        weight = 1.0 if problem.weight is None else float(problem.weight[s])
        found.append(Expansions.of_edges(problem.span_design, s, *edges, weight))
    return Expansions.joined(found)
