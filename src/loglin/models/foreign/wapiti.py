"""Wapiti's models, which are text: patterns, labels, the strings of observations, and the weights that are not 0.

    #mdl#type#weights          type 0: maxent, 1: memm, 2: crf; without it, in old files: 2
    #rdr#patterns/columns/autouni, then the patterns
    #qrk#n, then the labels; #qrk#n, then the observations
    number=weight              the weight in hexadecimal

A string is written 5:hello, on a line of its own. An observation that begins with u has weights for the labels, one
with b for label pairs, one with * for both, one observation behind the other. Without patterns, data are observations;
with autouni they are so for the labels alone, each line by itself, and u is put before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from loglin.corpus.output import Buffer
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model
from loglin.models.foreign import templates
from loglin.models.foreign.format import (
    Foreign,
    decoded,
    labels_of,
    require,
    require_plain,
    require_steps,
    text_labels,
)
from loglin.models.foreign.wapiti_text import TYPES, written
from loglin.models.foreign.weights import Entries, indexed
from loglin.models.kinds import TAG

STEPS: tuple[dict, ...] = ({}, {"steps": "local"}, {})  # how a model of each type decodes
NOT_DECIMAL = re.compile(r"%\w\[\s*[+-]?0[0-9xX]")  # rows that C reads as octal or hexadecimal numbers
BYTEWISE = re.compile(r"%[tmTM]\[")


class Wapiti(Foreign):
    name, program = "wapiti", "Wapiti"

    def begins(self, head: bytes) -> bool:
        return head.startswith(b"#mdl#")

    def read(self, content: bytes, encoding: str) -> Model:
        lines = _Lines(content)
        head = lines.numbers(b"mdl", b"#")
        kind, n_weights = head if len(head) == 2 else (2, *head)
        require(0 <= kind < len(TYPES), f"it has a model of type {kind}, and there are 0 to {len(TYPES) - 1}")
        n_patterns, _, *autouni = lines.numbers(b"rdr", b"/")
        patterns = [decoded(text, encoding) for text in lines.strings(n_patterns)]
        labels = labels_of([decoded(text, encoding) for text in lines.strings(*lines.numbers(b"qrk", b"#"))])
        names = lines.strings(*lines.numbers(b"qrk", b"#"))
        strings = [decoded(text, encoding, "backslashreplace") for text in names]
        require(len(set(strings)) == len(strings), "it has an observation twice")
        require(all(s[:1] in "ub*" and s for s in strings), "it has an observation that begins with none of u, b and *")
        check_patterns(patterns, encoding)
        weights = _Weights(strings, len(labels), *lines.weights(n_weights))
        if autouni == [1]:
            strings = [string[1:] for string in strings]
            patterns = [pattern for pattern in patterns if pattern[0] != "b"]
        extractor: AttributeExtractor | TemplateExtractor
        if patterns:
            read = templates.read(patterns, self.name, strings)
            extractor, of_unigrams, of_bigrams, pairs = read.extractor, read.unigrams, read.bigrams, read.pairs
        else:
            require(not len(weights.pairs.weights), "it has weights of label pairs without patterns")
            extractor = bag = AttributeExtractor()
            bag.names = Vocabulary.of(strings)
            of_unigrams, of_bigrams, pairs = np.arange(len(strings)), np.arange(0), -1
        single = _renumbered(weights.labels, of_unigrams, len(strings))
        double = _renumbered(weights.pairs, of_bigrams, len(strings))
        free = _renumbered(weights.pairs, np.array([pairs][: pairs + 1], np.int64), len(strings))
        sizes = extractor.n_attributes, single, extractor.n_bigram_attributes, double
        index, merged = indexed(len(labels), *sizes, free)
        decoding = {"sums": self.name} | STEPS[kind]
        return Model(TAG.name, labels, extractor, index, merged, record={"type": TYPES[kind]}, decoding=decoding)

    def write(self, model: Model) -> Iterable[Buffer]:
        require_plain(model, self.program)
        require_steps(model, self.program, "global", "local")
        if not isinstance(model.extractor, TemplateExtractor):
            raise LoglinError(
                "the model looks at attributes, and Wapiti's patterns look at columns; train it with a template, or "
                "export it with --to crfsuite or --to json"
            )
        yield from written(model, model.extractor, text_labels(model.labels, self.program))


FORMAT = Wapiti()


# ---------------------------------------------------------------------- reading


def check_patterns(patterns: list[str], encoding: str) -> None:
    """Refuse patterns that would give other strings here."""
    for pattern in patterns:
        require(pattern[:1] in "ub*" and bool(pattern), f"the pattern {pattern!r:.80} begins with none of u, b and *")
        if NOT_DECIMAL.search(pattern):
            raise LoglinError(
                f"the pattern {pattern!r:.80} has a row with a zero before it, which Wapiti takes as octal"
            )
        if BYTEWISE.search(pattern) and encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise LoglinError(
                f"the pattern {pattern!r:.80} looks at bytes, which are others in {encoding} than in UTF-8; train the "
                "model on UTF-8"
            )


def _renumbered(entries: Entries, strings: np.ndarray, n_strings: int) -> Entries:
    """Weights by attribute in place of the string that the attribute has; those of other strings are left out."""
    attribute = np.full(n_strings, -1, np.int64)
    attribute[strings] = np.arange(len(strings))
    found = attribute[entries.attributes]
    kept = found >= 0
    return Entries(found[kept], entries.outcomes[kept], entries.weights[kept])


class _Weights:
    """The weights of observations, by the numbers of their strings."""

    def __init__(self, strings: list[str], L: int, numbers: np.ndarray, weights: np.ndarray):
        sizes = {"u": L, "b": L * L, "*": L + L * L}
        ends = np.cumsum([sizes[string[0]] for string in strings], dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        outside = numbers[(numbers < 0) | (numbers >= total)]
        require(not len(outside), f"the weight {outside[:1]} is one of {total:,}")
        require(len(np.unique(numbers)) == len(numbers), "it has a weight twice")
        which = np.searchsorted(ends, numbers, side="right")
        first = np.array([string[0] for string in strings] or [""])[which]
        begins = np.concatenate([[0], ends])[which]
        within = numbers - begins - np.where(first == "*", L, 0)
        single = (first == "u") | (within < 0)
        place = np.where(first == "*", within + L, within)
        self.labels = Entries(which[single], place[single], weights[single])
        self.pairs = Entries(which[~single], within[~single], weights[~single])


class _Lines:
    """A file read from its beginning."""

    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def numbers(self, name: bytes, mark: bytes) -> list[int]:
        """The numbers of a line that begins with #name#."""
        end = self.content.find(b"\n", self.at, self.at + 200)
        line = self.content[self.at : end]
        require(end >= 0 and line.startswith(b"#%s#" % name), f"there is no #{name.decode()}# at byte {self.at:,}")
        self.at = end + 1
        found = [int(number) for number in line[5:].split(mark)]
        require(all(0 <= number <= len(self.content) ** 2 for number in found), f"the numbers {found} are too large")
        return found

    def strings(self, n: int) -> list[bytes]:
        """The next n strings."""
        content, at, found = self.content, self.at, []
        require(n <= len(content), f"it has no place for {n:,} strings")
        for _ in range(n):
            colon = content.find(b":", at, at + 12)
            require(colon > at, f"there is no string at byte {at:,}")
            end = colon + 1 + int(content[at:colon])
            require(content[end : end + 2] == b",\n", f"the string at byte {at:,} does not end where it says")
            found.append(content[colon + 1 : end])
            at = end + 2
        self.at = at
        return found

    def weights(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The rest: numbers and weights."""
        pairs = [line.partition(b"=")[::2] for line in self.content[self.at :].split()]
        require(len(pairs) == n, f"it has {len(pairs):,} weights, not {n:,}")
        numbers = [int(number) for number, _ in pairs]
        require(all(0 <= number < 1 << 62 for number in numbers), "a weight has a number that is too large")
        weights = [float.fromhex(w.decode()) if b"x" in w else float(w) for _, w in pairs]
        return np.array(numbers, np.int64), np.array(weights, np.float64)
