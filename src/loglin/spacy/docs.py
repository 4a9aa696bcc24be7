"""spaCy's documents to sentences and labels, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from loglin.corpus.docbin import ENTITIES, TAGS, content_of, entities_of, labels_of, read_docs, sentences_of
from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError

__all__ = ["docs_of", "labeled_sentences", "read_docs", "write_docs"]


def labeled_sentences(docs: Iterable[Any], labels: str = ENTITIES) -> tuple[list[list[str]], list[list[str | None]]]:
    """The words and the labels of all sentences of documents, as ``Tagger.fit`` takes them.

    ``labels`` is "ner" (entities in BIO), "tag", "pos" or "lemma"; a token without annotation has None.
    """
    _check(labels)
    spans = [span for doc in docs for span in sentences_of(doc)]
    return [[token.text for token in span] for span in spans], [labels_of(span, labels) for span in spans]


def docs_of(
    vocab: Any, sentences: Iterable[Sequence[str]], labels: Iterable[Sequence[str]] | None = None, kind: str = ENTITIES
) -> list:
    """A document for every sentence; with labels, they are its entities, or its tags where ``kind`` says so."""
    from spacy.tokens import Doc

    _check(kind)
    docs = [Doc(vocab, words=list(words)) for words in sentences]
    for doc, names in zip(docs, labels or (), strict=labels is not None):
        if len(names) != len(doc):
            raise LoglinError(f"{doc.text[:40]!r} has {len(doc)} tokens but {len(names)} labels; give as many")
        if kind in TAGS:
            for token, name in zip(doc, names, strict=True):
                setattr(token, f"{kind}_", name)
        else:
            doc.set_ents(entities_of(doc, 0, names))
    return docs


def write_docs(path: str | os.PathLike, docs: Iterable[Any]) -> None:
    """Write documents to one file, whole or not at all, which spaCy and ``loglin train`` read."""
    write_atomically(path, [content_of(docs)])


def _check(kind: str) -> None:
    if kind not in (ENTITIES, *TAGS):
        raise LoglinError(f"labels are {kind!r}; give one of {', '.join((ENTITIES, *TAGS))}")
