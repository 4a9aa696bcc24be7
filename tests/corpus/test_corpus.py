"""What users' files become: columns, vocabularies, labels; and the sentence they read when a file is wrong."""

import gzip
import io
import json
import pickle
import re
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loglin.corpus import columns, conll, crfsuite, datasets, files, jsonlines, svmlight
from loglin.corpus.columns import concatenate, encode_strings, from_sentences
from loglin.corpus.labels import Gold, gold_of_column, gold_of_sequences
from loglin.corpus.sections import Section
from loglin.corpus.vocabulary import EMPTY, Vocabulary
from support.errors import refused

TWO = [[("The", "D"), ("dog", "N")], [("barks", "V")]]
quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def write(tmp_path):
    """write(content, name) → path of a file that holds it."""

    def write(content: bytes | str, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# ---------------------------------------------------------------------- CoNLL columns


@pytest.mark.parametrize(
    "text",
    [
        "The D\ndog N\n\nbarks V\n",
        "The\tD\ndog\tN\n\nbarks\tV\n",
        "The D\ndog N\n\nbarks V",  # no newline at the end
        "The D\ndog\tN\n\nbarks \t V\n",  # blanks first: tabs part as well
        "  The   D\ndog N  \n\n barks    V \n",
        "The D\r\ndog N\r\n\r\nbarks V\r\n",
        "The\tD\r\ndog\tN\r\n\r\nbarks\tV",
        "\n\n\nThe D\ndog N\n\nbarks V\n",
        "The D\ndog N\n\n\n\nbarks V\n\n\n",
        "The D\ndog N\n  \nbarks V\n \n",
        "The\tD\ndog\tN\n\t\t\nbarks\tV\n",
        "The D\ndog N\n \t \r\nbarks V\n",
        "-DOCSTART- -X- O O\n\nThe D\ndog N\n\nbarks V\n",
        "-DOCSTART-\nThe D\ndog N\n-DOCSTART- -X-\nbarks V\n",  # ends a sentence like a blank line
        "The D\ndog N\n\nbarks V\n-DOCSTART-\n",
        "\ufeffThe D\ndog N\n\nbarks V\n",
        "\ufeff-DOCSTART-\n\nThe D\ndog N\n\nbarks V\n",
    ],
)
def test_conll_forms_of_the_same_corpus(write, text):
    corpus = conll.read(write(text))
    assert corpus.sentences() == TWO
    assert (corpus.n_sentences, corpus.n_tokens) == (2, 3)
    assert corpus.offsets.tolist() == [0, 2, 3]
    assert corpus.offsets.dtype == np.int64
    assert all(c.codes.dtype == np.int32 for c in corpus.columns)


def test_conll_empty_columns_between_tabs(write):
    corpus = conll.read(write("a\t\tX\n\t\tY\nb c\t \t\n"))
    assert corpus.sentences() == [[("a", "", "X"), ("", "", "Y"), ("b c", " ", "")]]


def test_conll_words_that_only_look_like_document_starts(write):
    sentences = conll.read(write("x D\n-DOCSTART N\n-DOC N\n --DOCSTART- N\n")).sentences()
    assert [token[0] for token in sentences[0]] == ["x", "-DOCSTART", "-DOC", "--DOCSTART-"]
    assert len(sentences) == 1


def test_conll_unicode_words(write):
    words = ["naïve", "東京", "🙂", "e\u0301", "é", "Ω", "\u00a0", "\u2028", "ß"]
    text = "".join(f"{w} {i}\n" for i, w in enumerate(words))
    corpus = conll.read(write(text))
    assert corpus.columns[0].strings() == words
    assert len(corpus.columns[0].vocabulary) == len(words)  # composed and decomposed é stay two words


def test_conll_gzip_whatever_its_name(write):
    packed = gzip.compress(b"The D\ndog N\n\nbarks V\n")
    assert conll.read(write(packed, "data.txt")).sentences() == TWO
    assert conll.read(write(packed, "data.gz")).sentences() == TWO


def test_conll_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The D\ndog N\n\nbarks V\n")))
    assert conll.read("-").sentences() == TWO


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "utf8", "UTF_8", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("block", [1 << 25, 31])
def test_conll_encodings(write, monkeypatch, encoding, block):
    monkeypatch.setattr(files, "BLOCK", block)
    path = write("été N\nà P\n\nGarçon N\n\nø X\n".encode(encoding))
    assert conll.read(path, encoding).sentences() == [
        [("été", "N"), ("à", "P")],
        [("Garçon", "N")],
        [("ø", "X")],
    ]


words = st.text(st.sampled_from("abcdeé東🙂-_'."), min_size=1, max_size=6)
corpora = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=5), min_size=1, max_size=8)
NOISE = ("\n", "\n\n", " \n", "-DOCSTART- -X-\n")


