"""Plain text: sentences, documents, attributes, tags, and what is refused; the Brown corpus."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from loglin.corpus import datasets, plaintext
from support.corpora import corpus_folder
from support.errors import refused_with_remedy

TEXT = "#! author=A topic=x\nthe cat sat\n the  dog\n\n\n\nnew document\n\\#! is text\n\\\\#! too\n#!/bin is text\n"


def test_documents_and_attributes(tmp_path):
    (tmp_path / "text").write_bytes(gzip.compress(TEXT.encode()))
    text = plaintext.read(tmp_path / "text")
    assert text.sentences() == [
        ["the", "cat", "sat"], ["the", "dog"], ["new", "document"], ["#!", "is", "text"], ["\\#!", "too"],
        ["#!/bin", "is", "text"],
    ]  # fmt: skip
    assert text.documents.tolist() == [0, 2, 6]
    assert text.attributes == [{"author": "A", "topic": "x"}, {}]


def test_lists_of_tokens_and_blank_lines_that_part_nothing(tmp_path):
    text = plaintext.from_lines([["#!", "a"], [], ("b",), "", "c d"])
    assert text.sentences() == [["#!", "a"], ["b"], ["c", "d"]]
    assert text.documents.tolist() == [0, 1, 2, 3]
    (tmp_path / "text").write_text("a\n\nb\n\n#! k=v\nc\n")
    text = plaintext.read(tmp_path / "text", blank_lines=False)
    assert text.documents.tolist() == [0, 2, 3]
    assert text.attributes == [{}, {"k": "v"}]


def test_tags():
    text = plaintext.from_lines(["and/or/cc //in a/at"], tagged=True)
    assert text.corpus.sentences() == [[("and/or", "cc"), ("/", "in"), ("a", "at")]]


@pytest.mark.parametrize("lines", [[], ["", " ", "\t"], ["#! a=b"], ["#! a=b", "", "#! c=d"]])
def test_empty(lines):
    for tagged in (False, True):
        text = plaintext.from_lines(lines, tagged=tagged)
        assert text.n_documents == 0
        assert text.documents.tolist() == [0]
        assert text.sentences() == []


def test_parts():
    text = plaintext.from_lines(["#! n=1", "a", "b", "", "c", "", "#! n=3", "d e", "f"])
    part = text.part(1, 4)
    assert part.sentences() == [["b"], ["c"], ["d", "e"]]
    assert part.documents.tolist() == [0, 1, 2, 3]
    assert part.attributes == [{"n": "1"}, {}, {"n": "3"}]
    assert text.part(0, 99).documents.tolist() == [0, 2, 3, 5]
    assert text.part(2, 2).n_documents == 0


def test_refusals(tmp_path):
    (tmp_path / "inside").write_text("a b\n#! k=v\n")
    refused_with_remedy(lambda: plaintext.read(tmp_path / "inside"), "inside, line 2", "blank line")
    refused_with_remedy(lambda: plaintext.from_lines(["#! author Chomsky"]), "line 1", "'author'", "name=value")
    refused_with_remedy(lambda: plaintext.from_lines(["#! a=1 a=2"]), "line 1", "twice")
    refused_with_remedy(lambda: plaintext.from_lines(["a/b", "c"], tagged=True), "line 2", "'c'", "word/tag")
    refused_with_remedy(lambda: plaintext.from_lines("a b"), "'a b'", "list of lines")
    refused_with_remedy(lambda: plaintext.from_lines([["a b"]]), "line 1", "'a b'")
    refused_with_remedy(lambda: plaintext.from_lines([[3]]), "3")
    refused_with_remedy(lambda: datasets.load_text("conll2000"), "conll2000")


def test_brown():
    corpus_folder("brown")
    text = datasets.load_text("brown")
    assert text.corpus.n_sentences == 57_340
    assert text.corpus.n_tokens == 1_161_192
    assert text.n_documents == 1
    first = text.corpus.select(np.arange(1)).sentences()[0]
    assert first[:3] == [("The", "at"), ("Fulton", "np-tl"), ("County", "nn-tl")]
