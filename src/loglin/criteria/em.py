"""Expectation maximization: a hidden Markov model, or a grammar, of text whose labels or trees are hidden."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.generative import COLUMNS, chosen_columns
from loglin.criteria.hidden import ANNEALING, ANNEALING_RATE, HiddenLabels
from loglin.criteria.settings import choice, number
from loglin.criteria.trees import FromSentences

if TYPE_CHECKING:
    import numpy as np

    from loglin.generative.hmm import HMM
    from loglin.optimize.em import EMResult
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.lattices import LatticeText
    from loglin.problems.trees import TreeProblem
    from loglin.threads import Threads


@dataclass(frozen=True)
class ExpectationMaximization(HiddenLabels):
    """Σ log Σ_y q(x, y) of a hidden Markov model, by expected counts; see problems/hidden_chains.py."""

    name = "em"
    line = "likelihood of words under a hidden Markov model, by expectation maximization"
    optimizes = False
    counts = True
    smoothing: float = number(1.0, "λ added to expected counts")
    columns: Any = COLUMNS
    start: str = choice(
        "uniform", "per-tag", "random", help="emissions at first: alike for all words, for those of a label, or random"
    )

    def way(self, problem: ChainProblem, run: Run) -> Way:
        from loglin.optimize.fit import FAR_TOL
        from loglin.problems.hidden import corpus_of, lattice_text
        from loglin.problems.lattices import TokenTypes

        self.check_text(problem)
        p, corpus = problem, corpus_of(problem.design)

        def solve(first: np.ndarray | None, run: Run) -> Any:
            assert p.hidden is not None
            types = TokenTypes.of(corpus, *([] if p.held is None else [p.held]))  # words of held-out text are known
            text = lattice_text(types, corpus.offsets, p.dictionary, p.hidden, len(p.labels))
            far = replace(run, tol=run.tol * FAR_TOL)
            return self.maximize(text, p.labels, p.order, far, p.threads, p.weight).result()

        return Way(solve, problem.counted_model)

    def maximize(
        self,
        text: LatticeText,
        labels: list,
        order: int,
        run: Run,
        threads: Threads | None = None,
        weight: np.ndarray | None = None,  # (sentences,)
    ) -> EMResult[HMM]:
        """The HMM with the best likelihood that EM reaches from any start."""
        import numpy as np

        from loglin.optimize.em import best_climb
        from loglin.problems.hidden_chains import HiddenText

        hidden = HiddenText(text, labels, order, chosen_columns(self.columns), self.smoothing, weight, threads)
        rng = np.random.default_rng(run.seed)
        starts = (hidden.start("random" if n else self.start, rng) for n in range(self.starts))
        climbed = best_climb(hidden, starts, self.annealing, self.annealing_rate, run.max_iter, run.tol, run.reporter)
        if not hidden.alike.any() or self.start == "random":
            return climbed
        names = [str(labels[c]) for c in np.flatnonzero(hidden.alike)]
        listed = ", ".join(names[:3]) + ", …" * (len(names) > 3)
        more = f"emissions of labels with the same words as another ({listed}) started at random"
        return replace(climbed, stop=climbed.stop.also(more))


# ---------------------------------------------------------------------- trees


@dataclass(frozen=True)
class ExpectationMaximizationTrees(FromSentences):
    """Σ log Σ_T q(x, T) of a probabilistic grammar, by inside–outside; trees are brackets that their sentence keeps."""

    name = "em"
    line = "likelihood of words under a probabilistic grammar, by inside–outside (Baker 1979)"
    defaults = Defaults(max_iter=200)
    optimizes = False
    counts = True
    takes_template = False
    FAR: ClassVar[float] = (
        0.01  # EM ends with small steps far from where it goes: it is held to a part of the tolerance
    )
    smoothing: float = number(0.1, "λ added to expected counts")
    annealing: float = ANNEALING
    annealing_rate: float = ANNEALING_RATE

    def way(self, problem: TreeProblem, run: Run) -> Way:
        from loglin.problems.hidden_trees import inside_outside

        def solve(first: np.ndarray | None, run: Run) -> Any:
            result = inside_outside(
                problem.pcfg,
                problem.sentences,
                problem.brackets,
                starts=self.starts,
                random=self.symbols > 0,
                seed=run.seed,
                smoothing=self.smoothing,
                annealing=self.annealing,
                annealing_rate=self.annealing_rate,
                weight=problem.weight,
                threads=problem.threads,
                reporter=run.reporter,
                max_iter=run.max_iter,
                tol=self.FAR * run.tol,
            ).result()
            result.more["left_out"] = problem.left_out
            return result

        return Way(solve, problem.counted_model)
