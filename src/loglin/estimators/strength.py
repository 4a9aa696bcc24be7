"""l2 = "auto" of a tagger: which sentences choose, as its data come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import PartialColumn
from loglin.corpus.vocabulary import Vocabulary
from loglin.criteria.criterion import Criterion
from loglin.errors import LoglinError
from loglin.optimize.run import Run
from loglin.problems.penalties import checked_weights
from loglin.problems.request import Annotation
from loglin.training.strength import AUTO, Strength, choose, parts

if TYPE_CHECKING:
    from loglin.estimators.tagger import Tagger


def first_l2(chosen: Criterion, given: float | str | None) -> float:
    """The l2 that is asked for, or that a choice on held-out sentences begins with; refuses what is neither."""
    asked = chosen.defaults.l2 if given is None else given
    if not isinstance(asked, str):
        return asked
    if asked != AUTO:
        raise LoglinError(f"l2 is {asked!r}; give a number of at least 0, or {AUTO}")
    if chosen.needs == Annotation.HIDDEN:
        raise LoglinError(
            f"l2 is auto, which labelled sentences choose, but criterion {chosen.name} learns from text without "
            "labels; give a number, or --grid l2=… and held-out text"
        )
    return chosen.defaults.usual_l2


def chosen_strength(
    tagger: Tagger,
    chosen: Criterion,
    run: Run,
    X: Corpus | list,
    y: Any,
    sample_weight: Sequence[float] | None,
    vectors: np.ndarray | None = None,
) -> Strength | None:
    """The l2 that held-out sentences choose; None where a number was asked for, or none matters.

    ``vectors`` are those of all tokens, (tokens, dimensions).
    """
    if (chosen.defaults.l2 if tagger.l2 is None else tagger.l2) != AUTO or not chosen.optimizes or y is None:
        return None
    lengths = (np.diff(X.offsets) if isinstance(X, Corpus) else np.array([len(s) for s in X])).tolist()
    known, y = isinstance(y, Column), [list(labels) for labels in sequences_of(y, lengths)]
    doubtful = (set, frozenset, list, tuple, type(None))
    certain = [known or not any(isinstance(label, doubtful) for label in s) for s in y]
    if len(certain) != len(lengths) or (chosen.needs == Annotation.CERTAIN and not all(certain)):
        return None  # which the problem refuses
    some, held = parts(lengths, certain, tagger.seed)
    if not len(held):
        return Strength(chosen.defaults.usual_l2)
    weight = None if sample_weight is None else checked_weights(sample_weight, len(lengths))[some]
    ours, theirs = (_selected_vectors(vectors, lengths, which) for which in (some, held))
    problem = tagger.problem(selected(X, some), [y[s] for s in some], weight, ours)
    held_out = tagger.held_out(problem, selected(X, held), [y[s] for s in held], theirs)
    return choose(problem, held_out, chosen, run, len(lengths))


def sequences_of(y: Any, lengths: list[int]) -> Any:
    """Labels as a list of sequences, whatever they are given as."""
    if not isinstance(y, Column | PartialColumn):
        return y
    names = y.strings() if isinstance(y, Column) else y.labels()
    cuts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    return [names[b:e] for b, e in itertools.pairwise(cuts)]


def _selected_vectors(vectors: np.ndarray | None, lengths: list[int], which: np.ndarray) -> list | None:
    """The vectors of some of the sentences."""
    if vectors is None:
        return None
    ends = np.cumsum(lengths)
    return [vectors[end - length : end] for end, length in zip(ends[which], np.asarray(lengths)[which], strict=True)]


def selected(X: Corpus | list, which: np.ndarray) -> Corpus | list:
    """Some of the sentences; of a corpus, with vocabularies of their own, so that no other word is looked at."""
    if not isinstance(X, Corpus):
        return [X[s] for s in which]
    chosen = X.select(which)
    columns = []
    for column in chosen.columns:
        used, codes = np.unique(column.codes, return_inverse=True)
        strings = column.vocabulary.strings
        columns.append(Column(codes.astype(np.int32), Vocabulary.of(strings[code] for code in used.tolist())))
    return Corpus(columns, chosen.offsets, chosen.source)
