"""Phrase and token scores: a hand count, seqeval and scikit-learn as oracles, and the refusals."""

import json
import random
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as seqeval_scores
from sklearn.metrics import precision_recall_fscore_support as sklearn_scores

from loglin.errors import LoglinError
from loglin.evaluation.sequences import Evaluation, evaluate, evaluate_labels

CHUNK_LABELS = ["O"] + [f"{letter}-{kind}" for letter in "BIES" for kind in ("X", "Y", "Z")]


def test_count_by_hand() -> None:
    gold = [["B-NP", "I-NP", "O", "B-VP", "B-NP"], ["B-NP", "O"], ["O"]]
    guess = [["B-NP", "I-NP", "O", "B-VP", "I-NP"], ["B-NP", "I-NP"], ["O"]]
    # phrases of gold: NP VP NP | NP; predicted: NP VP NP (I- of another type begins one) | a longer NP
    result = evaluate_labels(gold, guess)
    assert result.report().splitlines() == [
        "processed 8 tokens with 4 phrases; found: 4; correct: 3.",
        "accuracy:  75.00%; precision:  75.00%; recall:  75.00%; FB1:  75.00",
        "               NP: precision:  66.67%; recall:  66.67%; FB1:  66.67  3 (support 3)",
        "               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1 (support 1)",
        "sentences: 3; all correct: 33.33%",
    ]
    assert result.unit == "phrase"
    assert result.macro_f1 == pytest.approx((2 / 3 + 1) / 2)
    written = json.loads(json.dumps(result.as_dict()))
    assert written["by_type"]["NP"] == {
        "precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3, "found": 3, "correct": 2,
    }  # fmt: skip
    assert (written["sentences"], written["tokens"], written["sentence_accuracy"]) == (3, 8, 1 / 3)


def test_a_phrase_never_crosses_a_sentence() -> None:
    codes = np.array([1, 2, 2, 2])
    names = ["O", "B-X", "I-X"]
    one = evaluate(codes, codes, names, np.array([0, 4]))
    two = evaluate(codes, codes, names, np.array([0, 2, 4]))
    assert (one.phrases, two.phrases) == (1, 2)


