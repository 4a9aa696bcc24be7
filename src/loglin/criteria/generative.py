"""Settings of counted hidden Markov models, which stand alone or as the base of other models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Criterion
from loglin.criteria.settings import anything, choice, number
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.columns import Corpus
    from loglin.generative.hmm import HMM
    from loglin.problems.chains import ChainProblem

COLUMNS = anything(None, "column numbers", "the columns that are emitted, such as 0,1; none: all")


@dataclass(frozen=True)
class Counted(Criterion):
    """A criterion with a hidden Markov model that is counted on the training data."""

    takes_vectors = False
    columns: Any = COLUMNS
    smoothing: float = number(1.0, "λ added to the counts of emissions")
    prior: str = choice(
        "uniform", "unigram", help="what smoothed emissions tend to: all values alike, or as they occur"
    )
    transition_smoothing: float = number(0.0, "λ added to the counts of label n-grams")

    def unknown_values(self, problem: ChainProblem) -> str:
        """How values that training has not seen are treated: as the templates do."""
        return "first" if problem.extractor.templates.oov == "first" else "unseen"

    def count(self, problem: ChainProblem, order: int) -> HMM:
        """The HMM of the training data."""
        from loglin.generative.hmm import HMM

        return HMM.fit(
            problem_corpus(problem),
            problem.gold.codes,
            problem.labels,
            order=order,
            columns=chosen_columns(self.columns),
            smoothing=self.smoothing,
            prior=self.prior,
            transition_smoothing=self.transition_smoothing,
            oov=self.unknown_values(problem),
        )


def problem_corpus(problem: ChainProblem) -> Corpus:
    """The columns of words that a generative model emits."""
    from loglin.features.extract import TemplateExtractor

    corpus = problem.design.corpus
    if corpus is None or not isinstance(problem.extractor, TemplateExtractor):
        raise LoglinError(
            "a generative model emits columns of words, but the data are ready-made attributes; give words and a "
            "template"
        )
    return corpus


def chosen_columns(columns: Any) -> list[int] | None:
    """Column numbers: None for all, a list, or text such as 0,1."""
    if columns is None or columns == "":
        return None
    try:
        return [int(c) for c in (columns.split(",") if isinstance(columns, str) else columns)]
    except (TypeError, ValueError):
        raise LoglinError(f"columns is {columns!r}; write column numbers such as 0,1") from None
