"""N-grams that are counted, with interpolated Kneser–Ney smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Criterion, Way
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.histories import HistoryProblem


@dataclass(frozen=True)
class KneserNey(Criterion):
    """Counts of n-grams less one discount, what is freed going to shorter n-grams."""

    name = "kneser-ney"
    line = "counted n-grams with interpolated Kneser–Ney smoothing (Kneser & Ney 1995)"
    structures = ("history",)
    optimizes = False
    counts = True
    modified: ClassVar[bool] = False

    def way(self, problem: HistoryProblem, run: Run) -> Way:
        import numpy as np

        from loglin.features.histories import order_of
        from loglin.generative.ngram import NGramModel
        from loglin.models.language import PredictorModel
        from loglin.optimize.record import COUNTED, Result, Stop

        other = next((kind for kind in problem.options.kinds if not order_of(kind)), None)
        if other:
            raise LoglinError(f"{self.name} counts n-grams and has no {other}; use criterion likelihood")

        def solve(first: np.ndarray | None, run: Run) -> Any:
            counted = NGramModel.count(problem.running, problem.words, problem.options.order, self.modified)
            stop = Stop(COUNTED, "n-grams are counted, not optimized")
            return Result(np.empty(0), 0.0, stop, True, counted=counted)

        return Way(solve, PredictorModel)

    def report(self, problem: HistoryProblem, model: Any) -> None:
        del model.record["objective"]  # smoothed counts are the optimum of none


@dataclass(frozen=True)
class ModifiedKneserNey(KneserNey):
    """Counts of n-grams less a discount of their own for 1, 2, and 3 or more occurrences."""

    name = "modified-kneser-ney"
    line = "the same with three discounts for each order (Chen & Goodman 1998)"
    structures = ("history",)
    modified = True
