"""Scores of taggers learnt without labels: against enumeration, scikit-learn and counts by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import homogeneity_completeness_v_measure

import oracle
from loglin import Tagger
from loglin.corpus import trees
from loglin.corpus.columns import encode_strings
from loglin.corpus.labels import gold_of_column
from loglin.errors import LoglinError
from loglin.evaluation.induced import MAPPINGS, clustering_scores, contingency, mapped_labels, tagging_report
from loglin.features.dictionary import TagDictionary
from support.corpora import corpus_folder
from support.shell import program, run

NAMES = ["A", "B", "C", "D", "E"]
CODES = st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, n)] * 2), max_size=12))


def arrays(pairs) -> tuple[np.ndarray, np.ndarray]:
    gold, predicted = np.array(pairs, np.int64).reshape(-1, 2).T
    return gold, predicted


# ---------------------------------------------------------------------- mappings


@settings(max_examples=80, deadline=None)
@given(CODES)
def test_mappings_against_every_map(pairs):
    gold, predicted = arrays(pairs)
    words = encode_strings(["w"] * len(gold))
    for mapping in MAPPINGS[1:]:
        best = oracle.best_mapping(gold.tolist(), predicted.tolist(), mapping == "one-to-one")
        found = tagging_report(gold, predicted, NAMES, words, mapping=mapping)
        assert round(found.accuracy * len(gold)) == best
        assert set(found.map) == {NAMES[p] for p in predicted}
        used = [label for label in found.map.values() if label is not None]
        assert mapping == "many-to-one" or len(used) == len(set(used))
        agree = sum(found.map[NAMES[p]] == NAMES[g] for g, p in pairs)
        assert agree == best
        assert sum(n for *_, n in found.errors) == len(gold) - best


def test_ties_and_labels_without_a_partner():
    table = np.array([[2, 2, 0], [2, 2, 0], [0, 0, 0]])
    assert mapped_labels(table, "many-to-one").tolist() == [0, 0, -1]
    assert sorted(mapped_labels(table, "one-to-one")[:2].tolist()) == [0, 1]
    assert mapped_labels(table, "none").tolist() == [0, 1, 2]
    three = tagging_report(np.array([0, 0, 0]), np.array([0, 1, 1]), NAMES, encode_strings("uvw"), mapping="one-to-one")
    assert three.map == {"A": None, "B": "A"}
    assert three.errors == [("u", "A", "A", 1)]  # a label that stands for nothing keeps its own name
    assert "A → no label" in three.report()
    with pytest.raises(LoglinError, match="mapping is 'best'; choose none, many-to-one, one-to-one"):
        mapped_labels(table, "best")


@settings(max_examples=80, deadline=None)
@given(CODES)
def test_clustering_scores(pairs):
    gold, predicted = arrays(pairs)
    found = clustering_scores(contingency(gold, predicted, 5))
    assert found[:3] == pytest.approx(homogeneity_completeness_v_measure(gold, predicted), abs=1e-9)
    both = ((gold.tolist(), predicted.tolist()), (predicted.tolist(), gold.tolist()))
    assert found[3] == pytest.approx(sum(oracle.conditional_entropy(*sides) for sides in both), abs=1e-9)


# ---------------------------------------------------------------------- dictionaries

WORDS = ["the", "saw", "saw", "saw", "runs", "dog"]
ALLOWED = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0]], bool)
GOLD = np.array([0, 1, 1, 2, 3, 1])  # the fourth label, of runs, is none of the model's
PREDICTED = np.array([0, 2, 2, 2, 1, 1])


def test_ambiguous_words_by_hand():
    found = tagging_report(GOLD, PREDICTED, NAMES[:4], encode_strings(WORDS), allowed=ALLOWED)
    assert (found.tokens, found.ambiguous) == (6, 4)
    assert found.accuracy == 3 / 6
    assert found.ambiguous_accuracy == 1 / 4
    assert found.random_accuracy == pytest.approx((1 + 3 / 2 + 0 + 1) / 6)
    assert found.random_ambiguous_accuracy == pytest.approx((3 / 2 + 0) / 4)
    assert found.tags_per_token == pytest.approx((1 + 6 + 3 + 1) / 6)
    assert found.errors == [("saw", "B", "C", 2), ("runs", "D", "B", 1)]
    assert (found.expected_accuracy, found.expected_ambiguous_accuracy, found.map) == (None, None, {})
    text = found.report(words=1)
    assert "all words: accuracy  50.00%; random  58.33%" in text
    assert "ambiguous words: accuracy  25.00%; random  37.50%; 4 tokens" in text
    assert "2  saw: B tagged C" in text
    assert "runs" not in text
    assert json.loads(json.dumps(found.as_dict()))["errors"][0] == ["saw", "B", "C", 2]


def test_expected_accuracy_by_hand():
    """Rows that sum to one; under a map, the probability of all labels that stand for the right one."""
    marginals = np.array([[1, 0, 0], [0, 0.5, 0.5], [0, 0.25, 0.75], [0, 0.5, 0.5], [0.5, 0.5, 0], [0, 1, 0]])
    options = {"allowed": ALLOWED, "marginals": marginals}
    found = tagging_report(GOLD, PREDICTED, NAMES[:4], encode_strings(WORDS), **options)
    assert found.expected_accuracy == pytest.approx((1 + 0.5 + 0.25 + 0.5 + 0 + 1) / 6)
    assert found.expected_ambiguous_accuracy == pytest.approx((0.5 + 0.25 + 0.5 + 0) / 4)
    mapped = tagging_report(GOLD, PREDICTED, NAMES[:4], encode_strings(WORDS), mapping="many-to-one", **options)
    assert mapped.map == {"A": "A", "B": "B", "C": "B"}
    assert mapped.expected_accuracy == pytest.approx((1 + 1 + 1 + 0 + 0 + 1) / 6)
    assert (mapped.random_accuracy, mapped.ambiguous) == (None, 4)
    assert "expected" in mapped.report()


def test_nothing_to_compare():
    empty = tagging_report(np.array([], int), np.array([], int), NAMES, encode_strings([]), allowed=ALLOWED[:0])
    assert (empty.accuracy, empty.ambiguous_accuracy, empty.v_measure, empty.errors) == (0.0, 0.0, 1.0, [])
    with pytest.raises(LoglinError, match="2 words, 1 gold labels, 1 predicted"):
        tagging_report(np.array([0]), np.array([0]), NAMES, encode_strings(["a", "b"]))
    with pytest.raises(LoglinError, match="gold label at token 0 is code 9"):
        tagging_report(np.array([9]), np.array([0]), NAMES, encode_strings(["a"]))


def test_chance_on_the_treebank():
    """24K words, the dictionary of all 94K: figures that a prototype and plain Python found too."""
    corpus = trees.read(corpus_folder("treebank"))
    names, gold = gold_of_column(corpus.columns[1])
    part = corpus.select(np.arange(1021))
    codes = gold.codes[: part.n_tokens]
    allowed = TagDictionary.of(corpus.columns[0], gold).allowed(part.columns[0])
    found = tagging_report(codes, codes, names, part.columns[0], allowed=allowed)
    assert (found.tokens, found.ambiguous, found.accuracy) == (24_020, 8_796, 1.0)
    assert found.random_accuracy == pytest.approx(0.7745302525673105)
    assert found.random_ambiguous_accuracy == pytest.approx(0.384, abs=5e-4)
    assert found.tags_per_token == pytest.approx(1.6781015820149876)


# ---------------------------------------------------------------------- taggers

SENTENCES = [["the", "dog", "saw", "the", "saw"], ["the", "cat", "saw"], ["a", "dog"]]
LABELS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["D", "N"]]


def test_estimator():
    tagger = Tagger(dictionary=1, template="U0:%x[0,0]\nB\n").fit(SENTENCES, LABELS)
    X, y = [["the", "saw"], ["rat"], []], [["D", "V"], ["X"], []]
    found = tagger.evaluate_unsupervised(X, y, marginals=True)
    predicted = tagger.predict(X)
    assert predicted[0] == ["D", "N"]
    assert (found.tokens, found.accuracy, found.ambiguous, found.ambiguous_accuracy) == (3, 1 / 3, 2, 0.0)
    chances = tagger.predict_marginals(X)
    assert found.expected_accuracy == pytest.approx((chances[0][0]["D"] + chances[0][1]["V"]) / 3)
    assert found.random_accuracy == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert ("saw", "V", "N", 1) in found.errors
    mapped = tagger.evaluate_unsupervised([["the", "dog"]], [["1", "2"]], "one-to-one")
    assert mapped.map == {"D": "1", "N": "2"}
    assert mapped.accuracy == 1
    free = Tagger().fit(SENTENCES, LABELS).evaluate_unsupervised(SENTENCES, LABELS)
    assert (free.ambiguous, free.tags_per_token, free.accuracy) == (None, None, 1.0)
    attributes = Tagger().fit([[{"w": "a"}, {"w": "b"}]], [["X", "Y"]])
    assert attributes.evaluate_unsupervised([[{"w": "a"}]], [["Y"]]).errors == [("{'w': 'a'}", "Y", "X", 1)]
    for wrong in (None, {"D"}, frozenset("D"), ["D"]):
        with pytest.raises(LoglinError, match="not certain"):
            tagger.evaluate_unsupervised([["the"]], [[wrong]])
    with pytest.raises(LoglinError, match="1 tokens but 2 labels"):
        tagger.evaluate_unsupervised([["the"]], [["D", "N"]])


def test_shell(tmp_path):
    model, data = tmp_path / "model", tmp_path / "data"
    tagger = Tagger(dictionary=1, template="U0:%x[0,0]\nB\n").fit(SENTENCES, LABELS)
    tagger.save(model)
    renamed = {"D": "1", "N": "2", "V": "3"}
    rows = [[(w, renamed[y]) for w, y in zip(s, l, strict=True)] for s, l in zip(SENTENCES, LABELS, strict=True)]
    data.write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in rows) + "\n")
    for mapping, accuracy in (("none", 0.0), ("many-to-one", 1.0), ("one-to-one", 1.0)):
        code, out, err = program(tmp_path, ["eval", model, data, "--mapping", mapping, "--words", 2, "--json"])
        assert code == 0, err
        value = json.loads(out)
        assert (value["accuracy"], value["mapping"], value["tokens"]) == (accuracy, mapping, 10)
        assert len(value["errors"]) == (2 if mapping == "none" else 0)
        assert value["unseen_labels"] == ["1", "2", "3"]
        assert ("never saw" in err) == (mapping == "none")
    text = run("eval", model, data, "--words", 1)
    assert "3  the: 1 tagged D" in text
    assert "expected" not in text
    assert "expected" in run("eval", model, data, "--marginals")
    assert "FB1" in run("eval", model, data)
    assert "ambiguous" not in run("eval", model, data, "--words", 0, "--no-dictionary")


def test_shell_with_attributes(tmp_path):
    (tmp_path / "a.crfsuite").write_text("X\tw=a\nY\tw=b\n\n")
    run("train", tmp_path / "a.crfsuite", "-o", tmp_path / "model", "--quiet")
    value = json.loads(run("eval", tmp_path / "model", tmp_path / "a.crfsuite", "--words", 3, "--json"))
    assert (value["accuracy"], value["ambiguous"], value["v_measure"]) == (1.0, None, 1.0)
