"""Examples with candidates of their own: f(x, y) of each makes a design whose sentences are examples.

examples ──► candidates of each ──► f(x, y) ──► attributes, one token a candidate
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglin.corpus.labels import Choices, plain_labels
from loglin.errors import LoglinError
from loglin.estimators.given import candidates_of, examples_of, listed


@dataclass
class CandidateLists:
    candidates: list[list]  # of every example
    attributes: list[list]  # f(x, y) of each
    classes: list  # that all examples choose from; empty where each brings its own
    choices: Choices = field(default_factory=lambda: Choices(np.empty(0, bool), True))  # which are right


def of_training(features: Callable, X: Any, y: Sequence, candidates: Sequence[Iterable] | None) -> CandidateLists:
    """Candidates of labelled examples: the given ones, else all classes; y may hold a set of right ones."""
    X, y = examples_of(X), listed(y, "y", "give a list with the answer of each example")
    if len(X) != len(y):
        raise LoglinError(f"there are {len(X)} examples but {len(y)} answers; give one for each")
    for i, answer in enumerate(y):
        if not isinstance(answer, Hashable | set):
            raise LoglinError(f"the answer of example {i} is {answer!r:.60}; give a candidate, or a set of right ones")
    right = [set(answer) if isinstance(answer, set | frozenset) else {answer} for answer in y]
    classes = _classes([c for answers in right for c in answers]) if candidates is None else []
    if candidates is None and len(classes) < 2:
        raise LoglinError(f"there is only one class, {classes}; give examples of at least two, or candidates")
    lists = _lists(features, X, candidates, classes)
    chosen = []
    for i, (options, answers) in enumerate(zip(lists.candidates, right, strict=True)):
        is_right = [option in answers for option in options]
        if not any(is_right):
            raise LoglinError(f"example {i}: its answer {y[i]!r} is not among its candidates; add it or leave it out")
        chosen += is_right
    lists.choices = Choices(np.array(chosen), all(len(answers) == 1 for answers in right))
    return lists


def _classes(answers: list) -> list:
    """The classes that all examples choose from, in order."""
    odd = next((c for c in answers if not isinstance(c, str | int | float | np.generic)), None)
    if odd is not None:
        raise LoglinError(f"the class {odd!r} is neither a string nor a number; name classes by one of them")
    return sorted(set(plain_labels(answers)))


def of_new_examples(features: Callable, X: Any, candidates: Sequence[Iterable] | None, classes: list) -> CandidateLists:
    if candidates is None and not classes:
        raise LoglinError("this model chooses among candidates that every example brings; give candidates")
    return _lists(features, examples_of(X), candidates, classes)


def _lists(features: Callable, X: list, candidates: Sequence[Iterable] | None, classes: list) -> CandidateLists:
    if candidates is not None and len(candidates) != len(X):
        raise LoglinError(f"there are {len(X)} examples but {len(candidates)} candidate sets; give one per example")
    options = [classes] * len(X) if candidates is None else [candidates_of(c, i) for i, c in enumerate(candidates)]
    for i, given in enumerate(options):
        if not given:
            raise LoglinError(f"example {i} has no candidates; give it at least one")
    return CandidateLists(
        options, [[features(x, c) for c in given] for x, given in zip(X, options, strict=True)], classes
    )
