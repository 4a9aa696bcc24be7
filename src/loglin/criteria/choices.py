"""Criteria of decisions that are no choice among one set of labels: label sets, and candidates of each example."""

from __future__ import annotations

import numpy as np

from loglin.corpus.labels import Choices, Gold, LabelSets
from loglin.criteria.chain import make_method
from loglin.errors import LoglinError
from loglin.objectives.candidates import CandidateLikelihood
from loglin.objectives.independent import LOSSES, IndependentLosses
from loglin.problems.problem import Method, Problem


def method_for(name: str, settings: dict, problem: Problem, start: np.ndarray | None) -> Method:
    """Prepare criterion ``name`` for what the problem's gold is."""
    p, sets = problem, problem.gold
    if isinstance(sets, Gold) and (name == "least-squares" or settings.get("loss") == "squared-hinge"):
        sets = _one_of_all(name, sets)
    if isinstance(sets, LabelSets):
        if name not in LOSSES:
            raise LoglinError(f"criterion {name} is for one label an example; for label sets take {', '.join(LOSSES)}")
        return Method(lambda dtype: IndependentLosses(name, p.design, sets, p.index, p.weight, dtype, p.threads), start)
    if isinstance(sets, Choices):
        if name != "likelihood":
            raise LoglinError(f"criterion {name} does not choose among candidates; take likelihood")
        return Method(lambda dtype: CandidateLikelihood(p.design, sets, p.index, p.weight, dtype), start)
    return make_method(name, settings, p, start)


def _one_of_all(name: str, gold: Gold) -> LabelSets:
    """Each class against all others: the class with the largest score is the answer."""
    if not gold.all_certain:
        raise LoglinError(f"criterion {name} needs one certain class for every example; take likelihood")
    return LabelSets(gold.allowed())