def _random_pair(rng: random.Random, names: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    gold = [rng.choices(names, k=rng.randint(1, 12)) for _ in range(rng.randint(1, 4))]
    keep = rng.choice((0.0, 0.5, 0.9, 1.0))
    guess = [[label if rng.random() < keep else rng.choice(names) for label in labels] for labels in gold]
    return gold, guess


def test_phrase_scores_equal_seqeval_on_random_and_malformed_labels() -> None:
    rng = random.Random(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1000):
            names = rng.choice((CHUNK_LABELS, CHUNK_LABELS[:7], CHUNK_LABELS[:4] + CHUNK_LABELS[5:6]))
            gold, guess = _random_pair(rng, names)
            result = evaluate_labels(gold, guess)
            micro = seqeval_scores(gold, guess, average="micro")
            assert (result.precision, result.recall, result.f1) == pytest.approx(micro[:3])
            assert result.phrases == micro[3]
            assert result.macro_f1 == pytest.approx(
                seqeval_scores(gold, guess, average="macro")[2] if result.by_type else 0.0
            )
            rows = [(row["precision"], row["recall"], row["f1"], row["support"]) for row in result.by_type.values()]
            expected = seqeval_scores(gold, guess, average=None)
            np.testing.assert_allclose(np.array(rows).reshape(-1, 4), np.stack(expected, axis=1))


def test_token_scores_equal_scikit_learn() -> None:
    rng = random.Random(5)
    names = ["NN", "VB", "IN", "O", "B-X"]
    for _ in range(50):
        gold, guess = _random_pair(rng, names)
        flat = [label for labels in gold for label in labels], [label for labels in guess for label in labels]
        if set(names[:3]).isdisjoint(flat[0] + flat[1]):
            continue  # a chunk scheme after all
        result = evaluate_labels(gold, guess)
        assert result.unit == "token"
        assert result.precision == result.recall == result.f1 == pytest.approx(result.accuracy)
        expected = sklearn_scores(*flat, average=None, zero_division=0)
        rows = [(row["precision"], row["recall"], row["f1"], row["support"]) for row in result.by_type.values()]
        np.testing.assert_allclose(rows, np.stack(expected, axis=1))
        assert result.macro_f1 == pytest.approx(sklearn_scores(*flat, average="macro", zero_division=0)[2])


def test_token_report() -> None:
    text = evaluate_labels([["NN", "VB"]], [["NN", "NN"]]).report()
    assert text.startswith("processed 2 tokens with 2 labels; correct: 1; macro FB1: 33.33.\naccuracy:  50.00%")


@pytest.mark.parametrize("sentences", [[], [[]], [["O", "O"]]])
def test_nothing_to_find_is_zero(sentences: list[list[str]]) -> None:
    result = evaluate_labels(sentences, sentences)
    assert (result.precision, result.recall, result.f1, result.macro_f1, result.phrases) == (0, 0, 0, 0, 0)
    assert result.accuracy == (1.0 if sentences == [["O", "O"]] else 0.0)
    assert result.sentence_accuracy == (1.0 if sentences else 0.0)


def test_a_label_unknown_to_the_other_side_counts() -> None:
    result = evaluate_labels([["B-X", "O"]], [["B-NEW", "O"]])
    assert (result.phrases, result.found, result.correct) == (1, 1, 0)
    assert list(result.by_type) == ["NEW", "X"]


def test_codes_may_index_names_in_any_order_and_integer_width() -> None:
    names = ["I-X", "B-Y", "O", "B-X"]
    gold, guess = np.array([3, 0, 2, 1], dtype=np.int32), np.array([3, 0, 2, 3], dtype=np.uint8)
    result = evaluate(gold, guess, names, [0, 4])
    assert (result.phrases, result.found, result.correct) == (2, 2, 1)


def test_errors_name_place_and_value() -> None:
    with pytest.raises(LoglinError, match="sentence 2 has 1 gold labels but 2 predicted"):
        evaluate_labels([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(LoglinError, match="1 gold sentences but 0 predicted"):
        evaluate_labels([["O"]], [])
    with pytest.raises(LoglinError, match=r"gold label at token 1 is code -1.*evaluate_labels"):
        evaluate(np.array([0, -1]), np.array([0, 0]), ["O"], [0, 2])
    with pytest.raises(LoglinError, match="predicted label at token 0 is code 7"):
        evaluate(np.array([0, 0]), np.array([7, 0]), ["O"], [0, 2])
    with pytest.raises(LoglinError, match=r"offsets \[0 1\] do not rise from 0 to 2"):
        evaluate(np.array([0, 0]), np.array([0, 0]), ["O"], [0, 1])
    with pytest.raises(LoglinError, match="2 gold labels but 1 predicted"):
        evaluate(np.array([0, 0]), np.array([0]), ["O"], [0, 2])
    with pytest.raises(LoglinError, match="float64"):
        evaluate(np.array([0.0]), np.array([0]), ["O"], [0, 1])


def test_a_test_set_of_usual_size_takes_milliseconds() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(CHUNK_LABELS), size=(2, 47_000))
    offsets = np.append(np.arange(0, 47_000, 24), 47_000)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        result: Evaluation = evaluate(codes[0], codes[1], CHUNK_LABELS, offsets)
        seconds.append(time.perf_counter() - began)
    assert result.tokens == 47_000
    assert min(seconds) < 0.03  # 4 ms when measured; a Python loop over the tokens takes 60


def test_import_brings_nothing_but_numpy() -> None:
    heavy = "{'scipy', 'sklearn', 'numba', 'seqeval', 'matplotlib'}"
    program = f"import sys, loglin.evaluation.sequences; print({heavy} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
