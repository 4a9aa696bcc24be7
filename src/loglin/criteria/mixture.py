"""A mixture of a labelled and an unlabelled criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.contrastive import Contrastive
from loglin.criteria.settings import number
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class Mixture(Contrastive):
    """Σ log p(y | x) of labelled sentences + weight · contrastive estimation of the others."""

    name = "mixture"
    line = (
        "conditional likelihood of labelled sentences, contrastive estimation of the others (Smith & Eisner 2005, §6)"
    )
    needs_some_labels = True
    weight: float = number(1.0, "how much a sentence without labels counts")

    def sentence_weights(self, problem: ChainProblem) -> tuple[Any, Any]:
        from loglin.problems.hidden import labeled_sentences

        _, weight = super().sentence_weights(problem)
        assert problem.hidden is not None
        labeled = labeled_sentences(problem.hidden, problem.design.offsets)
        if not labeled.any():
            raise LoglinError("criterion mixture needs some labelled sentences; for none take criterion contrastive")
        weight[~labeled] *= self.weight
        return labeled, weight
