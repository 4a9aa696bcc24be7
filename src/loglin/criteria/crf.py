"""Conditional random fields: the likelihood of whole label sequences given their sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Way
from loglin.criteria.minimizing import Initialized, likelihood, minimizing
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class CRF(Initialized):
    """Σ log p(y | x), the gold sequence against all sequences; partial labels sum over what they allow."""

    name = "crf"
    line = "conditional likelihood of whole label sequences (Lafferty, McCallum & Pereira 2001)"
    structures = ("chain",)
    needs = Annotation.PARTIAL

    def way(self, problem: ChainProblem, run: Run) -> Way:
        return minimizing(problem, partial(likelihood, problem))
