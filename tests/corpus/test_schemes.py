"""Chunk schemes: reading, rewriting, recognizing, and which label may follow which."""

import itertools
import random

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from loglin.corpus.schemes import convert, detect, entities, legal
from loglin.errors import LoglinError

ANN_LEE_BO = {
    "iob1": ["I-P", "I-P", "B-P", "O", "I-Q", "I-P"],
    "iob2": ["B-P", "I-P", "B-P", "O", "B-Q", "B-P"],
    "iobes": ["B-P", "E-P", "S-P", "O", "S-Q", "S-P"],
    "bilou": ["B-P", "L-P", "U-P", "O", "U-Q", "U-P"],
}
PHRASES = [("P", 0, 2), ("P", 2, 3), ("Q", 4, 5), ("P", 5, 6)]


@pytest.mark.parametrize("source", ANN_LEE_BO)
@pytest.mark.parametrize("target", ANN_LEE_BO)
def test_every_scheme_converts_to_every_other(source: str, target: str) -> None:
    assert convert(ANN_LEE_BO[source], source, target) == ANN_LEE_BO[target]


@pytest.mark.parametrize("scheme", ANN_LEE_BO)
def test_every_scheme_is_read_alike(scheme: str) -> None:
    assert entities(ANN_LEE_BO[scheme]) == PHRASES


def test_aliases_bare_letters_and_hyphenated_types() -> None:
    assert convert(["B", "I", "O", "B"], "bio", "bioes") == ["B", "E", "O", "S"]
    assert convert(["B-NP-SBJ", "I-NP-SBJ"], "BIO", "iobes") == ["B-NP-SBJ", "E-NP-SBJ"]
    assert entities(["B-NP-SBJ", "I-NP-SBJ"]) == [("NP-SBJ", 0, 2)]
    assert convert([], "iob1", "iobes") == []


def test_malformed_sequences_are_read_as_conlleval_reads_them() -> None:
    assert entities(["O", "I-A", "I-B", "E-B", "I-B", "B-A"]) == [
        ("A", 1, 2),
        ("B", 2, 4),
        ("B", 4, 5),
        ("A", 5, 6),
    ]
    rng = random.Random(3)
    names = ["O"] + [f"{letter}-{kind}" for letter in "BIES" for kind in "XY"]
    for _ in range(2000):
        labels = rng.choices(names, k=rng.randint(0, 9))
        assert entities(labels) == [(kind, start, last + 1) for kind, start, last in get_entities(labels)]


@pytest.mark.parametrize(
    ("names", "scheme"),
    [
        (["O", "B-A", "I-A", "B-B"], "iob2"),
        (["O", "B-A", "I-A", "I-B"], "iob1"),  # I-B without B-B: no phrase of IOB2 could begin
        (["O", "I-A", "B-A", "E-A"], "iobes"),
        (["O", "S-A"], "iobes"),
        (["O", "B-A", "I-A", "L-A", "U-A"], "iobes"),
        (["B", "I"], "iob2"),
        (["O"], "iob2"),
        (["NN", "VB", "IN"], None),
        (["O", "B-A", "NN"], None),
        (["S-1", "S-2"], None),
        ([], None),
    ],
)
def test_detect(names: list[str], scheme: str | None) -> None:
    assert detect(names) == scheme


@pytest.mark.parametrize("scheme", ANN_LEE_BO)
def test_legal_sequences_are_exactly_those_that_the_scheme_writes(scheme: str) -> None:
    """A sequence is well formed if and only if reading it and writing it again changes nothing."""
    letters = {"iob1": "BI", "iob2": "BI", "iobes": "BIES", "bilou": "BILU"}[scheme]
    names = ["O"] + [f"{letter}-{kind}" for letter in letters for kind in "XY"]
    transitions, first, last = legal(names, scheme)
    assert transitions.dtype == first.dtype == last.dtype == np.bool_
    for length in (1, 2, 3):
        for path in itertools.product(range(len(names)), repeat=length):
            labels = [names[i] for i in path]
            permitted = (
                first[path[0]] and last[path[-1]] and all(transitions[i, j] for i, j in itertools.pairwise(path))
            )
            assert permitted == (convert(labels, scheme, scheme) == labels), labels


def test_iobes_and_bilou_names_are_read_under_either_scheme() -> None:
    es = legal(["O", "B-X", "I-X", "E-X", "S-X"], "iobes")
    lu = legal(["O", "B-X", "I-X", "L-X", "U-X"], "iobes")
    for left, right in zip(es, lu, strict=True):
        np.testing.assert_array_equal(left, right)


def test_errors_name_the_label_and_the_scheme() -> None:
    with pytest.raises(LoglinError, match="'E-X' does not fit scheme 'iob2'"):
        legal(["O", "E-X"], "bio")
    with pytest.raises(LoglinError, match="'NN' does not fit"):
        legal(["NN"], "iobes")
    with pytest.raises(LoglinError, match="'S-X' does not fit scheme 'iob1'"):
        convert(["S-X"], "iob1", "iob2")
    with pytest.raises(LoglinError, match=r"'iob9'.*iob1"):
        convert(["O"], "iob9", "iob2")
    with pytest.raises(LoglinError, match="'NN' belongs to no chunk scheme"):
        entities(["O", "NN"])
