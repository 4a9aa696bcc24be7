"""spaCy's files of documents, DocBin: the words of each document's sentences, with entities or tags as labels.

Labels are entities in BIO, or, of ``--label-column tag``, ``pos`` or ``lemma``, what tokens have there; where a file
has no entities, tags. A token without annotation has none. spaCy itself reads and writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loglin.corpus import schemes
from loglin.corpus import sentences as objects
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.formats import Answer, Format, LabelColumn, Layout
from loglin.corpus.tagged import LabeledText
from loglin.errors import LoglinError

ENTITIES, TAGS = "ner", ("tag", "pos", "lemma")
NEEDED = "the package spacy is needed; install loglin[spacy]"


def read_docs(path: str | os.PathLike, vocab: Any = None) -> list:
    """The documents of a file, with strings in a vocabulary of their own unless one is given."""
    try:
        from spacy.tokens import DocBin
        from spacy.vocab import Vocab
    except ImportError:
        raise LoglinError(NEEDED) from None
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise LoglinError(f"{path} cannot be read: {error.strerror}; check its name") from None
    try:
        return list(DocBin().from_bytes(content).get_docs(Vocab() if vocab is None else vocab))
    except Exception as error:  # zlib's, msgpack's and spaCy's own, whichever meets the damage
        raise LoglinError(f"{path} is no file of spaCy's documents: {error!r:.80}; write one with DocBin") from None


def content_of(docs: Iterable[Any]) -> bytes:
    """What a file of these documents holds, what is known of their entities included."""
    from spacy.tokens import DocBin

    return DocBin(docs=docs, store_user_data=True).to_bytes()


def sentences_of(doc: Any) -> list:
    """The sentences of a document as spans; where nobody has said where they end, the whole."""
    whole = doc[:]
    return [span for span in (doc.sents if doc.has_annotation("SENT_START") else [whole]) if len(span)]


def labels_of(span: Any, column: str) -> list[str | None]:
    """The label of every token of a sentence; None where it has none. Entities are written in BIO."""
    if column in TAGS:
        return [getattr(token, f"{column}_") or None for token in span]
    found: list[str | None] = []
    for token in span:
        begins = token.ent_iob_ == "B" or (token.ent_iob_ == "I" and token.i == span.start)
        inside = f"{'B' if begins else 'I'}-{token.ent_type_ or schemes.UNTYPED}"
        found.append({"": None, "O": "O"}.get(token.ent_iob_, inside))
    return found


def entities_of(doc: Any, start: int, labels: Iterable[str]) -> list:
    """The entities that labels say of the tokens from ``start`` on, as spans."""
    from spacy.tokens import Span

    return [Span(doc, start + b, start + e, label=kind) for kind, b, e in schemes.entities(list(labels))]


@dataclass(frozen=True)
class Documents:
    """All documents of a file, which are written back with labels."""

    docs: list
    path: str

    @property
    def spans(self) -> list:
        return [span for doc in self.docs for span in sentences_of(doc)]

    @property
    def n_sentences(self) -> int:
        return len(self.spans)

    def inputs(self, layout: Layout) -> Corpus | list[list]:
        return from_sentences(self.sentences(), self.path)

    def sentences(self) -> list[list[str]]:
        return [[token.text for token in span] for span in self.spans]

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        """The file with entities, where labels are those of chunks, or else with tags."""
        chunks, written = schemes.detect(labels) is not None, iter(codes.tolist())
        for doc in self.docs:
            entities = []
            for span in sentences_of(doc):
                names = [labels[next(written)] for _ in span]
                if chunks:
                    entities += entities_of(doc, span.start, names)
                for token, name in zip(span, names if not chunks else (), strict=False):
                    token.tag_ = name
            if chunks:
                doc.set_ents(entities)
        return content_of(self.docs)

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        raise NotImplementedError  # Format.cramped refuses it before


class SpacyDocuments(Format):
    name = "spacy"
    line = "documents of spaCy (DocBin), labels are entities in BIO, or --label-column tag, pos, lemma"
    endings = (".spacy",)
    cramped = "spaCy's documents"
    replaces = True

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        docs = read_docs(path)
        column = self._column(path, docs, label_column)
        pairs = ((labels_of(span, column), [t.text for t in span]) for doc in docs for span in sentences_of(doc))
        return objects.labeled(path, pairs, columns, layout)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        return from_sentences(Documents(read_docs(path), path).sentences(), path)

    def stretches(self, path: str, encoding: str) -> Iterator[Documents]:
        yield Documents(read_docs(path), path)

    def _column(self, path: str, docs: list, label_column: LabelColumn) -> str:
        if label_column is None:
            return ENTITIES if any(doc.has_annotation("ENT_IOB") for doc in docs) else TAGS[0]
        if label_column not in (ENTITIES, *TAGS):
            known = ", ".join((ENTITIES, *TAGS))
            raise LoglinError(f"{path} has no label column {label_column!r}; give one of {known}")
        return str(label_column)


FORMAT = SpacyDocuments()
