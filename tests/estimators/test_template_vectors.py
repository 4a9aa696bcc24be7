"""%vector in templates: the same as the vectors of the tables given token by token; kept in the model."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from support.shell import refusal, run

RNG = np.random.default_rng(0)
X = [[f"w{RNG.integers(12)}" for _ in range(RNG.integers(1, 7))] for _ in range(80)]
TABLE = {f"w{k}": RNG.standard_normal(5).astype(np.float32) for k in range(10)}  # w10 and w11 have none
Y = [["AB"[int(TABLE.get(w, np.zeros(5))[0] > 0)] for w in x] for x in X]
ZERO = np.zeros(5, np.float32)
OPTIONS = {"threads": 1, "tol": 1e-6, "dtype": "float64"}


def rows(sentence: list[str], offset: int) -> np.ndarray:
    places = [t + offset for t in range(len(sentence))]
    return np.array([TABLE.get(sentence[p], ZERO) if 0 <= p < len(sentence) else ZERO for p in places])


def test_the_same_model_as_from_vectors_of_tokens():
    template = "U:%x[0,0]\nV0:%vector[0,0,v]\nV1:%vector[-1,0,v]\nB\n".replace("V", "UV")
    ours = Tagger(template=template, embeddings={"v": TABLE}, **OPTIONS).fit(X, Y)
    given = [np.concatenate([rows(x, 0), rows(x, -1)], axis=1) for x in X]
    theirs = Tagger(template="U:%x[0,0]\nB\n", **OPTIONS).fit(X, Y, vectors=given)
    assert ours.model_.record["objective"] == pytest.approx(theirs.model_.record["objective"], rel=1e-6)
    assert ours.model_.weights == pytest.approx(theirs.model_.weights, abs=1e-3)
    for a, b in zip(ours.predict_proba(X), theirs.predict_proba(X, given), strict=True):
        assert a == pytest.approx(b, abs=1e-3)
    votes = {v.feature: v.votes for v in ours.explain(X[0], 0).votes}
    assert {"UV0:%vector[0,0,v] of 5 dimensions", "UV1:%vector[-1,0,v] of 5 dimensions"} <= votes.keys()
    assert set(votes["UV1:%vector[-1,0,v] of 5 dimensions"].values()) == {0.0}  # outside the sentence
    assert ours.model_.attribute_name(ours.model_.extractor.n_attributes + 6) == "UV1:%vector[-1,0,v][1]"


@pytest.mark.parametrize("scale", [False, True])
def test_files_keep_the_tables(tmp_path, scale):
    tagger = Tagger(template="U:%vector[0,0,v]\nB\n", embeddings={"v": TABLE}, vector_scale=scale, threads=1).fit(X, Y)
    tagger.save(tmp_path / "m.model")
    again = Tagger.load(tmp_path / "m.model")
    new = [["w1", "W2", "w11", "other"]]
    assert again.predict_proba(new)[0].tolist() == tagger.predict_proba(new)[0].tolist()
    assert again.predict(X) == tagger.predict(X)
    assert tagger.score(X, Y) > 0.9


def test_both_kinds_of_vectors_and_starts():
    template, given = "U:%x[0,0]\nU1:%vector[0,0,v]\nB\n", [rows(x, 1) for x in X]
    both = Tagger(template=template, embeddings={"v": TABLE}, threads=1).fit(X, Y, vectors=given)
    assert [g.size for g in both.model_.vectors.groups] == [5, 5]
    plain = Tagger(template=template, embeddings={"v": TABLE}, threads=1)
    problem = plain.problem(X, Y)
    weights = problem.index.split(problem.transferred(both.model_))[0]
    kept = both.model_.index.split(both.model_.weights)[0]
    assert weights[-10:] == pytest.approx(kept[-10:])  # those of the table
    assert plain.fit(X, Y, start=both).score(X, Y) > 0.9


def test_the_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (" ".join([w, *map(str, row)]) for w, row in TABLE.items())
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "my.template").write_text("U1:%vector[0,0,v]\nB\n")
    text = "".join(
        "".join(f"{w} {label}\n" for w, label in zip(x, y, strict=True)) + "\n" for x, y in zip(X, Y, strict=True)
    )
    (tmp_path / "train.txt").write_text(text)
    run("train", "train.txt", "--template", "my.template", "--embeddings", "v=v.txt", "-o", "m.model", "--quiet")
    (tmp_path / "v.txt").unlink()
    assert "FB1" in run("eval", "m.model", "train.txt")
    assert "U1:%vector[0,0,v] of 5 dimensions" in run("inspect", "m.model")
    assert "U1:%vector[0,0,v] of 5 dimensions" in run("inspect", "m.model", "--explain", "w1 w2")
    assert "--embeddings v=FILE" in refusal("train", "train.txt", "--template", "my.template", "-o", "x.model")
    wrong = refusal("train", "train.txt", "--template", "my.template", "--embeddings", "v.txt", "-o", "x.model")
    assert "write NAME=VALUE" in wrong


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("U:%vector[0,0]\nB\n", "needs the name of a table"),
        ("U:%vector[0,0,3]\nB\n", "needs the name of a table"),
        ("U:%vector[0,0,v]/%x[0,0]\nB\n", "must stand alone"),
        ("B:%vector[0,0,v]\nB\n", "must stand alone"),
        ("U:%vector[0,1,v]\nB\n", "column"),
        ("U:%vector[0,0,other]\nB\n", "names vectors 'other'; give embeddings|no template looks at"),
        ("U:%x[0,0]\nB\n", "no template looks at the embeddings 'v'"),
    ],
)
def test_wrong_templates_are_one_sentence(template, message):
    with pytest.raises(LoglinError, match=message):
        Tagger(template=template, embeddings={"v": TABLE}).fit(X, Y)


def test_criteria_that_count_refuse_them():
    tagger = Tagger(template="U:%x[0,0]\nU1:%vector[0,0,v]\nB\n", embeddings={"v": TABLE})
    with pytest.raises(LoglinError, match="does not learn from vectors"):
        tagger.set_params(criterion="hmm").fit(X, Y)