@quick
@given(corpora, st.integers(4, 40), st.sampled_from(["\n", "\r\n"]), st.sampled_from([" ", "\t"]), st.data())
def test_conll_blocks_equal_one_block(tmp_path_factory, sentences, size, newline, separator, data):
    """Blocks may end inside a word, a character, a sentence or a blank line."""
    text = ""
    for sentence in sentences:
        text += "".join(separator.join(token) + "\n" for token in sentence)
        text += "\n" + data.draw(st.sampled_from(["", *NOISE]))
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    path.write_bytes(text.replace("\n", newline).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", size)
        pieces = list(conll.blocks(path))
        corpus = conll.read(path)
    assert corpus.sentences() == sentences
    whole = conll.read(path)
    assert corpus.sentences() == whole.sentences()
    assert corpus.offsets.tolist() == whole.offsets.tolist()
    for mine, theirs in zip(corpus.columns, whole.columns, strict=True):
        assert mine.codes.tolist() == theirs.codes.tolist()  # numbered by first occurrence in the file
        assert mine.vocabulary.strings == theirs.vocabulary.strings
    assert b"".join(bytes(piece.text) for piece in pieces) == path.read_bytes()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_conll_memory_is_bounded_by_blocks(write, monkeypatch, newline):
    path = write(f"The D{newline}dog N{newline}{newline}" * 50)
    monkeypatch.setattr(files, "BLOCK", 64)
    sizes = [len(block.text) for block in conll.blocks(path)]
    assert len(sizes) > 10
    assert max(sizes) < 64 + 20


def naive_with_labels(text: str, names: list[str], separator: str) -> str:
    """One more column behind every token line."""
    labels, lines = iter(names), []
    for line in text.split("\n"):
        body = line.removesuffix("\r")
        if body.strip(" \t") and not body.startswith("-DOCSTART-"):
            line = body + separator + next(labels) + line[len(body) :]
        lines.append(line)
    assert next(labels, None) is None
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("The D\ndog N\n\nbarks V\n", " "),
        ("The\tD\r\ndog\tN\r\n\r\nbarks\tV", "\t"),
        ("\n\n-DOCSTART- -X-\n\nThe D \ndog N\n \n\nbárks V\n\n\n", " "),
    ],
)
@pytest.mark.parametrize("size", [1 << 25, 9])
def test_with_labels_equals_a_naive_version(write, monkeypatch, text, separator, size):
    monkeypatch.setattr(files, "BLOCK", size)
    labels = Vocabulary.of(["O", "B-été", "", "I-a-very-long-label"])
    codes, out, done = np.array([3, 1, 2], np.int32), b"", 0
    for block in conll.blocks(write(text)):
        n = block.corpus.n_tokens
        out += conll.with_labels(block, codes[done : done + n], labels)
        done += n
    assert done == 3
    assert out.decode() == naive_with_labels(text, [labels[c] for c in codes], separator)


@pytest.mark.parametrize("separator", [" ", "\t"])
@quick
@given(sentences=corpora)
def test_conll_round_trip(tmp_path_factory, separator, sentences):
    path = tmp_path_factory.getbasetemp() / "round.txt"
    lines = [separator.join(token) for sentence in sentences for token in (*sentence, ())]
    path.write_text("".join(line + "\n" for line in lines))
    assert conll.read(path).sentences() == sentences


# ---------------------------------------------------------------------- what is wrong with a file


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [1 << 25, 8])
def test_ragged_lines(write, monkeypatch, newline, block):
    monkeypatch.setattr(files, "BLOCK", block)
    lines = ["The D", "dog N", "", "barks V loudly", "x Y"]
    path = write(newline.join(lines))
    refused(lambda: conll.read(path), f"{path}, line 4:", "3 columns", "first line has 2", "barks V loudly")
    path = write(newline.join(["", "-DOCSTART-", *lines[:2], "alone"]))
    refused(lambda: conll.read(path), f"{path}, line 5:", "1 columns", "'alone")


