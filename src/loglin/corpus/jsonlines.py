"""JSON lines: one object per line.

{"tokens": ["The", "dog"], "labels": ["D", "N"]}         words, tuples of columns, or attributes
{"label": "sport", "text": "…"}                          a document; or "features": {…} or […]
{"labels": ["sport", "money"], "text": "…"}              a document with a set of labels
{"label": "b", "candidates": {"a": […], "b": {…}}}       a choice among candidates, each with its own features
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loglin.corpus import sentences as objects
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.crfsuite import Line, line_blocks, text_lines
from loglin.corpus.formats import Format, LabelColumn, Layout
from loglin.corpus.limits import check_runs, limits
from loglin.corpus.tagged import LabeledText, holds_attributes
from loglin.errors import LoglinError


def read(
    path: str | os.PathLike, encoding: str = "utf-8", lines: Iterable[Line] | None = None
) -> Iterator[tuple[int, dict]]:
    """(line number, object) for every line that is not blank; of ``lines`` if these have been read."""
    for number, line in lines or text_lines(path, encoding, tokens=False):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=float)
        except ValueError as error:
            raise LoglinError(f"{path}, line {number}: not JSON ({reason(error)}); write one object per line") from None
        except RecursionError:
            raise LoglinError(f"{path}, line {number}: brackets are nested too deep; write flatter objects") from None
        if not isinstance(value, dict):
            raise LoglinError(f"{path}, line {number}: {line.strip()[:40]!r} is no object; write {{…}}")
        if len(line) > limits().token:
            check_runs(path, line.encode(), 0, number)
        if "\\u" in line:
            check_surrogates(value, f"{path}, line {number}")
        yield number, value


def reason(error: ValueError) -> str:
    """Why a text is no JSON; what is wrong with nothing but a number is its length."""
    return str(error) if isinstance(error, json.JSONDecodeError) else "a number has thousands of digits"


def check_surrogates(value: dict, place: str) -> None:
    """Escapes can write halves of characters, which no text can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise LoglinError(f"{place}: \\u{ord(half):04x} is half a character; write both halves or neither") from None


def sentences(
    path: str | os.PathLike, encoding: str = "utf-8", lines: Iterable[Line] | None = None
) -> Iterator[tuple[list | None, list]]:
    """(labels or None, tokens) of every sentence."""
    for number, value in read(path, encoding, lines):
        tokens, labels = value.get("tokens"), value.get("labels")
        if not isinstance(tokens, list):
            raise LoglinError(
                f'{path}, line {number}: there is no list "tokens", only {", ".join(value) or "nothing"}; give one'
            )
        if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
            raise LoglinError(f"{path}, line {number}: {len(tokens)} tokens need as many labels; give a list of them")
        for token in tokens:
            _check_finite(token, f"{path}, line {number}")
        for label in labels or ():
            _check_label(label, f"{path}, line {number}")
        yield labels, tokens


@dataclass(frozen=True)
class Candidates:
    """The choices that a line brings, each with attributes of its own."""

    attributes: dict[str, object]


def examples(
    path: str | os.PathLike, encoding: str = "utf-8", lines: Iterable[Line] | None = None
) -> Iterator[tuple[object, object]]:
    """(answer, text or attributes) of every line.

    The answer is a label, a list of labels or None; a string is a text, whose words are its attributes.
    """
    for number, value in read(path, encoding, lines):
        place = f"{path}, line {number}"
        answer = value["labels"] if "labels" in value else value.get("label")
        if "labels" in value and not isinstance(answer, list):
            raise LoglinError(f"{place}: the labels are {answer!r}; give a list of labels, empty if there is none")
        if "candidates" in value:
            candidates = value["candidates"]
            if not isinstance(candidates, dict) or not candidates:
                raise LoglinError(
                    f"{place}: the candidates are {candidates!r}; give an object from each to its features"
                )
            for features in candidates.values():
                _check_finite(features, place)
            yield answer, Candidates(candidates)
        elif "features" in value:
            _check_finite(value["features"], place)
            features = value["features"]
            yield answer, [features] if isinstance(features, str) else features
        elif isinstance(value.get("text"), str):
            yield answer, value["text"]
        elif "text" in value:
            raise LoglinError(f'{place}: "text" is {json.dumps(value["text"])[:40]}; give a string in quotes')
        else:
            raise LoglinError(
                f'{place}: there is neither "text" nor "features", only {", ".join(value) or "nothing"}; '
                "give one of them"
            )


def _check_label(label: object, place: str) -> None:
    """A label is a string or a number; null and lists of labels say that it is not certain."""
    if isinstance(label, str):
        return
    if isinstance(label, list):
        if all(isinstance(y, str) for y in label):
            return
    elif not isinstance(label, dict) and (not isinstance(label, float) or math.isfinite(label)):
        return
    raise LoglinError(f"{place}: the label {label!r} is no string, number or list of strings; correct it")


def _check_finite(features: object, place: str) -> None:
    if isinstance(features, dict):
        for name, value in features.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise LoglinError(f"{place}: the feature {name!r} is {value}; values must be finite numbers")


class JSONLines(Format):
    name = "jsonl"
    line = 'a line a sentence: {"tokens": [...], "labels": [...]}, tokens words, lists or attributes'
    endings = (".jsonl", ".json", ".ndjson")
    attributes = True
    as_json = True

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        return objects.labeled(path, sentences(path, encoding), columns, layout)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        found = [tokens for _, tokens in sentences(path, encoding) if tokens]
        if any(isinstance(token, dict) for tokens in found for token in tokens):
            raise holds_attributes(path)
        if not found:
            raise LoglinError(f"{path} holds no tokens; give at least one sentence")
        return from_sentences(found, path)

    def stretches(self, path: str, encoding: str) -> Iterator[objects.Batch]:
        for lines in line_blocks(path, encoding, b"\n", tokens=False):
            yield from objects.batches(path, sentences(path, encoding, lines))


FORMAT = JSONLines()
