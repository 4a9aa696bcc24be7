"""Tagging dictionaries: unknown words, files, dilution, coverage, and training with one that is given."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from loglin import Tagger
from loglin.corpus import trees
from loglin.corpus.columns import encode_strings, from_sentences
from loglin.corpus.labels import gold_of_column, gold_of_sequences
from loglin.corpus.vocabulary import Vocabulary
from loglin.criteria.registry import criteria
from loglin.features.coverage import Coverage
from loglin.features.dictionary import (
    TagDictionary,
    dictionary_of,
    first_words,
    frequent_words,
    given_dictionary,
    read_dictionary,
    write_dictionary,
)
from loglin.problems.options import ChainOptions as Options
from support.corpora import corpus_folder
from support.errors import refused_with_remedy
from support.model_files import header_of, refuse_dictionary

MAPPING = {"the": ["D"], "dog": ["N"], "saw": ["N", "V"], "barks": ["V", "N"]}
SENTENCES = [["the", "dog", "saw", "the", "saw"], ["the", "cat", "saw"], ["a", "dog"]]
LABELS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["D", "N"]]


def as_mapping(names, dictionary) -> dict[str, set]:
    rows = zip(dictionary.words.strings, dictionary.labels, strict=True)
    return {word: {names[y] for y in np.flatnonzero(row)} for word, row in rows}


# ---------------------------------------------------------------------- unknown words


def test_policies():
    names, plain = dictionary_of(MAPPING)
    assert names == ["D", "N", "V"]
    column = encode_strings(["saw", "rat", "the"])
    expected = {
        "all": [1, 1, 1],
        "open": [0, 1, 1],  # two words or more: dog, saw, barks; saw, barks; but only the
        ("V",): [0, 0, 1],
    }
    for policy, row in expected.items():
        dictionary = plain.with_unknown(policy, names, open_types=2)
        assert dictionary.allowed(column).tolist() == [[False, True, True], list(map(bool, row)), [True, False, False]]
        assert dictionary.policy(names) == ("all" if policy == "all" else [names[y] for y in np.flatnonzero(row)])
    refuses = plain.with_unknown("refuse")
    assert refuses.policy(names) == "refuse"
    assert refuses.allowed(encode_strings(["saw", "dog"])).sum() == 3
    corpus = from_sentences([["the"], ["saw", "rat", "rat"]], "here")
    message = "here: sentence 1, token 1: 'rat' is not in the tagging dictionary"
    refused_with_remedy(lambda: refuses.allowed(corpus.columns[0], corpus.offsets, corpus.source), message)
    refused_with_remedy(lambda: refuses.allowed(column), "token 1: 'rat'")


def test_policies_that_are_none():
    names, plain = dictionary_of(MAPPING)
    refused_with_remedy(lambda: plain.with_unknown("open", names), "20 words", "none is open")
    refused_with_remedy(lambda: plain.with_unknown("any", names), "'any'", "all, open, refuse")
    refused_with_remedy(lambda: plain.with_unknown(["X"], names), "'X'")
    refused_with_remedy(lambda: plain.with_unknown([], names), "empty")


def test_more_labels():
    names, plain = dictionary_of(MAPPING)
    wanted = ["V", "X", "D", "N"]
    for policy in ("all", "refuse", ["N"]):
        dictionary = plain.with_unknown(policy, names)
        moved = dictionary.relabeled(names, wanted)
        assert as_mapping(wanted, moved) == as_mapping(names, dictionary)
        assert moved.policy(wanted) == policy
    refused_with_remedy(lambda: plain.relabeled(names, ["D", "N"]), "'V'")


# ---------------------------------------------------------------------- from users


def test_mappings():
    names, dictionary = dictionary_of({"b": "X", "a": ("Y", "X")})
    assert (names, as_mapping(names, dictionary)) == (["X", "Y"], {"b": {"X"}, "a": {"X", "Y"}})
    assert dictionary_of({"a": [1, 2]})[0] == [1, 2]
    refused_with_remedy(lambda: dictionary_of({}), "empty")
    refused_with_remedy(lambda: dictionary_of({"a": []}), "'a'")
    refused_with_remedy(lambda: dictionary_of({1: ["X"]}), "word 1")
    refused_with_remedy(lambda: dictionary_of({"a": ["Y", "X", "Y"]}), "'a'", "each label once")
    refused_with_remedy(lambda: dictionary_of({"a": [1], "b": ["1"]}), "several kinds")


def test_given(tmp_path):
    assert given_dictionary(3) == (None, 3)
    assert given_dictionary(np.int64(0)) == (None, 0)
    names, dictionary = dictionary_of(MAPPING)
    write_dictionary(tmp_path / "d", names, dictionary)
    for value in (MAPPING, (names, dictionary), [names, dictionary], str(tmp_path / "d"), tmp_path / "d"):
        found, same = given_dictionary(value)
        assert as_mapping(found, same) == as_mapping(names, dictionary)
    for wrong in (-1, 1.5, True, None, (names, MAPPING), (names[1:], dictionary), dictionary):
        refused_with_remedy(lambda wrong=wrong: given_dictionary(wrong), "dictionary is", "file's name")
    refused_with_remedy(lambda: given_dictionary(str(tmp_path / "none")), "cannot read")


# ---------------------------------------------------------------------- files

TEXT = """\
# word, then tags
#! open N V
the\tD
dog N
  saw   V  N
