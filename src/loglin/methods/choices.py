"""Criteria of decisions that are no choice among one set of labels: label sets, and candidates of each example."""

from __future__ import annotations

import numpy as np

from loglin.corpus.labels import Choices, LabelSets
from loglin.criteria.candidates import CandidateLikelihood
from loglin.criteria.independent import LOSSES, IndependentLosses
from loglin.errors import LoglinError
from loglin.methods.chain import make_method
from loglin.methods.problem import Method, Problem


def method_for(name: str, settings: dict, problem: Problem, start: np.ndarray | None) -> Method:
    """Prepare criterion ``name`` for what the problem's gold is."""
    p = problem
    if isinstance(p.gold, LabelSets):
        if name not in LOSSES:
            raise LoglinError(f"criterion {name} is for one label an example; for label sets take {', '.join(LOSSES)}")
        return Method(
            lambda dtype: IndependentLosses(name, p.design, p.gold, p.index, p.weight, dtype, p.threads), start
        )
    if isinstance(p.gold, Choices):
        if name != "likelihood":
            raise LoglinError(f"criterion {name} does not choose among candidates; take likelihood")
        return Method(lambda dtype: CandidateLikelihood(p.design, p.gold, p.index, p.weight, dtype), start)
    if name == "least-squares":
        raise LoglinError("criterion least-squares is for label sets; give them with multi_label, or take likelihood")
    return make_method(name, settings, p, start)