def test_ragged_tabs(write):
    path = write("a\tb\nc\td\t\n")
    refused(lambda: conll.read(path), f"{path}, line 2:", "3 columns where the first line has 2", "tabs")
    path = write("a\tb\nc d\n")
    refused(lambda: conll.read(path), f"{path}, line 2:", "1 columns", "parted by tabs")


@pytest.mark.parametrize("block", [1 << 25, 12])
def test_wrong_encoding_names_line_byte_and_remedy(write, monkeypatch, block):
    monkeypatch.setattr(files, "BLOCK", block)
    content = "The D\ndog N\n\nété N\n\nx Y\n".encode("latin-1")
    path = write(content)
    refused(lambda: conll.read(path), f"{path}, line 4:", "0xe9", "UTF-8", "--encoding latin-1")
    refused(lambda: list(crfsuite.read(path)), f"{path}, line 4:", "0xe9")
    refused(lambda: list(jsonlines.read(write(b'{}\n{"a": "\xe9"}\n'))), ", line 2:", "0xe9")
    path = write("The D\n\nété N\n\nx\x81 Y\n".encode("latin-1"))
    refused(lambda: conll.read(path, "cp1252"), path, "line 5", "0x81", "cp1252", "--encoding")


def test_bad_bytes_that_join_to_good_ones(write):
    """Ã and © in latin-1 are the two halves of é in UTF-8, but each alone is no UTF-8."""
    path = write(b"ok N\n\xc3 N\n\xa9 N\n")
    refused(lambda: conll.read(path), f"{path}, line 2:", "0xc3")


def test_unknown_encoding(write):
    refused(lambda: conll.read(write("a b\n"), "klingon"), "klingon", "latin-1")