saw V X
New York\tN
#\tS
#1\tS
#fun is a comment
\\#2 S
\\\\#2 S
back\\slash S
"""


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress, lambda b: b"\xef\xbb\xbf" + b.replace(b"\n", b"\r\n")])
def test_lines(tmp_path, pack):
    (tmp_path / "d").write_bytes(pack(TEXT.encode()))
    names, dictionary = read_dictionary(tmp_path / "d")
    assert names == ["D", "N", "V", "X", "S"]
    assert as_mapping(names, dictionary) == {
        "the": {"D"}, "dog": {"N"}, "saw": {"N", "V", "X"}, "New York": {"N"}, "#": {"S"}, "#1": {"S"}, "#2": {"S"},
        "\\#2": {"S"}, "back\\slash": {"S"},
    }  # fmt: skip
    assert dictionary.policy(names) == ["N", "V"]


def test_pairs_and_policies(tmp_path):
    (tmp_path / "d").write_text("#! unknown=refuse\nsaw N\nthe D\nsaw V\nsaw N\n", encoding="latin-1")
    names, dictionary = read_dictionary(tmp_path / "d", "latin-1")
    assert as_mapping(names, dictionary) == {"saw": {"N", "V"}, "the": {"D"}}
    assert dictionary.policy(names) == "refuse"
    words = "".join(f"w{i} N\n" for i in range(20))
    (tmp_path / "d").write_text(f"#! unknown=open\n#! tags V D\n{words}the D\n")
    names, dictionary = read_dictionary(tmp_path / "d")
    assert names == ["V", "D", "N"]
    assert dictionary.policy(names) == ["N"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (b"", ["holds no words"]),
        (b"# nothing\n\n#! tags A\n", ["holds no words"]),
        (b"the D\nsaw\n", ["line 2", "'saw' has no tags"]),
        (b"the D\nsaw\t \n", ["line 2", "'saw' has no tags"]),
        (b"the D\n\tN\n", ["line 2", "no word"]),
        (b"the D\n\xff N\n", ["line 2", "0xff"]),
        (b"#! open\nthe D\n", ["line 1", "no option"]),
        (b"#! unknown=maybe\nthe D\n", ["line 1", "unknown=maybe", "refuse"]),
        (b"#!\nthe D\n", ["line 1", "no option"]),
        (b"#! open D\n#! unknown=refuse\nthe D\n", ["line 2", "twice"]),
        (b"#!\tN\n", ["line 1", "no option"]),
    ],
)
def test_bad_lines(tmp_path, text, parts):
    (tmp_path / "d").write_bytes(text)
    refused_with_remedy(lambda: read_dictionary(tmp_path / "d"), str(tmp_path / "d"), *parts)


def test_json(tmp_path):
    path = tmp_path / "d.json"
    path.write_text('{"the": ["D"],\n "saw": ["N", "V"], "saw": ["X"], "dog": "N", "words": ["N"]}')
    names, dictionary = read_dictionary(path)
    assert as_mapping(names, dictionary) == {
        "the": {"D"}, "saw": {"N", "V", "X"}, "dog": {"N"}, "words": {"N"},
    }  # fmt: skip
    path.write_text('{"unknown": ["Z"], "tags": ["N"], "words": {"the": ["D"], "tags": ["N"]}}')
    names, dictionary = read_dictionary(path)
    assert (names, dictionary.policy(names)) == (["N", "D", "Z"], ["Z"])
    assert as_mapping(names, dictionary) == {"the": {"D"}, "tags": {"N"}}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["line 1", "not JSON"]),
        ('{"a":\n ["X"}', ["line 2", "not JSON"]),
        ("[1]", ["no object"]),
        ("{}", ["holds no words"]),
        ('{"a": []}', ["'a' has no tags"]),
        ('{"a": [null]}', ["'a'", "None"]),
        ('{"a": [NaN]}', ["'a'", "nan"]),
        ('{"a": {"X": 1}}', ["'a'"]),
        ('{"a\\ud800": ["X"]}', ["half a character"]),
        ("[" * 10**5, ["nested too deep"]),
        (f'{{"a": [{"9" * 400}]}}', ["'a'", "give strings or numbers"]),
        (f'{{"a": [{"9" * 5000}]}}', ["not JSON"]),
        (f'{{"{"a" * 70_000}": ["X"]}}', ["line 1", "a token of more than 65,536 bytes"]),
        ('{"words": {"a": ["X"]}, "unknown": "maybe"}', ["'maybe'"]),
        ('{"words": {"a": ["X"]}, "unknown": []}', ['"unknown"']),
        ('{"words": {"a": ["X"]}, "tags": "X"}', ["leave it out"]),
        ('{"words": {"a": ["X"]}, "b": ["X"]}', ["leave it out"]),
    ],
)
def test_bad_json(tmp_path, text, parts):
    (tmp_path / "d.json").write_text(text)
    refused_with_remedy(lambda: read_dictionary(tmp_path / "d.json"), *parts)


WORDS = st.text(st.sampled_from('#!\\ ab\t\n\r\0\xa0\u2028é/=[]{}"'), max_size=5)


@settings(max_examples=150)
@given(
    st.dictionaries(WORDS, st.sets(st.sampled_from(["N", "#!", "\\#", "a/b", "é"]), min_size=1), min_size=1),
    st.sampled_from(["all", "refuse", "listed"]),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, mapping, policy, as_json):
    """JSON holds any word; lines hold it or say so, and lose only ends of lines and blanks around."""
    names, dictionary = dictionary_of({word: sorted(labels) for word, labels in mapping.items()})
    dictionary = dictionary.with_unknown(names[-1:] if policy == "listed" else policy, names)
    path = tmp_path_factory.mktemp("d") / ("d.json" if as_json else "d.dict")
    lost = [w for w in mapping if w != w.strip(" ") or not w or set(w) & set("\t\n\0")]
    if lost and not as_json:
        refused_with_remedy(lambda: write_dictionary(path, names, dictionary), ".json")
        return
    write_dictionary(path, names, dictionary)
    found, same = read_dictionary(path)
    assert found == names
    assert same.words.strings == dictionary.words.strings
    assert np.array_equal(same.labels, dictionary.labels)
    assert np.array_equal(same.unknown, dictionary.unknown)


def test_words_that_look_like_marks(tmp_path):
    """They get a backslash, and every further one stands for itself."""
    odd = ["#!", "\\#!", "\\\\#!", "# a", "#", "\\#", "#a", "\\", "\\a", "a#", "!#"]
    names, dictionary = dictionary_of({word: ["N"] for word in odd})
    write_dictionary(tmp_path / "d", names, dictionary)
    assert read_dictionary(tmp_path / "d")[1].words.strings == odd
    lines = (tmp_path / "d").read_text().splitlines()
    assert lines[:4] == ["#! tags N", "\\#!\tN", "\\\\#!\tN", "\\\\\\#!\tN"]


def test_labels_that_lines_cannot_hold(tmp_path):
    for label in (1, "a b", "a\0"):
        names, dictionary = dictionary_of({"w": [label]})
        refused_with_remedy(lambda n=names, d=dictionary: write_dictionary(tmp_path / "d", n, d), repr(label), ".json")
        write_dictionary(tmp_path / "d.json", names, dictionary)
        assert read_dictionary(tmp_path / "d.json")[0] == [label]
    names, dictionary = dictionary_of({"\ud800": ["N"]})
    refused_with_remedy(lambda: write_dictionary(tmp_path / "d", names, dictionary), "half a character")
    assert [p.name for p in tmp_path.iterdir()] == ["d.json"]


# ---------------------------------------------------------------------- dilution and coverage


def test_dilution():
    corpus = from_sentences(SENTENCES)
    names, gold = gold_of_sequences(LABELS, [5, 3, 2])
    whole = TagDictionary.of(corpus.columns[0], gold).with_unknown("refuse")
    assert frequent_words(corpus.columns[0], 2).strings == ["the", "dog", "saw"]
    assert first_words(corpus, 2).strings == ["the", "dog", "saw", "cat"]
    assert first_words(corpus, 99).strings == ["the", "dog", "saw", "cat", "a"]
    thin = whole.diluted(frequent_words(corpus.columns[0], 3))
    assert as_mapping(names, thin) == {"the": {"D"}, "saw": {"N", "V"}}
    assert thin.unknown.all()
    counted = TagDictionary.of(corpus.columns[0], gold, 3)
    assert as_mapping(names, counted) == as_mapping(names, thin)
    assert as_mapping(names, whole.diluted({"cat", "elsewhere"})) == {"cat": {"N"}}


def test_coverage():
    names, dictionary = dictionary_of(MAPPING | {"of": ["P"]})
    column = encode_strings(["rat", "the", "saw", "cat", "rat", "saw"])
    found = Coverage.of(dictionary.with_unknown(["N"], names), names, column)
    assert found.as_dict() == {
        "words": 4, "tokens": 6, "missing_words": ["rat", "cat"], "missing_tokens": 3, "ambiguous_tokens": 2,
        "tags_per_token": (3 + 1 + 4) / 6, "unused_labels": ["P"],
    }  # fmt: skip
    assert "2 words (rat, cat) of the text, 3 tokens" in found.warnings()[1]
    assert "1 label (P)" in found.warnings()[0]
    anything = Coverage.of(dictionary, names, column)
    assert (anything.unused_labels, anything.ambiguous_tokens, anything.tags_per_token) == ([], 5, (12 + 1 + 4) / 6)
    refusing = Coverage.of(dictionary.with_unknown("refuse"), names, column)
    assert (refusing.missing_tokens, refusing.ambiguous_tokens, refusing.tags_per_token) == (3, 2, 5 / 3)
    empty = Coverage.of(dictionary, names, encode_strings([]))
    assert (empty.tokens, empty.tags_per_token, empty.unused_labels) == (0, 0.0, names)
    assert not Coverage.of(*reversed(dictionary_of({"a": "X"})), encode_strings(["a"])).warnings()


def test_treebank():
    """Figures that a few lines of plain Python count too."""
    corpus = trees.read(corpus_folder("treebank"))
    names, gold = gold_of_column(corpus.columns[1])
    dictionary = TagDictionary.of(corpus.columns[0], gold)
    found = Coverage.of(dictionary, names, corpus.columns[0])
    assert found.tokens == 94_084
    assert found.ambiguous_tokens == 34_357
    assert found.tags_per_token == pytest.approx(1.671336252710344)
    assert not found.warnings()
    assert len(dictionary.with_unknown("open", names).policy(names)) == 45 - 27


# ---------------------------------------------------------------------- training


GIVEN = {"the": ["D"], "a": ["D"], "dog": ["N"], "cat": ["N"], "saw": ["V", "N"], "rat": ["N"], "runs": ["R"]}


@pytest.mark.parametrize("criterion", criteria("chain"))
def test_labels_of_data_and_dictionary(criterion, tmp_path):
    """R is a label that only the dictionary has; every criterion trains with it, and decoding heeds the dictionary."""
    tagger = Tagger(criterion, dictionary=GIVEN, template="U0:%x[0,0]\nB\n", max_iter=5).fit(SENTENCES, LABELS)
    assert tagger.classes_ == ["D", "N", "V", "R"]
    (found,) = tagger.predict([["the", "rat", "runs", "saw"]])
    assert found[:3] == ["D", "N", "R"]
    assert found[3] in ("V", "N")
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.predict([["rat", "runs"]]) == [["N", "R"]]
    names, dictionary = loaded.dictionary
    assert as_mapping(names, dictionary) == {w: set(y) for w, y in GIVEN.items()}
    assert clone(loaded).fit(SENTENCES, LABELS).classes_ == tagger.classes_


def test_held_out_labels_that_only_the_dictionary_has():
    dev = ([["rat", "runs", "off"]], [["N", "R", "P"]])
    tagger = Tagger(dictionary=GIVEN | {"off": ["N"]}, dev=dev, max_iter=3).fit(SENTENCES, LABELS)
    assert tagger.model_.record["history"][0]["score"] == pytest.approx(2 / 3)


def test_unknown_words_in_training_and_decoding(tmp_path):
    names, dictionary = dictionary_of(GIVEN)
    for policy in ("refuse", ["N", "R"]):
        tagger = Tagger(dictionary=(names, dictionary.with_unknown(policy, names))).fit(SENTENCES, LABELS)
        tagger.save(tmp_path / "model")
        loaded = Tagger.load(tmp_path / "model")
        assert loaded.model_.dictionary.policy(loaded.classes_) == (policy if policy == "refuse" else ["N", "R"])
        if policy == "refuse":
            for one in (tagger, loaded):
                refused_with_remedy(
                    lambda one=one: one.predict([["dog"], ["the", "bird"]]), "sentence 1, token 1: 'bird'"
                )
        else:
            assert set(loaded.predict([["bird"] * 4])[0]) <= {"N", "R"}
    without = {w: y for w, y in GIVEN.items() if w != "cat"}
    names, dictionary = dictionary_of(without)
    refusing = (names, dictionary.with_unknown("refuse"))
    refused_with_remedy(lambda: Tagger(dictionary=refusing).fit(SENTENCES, LABELS), "sentence 1, token 1: 'cat'")


def test_labels_against_the_dictionary():
    wrong = GIVEN | {"saw": ["V"]}
    message = "sentence 0, token 4: 'saw' has the label N, but the dictionary allows V"
    refused_with_remedy(lambda: Tagger(dictionary=wrong).fit(SENTENCES, LABELS), message)
    partial = [["D", "N", "V", "D", None], ["D", "N", {"N", "V"}], ["D", "N"]]
    assert Tagger(dictionary=wrong).fit(SENTENCES, partial).predict([["saw"]]) == [["V"]]
    refused_with_remedy(lambda: Tagger(dictionary=GIVEN).fit([[{"w": "a"}]], [["D"]]), "needs words")


def test_partial_labels_may_be_new_ones():
    names, gold = gold_of_sequences([["A", None, {"A", "B"}]], [3])
    assert gold.widened(3).allowed().tolist() == [[True, False, False], [True] * 3, [True, True, False]]
    assert names == ["A", "B"]


def test_options_keep_what_was_given():
    assert Options(dictionary=2).dictionary == 2
    names, dictionary = Options(dictionary=GIVEN).dictionary
    assert as_mapping(names, dictionary)["saw"] == {"V", "N"}


# ---------------------------------------------------------------------- model files


def test_versions(tmp_path):
    """Only a dictionary that limits unknown words needs a reader that knows of them."""
    names, dictionary = dictionary_of(GIVEN)
    for value, version in ((0, 1), (1, 3), (GIVEN, 3), ((names, dictionary.with_unknown("refuse")), 4)):
        Tagger(dictionary=value, max_iter=2).fit(SENTENCES, LABELS).save(tmp_path / "model")
        header, manifest = header_of(tmp_path / "model")
        assert manifest["version"] == version
        assert ("dictionary.unknown" in header) == (version == 4)


def test_damaged_unknown(tmp_path):
    tagger = Tagger(dictionary=GIVEN, max_iter=2).fit(SENTENCES, LABELS)
    whole = tagger.model_.dictionary
    for size in (9, 17):  # bytes more than four labels need
        broken = TagDictionary(whole.words, whole.labels, np.zeros(size, bool))
        refuse_dictionary(tagger, broken, tmp_path / "model")


def test_vocabulary_to_keep():
    names, dictionary = dictionary_of(MAPPING)
    assert as_mapping(names, dictionary.diluted(Vocabulary.of(["dog", "x"]))) == {"dog": {"N"}}
