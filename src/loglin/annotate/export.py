"""What has been annotated, in the forms that others read: columns, JSON lines, spaCy's DocBin, a model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loglin.annotate.classifying import Classifying
from loglin.annotate.pool import Item
from loglin.annotate.session import Session
from loglin.annotate.tagging import Tagging
from loglin.corpus.docbin import NEEDED, content_of
from loglin.corpus.labels import UNKNOWN
from loglin.errors import LoglinError


def exported(session: Session, form: str) -> tuple[str, bytes]:
    """The ending of a file's name, and what is in it: all answers, in the order of the items."""
    if form not in FORMS:
        raise LoglinError(f"there is no export {form!r}; ask for one of {', '.join(FORMS)}")
    ending, write = FORMS[form]
    return ending, write(session)


def _answers(session: Session) -> Iterator[tuple[Item, dict[str, Any]]]:
    answers = dict(session.work.answers)
    if not answers:
        raise LoglinError("nothing is annotated yet; accept at least one item")
    return ((session.items[number], answers[number]) for number in sorted(answers))


def _tagging(session: Session) -> Tagging:
    if not isinstance(session.task, Tagging):
        raise LoglinError("documents with a class have no tokens; export JSON lines")
    return session.task


def columns(session: Session) -> bytes:
    """A token and its label a line, undecided ones with the label _, as loglin train --partial reads them."""
    task, lines = _tagging(session), []
    for item, answer in _answers(session):
        rows = ((token,) if isinstance(token, str) else token for token in item.tokens)
        labels = task.labels(item, answer)
        lines += ["\t".join([*row, y or UNKNOWN]) for row, y in zip(rows, labels, strict=True)] + [""]
    return "".join(line + "\n" for line in lines).encode()


def json_lines(session: Session) -> bytes:
    """A line an item: its text, tokens and labels (null where undecided), entities by characters; or its label."""
    return "".join(
        json.dumps(_value(session.task, *pair), ensure_ascii=False) + "\n" for pair in _answers(session)
    ).encode()


def _value(task: Any, item: Item, answer: dict[str, Any]) -> dict[str, Any]:
    if isinstance(task, Classifying):
        return {"text": item.text, "label": answer["label"]}
    entities = [
        {"start": item.places[start][0], "end": item.places[stop - 1][1], "type": type_}
        for start, stop, type_ in answer["spans"]
    ]
    return {
        "text": item.text,
        "tokens": list(item.tokens),
        "labels": task.labels(item, answer),
        "entities": entities,
    }


def docbin(session: Session) -> bytes:
    """A DocBin of spaCy; undecided tokens are missing there, not outside."""
    _tagging(session)
    try:
        import spacy
        from spacy.tokens import Doc, Span
    except ImportError:
        raise LoglinError(NEEDED) from None
    vocab, docs = spacy.blank("xx").vocab, []
    for item, answer in _answers(session):
        ends = [*(begin for begin, _ in item.places[1:]), len(item.text)]
        spaces = [item.text[end:begin].startswith(" ") for (_, end), begin in zip(item.places, ends, strict=True)]
        doc = Doc(vocab, words=item.words, spaces=spaces)
        spans = [Span(doc, start, stop, type_) for start, stop, type_ in answer["spans"]]
        doc.set_ents(spans, missing=[doc[t : t + 1] for t in answer["undecided"]], default="outside")
        docs.append(doc)
    return content_of(docs)


def model(session: Session) -> bytes:
    """The model of all answers, as a file."""
    learned = session.learner.wait()
    if learned.failure:
        raise LoglinError(f"no model was learnt: {learned.failure}")
    if learned.model is None:
        raise LoglinError("no model is learnt yet; annotate some more items, with a label among them")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "annotated.model"
        learned.model.save(os.fspath(path))
        return path.read_bytes()


FORMS: dict[str, tuple[str, Callable[[Session], bytes]]] = {
    "columns": ("conll", columns),
    "jsonl": ("jsonl", json_lines),
    "docbin": ("spacy", docbin),
    "model": ("model", model),
}
