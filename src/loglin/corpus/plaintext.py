"""Plain text: a sentence a line, tokens parted by blanks, a blank line between documents.

    #! author=Chomsky topic=syntax          attributes of the document that begins here, if it has any
    Colorless green ideas sleep furiously .
    \\#! is how a sentence that begins with #! is written; every further backslash stands for itself.

Tokens may carry a tag behind their last slash, as in the Brown corpus: The/at jury/nn said/vbd.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import numpy as np

from loglin.corpus.columns import Column, Corpus, encode_strings, from_sentences
from loglin.corpus.crfsuite import line_blocks, text_lines
from loglin.corpus.files import batches
from loglin.corpus.formats import SENTENCES_AT_ONCE, Answer, Format, LabelColumn, Layout
from loglin.corpus.tagged import LabeledText
from loglin.corpus.vocabulary import EMPTY
from loglin.errors import LoglinError

ATTRIBUTES = "#!"
_ESCAPED = re.compile(r"\\+#!")


@dataclass
class Text:
    """Sentences in documents; a document has at least one sentence, a sentence at least one token."""

    corpus: Corpus  # column 0 the words, column 1 their tags, if there are any
    documents: np.ndarray  # (documents + 1,) int64: document d has the sentences documents[d] … documents[d + 1] − 1
    attributes: list[dict[str, str]]  # of each document

    @property
    def n_documents(self) -> int:
        return len(self.attributes)

    def sentences(self) -> list[list[str]]:
        """The words of every sentence."""
        return self.corpus.strings(0)

    def part(self, begin: int, end: int) -> Text:
        """The sentences begin … end − 1, with what is left of their documents."""
        begin, end, _ = slice(begin, end).indices(self.corpus.n_sentences)
        cuts = np.clip(self.documents, begin, max(begin, end)) - begin
        kept = np.flatnonzero(np.diff(cuts))
        documents = np.append(cuts[kept], cuts[-1])
        return Text(self.corpus.select(np.arange(begin, end)), documents, [self.attributes[d] for d in kept])


def read(path: str | os.PathLike, encoding: str = "utf-8", tagged: bool = False, blank_lines: bool = True) -> Text:
    """Read a file; with ``blank_lines`` false they part no documents, only lines with attributes do."""
    lines = text_lines(path, encoding)
    return parsed(((f"{path}, line {number}", line) for number, line in lines), str(path), tagged, blank_lines)


def read_all(paths: Sequence[str], encoding: str = "utf-8", tagged: bool = False, blank_lines: bool = True) -> Text:
    """Read several files as one text; where blank lines part documents, so do files."""

    def lines() -> Iterator[tuple[str, str]]:
        for path in paths:
            for number, line in text_lines(path, encoding):
                yield f"{path}, line {number}", line
            yield f"{path}, the end", ""

    return parsed(lines(), str(paths[0]), tagged, blank_lines)


def from_lines(lines: Iterable[str | Sequence[str]], tagged: bool = False, source: str = "text") -> Text:
    """A text from lines as in a file, or from lists of tokens, of which an empty one parts documents."""
    if isinstance(lines, str | bytes | Mapping | Set) or not isinstance(lines, Iterable):
        what = f"the string {lines[:30]!r}" if isinstance(lines, str) else f"{lines!r:.60}"
        raise LoglinError(f"{source} is {what}; give a list of lines, for example with .split('\\n')")
    return parsed(_numbered(lines, source), source, tagged, True)


def _numbered(lines: Iterable[str | Sequence[str]], source: str) -> Iterator[tuple[str, str | Sequence[str]]]:
    """Lines with their places; one that holds several would be read as a single sentence."""
    for n, line in enumerate(lines, 1):
        place = f"{source}, line {n}"
        if isinstance(line, str) and "\n" in line.strip():
            raise LoglinError(
                f"{place} holds a line break: {line[:40]!r}; give a sentence a line, such as .split('\\n')"
            )
        yield place, line


def parsed(lines: Iterable[tuple[str, str | Sequence[str]]], source: str, tagged: bool, blank_lines: bool) -> Text:
    """The text of lines that each come with their place; with ``blank_lines`` false only attributes part documents."""
    sentences: list[Sequence[str]] = []
    documents: list[int] = [0]
    attributes: list[dict[str, str]] = [{}]

    def begin(given: dict[str, str]) -> None:
        """A new document; one without a sentence is forgotten."""
        if documents[-1] == len(sentences):
            attributes[-1] = given
        else:
            documents.append(len(sentences))
            attributes.append(given)

    for place, line in lines:
        tokens, plain = tokens_of(line, place)
        if not tokens:
            if blank_lines and documents[-1] < len(sentences):
                begin({})
        elif tokens[0] == ATTRIBUTES and not plain:
            if blank_lines and documents[-1] < len(sentences):
                raise LoglinError(
                    f"{place}: attributes stand inside a document; put a blank line before them, or write \\#! if "
                    "this is a sentence"
                )
            begin(_attributes(tokens[1:], place))
        else:
            sentences.append([_split(t, place) for t in tokens] if tagged else tokens)  # type: ignore[misc]
    if documents[-1] == len(sentences):
        documents.pop()
        attributes.pop()
    return Text(_corpus(sentences, source, tagged), np.array([*documents, len(sentences)], np.int64), attributes)


def tokens_of(line: str | Sequence[str], place: str) -> tuple[list[str], bool]:
    """The tokens of a line, and whether its first one is a word even if it looks like the mark of attributes."""
    if isinstance(line, str):
        tokens = line.split()
        escaped = bool(tokens) and _ESCAPED.fullmatch(tokens[0]) is not None
        return ([tokens[0][1:], *tokens[1:]] if escaped else tokens), escaped
    tokens = list(line) if isinstance(line, Iterable) else [line]
    for token in tokens:
        if not isinstance(token, str) or token.split() != [token]:
            raise LoglinError(f"{place}: {token!r} is no token; give strings without blanks")
    return tokens, True


def distinct_words(text: str) -> list[str]:
    """The words of a document as classifiers look at them: runs of letters and digits, in lower case, each once."""
    return sorted(set(re.findall(r"\w+", text.lower())))


def lines(path: str | os.PathLike, encoding: str, most: int) -> Iterator[list[tuple[str, list[str]]]]:
    """Lists of at most ``most`` lines of a file as they come, with their tokens: none where a line is blank or has
    attributes."""

    def split(line: tuple[int, str]) -> tuple[str, list[str]]:
        number, text = line
        place = f"{path}, line {number}"
        tokens, plain = tokens_of(text, place)
        if tokens and tokens[0] == ATTRIBUTES and not plain:
            _attributes(tokens[1:], place)
            tokens = []
        return text, tokens

    for block in line_blocks(path, encoding, b"\n"):
        yield from batches(map(split, block), most)


def checked_tags(tags: Iterable) -> list[str]:
    """Tags that can stand behind a word and a slash; read again, a word and its tag are what they were."""
    found = [str(tag) for tag in tags]
    for tag in found:
        if tag.split() != [tag] or "/" in tag:
            raise LoglinError(
                f"the tag {tag!r} cannot stand in word/TAG: it is empty or holds a slash or a blank; change it"
            )
    return found


def _attributes(tokens: Sequence[str], place: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for token in tokens:
        name, equals, value = token.partition("=")
        if not (name and equals and value):
            raise LoglinError(f"{place}: {token!r} is no attribute of a document; write name=value without blanks")
        if name in found:
            raise LoglinError(f"{place}: the attribute {name} is given twice; give it once")
        found[name] = value
    return found


def _split(token: str, place: str) -> tuple[str, str]:
    word, slash, tag = token.rpartition("/")
    if not (word and slash and tag):
        raise LoglinError(f"{place}: {token[:40]!r} has no tag; write word/tag, or read the text as untagged")
    return word, tag


def _corpus(sentences: Sequence[Sequence], source: str, tagged: bool) -> Corpus:
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(s) for s in sentences], out=offsets[1:])
    tokens = list(chain.from_iterable(sentences))
    if not tokens:
        return Corpus([Column(np.empty(0, np.int32), EMPTY)] * (2 if tagged else 1), offsets, source)
    fields = zip(*tokens, strict=True) if tagged else [tokens]
    return Corpus([encode_strings(field) for field in fields], offsets, source)


@dataclass(frozen=True)
class Lines:
    """A stretch of a file: every line and its tokens, none where it is blank or has attributes."""

    lines: list[tuple[str, list[str]]]
    path: str

    @property
    def n_sentences(self) -> int:
        return len(self.sentences())

    def inputs(self, layout: Layout) -> Corpus:
        return from_sentences(self.sentences(), self.path)

    def sentences(self) -> list[list[str]]:
        return [tokens for _, tokens in self.lines if tokens]

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        """The same lines, with a label behind every word; blank lines and attributes of documents stay."""
        tags, number = checked_tags(labels), iter(codes.tolist())
        out = (" ".join(f"{w}/{tags[next(number)]}" for w in tokens) if tokens else line for line, tokens in self.lines)
        return "".join(line + "\n" for line in out).encode()

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        raise NotImplementedError  # Format.cramped refuses it before


class PlainText(Format):
    name = "text"
    line = "a sentence a line, with labels word/TAG"
    raw_endings = (".txt",)
    cramped = "word/TAG"

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        corpus = _some(path, encoding, tagged=True)
        return LabeledText(Corpus(corpus.columns[:1], corpus.offsets, corpus.source), corpus.columns[1], False, 2)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        return _some(path, encoding, tagged=False)

    def stretches(self, path: str, encoding: str) -> Iterator[Lines]:
        return (Lines(batch, path) for batch in lines(path, encoding, SENTENCES_AT_ONCE))


def _some(path: str, encoding: str, tagged: bool) -> Corpus:
    """The sentences of plain text, at least one; blank lines and documents mean nothing."""
    corpus = read(path, encoding, tagged, blank_lines=False).corpus
    if not corpus.n_tokens:
        form = "word/TAG, parted by blanks" if tagged else "its tokens parted by blanks"
        raise LoglinError(f"{path} holds no tokens; write a sentence a line, {form}")
    return corpus


FORMAT = PlainText()
