"""Examples in files, for loglin classify-train and classify.

{"label": "sport", "text": "They won"}                       one class
{"labels": ["sport", "money"], "text": "…"}                  a set of labels, which may be empty
{"label": "b", "candidates": {"a": […], "b": {…}}}           a choice among candidates with attributes of their own
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import click

from loglin.errors import LoglinError

EXAMPLES_AT_ONCE = 1000
NO_LABEL = "leave it out or give it one"
JSON, SVMLIGHT, TABLE = "jsonl", "svmlight", "table"
ENDINGS = {  # of names of files
    JSON: (".jsonl", ".json", ".ndjson"),
    SVMLIGHT: (".svm", ".svmlight", ".libsvm"),
    TABLE: (".csv", ".tsv", ".parquet", ".feather", ".arrow"),
}

example_format = click.option(
    "--format",
    "example_format",
    type=click.Choice(["auto", *ENDINGS]),
    default="auto",
    help="Kind of file; auto goes by the name (.jsonl; .svm; .csv, .tsv, .parquet, .feather and .arrow are tables), "
    "else by the first character.",
)


@dataclass(frozen=True)
class Example:
    number: int  # in its file, from 1
    answer: Any  # a label, a list of labels, or None
    features: dict[str, Any]  # attribute → value; of candidates, each → its attributes
    has_candidates: bool  # the answer is one of its own candidates
    is_text: bool = False  # the features are the words of a text

    @property
    def is_set(self) -> bool:
        """Whether the answer is a set of labels."""
        return not self.has_candidates and isinstance(self.answer, list)


def kind_of(path: str, given: str, trained: object = None) -> str:
    """The format of a file: as given, by its name, by its first character; of standard input, the model's."""
    if given != "auto":
        return given
    name = path.removesuffix(".gz")
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    if not Path(path).is_file():  # standard input or a pipe, which can be read only once
        return SVMLIGHT if trained == SVMLIGHT else JSON
    from loglin.corpus.files import open_binary

    with open_binary(path) as stream:
        try:
            start = stream.read(4096)
        except (OSError, EOFError, zlib.error):
            return JSON  # whose reader will say what is wrong
    return JSON if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"") else SVMLIGHT


def read_examples(path: str, kind: str, encoding: str) -> Iterator[list[Example]]:
    """All examples of a file, many at a time and as they come."""
    from loglin.corpus import jsonlines, svmlight
    from loglin.corpus.crfsuite import line_blocks
    from loglin.corpus.files import batches

    read = jsonlines.examples if kind == JSON else svmlight.read
    numbers, kinds = count(1), set[tuple[bool, bool]]()
    if kind == TABLE:
        from loglin.corpus.table import examples

        yield from batches(
            _checked(path, zip(examples(path, encoding), numbers, strict=False), kinds), EXAMPLES_AT_ONCE
        )
        return
    for lines in line_blocks(path, encoding, b"\n", tokens=False):
        pairs: Iterable[tuple] = read(path, encoding, lines)
        yield from batches(_checked(path, zip(pairs, numbers, strict=False), kinds), EXAMPLES_AT_ONCE)


def _checked(path: str, pairs: Iterable[tuple[tuple, int]], kinds: set[tuple[bool, bool]]) -> Iterator[Example]:
    """Examples, which must be of one kind, that of those before them; one without an answer is of any."""
    from loglin.corpus import jsonlines
    from loglin.corpus.plaintext import distinct_words
    from loglin.estimators.judging import summed_attributes

    for (answer, features), number in pairs:
        place = f"{path}: example {number}"
        if isinstance(features, jsonlines.Candidates):
            content: dict = {c: summed_attributes(f, place) for c, f in features.attributes.items()}
        else:
            content = summed_attributes(distinct_words(features) if isinstance(features, str) else features, place)
        example = Example(
            number, answer, content, isinstance(features, jsonlines.Candidates), isinstance(features, str)
        )
        if example.has_candidates or answer is not None:
            own = example.has_candidates, example.is_set
            kinds.add(own)
            if len(kinds) > 1:
                raise LoglinError(
                    f'{path}: example {number} differs in kind from those before it; give all a "label", all a list '
                    '"labels", or all "candidates"'
                )
        yield example


def labeled(path: str, kind: str, encoding: str) -> list[Example]:
    """All examples of a file in which every example has an answer."""
    found = [example for batch in read_examples(path, kind, encoding) for example in batch]
    for example in found:
        if example.answer is None:
            raise LoglinError(f'{path}: example {example.number} has no "label"; {NO_LABEL}')
    if not found:
        raise LoglinError(f'{path} holds no examples; write one a line, such as {{"label": "a", "text": "…"}}')
    return found


def name_of(example: Example, path: str, remedy: str = NO_LABEL) -> str:
    """An example's label as text; JSON may have numbers there."""
    if example.answer is None:
        raise LoglinError(f'{path}: example {example.number} has no "label"; {remedy}')
    if isinstance(example.answer, dict | list):
        raise LoglinError(
            f"{path}: the label of example {example.number} is {example.answer!r}; give a string or a number"
        )
    return as_text(example.answer)


def names_of(example: Example, path: str, remedy: str = NO_LABEL) -> set[str]:
    """An example's labels as text."""
    if example.answer is None:
        raise LoglinError(f'{path}: example {example.number} has no "labels"; {remedy}')
    if not isinstance(example.answer, list):
        raise LoglinError(
            f"{path}: example {example.number} has one label, {example.answer!r}, but sets are needed; "
            'write a list "labels"'
        )
    if any(isinstance(label, dict | list) or label is None for label in example.answer):
        raise LoglinError(
            f"{path}: the labels of example {example.number} are {example.answer!r}; give strings or numbers"
        )
    return {as_text(label) for label in example.answer}


def refuse_candidates(examples: Iterable[Example], path: str) -> None:
    for example in examples:
        if example.has_candidates:
            raise LoglinError(
                f'{path}: example {example.number} has "candidates", but this model has classes; '
                'give "text" or "features"'
            )


def as_text(label: Any) -> str:
    return label if isinstance(label, str) else json.dumps(label)