def test_binary_file(write):
    path = write(b"\x7fELF\x02\x01\x00\x00 data\n")
    for read in (conll.read, lambda p: list(crfsuite.read(p)), lambda p: list(svmlight.read(p))):
        refused(lambda read=read: read(path), path, "zero byte at position 6", "not a text file")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf16_read_as_utf8(write, mark):
    path = write(mark + "a b\n".encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"))
    refused(lambda: conll.read(path), path, "UTF-16", "--encoding utf-16")
    assert conll.read(path, "utf-16").sentences() == [[("a", "b")]]


@pytest.mark.parametrize("content", ["", "\n\n \n", "-DOCSTART- -X-\n\n", "\ufeff"])
def test_no_tokens(write, content):
    path = write(content)
    refused(lambda: conll.read(path), path, "no tokens")


def test_missing_file_and_folder(tmp_path):
    missing = tmp_path / "missing.txt"
    refused(lambda: conll.read(missing), missing, "No such file", "check the name")
    refused(lambda: conll.read(tmp_path), tmp_path, "folder")
    refused(lambda: list(crfsuite.read(tmp_path)), tmp_path, "folder")


def test_damaged_gzip(write):
    packed = gzip.compress(np.random.default_rng(0).bytes(1000).hex().encode())
    path = write(packed[: len(packed) // 2])
    refused(lambda: conll.read(path), path, "damaged", "gzip -t")
    flipped = bytearray(packed)
    flipped[-6] ^= 0xFF  # the check sum
    path = write(bytes(flipped))
    refused(lambda: conll.read(path), path, "damaged")


# ---------------------------------------------------------------------- CRFsuite files


def test_crfsuite_forms(write):
    text = "B-NP\tw=The\tlen:3\tx:-0.5\r\nI-NP\ta\\:b\tc\\\\d:2e-1\t\n\n\n \nO\n"
    assert list(crfsuite.read(write(text))) == [
        (["B-NP", "I-NP"], [{"w=The": 1.0, "len": 3.0, "x": -0.5}, {"a:b": 1.0, "c\\d": 0.2}]),
        (["O"], [{}]),
    ]


def test_crfsuite_across_blocks(write, monkeypatch):
    path = write("A\tx\ty:2\nB\téé\n\nC\tz\n")
    expected = list(crfsuite.read(path))
    for size in (3, 5, 7, 16):
        monkeypatch.setattr(files, "BLOCK", size)
        assert list(crfsuite.read(path)) == expected
    assert expected[0] == (["A", "B"], [{"x": 1.0, "y": 2.0}, {"éé": 1.0}])


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("a:b", ["'b' in 'a:b'", "\\:"]),
        ("a:1:2", ["'1:2'"]),
        ("a:", ["''", "'a:'"]),
        ("name:nan", ["'name'", "nan", "finite"]),
        ("name:-inf", ["'name'", "-inf", "finite"]),
        ("a\\", ["lone backslash", "'a\\\\'"]),
    ],
)
def test_crfsuite_bad_values(write, field, parts):
    path = write(f"A\tx\n\nB\ty\t{field}\n")
    refused(lambda: list(crfsuite.read(path)), f"{path}, line 3:", *parts)


names = st.text(st.sampled_from("ab:\\=é 東\"'#[]"), min_size=1, max_size=8)
values = st.one_of(st.just(1.0), st.floats(allow_nan=False, allow_infinity=False))
tokens = st.tuples(
    st.text(st.sampled_from("BIO-:\\é"), min_size=1, max_size=4), st.dictionaries(names, values, max_size=4)
)


@quick
@given(st.lists(st.lists(tokens, min_size=1, max_size=4), max_size=4))
def test_crfsuite_round_trip(tmp_path_factory, sentences):
    path = tmp_path_factory.getbasetemp() / "round.crfsuite"
    pairs = [([label for label, _ in s], [attributes for _, attributes in s]) for s in sentences]
    lines = []
    for sentence in sentences:
        for label, attributes in sentence:
            escaped = {name.replace("\\", "\\\\").replace(":", "\\:"): v for name, v in attributes.items()}
            lines.append("\t".join([label, *(n + (f":{v!r}" if v != 1 else "") for n, v in escaped.items())]))
        lines.append("")
    path.write_text("".join(line + "\n" for line in lines))
    assert list(crfsuite.read(path)) == pairs


# ---------------------------------------------------------------------- JSON lines


def test_json_sentences(write):
    path = write(
        '{"tokens": ["The", "dög"], "labels": ["D", null]}\n\n'
        '{"tokens": [["a", "X"], {"w": 1}]}\r\n{"tokens": [], "labels": []}\n'
    )
    assert list(jsonlines.sentences(path)) == [
        (["D", None], ["The", "dög"]),
        (None, [["a", "X"], {"w": 1}]),
        ([], []),
    ]


def test_json_examples(write):
    path = write(
        '{"label": "sport", "text": "The ball, the Ball!"}\n{"features": {"a": 1.5}}\n{"label": "x", "features": ["b"]}'
    )
    assert list(jsonlines.examples(path)) == [
        ("sport", "The ball, the Ball!"),
        (None, {"a": 1.5}),
        ("x", ["b"]),
    ]


@pytest.mark.parametrize(
    ("read", "line", "parts"),
    [
        (jsonlines.read, '{"a": }', ["not JSON"]),
        (jsonlines.read, "[1, 2]", ["'[1, 2]'", "no object"]),
        (jsonlines.sentences, '{"words": ["a"], "tags": ["B"]}', ['"tokens"', "words, tags"]),
        (jsonlines.sentences, '{"tokens": "a b"}', ['"tokens"']),
        (jsonlines.sentences, '{"tokens": ["a", "b"], "labels": ["X"]}', ["2 tokens"]),
        (jsonlines.sentences, '{"tokens": ["a"], "labels": "X"}', ["1 tokens"]),
        (jsonlines.examples, '{"label": "x", "body": "y"}', ['"text"', "label, body"]),
        (jsonlines.examples, '{"features": {"ok": 1, "bad": NaN}}', ["'bad'", "nan", "finite"]),
        (jsonlines.examples, '{"features": {"bad": 1e999}}', ["'bad'", "inf"]),
        (jsonlines.examples, "{}", ["nothing"]),
    ],
)
def test_json_mistakes(write, read, line, parts):
    good = '{"tokens": [], "features": {}}\n\n'
    path = write(good + line + "\n")
    refused(lambda: list(read(path)), f"{path}, line 3:", *parts)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@quick
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=4))
def test_json_round_trip(tmp_path_factory, objects):
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects), newline="")
    assert [value for _, value in jsonlines.read(path)] == objects


