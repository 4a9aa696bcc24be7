"""What the component can do with documents: entities, tags, categories.

A task makes estimators' inputs of documents, and writes their answers into documents.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from spacy.parts_of_speech import IDS as UNIVERSAL
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span

from loglin.corpus import formats, schemes, tagged
from loglin.corpus.docbin import labels_of, sentences_of
from loglin.errors import LoglinError
from loglin.estimators import MaxEnt, Tagger, load

VECTORS = ("", "token", "tensor")
SENTENCES = 2000  # in a request to an estimator


@dataclass(frozen=True)
class Task(ABC):
    """A way to read and to write documents."""

    columns: tuple[str, ...]  # attributes of tokens that are shown to a tagger
    vectors: str  # "token": token.vector; "tensor": the rows of doc.tensor; "": none
    overwrite: bool

    @abstractmethod
    def gold(self, doc: Doc) -> list[tuple[Any, Any, Any]]:
        """(input, answer, vectors) of everything in a document that is annotated."""

    @abstractmethod
    def opened(self, path: str | os.PathLike) -> Any:
        """The estimator in a file; a model of another kind is refused."""

    @abstractmethod
    def learned(self, gold: Sequence[tuple[Any, Any, Any]], settings: Mapping, start: Any) -> Any:
        """An estimator that has learned from such triples, beginning with the weights of another if one is given."""

    def learned_from(self, path: str, settings: Mapping) -> Any:
        """An estimator that has learned from a file of tagged text."""
        raise LoglinError(
            f"{path} is to be learned from by a task that has no files of tagged text; train with loglin "
            "classify-train, and give the component the model"
        )

    @abstractmethod
    def annotate(self, docs: Sequence[Doc], estimator: Any) -> None:
        """Write the answers of an estimator into documents."""

    @abstractmethod
    def score(self, examples: Iterable[Any], estimator: Any) -> dict[str, Any]:
        """spaCy's scores of predicted documents."""


@dataclass(frozen=True)
class Tagging(Task):
    """A label for every token."""

    column: ClassVar[str]

    def gold(self, doc: Doc) -> list[tuple[Any, Any, Any]]:
        spans = [(span, labels_of(span, self.column)) for span in sentences_of(doc)]
        return [(self.tokens(s), y, self.rows(s)) for s, y in spans if any(label is not None for label in y)]

    usual: ClassVar[Mapping] = {}  # settings that others come on top of

    def learned(self, gold: Sequence[tuple[Any, Any, Any]], settings: Mapping, start: Any) -> Any:
        sentences, labels, vectors = (list(part) for part in zip(*gold, strict=True))
        tagger = Tagger(**{**self.usual, **settings})
        return tagger.fit(sentences, labels, start=start, vectors=vectors if self.vectors else None)

    def opened(self, path: str | os.PathLike) -> Any:
        return Tagger.load(path)

    def learned_from(self, path: str, settings: Mapping) -> Any:
        text = tagged.read_labeled(path, formats.detected(path))
        return Tagger(**{**self.usual, **settings}).fit(text.inputs, text.targets())

    def tokens(self, span: Span) -> list:
        """The tokens of a sentence as a tagger takes them: strings, or tuples of columns."""
        columns = [[_attribute(token, name) for token in span] for name in self.columns]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def rows(self, span: Span) -> np.ndarray | None:
        """The vectors of the tokens of a sentence; None if none are asked for."""
        if not self.vectors:
            return None
        if self.vectors == VECTORS[1]:
            return np.array([_plain(token.vector) for token in span])
        rows = _plain(span.doc.tensor)
        if len(rows) != len(span.doc):
            raise LoglinError(
                f"the document {span.doc.text[:40]!r} has no tensor with a row for every token; put a component that "
                'makes one, such as tok2vec, before loglin, or set vectors to "token"'
            )
        return rows[span.start : span.end]

    def annotate(self, docs: Sequence[Doc], estimator: Any) -> None:
        spans = [span for doc in docs for span in sentences_of(doc)]
        for first in range(0, len(spans), SENTENCES):
            some = spans[first : first + SENTENCES]
            vectors = [self.rows(span) for span in some] if self.vectors else None
            self.write(some, estimator, [self.tokens(span) for span in some], vectors)

    @abstractmethod
    def write(self, spans: list[Span], estimator: Any, sentences: list, vectors: list | None) -> None:
        """Write the answers for some sentences into their documents."""


