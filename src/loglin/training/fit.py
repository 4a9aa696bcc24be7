"""Training, the one path: a problem and a criterion in, a trained model out.

problem ──► criterion.way ──► solve, followed by the run's reporter ──► the best on held-out data ──► model, record
"""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

import numpy as np

from loglin.criteria.criterion import Criterion, Way
from loglin.errors import LoglinError
from loglin.optimize.minimize import require_finite
from loglin.optimize.record import INTERRUPTED, Result
from loglin.optimize.reporter import Judge
from loglin.optimize.run import Run
from loglin.problems.request import Annotation


class Problem(Protocol):
    """Data, numbered and checked: what a criterion is shown."""

    @property
    def structure(self) -> str: ...

    @property
    def annotation(self) -> Annotation: ...

    def require_labels(self, criterion: str) -> None:
        """Refuse data that are not annotated completely."""
        ...

    def transferred(self, old: Any, /) -> np.ndarray:
        """The weights of another model for the features of this problem."""
        ...

    def stored(self, dtype: str) -> type:
        """The precision of stored weights."""
        ...

    def about(self, model: Any, /) -> dict[str, Any]:
        """What a model's record says of the data."""
        ...


class HeldOut(Protocol):
    """Held-out data that decides when to stop."""

    def judge(self, way: Way) -> Judge: ...


def fit(problem: Any, criterion: Criterion, run: Run, start: Any = None, held_out: HeldOut | None = None) -> Any:
    """Train a model by a criterion; ``start`` is a model whose weights to begin with.

    After Ctrl-C KeyboardInterrupt is raised; whoever wants the model that was reached by then listens outside.
    """
    began = time.perf_counter()
    require(problem, criterion, start)
    require_checkpoint_of(problem, criterion, run, start, held_out)
    with run.reporter.listening():
        way = criterion.way(problem, run)
        if held_out is not None:
            run.reporter.judge = held_out.judge(way)
        first = criterion.initial(problem, run) if start is None else problem.transferred(start)
        run.reporter.searching = True
        result = way.solve(first, run)
        require_finite(result)
        learned = run.reporter.chosen(result)
        model = way.keep(learned)
        if isinstance(learned, np.ndarray):
            model.weights = model.weights.astype(problem.stored(run.dtype))
        model.record |= {"criterion": criterion.name, "settings": criterion.plain_settings()}
        model.record |= problem.about(model) | record_of(result) | result.more
        criterion.report(problem, model)
        model.record |= {"train_seconds": time.perf_counter() - began, "peak_memory_mb": peak_memory_mb()}
        return model


def require(problem: Problem, criterion: Criterion, start: Any) -> None:
    """Refuse what the criterion cannot learn from: one place for all of them."""
    if problem.structure not in criterion.structures:
        raise LoglinError(f"criterion {criterion.name} is not for this structure ({problem.structure}); take another")
    if criterion.counts and start is not None:
        raise LoglinError(
            f"{criterion.name} starts as its settings say, from no other model; leave out --continue and warm_start"
        )
    if getattr(problem, "parts", None) is not None:
        require_parts(problem, criterion)
    if criterion.needs == Annotation.CERTAIN:
        problem.require_labels(criterion.name)
    criterion.check_vectors(problem)


def require_parts(problem: Problem, criterion: Criterion) -> None:
    """Refuse a criterion that does not minimize a sum over parts of the data."""
    if criterion.by_parts:
        return
    from loglin.criteria.registry import criteria

    others = ", ".join(name for name, c in criteria(problem.structure).items() if c.by_parts)
    raise LoglinError(
        f"criterion {criterion.name} minimizes no sum over shards, but looks at all sentences at once or one after the "
        f"other; take {others}, or train without a work folder and workers"
    )


def require_checkpoint_of(problem: Any, criterion: Criterion, run: Run, start: Any, held_out: Any) -> None:
    """Refuse to go on from the state of another training, where the run has a checkpoint."""
    if run.reporter.checkpoint is not None:
        from loglin.training.identity import identity

        run.reporter.checkpoint.belongs(identity(problem, criterion, run, start, held_out))


def record_of(result: Result) -> dict[str, Any]:
    """What a model's record says of its training."""
    return {
        "objective": result.value,
        "iterations": len(result.iterations),
        "evaluations": result.evaluations,
        "stopped": result.stop.text,
        "stop": result.stop.kind,
        "converged": result.converged,
        "unbounded": result.unbounded,
        "certificate": None if result.certificate is None else result.certificate.as_dict(),
        "history": [i.as_dict() for i in result.iterations],
    }


def was_interrupted(record: dict) -> bool:
    """Whether the training that a record tells of was ended by a signal."""
    return record.get("stop") == INTERRUPTED


def peak_memory_mb() -> float | None:
    """The most memory that this process has used; None where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