# ---------------------------------------------------------------------- SVMlight


def test_svmlight(write):
    path = write("# a comment\n+1 1:0.5 7:-2e3 # it\n\nspam\n-1 qid:3 2:1\r\n")
    assert list(svmlight.read(path)) == [
        ("+1", {"1": 0.5, "7": -2000.0}),
        ("spam", {}),
        ("-1", {"qid": 3.0, "2": 1.0}),
    ]


@pytest.mark.parametrize("field", ["3", "3:x", "3:", "3:nan", "3:inf"])
def test_svmlight_mistakes(write, field):
    path = write(f"1 2:1\n1 2:1 {field}\n")
    refused(lambda: list(svmlight.read(path)), f"{path}, line 2: {field!r}", "index:value")


# ---------------------------------------------------------------------- corpora of Python objects


def test_from_sentences():
    corpus = from_sentences([["The", "dog"], [], ["barks"]])
    assert corpus.sentences() == [[("The",), ("dog",)], [], [("barks",)]]
    assert from_sentences(iter(TWO)).sentences() == TWO
    assert from_sentences([[["a", "b"], ("c", "d")]]).sentences() == [[("a", "b"), ("c", "d")]]
    empty = from_sentences([])
    assert (empty.n_sentences, empty.n_tokens, empty.sentences()) == (0, 0, [])


@pytest.mark.parametrize(
    ("sentences", "parts"),
    [
        (["The dog"], ["sentence 0", "'The dog'", "split"]),
        ([["a"], "b c"], ["sentence 1", "'b c'"]),
        ([[("a", "b")], [("c", "d"), ("e",)]], ["sentence 1, token 1", "('e',)", "2"]),
        ([[("a", "b"), "c"]], ["sentence 0, token 1", "('c',)"]),
        ([[("a", 1)]], ["sentence 0, token 0", "('a', 1)"]),
        ([["a", b"b"]], ["sentence 0, token 1"]),
        ([["a", 3]], ["sentence 0, token 1", "3"]),
        ([["a", None]], ["sentence 0, token 1", "None"]),
        ([["a"], 3], ["sentence 1", "3"]),
        ([[()]], ["sentence 0, token 0", "()"]),
        ([[(), ("a",)]], ["sentence 0, token 0", "()"]),
    ],
)
def test_from_sentences_wrong_shapes(sentences, parts):
    refused(lambda: from_sentences(sentences, "X"), "X", *parts)


def test_column_by_number():
    corpus = from_sentences(TWO, "mine")
    assert corpus.column(-1).strings() == ["D", "N", "V"]
    assert corpus.column(0).strings() == ["The", "dog", "barks"]
    for index in (2, -3):
        refused(lambda index=index: corpus.column(index), "mine has 2 columns", f"no column {index}")


sentences_with_empty_ones = st.lists(st.lists(st.tuples(words, words), max_size=4), min_size=1, max_size=6)


@quick
@given(sentences_with_empty_ones, st.data())
def test_select(sentences, data):
    corpus = from_sentences(sentences)
    if not corpus.n_tokens:
        return
    chosen = data.draw(st.lists(st.integers(-len(sentences), len(sentences) - 1), max_size=7))
    selected = corpus.select(np.array(chosen, np.int64))
    assert selected.sentences() == [sentences[s] for s in chosen]
    assert selected.offsets[0] == 0
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(sentences), max_size=len(sentences))), bool)
    assert corpus.select(mask).sentences() == [s for s, keep in zip(sentences, mask, strict=True) if keep]


@quick
@given(st.lists(corpora, min_size=1, max_size=4))
def test_concatenate(parts):
    joined = concatenate([from_sentences(part) for part in parts], "all")
    expected = [sentence for part in parts for sentence in part]
    assert joined.sentences() == expected
    assert joined.source == "all"
    for mine, theirs in zip(joined.columns, from_sentences(expected).columns, strict=True):
        assert mine.codes.tolist() == theirs.codes.tolist()
        assert mine.vocabulary.strings == theirs.vocabulary.strings


