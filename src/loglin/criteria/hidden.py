"""What criteria share whose labels or trees are hidden: several starts, and annealing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Criterion, Defaults
from loglin.criteria.settings import anything, number, whole
from loglin.errors import LoglinError
from loglin.problems.request import ALL_NGRAMS, Annotation, FeatureRequest

if TYPE_CHECKING:
    from loglin.models.chain import Model
    from loglin.neighborhoods.named import Neighborhood
    from loglin.problems.chains import ChainProblem

STARTS = whole(1, "how many starts to try; the best is kept")
ANNEALING = number(1.0, "β of the first round, above 0; 1: no annealing")
ANNEALING_RATE = number(1.5, "by which β grows from round to round, above 1")


def check_starts(criterion: Any) -> None:
    """Refuse numbers of starts and annealing that make no sense."""
    place = f"{criterion.name}'s setting"
    if criterion.starts < 1:
        raise LoglinError(f"{place} starts is {criterion.starts}; give a whole number of at least 1")
    if not 0 < getattr(criterion, "annealing", 1.0) <= 1:
        raise LoglinError(f"{place} annealing is {criterion.annealing}; give a number above 0, at most 1 (none)")
    if getattr(criterion, "annealing_rate", 2.0) <= 1:
        raise LoglinError(f"{place} annealing_rate is {criterion.annealing_rate}; give a number above 1")


@dataclass(frozen=True)
class WithNeighborhood(Criterion):
    """A criterion that compares a sentence with its neighbors."""

    neighborhood: Any = anything(
        None, "a name, a transducer, its file, or a function", "what a sentence is compared with; none: trans1"
    )

    def check(self) -> None:
        """Look up a neighborhood that users name."""
        from loglin.neighborhoods.named import neighborhood

        super().check()
        if self.neighborhood is not None:
            object.__setattr__(self, "neighborhood", neighborhood(self.neighborhood))

    @property
    def around(self) -> Neighborhood:
        """What a sentence is compared with."""
        from loglin.neighborhoods.named import neighborhood

        return self.neighborhood or neighborhood("trans1")


@dataclass(frozen=True)
class HiddenLabels(Criterion):
    """A criterion that learns taggers from text whose labels are hidden, or known in part."""

    structures = ("chain",)
    needs = Annotation.HIDDEN
    defaults = Defaults(order=2)
    concave = False
    takes_vectors = False
    needs_some_labels: ClassVar[bool] = False
    labels: int = whole(0, "how many labels there are, where neither text nor dictionary has any")
    starts: int = STARTS
    annealing: float = ANNEALING
    annealing_rate: float = ANNEALING_RATE

    def check(self) -> None:
        check_starts(self)

    def features(self) -> FeatureRequest:
        return ALL_NGRAMS

    def default_template(self, order: int) -> str:
        """The name of the template where nothing is said."""
        return "trigram" if order == 2 else "bigram"

    @property
    def around(self) -> Neighborhood | None:
        """What a sentence is compared with; None: nothing."""
        return None

    def check_text(self, problem: ChainProblem) -> None:
        """Refuse held-out text that the trained model could not be judged by, before it is trained."""
        from loglin.problems.hidden import check_held, corpus_of

        if problem.held is not None:
            check_held(problem.held, corpus_of(problem.design), problem.dictionary)

    def report(self, problem: ChainProblem, model: Model) -> None:
        """Record the neighborhood, doubts about the dictionary, and the criterion on held-out text."""
        import math

        from loglin.features.coverage import Coverage
        from loglin.problems.hidden import unlabeled_value
        from loglin.structures.automaton import Divergence

        record, corpus, held = model.record, problem.design.corpus, problem.held
        if self.around is not None:
            record["neighborhood"] = self.around.name
        if model.dictionary is not None and corpus is not None:
            record["warnings"] = Coverage.of(model.dictionary, model.labels, corpus.columns[0]).warnings()
        if held is not None:
            try:
                record["held_criterion"] = unlabeled_value(model, held, self.around, problem.threads.n)
            except Divergence as error:  # new words may bring the sum over all sentences beyond its limit
                record["held_criterion"] = -math.inf
                record.setdefault("warnings", []).append(f"no criterion on {held.source}: {error}")


@dataclass(frozen=True)
class OnLattices(HiddenLabels):
    """A criterion on lattices: log-linear weights from hidden labels, by starts and rounds of annealing."""

    MEMORY: ClassVar[int] = 10  # steps that L-BFGS remembers
    ROUGH: ClassVar[float] = 10.0  # rounds before the last end with a tolerance so many times larger
    deviation: float = number(0.3, "standard deviation of random weights to start from")

    def sentence_weights(self, problem: ChainProblem) -> tuple[Any, Any]:
        """Which sentences are compared with themselves alone, (sentences,) bool, and how much each counts."""
        import numpy as np

        n = problem.design.n_sentences
        return np.zeros(n, bool), np.ones(n) if problem.weight is None else problem.weight.copy()

    def objective(self, problem: ChainProblem) -> Any:
        """The criterion on the problem's text."""
        from loglin.objectives.lattice import LatticeCriterion
        from loglin.problems.hidden import corpus_of, lattice_text
        from loglin.problems.lattices import TokenTypes, features_and_contrasts

        p, corpus = problem, corpus_of(problem.design)
        text = lattice_text(TokenTypes.of(corpus), corpus.offsets, p.dictionary, p.hidden, p.index.n_labels)
        assert self.around is not None
        about = (self.around, *self.sentence_weights(p), p.labels)
        features, contrasts = features_and_contrasts(text, p.extractor, p.index, p.order, *about)
        return LatticeCriterion(features, contrasts, p.threads)

    def zero(self, objective: Any) -> Any:
        """Weights that say nothing."""
        import numpy as np

        return np.zeros(objective.n_features)

    def way(self, problem: ChainProblem, run: Any) -> Any:
        from loglin.criteria.criterion import Way

        self.check_text(problem)
        return Way(
            lambda first, run: self._solve(problem, first, run),
            problem.model,
            objective=lambda dtype: self.objective(problem),
        )

    def _solve(self, problem: ChainProblem, first: Any, run: Any) -> Any:
        """Weights from one start or the best of several; the first is at zero unless that is a saddle."""
        import numpy as np

        from loglin.optimize.starts import best_of_starts, report_divergence

        objective, rng = self.objective(problem), np.random.default_rng(run.seed)
        zero = self.zero(objective)
        noise = (self.deviation * rng.standard_normal(len(zero)) for _ in range(self.starts))
        sees_labels = problem.hidden is not None and bool(problem.hidden.annotated.any())
        blind = problem.dictionary is None and not sees_labels  # then all weights zero are a saddle
        starts = (
            first if first is not None and n == 0 else zero + (drawn if n or blind else 0.0)
            for n, drawn in enumerate(noise)
        )
        best = best_of_starts(starts, lambda w: self.rounds(objective, w, problem.penalties, run), run.reporter)
        report_divergence(best, problem.penalties.free, problem.design.n_sentences)
        return best

    def rounds(self, objective: Any, weights: Any, penalties: Any, run: Any) -> Any:
        """The result of annealing from the first β up to 1, each round from the weights of the one before."""
        from dataclasses import replace

        from loglin.optimize.optimizers import optimizer

        beta, reporter, first, evaluations = self.annealing, run.reporter, len(run.reporter.iterations), 0
        by = optimizer(run.optimizer)
        plain = {"warm_start": False, "scaled": False, "dtype": "float64", "memory": self.MEMORY} if by.is_plain else {}
        while True:
            objective.beta, last = beta, beta == 1.0
            round_ = replace(run, tol=run.tol * (1.0 if last else self.ROUGH), **plain)
            result = by.minimize(lambda dtype: objective, penalties, round_, weights, "feature {}".format)
            weights, evaluations = result.weights, evaluations + result.evaluations
            result.iterations, result.evaluations = reporter.since(first), evaluations
            if last:
                return result
            if reporter.asked:
                objective.beta = 1.0  # so that starts are compared by the same objective
                result.value = objective(weights)[0] + penalties.value(weights)
                return result
            beta = min(1.0, beta * self.annealing_rate)