class Entities(Tagging):
    """doc.ents, each with span._.probability."""

    column = "ner"
    usual: ClassVar[Mapping] = {"constrain": "bio"}

    def annotate(self, docs: Sequence[Doc], estimator: Any) -> None:
        if schemes.detect([str(label) for label in estimator.classes_]) is None:
            raise LoglinError(
                f"the model's labels ({', '.join(map(str, estimator.classes_[:3]))}, …) are no labels of entities, "
                'such as B-PER; set task to "tag"'
            )
        kept = [() if self.overwrite else doc.ents for doc in docs]
        for doc in docs:
            doc.set_ents([])
        super().annotate(docs, estimator)
        for doc, others in zip(docs, kept, strict=True):
            if others:
                taken = {t for span in others for t in range(span.start, span.end)}
                free = [s for s in doc.ents if taken.isdisjoint(range(s.start, s.end))]
                doc.set_ents([*others, *free])

    def write(self, spans: list[Span], estimator: Any, sentences: list, vectors: list | None) -> None:
        found: dict[int, tuple[Doc, list[Span]]] = {}
        for span, entities in zip(spans, estimator.entities(sentences, vectors), strict=True):
            doc = span.doc
            _, together = found.setdefault(id(doc), (doc, list(doc.ents)))
            for e in entities:
                one = Span(doc, span.start + e.start, span.start + e.stop, label=e.type)
                one._.probability = e.probability
                together.append(one)
        for doc, together in found.values():
            doc.set_ents(together)

    def score(self, examples: Iterable[Any], estimator: Any) -> dict[str, Any]:
        return get_ner_prf(examples)


class Tags(Tagging):
    """token.tag_."""

    column = "tag"

    def write(self, spans: list[Span], estimator: Any, sentences: list, vectors: list | None) -> None:
        for span, labels in zip(spans, estimator.predict(sentences, vectors), strict=True):
            for token, label in zip(span, labels, strict=True):
                if self.overwrite or not getattr(token, f"{self.column}_"):
                    self.put(token, str(label))

    def put(self, token: Any, label: str) -> None:
        token.tag_ = label

    def score(self, examples: Iterable[Any], estimator: Any) -> dict[str, Any]:
        return Scorer.score_token_attr(examples, self.column)


class PartsOfSpeech(Tags):
    """token.pos_, of the Universal Dependencies."""

    column = "pos"

    def put(self, token: Any, label: str) -> None:
        if label not in UNIVERSAL:
            raise LoglinError(f'the label {label!r} is no part of speech that spaCy knows; set task to "tag"')
        token.pos_ = label


class Categories(Task):
    """doc.cats: the probability of every class of a text, or of every label of a set."""

    def gold(self, doc: Doc) -> list[tuple[Any, Any, Any]]:
        return [(doc.text, dict(doc.cats), None)] if doc.cats else []

    def opened(self, path: str | os.PathLike) -> Any:
        found = load(path)
        if not hasattr(found, "predict_proba") or isinstance(found, Tagger):
            raise LoglinError(f"{path} is a model of {type(found).__name__}, which gives no categories; set task")
        return found

    def learned(self, gold: Sequence[tuple[Any, Any, Any]], settings: Mapping, start: Any) -> Any:
        texts, cats = [text for text, _, _ in gold], [given for _, given, _ in gold]
        model = MaxEnt(**settings)
        if model.multi_label:
            sets = [{label for label, value in given.items() if value > 0.5} for given in cats]
            return model.fit(texts, sets)
        for text, given in zip(texts, cats, strict=True):
            if sum(value > 0.5 for value in given.values()) != 1:
                raise LoglinError(
                    f"the document {text[:40]!r} has the categories {given!r:.60}, not one above 0.5; set multi_label "
                    "in settings, or give it one"
                )
        return model.fit(texts, [max(given, key=given.__getitem__) for given in cats], start=start)

    def annotate(self, docs: Sequence[Doc], estimator: Any) -> None:
        labels = [str(label) for label in estimator.classes_]
        for doc, row in zip(docs, estimator.predict_proba([doc.text for doc in docs]), strict=True):
            doc.cats = ({} if self.overwrite else doc.cats) | dict(zip(labels, map(float, row), strict=True))

    def score(self, examples: Iterable[Any], estimator: Any) -> dict[str, Any]:
        labels = [str(label) for label in estimator.classes_]
        several = bool(getattr(estimator, "multi_label", False))
        return Scorer.score_cats(examples, "cats", labels=labels, multi_label=several)


TASKS: dict[str, type[Task]] = {"ner": Entities, "tag": Tags, "pos": PartsOfSpeech, "textcat": Categories}


def _attribute(token: Any, name: str) -> str:
    return token.text if name == "text" else getattr(token, f"{name}_")


def _plain(array: Any) -> np.ndarray:
    """An array of NumPy, of one that may be on another device."""
    return np.asarray(array.get() if hasattr(array, "get") else array)
