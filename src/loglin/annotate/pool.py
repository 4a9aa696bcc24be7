"""What is to be annotated: sentences, or documents, of a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loglin.corpus import jsonlines
from loglin.corpus.crfsuite import text_lines
from loglin.corpus.formats import detected
from loglin.corpus.tokenizing import Tokenizer
from loglin.errors import LoglinError

JSON = (".jsonl", ".json", ".ndjson")
RAW = (".txt",)


@dataclass(frozen=True)
class Item:
    """One sentence or document."""

    number: int  # in its pool, from 0
    text: str
    places: tuple[tuple[int, int], ...]  # of every token in the text
    tokens: tuple  # what a model looks at: words, or tuples of columns
    given: Any = None  # labels or class that the file has already

    @property
    def words(self) -> list[str]:
        return [self.text[begin:end] for begin, end in self.places]


def read(path: str, tokenizer: Tokenizer, encoding: str = "utf-8") -> list[Item]:
    """The sentences of raw text, a line each, of JSON lines with "text" or "tokens", or of columns."""
    name = path.removesuffix(".gz")
    if name.endswith(JSON):
        found = _from_json(path, tokenizer, encoding)
    elif name.endswith(RAW):
        found = (_of_text(line, tokenizer) for _, line in text_lines(path, encoding) if line.strip())
    else:
        corpus = detected(path, labeled=False).raw(path, encoding, None)
        single = len(corpus.columns) == 1
        rows: Iterable = corpus.strings(0) if single else corpus.sentences()
        found = (sentence(tokens) for tokens in rows if tokens)
    return numbered(path, found)


def read_documents(path: str, encoding: str = "utf-8") -> list[Item]:
    """The documents of raw text, a line each, or of JSON lines with "text"."""
    if not path.removesuffix(".gz").endswith(JSON):
        lines = (line.strip() for _, line in text_lines(path, encoding, tokens=False))
        return numbered(path, (Item(0, line, (), ()) for line in lines if line))
    return numbered(path, _documents(path, encoding))


def _documents(path: str, encoding: str) -> Iterator[Item]:
    for number, (answer, text) in enumerate(jsonlines.examples(path, encoding), 1):
        if not isinstance(text, str) or isinstance(answer, list):
            raise LoglinError(f'{path}: example {number} has no "text" with at most one "label"; give it both')
        yield Item(0, text, (), (), answer)


def numbered(path: str, items: Iterable[Item]) -> list[Item]:
    """The items with their numbers; there must be some."""
    found = [Item(number, *(item.text, item.places, item.tokens, item.given)) for number, item in enumerate(items)]
    if not found:
        raise LoglinError(f"{path} holds nothing to annotate; write a sentence a line")
    return found


def digest(items: Sequence[Item]) -> str:
    """A name for the texts of a pool, by which a journal knows its data again."""
    told = hashlib.sha256()
    for item in items:
        told.update(json.dumps([item.text, item.places]).encode())
    return told.hexdigest()[:16]


def _of_text(text: str, tokenizer: Tokenizer, given: Any = None) -> Item:
    places = tuple(tokenizer.spans(text))
    return Item(0, text, places, tuple(text[b:e] for b, e in places), given)


def sentence(tokens: Sequence, given: Any = None) -> Item:
    """A sentence of tokens as a text in which a blank parts them."""
    words = [token if isinstance(token, str) else token[0] for token in tokens]
    places, begin = [], 0
    for word in words:
        places.append((begin, begin + len(word)))
        begin += len(word) + 1
    return Item(0, " ".join(words), tuple(places), tuple(tokens), given)


def _from_json(path: str, tokenizer: Tokenizer, encoding: str) -> Iterator[Item]:
    for number, value in jsonlines.read(path, encoding):
        tokens, labels, text = value.get("tokens"), value.get("labels"), value.get("text")
        place = f"{path}, line {number}"
        if isinstance(tokens, list) and all(isinstance(t, str) and t for t in tokens):
            if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
                raise LoglinError(f"{place}: {len(tokens)} tokens need as many labels; give a list of them")
            if tokens:
                yield sentence(tokens, labels)
        elif isinstance(text, str):
            if text.strip():
                yield _of_text(text, tokenizer)
        else:
            raise LoglinError(f'{place}: there is neither "text" nor a list "tokens" of words; give one of them')
