"""Problems that are in memory, cut into parts: the same optimum for every estimator, here and with workers."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from loglin.corpus import shards
from loglin.objectives import distributed
from loglin.problems.parts import ranges
from support.errors import refused_with_remedy
from support.shell import run

TIGHT = {"tol": 1e-9, "dtype": "float64", "threads": 1}


def sentences() -> tuple[list, list]:
    rng, X, y = random.Random(3), [], []
    for _ in range(250):
        words = [f"{rng.choice('abcdef')}{rng.randint(0, 30)}" for _ in range(rng.randint(1, 9))]
        X.append(words)
        y.append([rng.choice(["A", "B", "ABC"[len(w)] if len(w) < 3 else "C"]) for w in words])
    return X, y


X, Y = sentences()
WORDS, LABELS = [w for s in X for w in s], [label for s in Y for label in s]
DICTS = [{"word": w, "first": w[0], "length": len(w) / 2} for w in WORDS]
LINES = [" ".join(s) for s in X]
WEIGHTS = np.linspace(0.5, 2, len(X))
VECTORS = np.random.default_rng(1).normal((0, 1, 5, 0), size=(len(WORDS), 4))
TABLE = {"v": {w: np.random.default_rng(n).normal(size=3) for n, w in enumerate(sorted(set(WORDS))) if n % 5}}


def features(sentence):
    return [{"word": w, "before": sentence[i - 1] if i else "", "length": len(w) / 2} for i, w in enumerate(sentence)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(shards, "FEWEST_TOKENS", 200)
    monkeypatch.setattr(shards, "BYTES_PER_TOKEN", 10**7)


CASES = {
    "function": (lambda: Tagger(features=features, **TIGHT), (X, Y), {}),
    "attributes": (lambda: Tagger(**TIGHT), ([features(s) for s in X], Y), {}),
    "dictionary": (lambda: Tagger(dictionary=4, **TIGHT), (X, Y), {}),
    "weights": (lambda: Tagger(label_weights={"A": 2.0}, **TIGHT), (X, Y), {"sample_weight": WEIGHTS}),
    "piecewise": (lambda: Tagger("piecewise", **TIGHT), (X, Y), {"sample_weight": WEIGHTS}),
    "vectors": (lambda: Tagger(**TIGHT), (X, Y), {"vectors": VECTORS}),
    "scaled vectors": (lambda: Tagger("memm", vector_scale=True, vector_l2=0.3, **TIGHT), (X, Y), {"vectors": VECTORS}),
    "tables": (lambda: Tagger(template="U:%x[0,0]\nU1:%vector[1,0,v]\nB\n", embeddings=TABLE, **TIGHT), (X, Y), {}),
    "classes": (lambda: MaxEnt(), (DICTS, LABELS), {"sample_weight": np.linspace(0.5, 2, len(WORDS))}),
    "margin": (lambda: MaxEnt("margin"), (DICTS, LABELS), {}),
    "squares": (lambda: MaxEnt("least-squares"), (DICTS, LABELS), {}),
    "sets": (lambda: MaxEnt(multi_label=True), (DICTS, [{y, "D"} if y != "A" else set() for y in LABELS]), {}),
    "candidates": (
        lambda: MaxEnt(features=lambda x, y: {"distance": abs(x - y), f"is {y}": 1}),
        ([5, 1, 7, 3] * 100, [4, 2, 6, 3] * 100),
        {"candidates": [[1, 4, 9], [2, 7], [6, 0], [3, 8]] * 100},
    ),
    "words": (lambda: LanguageModel(tol=1e-9), (LINES,), {}),
    "triggers": (lambda: LanguageModel(max_iter=6, features=("bigram", "4-gram", "suffix", "trigger")), (LINES,), {}),
    "cache": (
        lambda: LanguageModel(max_iter=20, features=("bigram", "trigram", "cache"), optimizer="lbfgs"),
        (LINES,),
        {},
    ),
}
TREES = {
    "crf": lambda: Parser("crf", tol=1e-9),
    "mecfg": lambda: Parser("mecfg", tol=1e-9),
    "piecewise": lambda: Parser("piecewise", tol=1e-9),
}


def record(estimator):
    return estimator.record_ if isinstance(estimator, LanguageModel) else estimator.model_.record


def check_the_same(make, data, more, work):
    whole, parts = make().fit(*data, **more), make().fit(*data, **more, work_dir=work)
    assert record(parts)["shards"] > 2
    assert record(parts)["objective"] == pytest.approx(record(whole)["objective"], rel=1e-7)
    if hasattr(whole.model_, "weights"):
        assert parts.model_.weights == pytest.approx(whole.model_.weights, abs=3e-3)
    assert not list(work.glob("objective-*"))


@pytest.mark.parametrize("case", CASES)
def test_parts_have_the_optimum_of_the_whole(case, tmp_path):
    make, data, more = CASES[case]
    check_the_same(make, data, more, tmp_path / "work")


@pytest.mark.parametrize("criterion", TREES)
def test_trees_in_parts(criterion, tmp_path):
    given = treebank()
    more = {"sample_weight": np.linspace(0.5, 2, len(given))} if criterion == "crf" else {}
    check_the_same(TREES[criterion], (given,), more, tmp_path / "work")


def test_a_folder_of_other_vectors_is_not_used_again(tmp_path):
    first, second = (
        Tagger(max_iter=5).fit(X, Y, vectors=given, work_dir=tmp_path / "work").model_ for given in (VECTORS, -VECTORS)
    )
    assert not np.array_equal(first.weights, second.weights)


def test_a_prepared_folder_is_used_again(tmp_path):
    def fit(l2):
        return MaxEnt(l2=l2, max_iter=3).fit(DICTS, LABELS, work_dir=tmp_path / "work")

    first = fit(1.0)
    made = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "work").glob("piece-*")}
    assert np.array_equal(fit(1.0).model_.weights, first.model_.weights)
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "work").glob("piece-*")} == made
    assert not np.array_equal(fit(2.0).model_.weights, first.model_.weights)


def test_workers_give_the_same_bits(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(shards, "FEWEST_TOKENS", 600)
    given = treebank()
    with distributed.connected(workers=2) as client:
        for make, data, more in (
            (lambda: MaxEnt(max_iter=5), (DICTS, LABELS), {}),
            (lambda: LanguageModel(max_iter=5), (LINES,), {}),
            (lambda: Parser("piecewise", max_iter=5), (given,), {}),
            (lambda: Tagger("piecewise", max_iter=5), (X, Y), {"sample_weight": WEIGHTS}),
            (lambda: Tagger(max_iter=5), (X, Y), {"vectors": VECTORS}),
        ):
            here = make().fit(*data, **more, work_dir=tmp_path / "here")
            there = make().fit(*data, **more, work_dir=tmp_path / "there", client=client)
            assert np.array_equal(weights(here), weights(there))
            assert record(there)["workers"] == 2


def weights(estimator):
    return estimator.model_.weights


def treebank() -> list[str]:
    """Bracketed trees with phrases inside phrases."""
    rng = random.Random(5)

    def noun_phrase(depth: int) -> str:
        plain = f"(NP (DT {rng.choice(['the', 'a'])}) (NN {rng.choice(['crow', 'mouse', 'telescope', 'hill'])}))"
        more = depth < 3 and rng.random() < 0.4
        return f"(NP {plain} (PP (IN {rng.choice(['with', 'on'])}) {noun_phrase(depth + 1)}))" if more else plain

    def verb_phrase() -> str:
        plain = f"(VP (VBD {rng.choice(['saw', 'met'])}) {noun_phrase(0)})"
        return f"(VP {plain} (PP (IN with) {noun_phrase(2)}))" if rng.random() < 0.4 else plain

    return [f"(S {noun_phrase(0)} {verb_phrase()})" for _ in range(120)]


def test_ranges_cover_all():
    lengths = np.array([3, 9, 1, 1, 1, 20, 2])
    for tokens in (1, 3, 5, 100):
        found = list(ranges(lengths, tokens))
        assert [i for b, e in found for i in range(b, e)] == list(range(7))
        assert all(lengths[b:e].sum() <= tokens or e == b + 1 for b, e in found)


def test_what_is_no_sum_is_refused(tmp_path):
    work = tmp_path / "work"
    refused_with_remedy(lambda: MaxEnt("perceptron").fit(DICTS, LABELS, work_dir=work), "perceptron", "likelihood")
    refused_with_remedy(lambda: Parser("pcfg").fit(treebank(), work_dir=work), "pcfg", "crf")
    refused_with_remedy(lambda: LanguageModel(criterion="kneser-ney").fit(LINES, work_dir=work), "kneser-ney")
    refused_with_remedy(lambda: Tagger("m-estimation", l2=1).fit(X, Y, work_dir=work), "m-estimation", "crf")
    refused_with_remedy(lambda: Tagger("hmm").fit(X, Y, work_dir=work), "hmm", "crf")
    refused_with_remedy(lambda: MaxEnt(optimizer="newton").fit(DICTS, LABELS, work_dir=work), "newton")


def test_commands_take_many_files_and_workers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for n in range(3):
        (tmp_path / f"text{n}.txt").write_text("\n".join(LINES[n::3]) + "\n")
        rows = (json.dumps({"label": y, "features": d}) for d, y in zip(DICTS[n::3], LABELS[n::3], strict=True))
        (tmp_path / f"examples{n}.jsonl").write_text("\n".join(rows) + "\n")
        (tmp_path / f"trees{n}.mrg").write_text("\n".join(treebank()[n::3]) + "\n")
        rows = (
            "\n".join("\t".join([y, f"w={w}", f"a={w[0]}"]) for w, y in zip(s, t, strict=True)) + "\n"
            for s, t in zip(X[n::3], Y[n::3], strict=True)
        )
        (tmp_path / f"items{n}.crfsuite").write_text("\n".join(rows) + "\n")
    for command, data in (
        (["lm", "train"], "text*.txt"),
        (["classify-train"], "examples*.jsonl"),
        (["parse-train"], "trees*.mrg"),
        (["train"], "items*.crfsuite"),
    ):
        options = [*command, data, "-o", "model", "--json", "--quiet"]
        whole, parts = (json.loads(run(*options, *more).splitlines()[-1]) for more in ([], ["--work-dir", "work"]))
        assert whole["tokens"] == parts["tokens"] > 300
        assert parts["objective"] == pytest.approx(whole["objective"], rel=1e-3)


def test_a_training_without_workers_ends_with_a_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "GONE", 2)
    monkeypatch.setattr(distributed, "PATIENCE", 1)
    with distributed.connected(workers=1) as client:

        def leave(iteration):
            if iteration.number == 2:
                client.cluster.scale(0)

        classifier = MaxEnt(callbacks=[leave])
        refused_with_remedy(
            lambda: classifier.fit(DICTS, LABELS, work_dir=tmp_path / "work", client=client), "no worker left"
        )
