"""What a model on chains looks at, and how strongly its weights are held: checked before any data are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from loglin.corpus.labels import Gold, gold_of_sequences, plain_labels
from loglin.errors import LoglinError
from loglin.features.dictionary import given_dictionary
from loglin.optimize.run import check_number, check_whole

BALANCED = "balanced"


@dataclass(frozen=True)
class ChainOptions:
    """Penalties, order and features of a model on chains or of single decisions."""

    l1: float = 0.0
    l2: float = 1.0
    order: int = 1
    all_features: bool = False  # weights for all (attribute, label) pairs, not only those seen
    all_pairs: bool = False  # weights for all label pairs, not only those seen
    by_value: bool = False  # features are counted by the sum of their values, as CRFsuite does
    cutoff: float = 1  # features (attribute and label together) seen less often, or of a smaller sum, are left out
    variances: Mapping | None = None  # pattern of attribute names (or a column) → variance of its Gaussian prior
    vector_l2: float | None = None  # of the dimensions of vectors; None: l2
    dictionary: Any = 0  # what given_dictionary takes; kept as a count, or (label names, TagDictionary)
    label_weights: Mapping | str | None = None  # "balanced" weighs labels by how rare they are
    instance_weights: Any = field(default=None, repr=False)  # of sentences; checked_weights says what they may be

    def __post_init__(self) -> None:
        check_number("l1", self.l1)
        check_number("l2", self.l2)
        if self.vector_l2 is not None:
            check_number("vector_l2", self.vector_l2)
        if self.order not in (1, 2):
            raise LoglinError(f"order is {self.order!r}; a chain is of order 1 or 2")
        try:
            check_number("cutoff", self.cutoff) if self.by_value else check_whole("cutoff", self.cutoff, 1)
        except LoglinError as error:
            raise LoglinError(f"{error}, the fewest occurrences") from None
        for name, given in (("weights of labels", self.label_weights), ("variances", self.variances)):
            if given is self.label_weights and isinstance(given, str) and given == BALANCED:
                continue
            if given is not None and not isinstance(given, Mapping):
                more = ", or balanced" if given is self.label_weights else ""
                raise LoglinError(f"{name} are {given!r:.60}; give a dict of numbers{more}")
        for name, value in (self.variances or {}).items():
            if not isinstance(value, Real) or not float(value) > 0:
                raise LoglinError(f"the variance of {name!r} is {value!r}; give a number above 0")
        names, dictionary = given_dictionary(self.dictionary)
        object.__setattr__(self, "dictionary", dictionary if names is None else (names, dictionary))

    @property
    def dictionary_labels(self) -> list:
        """The labels of a given dictionary."""
        return [] if isinstance(self.dictionary, int) else list(self.dictionary[0])


def hidden_labels(
    sequences: Iterable[Sequence | None] | None, lengths: list[int], options: ChainOptions, nameless: int
) -> tuple[list, Gold]:
    """Labels and what is known of every token's label, where a whole sentence, or every one, may have none.

    Where neither text nor dictionary has any, there are as many as ``nameless`` says.
    """
    given = [None] * len(lengths) if sequences is None else list(sequences)
    if len(given) != len(lengths):
        raise LoglinError(f"there are {len(lengths)} sentences but {len(given)} label sequences; give as many")
    filled: list[Sequence] = [[None] * n if y is None else y for y, n in zip(given, lengths, strict=True)]
    if any(label is not None for y in filled for label in y):
        return with_dictionary_labels(*gold_of_sequences(filled, lengths), options)
    names = options.dictionary_labels or [f"L{i}" for i in range(nameless)]
    if not names:
        raise LoglinError(
            "there are no labels: give a dictionary, label some tokens, or say how many labels there are with the "
            "setting labels"
        )
    return names, gold_of_sequences(filled, lengths, names)[1]


def with_dictionary_labels(labels: list, gold: Gold, options: ChainOptions) -> tuple[list, Gold]:
    """Append the given dictionary's extra labels to the training labels."""
    if not options.dictionary_labels:
        return labels, gold
    together = list(dict.fromkeys(plain_labels([*labels, *options.dictionary_labels])))
    return together, gold.widened(len(together))
