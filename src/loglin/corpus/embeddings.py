"""Tables of word vectors: the text and binary files of word2vec and gensim, and GloVe's; gzip too.

3 4                               the words and their dimensions; GloVe has no such line
the 0.1 -0.2 0.3 0.4              text: a word a line
the 0.1 … (float32, binary)       binary: a word, a blank, its numbers, and mostly "\\n"
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.files import open_binary
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,6})\s*")
UNKNOWN = "<unk>"


@dataclass(eq=False)
class Embeddings:
    """A vector for each of some words."""

    words: Vocabulary
    rows: np.ndarray  # (words, dimensions) float32

    def find(self, words: Vocabulary) -> np.ndarray:
        """The row of each word, or of its lower case, or of <unk>; -1 where there is none of these: (words,)."""
        found = self.words.codes_of(words)
        unknown = np.flatnonzero(found < 0)
        found[unknown] = self.words.codes_of(Vocabulary.of(words[w].lower() for w in unknown.tolist()))
        return np.where(found < 0, self.words.code(UNKNOWN), found)


def embeddings_of(given: Any, name: str) -> Embeddings:
    """What a user gives: a file's name, {word: vector}, gensim's KeyedVectors, or words and an array of rows."""
    if isinstance(given, Embeddings):
        return given
    if isinstance(given, str | os.PathLike):
        return read(given)
    if isinstance(given, Mapping):
        words, rows = list(given), list(given.values())
    elif hasattr(given, "index_to_key") and hasattr(given, "vectors"):
        words, rows = given.index_to_key, given.vectors
    elif isinstance(given, tuple) and len(given) == 2:
        words, rows = given
    else:
        raise LoglinError(f"embeddings[{name!r}] is {given!r:.60}; give a file, {{word: vector}}, or words and rows")
    try:
        table = np.asarray(rows, np.float32)
    except (TypeError, ValueError):
        table = np.empty(0, np.float32)
    if table.ndim != 2 or len(table) != len(words) or not all(isinstance(word, str) for word in words):
        raise LoglinError(f"embeddings[{name!r}] have not one row of numbers for every word; give as many of each")
    return _checked(list(words), table, f"embeddings[{name!r}]")


def read(path: str | os.PathLike) -> Embeddings:
    """Read a file, text or binary."""
    with open_binary(path) as stream:
        content = stream.read()
    first, _, rest = content.partition(b"\n")
    header = _HEADER.fullmatch(first)
    if header is None:
        return _text(path, content, len(first.split()) - 1, None, 1)
    n, size = int(header[1]), int(header[2])
    if not n or not size:
        raise LoglinError(f"{path}, line 1: {first.decode()!r} promises no numbers; give a file of word vectors")
    if _line(rest.partition(b"\n")[0].rstrip(), size)[1] is not None:
        return _text(path, rest, size, n, 2)
    return _binary(path, rest, n, size)


def _text(path: str | os.PathLike, content: bytes, size: int, n: int | None, line: int) -> Embeddings:
    words, rows = [], []
    for number, text in enumerate(content.split(b"\n"), line):
        if text.strip():
            word, row = _line(text.rstrip(), size)
            if row is None:
                raise LoglinError(
                    f"{path}, line {number}: {text[:40].decode(errors='replace')!r} is no word with {max(size, 1)} "
                    "numbers; give a file of word vectors"
                )
            words.append(_word(path, word))
            rows.append(row)
    if n is not None and len(words) != n:
        raise LoglinError(f"{path} promises {n:,} words, but holds {len(words):,}; it is not whole, fetch it again")
    return _checked(words, np.array(rows, np.float32), str(path))


def _line(text: bytes, size: int) -> tuple[bytes, np.ndarray | None]:
    """The word of a line, which may hold blanks, and its numbers; None if there are not as many."""
    word, *fields = text.rsplit(b" ", size) if size > 0 else [text]
    if len(fields) != size or not word.strip():
        return word, None
    try:
        return word.strip(), np.array(fields, "S").astype(np.float32)
    except ValueError:
        return word, None


def _binary(path: str | os.PathLike, content: bytes, n: int, size: int) -> Embeddings:
    words, place, width = [], 0, 4 * size
    if len(content) < n * (width + 2):
        raise LoglinError(f"{path} promises {n:,} words of {size:,} numbers, but is too short; fetch it again")
    rows = np.empty((n, size), np.float32)
    for w in range(n):
        end = content.find(b" ", place)
        if end < 0 or end + 1 + width > len(content):
            raise LoglinError(f"{path} ends within word {w + 1:,} of {n:,}; it is not whole, fetch it again")
        words.append(_word(path, content[place:end].lstrip(b"\n")))
        rows[w] = np.frombuffer(content, "<f4", size, end + 1)
        place = end + 1 + width
    return _checked(words, rows, str(path))


def _word(path: str | os.PathLike, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise LoglinError(f"{path}: the word {text[:40]!r} is not UTF-8; convert the file first") from None


def _checked(words: list[str], rows: np.ndarray, name: str) -> Embeddings:
    """A table whose numbers are finite; of a word that stands twice, the first row counts."""
    if not rows.size:
        raise LoglinError(f"{name} holds no numbers; give a file of word vectors")
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(wrong):
        raise LoglinError(f"{name}: the vector of {words[wrong[0]]!r} is not finite; leave it out")
    first = {word: w for w, word in reversed(list(enumerate(words)))}
    kept = sorted(first.values())
    return Embeddings(Vocabulary.of(words[w] for w in kept), np.ascontiguousarray(rows[kept]))
