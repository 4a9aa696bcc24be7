"""Files of word vectors: text, binary, gzip, GloVe's; damaged ones refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from loglin import LoglinError
from loglin.corpus.embeddings import embeddings_of, read
from loglin.corpus.vocabulary import Vocabulary

WORDS = ["the", "<unk>", "Grün", "two", "x"]
ROWS = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def text(words=WORDS, rows=ROWS, header: bool = True) -> bytes:
    lines = [f"{len(words)} {rows.shape[1]}"] * header
    lines += [" ".join([word, *map(repr, row)]) for word, row in zip(words, rows.tolist(), strict=True)]
    return "\n".join([*lines, ""]).encode()


def binary(behind: bytes = b"\n") -> bytes:
    parts = (word.encode() + b" " + row.tobytes() + behind for word, row in zip(WORDS, ROWS, strict=True))
    return b"5 4\n" + b"".join(parts)


@pytest.mark.parametrize(
    "content", [text(), text(header=False), binary(), binary(b""), gzip.compress(text()), gzip.compress(binary())]
)
def test_every_kind_of_file(tmp_path, content):
    (tmp_path / "v").write_bytes(content)
    found = read(tmp_path / "v")
    assert found.words.strings == WORDS
    assert found.rows == pytest.approx(ROWS)


def test_words_are_found_by_their_lower_case_or_as_unknown():
    table = embeddings_of((WORDS, ROWS), "v")
    assert table.find(Vocabulary.of(["two", "Two", "THE", "grün", "y"])).tolist() == [3, 3, 0, 1, 1]
    without = embeddings_of(dict(zip(["a", "b"], ROWS, strict=False)), "v")
    assert without.find(Vocabulary.of(["B", "y"])).tolist() == [1, -1]


def test_what_users_hold_already():
    class KeyedVectors:
        index_to_key, vectors = WORDS, ROWS

    for given in (KeyedVectors(), (WORDS, ROWS), dict(zip(WORDS, ROWS.tolist(), strict=True))):
        found = embeddings_of(given, "v")
        assert (found.words.strings, found.rows.tolist()) == (WORDS, ROWS.tolist())
    twice = embeddings_of((["a", "b", "a"], ROWS[:3]), "v")
    assert twice.rows.tolist() == ROWS[:2].tolist()


def test_words_may_hold_blanks(tmp_path):
    (tmp_path / "v").write_bytes(text([". .", "b"], ROWS[:2]))
    assert read(tmp_path / "v").words.strings == [". .", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no numbers"),
        (b"two B-QTY\n", "is no word with"),
        (b"5 0\n", "promises no numbers"),
        (text()[:-30], "line 6: 'x"),
        (text().replace(b"5 4", b"6 4"), "promises 6 words, but holds 5"),
        (binary()[:-12], "is too short|is not whole|ends within"),
        (b"a nan 1\n", "of 'a' is not finite"),
        (b"a 1 2\nb 1\n", "line 2: 'b 1' is no word with 2 numbers"),
        (b"\xff\xfe 1 2\n", "is not UTF-8"),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path, content, message):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(LoglinError, match=message):
        read(tmp_path / "v")


@pytest.mark.parametrize("given", [3, (["a"], ROWS), {"a": [1.0, 2.0], "b": [1.0]}, {"a": "x"}, {1: [1.0]}, {}])
def test_wrong_tables_are_one_sentence(given):
    with pytest.raises(LoglinError, match=r"embeddings|holds no numbers"):
        embeddings_of(given, "v")