# ---------------------------------------------------------------------- vocabularies

anything = st.text(max_size=5)


@quick
@given(st.lists(anything, unique=True), st.lists(anything, unique=True))
def test_vocabulary_against_a_dict(mine, theirs):
    numbers = {s: i for i, s in enumerate(mine)}
    vocabulary, other = Vocabulary.of(mine), Vocabulary.of(theirs)
    assert vocabulary.strings == mine
    assert [vocabulary[i] for i in range(len(vocabulary))] == mine
    codes = vocabulary.codes_of(other)
    assert codes.dtype == np.int32
    assert codes.tolist() == [numbers.get(s, -1) for s in theirs]
    merged, codes = vocabulary.merged(other)
    for s in theirs:
        numbers.setdefault(s, len(numbers))
    assert merged.strings == list(numbers)
    assert codes.tolist() == [numbers[s] for s in theirs]
    assert vocabulary.strings == mine  # unchanged


def test_vocabulary_many_strings():
    rng = np.random.default_rng(1)
    drawn = [str(n) for n in rng.integers(0, 4000, 6000)]
    column = encode_strings(drawn)
    numbers = {s: i for i, s in enumerate(dict.fromkeys(drawn))}
    assert column.codes.tolist() == [numbers[s] for s in drawn]
    asked = [str(n) for n in range(-50, 4500)]
    assert column.vocabulary.codes_of(Vocabulary.of(asked)).tolist() == [numbers.get(s, -1) for s in asked]


def test_conll_numbers_many_strings_by_first_occurrence(write):
    """More distinct words than the reader's first hash table holds."""
    drawn = [f"w{n}" for n in np.random.default_rng(2).integers(0, 3000, 4000)]
    column = conll.read(write("\n".join(drawn) + "\n")).columns[0]
    numbers = {s: i for i, s in enumerate(dict.fromkeys(drawn))}
    assert len(numbers) > 2048
    assert column.codes.tolist() == [numbers[s] for s in drawn]
    assert column.vocabulary.strings == list(numbers)


def test_vocabulary_of_the_empty_string_and_of_nothing():
    vocabulary = Vocabulary.of(["", "a"])
    assert (vocabulary.code(""), vocabulary.code("a"), vocabulary.code("b")) == (0, 1, -1)
    assert Vocabulary.of([""]).strings == [""]
    assert EMPTY.code("") == -1
    assert EMPTY.codes_of(EMPTY).tolist() == []
    assert EMPTY.merged(vocabulary)[0].strings == ["", "a"]
    assert vocabulary.merged(EMPTY)[0].strings == ["", "a"]
    assert Vocabulary.of(["\ud800"]).strings == ["\ud800"]  # half a character, as JSON may hold


@pytest.mark.parametrize(
    ("blob", "starts"),
    [
        (np.zeros(3, np.uint8), np.array([0, 2, 4])),
        (np.zeros(3, np.uint8), np.array([1, 3])),
        (np.zeros(3, np.uint8), np.array([0, 5, 3])),
        (np.zeros(3, np.uint8), np.array([], np.int64)),
        (np.zeros(3, np.uint8), np.array([0, 3], np.int32)),
        (np.zeros(3, np.int8), np.array([0, 3])),
    ],
)
def test_vocabulary_of_a_damaged_file(blob, starts):
    with pytest.raises(ValueError, match=r"blob|starts"):
        Section({}, {"blob": blob, "starts": starts}).vocabulary()
    right = {"blob": np.zeros(3, np.uint8), "starts": np.array([0, 0, 3])}
    assert len(Section({}, right).vocabulary()) == 2


# ---------------------------------------------------------------------- labels


def possible_of(gold: Gold) -> list[set[int]]:
    """The labels that the annotation allows at every token, by the record's own definition."""
    return [{int(c)} if c >= 0 else set(np.flatnonzero(gold.sets[~c]).tolist()) for c in gold.codes]


def test_gold_of_column():
    labels, gold = gold_of_column(encode_strings(["B", "_", "A|B", "C", "B"]))
    assert labels == ["B", "_", "A|B", "C"]  # nothing special unless asked for
    assert gold.codes.tolist() == [0, 1, 2, 3, 0]
    assert gold.all_certain
    labels, gold = gold_of_column(encode_strings(["B", "_", "C|A", "C", "B"]), partial=True)
    assert labels == ["B", "A", "C"]
    assert possible_of(gold) == [{0}, {0, 1, 2}, {1, 2}, {2}, {0}]
    assert not gold.all_certain


