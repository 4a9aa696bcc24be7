"""Significance of differences: hand counts, scipy and plain loops as oracles; the command end to end."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from loglin.cli.main import cli
from loglin.errors import LoglinError
from loglin.evaluation.sequences import evaluate_labels
from loglin.evaluation.significance import Comparison, compare, mcnemar, paired_bootstrap, paired_t
from support.shell import refused, run

CHUNKS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def outputs(seed: int, sentences: int = 40, names=CHUNKS, noise=(0.1, 0.2), shortest: int = 0):
    rng = random.Random(seed)
    gold = [rng.choices(names, k=rng.randint(shortest, 9)) for _ in range(sentences)]
    return gold, *([[rng.choice(names) if rng.random() < n else y for y in s] for s in gold] for n in noise)


def counted(both: int, only_first: int, only_second: int, neither: int):
    """Sentences of one token with these numbers of right answers."""
    first = ["A"] * (both + only_first) + ["B"] * (only_second + neither)
    second = ["A"] * both + ["B"] * only_first + ["A"] * only_second + ["B"] * neither
    return [["A"]] * len(first), [[y] for y in first], [[y] for y in second]


# ---------------------------------------------------------------------- McNemar


def test_mcnemar_textbook():
    # Agresti, Categorical Data Analysis: approval of the prime minister, 794 + 86 + 150 + 570 people;
    # z² = 17.36 without the correction, (64 − 1)² / 236 with it
    result = mcnemar(*counted(794, 150, 86, 570))
    assert (result.only_first, result.only_second, result.direction) == (150, 86, 1)
    assert result.chi2 == pytest.approx(63**2 / 236)
    assert result.chi2_p == pytest.approx(stats.chi2.sf(63**2 / 236, 1))
    assert result.p == pytest.approx(stats.binomtest(86, 236, 0.5).pvalue)


def test_mcnemar_by_hand():
    # 1 against 5: 2 · (C(6,0) + C(6,1)) / 2⁶
    result = mcnemar(*counted(10, 1, 5, 2))
    assert result.p == pytest.approx(2 * 7 / 64)
    assert result.chi2 == pytest.approx(9 / 6)
    assert result.direction == -1


@pytest.mark.parametrize("unit", ["sentence", "token"])
@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_counts(seed, unit):
    gold, first, second = outputs(seed)
    if unit == "sentence":
        pairs = [(g == a, g == b) for g, a, b in zip(gold, first, second, strict=True)]
    else:
        rows = zip(gold, first, second, strict=True)
        pairs = [(x == y, x == z) for g, a, b in rows for x, y, z in zip(g, a, b, strict=True)]
    b, c = pairs.count((True, False)), pairs.count((False, True))
    result = mcnemar(gold, first, second, unit)
    assert (result.only_first, result.only_second) == (b, c)
    assert result.p == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue)


def test_equal_counts_are_no_difference():
    result = mcnemar(*counted(3, 4, 4, 0))
    assert (result.p, result.chi2, result.chi2_p, result.direction) == (1.0, 0.0, 1.0, 0)


# ---------------------------------------------------------------------- t-test


@pytest.mark.parametrize("seed", range(5))
def test_paired_t_equals_scipy(seed):
    gold, first, second = outputs(seed)
    wrong = [
        [sum(x != y for x, y in zip(g, o, strict=True)) for g, o in zip(gold, output, strict=True)]
        for output in (first, second)
    ]
    expected = stats.ttest_rel(wrong[1], wrong[0])
    result = paired_t(gold, first, second)
    assert (result.t, result.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert result.freedom == expected.df
    assert result.mean == pytest.approx(np.mean(wrong[1]) - np.mean(wrong[0]))


def test_t_without_variation():
    gold = [["A"], ["A"]]
    assert (paired_t(gold, gold, gold).t, paired_t(gold, gold, gold).p) == (None, 1.0)
    always = paired_t(gold, gold, [["B"], ["B"]])
    assert (always.t, always.p, always.mean) == (None, 0.0, 1.0)
    single = paired_t([["A"]], [["A"]], [["B"]])
    assert (single.t, single.p, single.freedom) == (None, 1.0, 0)


# ---------------------------------------------------------------------- bootstrap


@pytest.mark.parametrize("names", [CHUNKS, ["N", "V", "D"]])
@pytest.mark.parametrize("metric", ["f1", "accuracy"])
def test_bootstrap_equals_a_plain_loop(monkeypatch, metric, names):
    gold, first, second = outputs(3, 30, names)
    monkeypatch.setattr("loglin.evaluation.significance._DRAWS_AT_ONCE", 7 * 30)  # several chunks, the last one shorter
    rng, drawn = np.random.default_rng(5), []
    for _ in range(200):
        chosen = rng.integers(0, 30, 30)
        parts = [[labels[s] for s in chosen] for labels in (gold, first, second)]
        scores = [getattr(evaluate_labels(parts[0], output), metric) for output in parts[1:]]
        drawn.append(scores[0] - scores[1])
    result = paired_bootstrap(gold, first, second, metric=metric, resamples=200, seed=5)
    observed = [getattr(evaluate_labels(gold, output), metric) for output in (first, second)]
    assert result.difference == pytest.approx(observed[0] - observed[1])
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    against = sum(d * result.direction <= 0 for d in drawn)
    assert result.p == pytest.approx(min(1, 2 * (1 + against) / 201))


def test_bootstrap_under_no_difference_is_rarely_significant():
    rejected = sum(paired_bootstrap(*outputs(s, 60, noise=(0.1, 0.1)), resamples=200).p < 0.05 for s in range(60))
    assert rejected <= 9  # 3 expected; more than 9 has a probability below 0.001


def test_the_seed_decides():
    data = outputs(1)
    one, same, other = (paired_bootstrap(*data, resamples=100, seed=s) for s in (1, 1, 2))
    assert one == same
    assert one != other


# ---------------------------------------------------------------------- all together


def test_identical_outputs():
    gold, first, _ = outputs(2)
    result = compare(gold, first, first, resamples=50)
    assert (result.mcnemar.p, result.t_test.p, result.bootstrap.p) == (1.0, 1.0, 1.0)
    assert (result.difference, result.interval) == (0.0, (0.0, 0.0))
    assert "may be chance" in result.verdict()
    assert "nan" not in result.report()
    json.dumps(result.as_dict(), allow_nan=False)


@pytest.mark.parametrize("gold", [[["O", "B-X"]], [["O", "B-X"], []], [[]], [["N"], [], ["V"]]])
@pytest.mark.parametrize("metric", ["f1", "accuracy"])
def test_few_and_empty_sentences(gold, metric):
    other = [["O"] * len(s) for s in gold]
    for second in (gold, other):
        result = compare(gold, gold, second, metric=metric, resamples=20)
        assert all(0 <= test.p <= 1 for test in (result.mcnemar, result.t_test, result.bootstrap))
        json.dumps(result.as_dict(), allow_nan=False)
        assert "nan" not in result.report()


def test_scores_are_those_of_eval_when_label_sets_differ():
    gold = [["B-X", "I-X", "O"], ["B-Y", "O"]]
    first, second = [["B-Z", "I-Z", "O"], ["B-Y", "O"]], [["B-X", "O", "O"], ["I-W", "I-W"]]
    result = compare(gold, first, second, resamples=20)
    assert result.unit == "phrase"
    assert result.first == evaluate_labels(gold, first).f1
    assert result.second == evaluate_labels(gold, second).f1


@pytest.mark.parametrize("seed", range(3))
def test_random_scores_are_those_of_eval(seed):
    gold, first, second = outputs(seed)
    for metric in ("f1", "accuracy"):
        result = compare(gold, first, second, metric=metric, resamples=5)
        scores = [getattr(evaluate_labels(gold, output), metric) for output in (first, second)]
        assert [result.first, result.second] == scores
        assert result.difference == pytest.approx(scores[0] - scores[1])


def verdict(*data, **options) -> str:
    return compare(*data, names=("one.txt", "two.txt"), resamples=500, **options).verdict()


def test_verdicts():
    gold, first, second = outputs(4, 300, noise=(0.02, 0.5), shortest=4)
    assert verdict(gold, first, second).startswith("one.txt is better")
    assert verdict(gold, second, first).startswith("two.txt is better")
    # many mistakes in few sentences against one mistake in each of many
    gold = [["A"] * 40 for _ in range(60)]
    first = [["B"] * 40 if s < 20 else ["A"] * 40 for s in range(60)]
    second = [["B", *["A"] * 39] for _ in range(60)]
    assert "different directions" in verdict(gold, first, second)
    # 9 against 2 of 21: the exact binomial has p = 0.065, the t-test 0.031
    uncertain = verdict(*counted(10, 9, 2, 0))
    assert uncertain.startswith("one.txt is probably better: the t-test and the bootstrap")
    assert uncertain.endswith("but not McNemar's test.")


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: mcnemar([], [], []), ["no gold sentences"]),
        (lambda: mcnemar([["A"]], [["A"]], []), ["1 gold", "0 in the second output"]),
        (lambda: paired_t([["A"]], [["A", "B"]], [["A"]]), ["sentence 1", "2 in the first output"]),
        (lambda: paired_t(["A"], ["A"], ["A"]), ["sentence 1", "string"]),
        (lambda: mcnemar([["A"]], [["A"]], [["A"]], "word"), ["'word'", "sentence or token"]),
        (lambda: paired_bootstrap([["A"]], [["A"]], [["A"]], metric="f2"), ["'f2'", "f1 or accuracy"]),
        (lambda: paired_bootstrap([["A"]], [["A"]], [["A"]], resamples=0), ["resamples is 0"]),
        (lambda: paired_bootstrap([["A"]], [["A"]], [["A"]], seed=-1), ["seed -1"]),
        (lambda: compare([["B-X"]], [["B-X"]], [["NN"]]), ["'NN'", "no chunk scheme", "accuracy"]),
    ],
)
def test_refusals(call, parts):
    with pytest.raises(LoglinError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


# ---------------------------------------------------------------------- the command


def write(path, *columns) -> None:
    sentences = zip(*columns, strict=True)
    text = "\n\n".join("\n".join(" ".join(row) for row in zip(*s, strict=True)) for s in sentences)
    path.write_text(text + "\n")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold, first, second = outputs(6, 50, shortest=1)
    words = [[f"w{t}" for t in range(len(s))] for s in gold]
    write(tmp_path / "gold", words, gold)
    write(tmp_path / "one", words, gold, first)
    write(tmp_path / "two", words, gold, second)
    write(tmp_path / "short", words, second)
    write(tmp_path / "labels", second)
    write(tmp_path / "turned", gold, words)
    write(tmp_path / "turned-one", gold, words, first)
    return compare(gold, first, second, resamples=300, seed=3, names=("one", "two"))


def compared(*words) -> str:
    return run("compare", *words, "--resamples", 300, "--seed", 3)


def test_command(files: Comparison):
    assert compared("gold", "one", "two") == files.report() + "\n"
    expected = json.loads(json.dumps(files.as_dict()))
    assert json.loads(compared("gold", "one", "two", "--json")) == expected
    for second in ("short", "labels"):  # without the gold column; without words
        found = json.loads(compared("gold", "one", second, "--json"))
        assert found["bootstrap"] == expected["bootstrap"]
    found = json.loads(compared("turned", "turned-one", "labels", "--label-column", "0", "--json"))
    assert found["bootstrap"] == expected["bootstrap"]
    assert json.loads(compared("gold", "one", "one", "--output-column", "-2", "--json"))["first"] == 1.0
    assert json.loads(compared("gold", "one", "two", "--json", "--unit", "token"))["mcnemar"]["unit"] == "token"


def test_scores_of_a_trained_tagger(tmp_path, monkeypatch):
    """What tag writes is what compare reads, and its F1 is that of eval."""
    monkeypatch.chdir(tmp_path)
    gold, *_ = outputs(8, 30, shortest=2)
    write(tmp_path / "gold", [[f"w{len(y)}{y[0]}" for y in s] for s in gold], gold)
    for command in (
        ["train", "gold", "-o", "model", "--quiet", "--threads", "1", "--max-iter", "3"],
        ["tag", "model", "gold", "-o", "tagged"],
        ["tag", "model", "gold", "-o", "marginals", "--marginals"],
        ["tag", "model", "gold", "-o", "nbest", "--nbest", "2"],
    ):
        assert CliRunner().invoke(cli, command).exit_code == 0
    evaluated = json.loads(CliRunner().invoke(cli, ["eval", "model", "gold", "--json"]).stdout)
    assert json.loads(compared("gold", "tagged", "gold", "--json"))["first"] == pytest.approx(evaluated["f1"])
    refused(tmp_path, ["compare", "gold", "tagged", "marginals"], "marginals", "tag without --marginals")
    refused(tmp_path, ["compare", "gold", "nbest", "tagged"], "nbest", "--nbest")


GOLD = "a B-P\nb O\n\nc O\n"
BAD = {
    "missing": (None, ["nowhere", "No such file"]),
    "empty": ("", ["bad", "no tokens"]),
    "ragged": ("a O\nb\n", ["bad, line 2", "1 columns"]),
    "word": ("a O\nb O\n\nx O\n", ["bad, sentence 2, token 1", "'x'", "gold has 'c'"]),
    "lost token": ("a O\n\nc O\n", ["bad, sentence 1", "ends at token 1", "2 tokens"]),
    "one token more": ("a O\nb O\n\nc O\nd O\n", ["bad, sentence 2", "ends at token 2", "1 tokens"]),
    "labels only, short": ("O\nO\n", ["bad ends at sentence 1", "2 sentences"]),
    "joined sentences": ("O\nO\nO\n", ["bad, sentence 1", "ends at token 3"]),
    "strange label": ("a N\nb O\n\nc O\n", ["'N'", "accuracy"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_outputs(tmp_path, case):
    content, parts = BAD[case]
    (tmp_path / "gold").write_text(GOLD)
    if content is not None:
        (tmp_path / "bad").write_text(content)
    name = "nowhere" if content is None else "bad"
    refused(tmp_path, ["compare", "gold", "gold", name], *parts)
    refused(tmp_path, ["compare", "gold", name, "gold"], *parts)


def test_bad_options(tmp_path):
    (tmp_path / "gold").write_text(GOLD)
    (tmp_path / "x.jsonl").write_text("{}\n")
    files = ["gold", "gold", "gold"]
    refused(tmp_path, ["compare", *files, "--label-column", "5"], "gold has 2 columns", "no column 5")
    refused(tmp_path, ["compare", *files, "--output-column", "-3"], "gold has 2 columns", "no column -3")
    refused(tmp_path, ["compare", *files, "--resamples", "0"], "--resamples")
    refused(tmp_path, ["compare", *files, "--metric", "bleu"], "--metric")
    refused(tmp_path, ["compare", *files, "--seed", "-1"], "--seed")
    refused(tmp_path, ["compare", *files, "--encoding", "nonsense"], "'nonsense'")
    refused(tmp_path, ["compare", "gold", "gold", "x.jsonl"], "x.jsonl", "columns")
