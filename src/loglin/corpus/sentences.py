"""Tagged text that is read as Python objects: (labels or None, tokens) of one sentence after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus import files
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.formats import SENTENCES_AT_ONCE, Answer, Layout
from loglin.corpus.tagged import LabeledText
from loglin.errors import LoglinError

Pair = tuple[list | None, list]  # labels, if there are any, and tokens


@dataclass(frozen=True)
class Batch:
    """Some sentences of a file; labels are written one per line, with a blank line behind every sentence."""

    tokens: list[list]
    path: str

    @property
    def n_sentences(self) -> int:
        return len(self.tokens)

    def inputs(self, layout: Layout) -> Corpus | list[list]:
        return _inputs(self.tokens, self.path, layout)

    def sentences(self) -> list[list]:
        return self.tokens

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        written = iter(codes.tolist())
        lines = (line for sentence in self.tokens for line in (*(labels[next(written)] for _ in sentence), ""))
        return "".join(line + "\n" for line in lines).encode()

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        """The best labels alone, since CRFsuite's own output has nothing else."""
        lines = (line for ranked in answers for line in (*(labels[c] for c in ranked[0].codes.tolist()), ""))
        return "".join(line + "\n" for line in lines).encode()


def batches(path: str, pairs: Iterable[Pair]) -> Iterator[Batch]:
    """Many sentences at a time."""
    for batch in files.batches(pairs, SENTENCES_AT_ONCE):
        yield Batch([tokens for _, tokens in batch], path)


def labeled(path: str, pairs: Iterable[Pair], columns: bool, layout: Layout | None) -> LabeledText:
    """All sentences, each with labels."""
    found = list(pairs)
    missing = next((s for s, (labels, _) in enumerate(found) if labels is None), None)
    if layout is not None and (not found or missing is not None):
        raise LoglinError(f'{path} lacks labels to compare with; give "labels" for every sentence')
    if not found:
        raise LoglinError(f"{path} holds no sentences; give at least one with its labels")
    if missing is not None:
        raise LoglinError(f'{path}: sentence {missing} has no "labels"; give a label for every token')
    sentences = [tokens for _, tokens in found]
    inputs: Corpus | list[list] = sentences
    if layout is not None:
        inputs = _inputs(sentences, path, layout)
    elif columns or _are_words(sentences):
        inputs = from_sentences(sentences, path)
    return LabeledText(inputs, [labels for labels, _ in found])


def as_json(tokens: Any, ranked: list[Answer], labels: list, several: bool) -> str:
    """A sentence and its answers as an object of JSON; ``several``: with all of them, not the best alone."""
    best = ranked[0]
    value = {"tokens": tokens, "labels": [labels[c] for c in best.codes.tolist()], "probability": best.probability}
    if best.marginals is not None:
        value["marginals"] = [dict(zip(map(str, labels), row, strict=True)) for row in best.marginals.round(9).tolist()]
    if several:
        value["nbest"] = [
            {"labels": [labels[c] for c in a.codes.tolist()], "probability": a.probability} for a in ranked
        ]
    return json.dumps(value, ensure_ascii=False)


def _inputs(sentences: list[list], path: str, layout: Layout) -> Corpus | list[list]:
    if layout.words:
        return from_sentences(sentences, path)
    if _are_words(sentences):
        raise LoglinError(f"{path} holds plain words, but the model looks at attributes; give dicts or lists")
    return sentences


def _are_words(sentences: list[list]) -> bool:
    return isinstance(next((token for sentence in sentences for token in sentence), None), str)