def test_gold_of_sequences():
    labels, gold = gold_of_sequences([["B", None], [{"C", "A"}, "C", ["B"]]], [2, 3])
    assert labels == ["B", "A", "C"]
    assert possible_of(gold) == [{0}, {0, 1, 2}, {1, 2}, {2}, {0}]
    labels, gold = gold_of_sequences([[3, 1], [3]], [2, 1])
    assert (labels, gold.codes.tolist(), gold.all_certain) == ([3, 1], [0, 1, 0], True)


def test_gold_with_given_labels():
    labels, gold = gold_of_column(encode_strings(["A", "B"]), labels=["B", "X", "A"])
    assert (labels, gold.codes.tolist(), gold.n_labels) == (["B", "X", "A"], [2, 0], 3)
    refused(lambda: gold_of_column(encode_strings(["A", "Z"]), labels=["A", "B"]), "'Z'", "A, B")
    refused(lambda: gold_of_sequences([[{"A", "Z"}]], [1], labels=["A", "B"]), "'Z'")


def test_gold_mistakes():
    refused(lambda: gold_of_sequences([["A"], ["B", "C"]], [1, 3]), "sentence 1", "3 tokens but 2 labels")
    refused(lambda: gold_of_sequences([["A"]], [1, 1]), "2 sentences but 1 label")
    refused(lambda: gold_of_sequences([["A"], ["B"], ["C"]], [1, 1]), "2 sentences but 3 label")
    refused(lambda: gold_of_sequences([[None]], [1]), "no token has a label")
    refused(lambda: gold_of_column(encode_strings(["_"]), partial=True), "no token has a label")


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 17])
def test_possible_labels_as_bits(n_labels):
    rng = np.random.default_rng(n_labels)
    sets = rng.random((4, n_labels)) < 0.5
    sets[0] = True
    codes = np.concatenate([np.arange(n_labels), ~np.arange(4)]).astype(np.int32)
    gold = Gold(codes, n_labels, sets, np.empty(0, np.int32))
    bits = gold.possible()
    assert bits.dtype == np.uint8
    assert bits.shape == (n_labels + 4, -(-n_labels // 8))
    found = [{l for l in range(8 * bits.shape[1]) if row[l // 8] >> (l % 8) & 1} for row in bits]
    assert found == possible_of(gold)


def test_certain_gold():
    gold = Gold.certain(np.array([1, 0]), 3)
    assert gold.all_certain
    assert possible_of(gold) == [{1}, {0}]


# ---------------------------------------------------------------------- data sets


def test_data_sets(tmp_path, monkeypatch):
    (tmp_path / "conll2000").mkdir()
    (tmp_path / "conll2000" / "train.txt").write_text("a b c\n")
    monkeypatch.setenv("LOGLIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.load("conll2000").sentences() == [[("a", "b", "c")]]
    refused(lambda: datasets.load("conll2000", "test"), "conll2000", "test.txt", "LOGLIN_DATA")
    refused(lambda: datasets.load("conll2000", "dev"), "'dev'", "train, test")
    assert re.search(r"conll2000, conll2003", refused(lambda: datasets.load("ptb"), "'ptb'"))


def test_columns_that_nobody_looks_at_are_not_numbered(tmp_path, monkeypatch):
    path, asked = tmp_path / "a.txt", []
    path.write_text("a N X\nb V Y\n\na N Y\n\n")
    encode = columns.encode_slices
    monkeypatch.setattr(columns, "encode_slices", lambda *given: asked.append(1) or encode(*given))
    (block,) = conll.blocks(path)
    assert not asked
    assert block.corpus.columns[0].strings() == ["a", "b", "a"]
    assert len(asked) == 1
    assert block.corpus.strings(0) == [["a", "b"], ["a"]]
    assert len(asked) == 1
    column = pickle.loads(pickle.dumps(block.corpus.columns[2]))
    assert type(column) is columns.Column
    assert column.strings() == ["X", "Y", "Y"]
