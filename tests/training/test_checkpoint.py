"""A training that is cut off and begun again: the same weights to the last bit, and the same record but for seconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.errors import LoglinError
from loglin.estimators.selection import select_tagger
from loglin.optimize.checkpoint import Checkpoint, packed, unpacked
from support.estimators import LINES, SENTENCES, TREES, X, Y
from support.training import timeless

WORDS, LABELS = SENTENCES
FEW = WORDS[:20], LABELS[:20]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB"
SECOND = "U0:%x[0,0]\nB\nT"
PLAIN = [["dogs", "bark"], ["cats", "see", "dogs", "with", "cats"], ["cats", "see", "dogs"]]
SETS = [{y, str(x["length"] % 2)} for x, y in zip(X, Y, strict=True)]
AHEAD = 3  # times that the state is written before a training is cut off


class Crash(Exception):
    """In the place of kill -9."""


def crashing(monkeypatch: pytest.MonkeyPatch, times: int = AHEAD) -> None:
    """From now on a training ends without a word after the state was written so many times."""
    left, write = [times], Checkpoint.write

    def then_crash(self: Checkpoint, running: dict[str, Any]) -> None:
        write(self, running)
        left[0] -= 1
        if not left[0]:
            raise Crash

    monkeypatch.setattr(Checkpoint, "write", then_crash)


def until_it_ends(train: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, times: int = AHEAD) -> tuple[Any, int]:
    """What a training comes to that is cut off again and again, and how often it was."""
    for crashes in range(300):
        with monkeypatch.context() as patch:
            crashing(patch, times)
            try:
                return train(), crashes
            except Crash:
                continue
    raise AssertionError("it never ended")


def known(estimator: Any) -> tuple[list[bytes], Any]:
    """All numbers that were learned, as bytes, and the record."""
    model = estimator.model_
    record = estimator.record_ if isinstance(estimator, LanguageModel) else model.record
    if isinstance(estimator, LanguageModel):
        arrays = [getattr(model, "weights", None), getattr(model, "theta", None), estimator.scores(LINES[:4])]
    elif isinstance(estimator, Parser):
        arrays = [model.weights, model.base.rules, model.base.roots, model.lexicon.log_p]
    else:
        base = model.base
        arrays = [model.weights, *([] if base is None else [base.transition, *base.emissions])]
    return [np.asarray(a, float).tobytes() for a in arrays if a is not None], timeless(record)


def tagged(criterion: str = "crf", data: Any = FEW, **given: Any) -> Callable[[Any], Any]:
    given = {"template": TEMPLATE, "max_iter": 12, "tol": 1e-9} | given
    return lambda checkpoint: Tagger(criterion, checkpoint=checkpoint, checkpoint_every=0, **given).fit(*data)


def classified(data: Any = (X, Y), **given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 12, "tol": 1e-9} | given
    return lambda checkpoint: MaxEnt(checkpoint=checkpoint, checkpoint_every=0, **given).fit(*data)


def parsed(criterion: str, trees: Any = TREES, **given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 10, "tol": 1e-9} | given
    return lambda checkpoint: Parser(criterion, checkpoint=checkpoint, checkpoint_every=0, **given).fit(trees)


def told(**given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 10, "tol": 1e-9} | given
    return lambda checkpoint: LanguageModel(checkpoint=checkpoint, checkpoint_every=0, **given).fit(LINES)


HIDDEN = {"data": (WORDS[:12],), "dictionary": {w: ["A", "B"] for s in WORDS for w in s}, "order": 1, "template": None}
CASES = {
    "crf": tagged(),
    "crf, both precisions": tagged(tol=1e-10, max_iter=60),
    "crf, l1": tagged(l1=0.1),
    "crf, no penalty": tagged(l2=0.0, max_iter=30),
    "crf, order 2": tagged(template=SECOND, order=2),
    "crf, certify": tagged(certify=True, tol=1e-4, max_iter=60),
    "crf, held out": tagged(dev=(WORDS[20:40], LABELS[20:40]), max_iter=40),
    "crf, l2 auto": tagged(l2="auto", data=SENTENCES, max_iter=8),
    **{f"crf, {name}": tagged(optimizer=name) for name in ("lbfgs", "gradient", "conjugate-gradient", "sgd")},
    "crf, averaged-sgd": tagged(optimizer="averaged-sgd"),
    "memm": tagged("memm"),
    **{f"memm, {name}": tagged("memm", optimizer=name) for name in ("newton", "gis", "iis")},
    "pseudolikelihood": tagged("pseudolikelihood"),
    "piecewise": tagged("piecewise", settings={"nota": "selected"}),
    "label-likelihood": tagged("label-likelihood"),
    "accuracy": tagged("accuracy"),
    "expected-accuracy": tagged("expected-accuracy"),
    "boosting": tagged("boosting"),
    "margin": tagged("margin"),
    "perceptron": tagged("perceptron"),
    "perceptron, held out": tagged("perceptron", dev=(WORDS[20:40], LABELS[20:40])),
    "m-estimation": tagged("m-estimation"),
    "m-estimation, lbfgs": tagged("m-estimation", settings={"optimizer": "lbfgs"}),
    "contrastive": tagged("contrastive", **HIDDEN, settings={"starts": 2, "annealing": 0.5}),
    "em": tagged("em", **HIDDEN, settings={"starts": 3, "annealing": 0.6}),
    "marginal-likelihood": tagged("marginal-likelihood", **HIDDEN),
    "classes": classified(),
    "classes, float32": classified(dtype="float32"),
    "classes, held out": classified(dev=(X[:20], Y[:20])),
    "classes, perceptron": classified(criterion="perceptron"),
    "classes, newton": classified(optimizer="newton"),
    "classes, far scales": classified(data=([x | {"big": 1e4 * x["length"]} for x in X], Y)),
    "label by label": classified(criterion="margin", data=([x | {"n": n % 7} for n, x in enumerate(X)], Y)),
    "least squares": classified(criterion="least-squares", data=([x | {"n": n % 7} for n, x in enumerate(X)], Y)),
    "label sets, out of fold": classified(data=(X, SETS), multi_label=True, threshold="out-of-fold"),
    "naive Bayes": lambda checkpoint: NaiveBayes(
        objective="conditional", max_iter=15, checkpoint=checkpoint, checkpoint_every=0
    ).fit(X, Y),
    **{f"trees, {name}": parsed(name) for name in ("crf", "mecfg", "piecewise", "perceptron", "m-estimation")},
    "trees, em": parsed("em", settings={"starts": 2, "annealing": 0.5}),
    "trees, em, held out": parsed("em", PLAIN * 3, dev=TREES[:3], settings={"symbols": 3, "starts": 2}),
    "trees, contrastive": parsed("contrastive", settings={"starts": 2}),
    "trees, held out": parsed("crf", dev=TREES[:3]),
    "words": told(),
    "words, lbfgs": told(optimizer="lbfgs"),
    "words, cache": told(features=("bigram", "cache"), dev=LINES[:10]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_training_that_is_cut_off_again_and_again_ends_as_if_it_never_was(name, tmp_path, monkeypatch):
    train, file = CASES[name], tmp_path / "state"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = known(train(None))
        resumed, crashes = until_it_ends(lambda: train(file), monkeypatch)
    weights, record = known(resumed)
    assert crashes >= 1
    assert weights == whole[0]
    assert record == whole[1]
    assert not list(tmp_path.iterdir())


def cut_off(monkeypatch: pytest.MonkeyPatch, file: Any, times: int = AHEAD, **given: Any) -> None:
    """Leave the checkpoint of a training that was cut off."""
    with monkeypatch.context() as patch:
        crashing(patch, times)
        with pytest.raises(Crash):
            tagged(**given)(file)


def test_a_warm_start_goes_on_between_its_rounds(tmp_path, monkeypatch):
    """The state of dual ascent is in the file: the first rounds are not made again."""
    from loglin.objectives import dual

    cut_off(monkeypatch, tmp_path / "state", times=4)
    rounds, ascend = [], dual.ascend
    monkeypatch.setattr(dual, "ascend", lambda *given: (rounds.append(1), ascend(*given))[1])
    tagged()(None)
    whole = len(rounds)
    rounds.clear()
    tagged()(tmp_path / "state")
    assert len(rounds) == whole - 3


def test_iterations_before_the_crash_are_not_made_again(tmp_path, monkeypatch):
    cut_off(monkeypatch, tmp_path / "state", times=6, optimizer="lbfgs")
    heard: list[int] = []
    given = {"optimizer": "lbfgs", "callbacks": [lambda iteration: heard.append(iteration.number)]}
    tagger = tagged(**given)(tmp_path / "state")
    assert heard == list(range(6, 13))
    assert [i["number"] for i in tagger.model_.record["history"]] == list(range(1, 13))


def test_any_number_of_threads_goes_on(tmp_path, monkeypatch):
    whole = known(tagged(threads=1)(None))[0]
    cut_off(monkeypatch, tmp_path / "state", threads=2, times=5)
    assert known(tagged(threads=1)(tmp_path / "state"))[0] == whole


OTHERS = {
    "labels": (FEW[0], [[y.lower() for y in labels] for labels in FEW[1]]),
    "texts or features": ([[w + "x" for w in words] for words in FEW[0]], FEW[1]),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_data_are_refused(what, tmp_path, monkeypatch):
    cut_off(monkeypatch, tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    with pytest.raises(LoglinError, match=f"belongs to another training: the {what} differ; give the same command"):
        tagged(data=OTHERS[what])(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_iter": 13}, r"max_iter differs \(12 there, 13 here\)"),
        ({"criterion": "memm"}, r"criterion differs \('crf' there, 'memm' here\)"),
        ({"l2": 2.0}, "the penalties or options differ"),
        ({"seed": 1}, r"seed differs \(0 there, 1 here\)"),
        ({"dev": (WORDS[20:30], LABELS[20:30])}, "the held-out data differ"),
    ],
)
def test_other_settings_are_refused(given, told, tmp_path, monkeypatch):
    cut_off(monkeypatch, tmp_path / "state")
    with pytest.raises(LoglinError, match=told):
        tagged(**given)(tmp_path / "state")


def test_a_damaged_checkpoint_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "state"
    cut_off(monkeypatch, file)
    whole = file.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]):
            file.write_bytes(damaged)
            with pytest.raises(LoglinError, match=r"is no checkpoint or is damaged .*remove it to begin anew"):
                tagged()(file)
    tagged()(None).save(file)
    with pytest.raises(LoglinError, match="is no checkpoint of this training"):
        tagged()(file)


def test_a_folder_that_is_not_there_is_refused_at_the_start(tmp_path):
    with pytest.raises(LoglinError, match="there is no folder"):
        tagged()(tmp_path / "none" / "state")
    for wrong in (7, ""):
        with pytest.raises(LoglinError, match="give the name of a file"):
            tagged()(wrong)


def test_a_full_disk_is_told_once_and_training_goes_on(tmp_path, monkeypatch):
    from loglin.models import files

    def full(path: Any, model: Any) -> None:
        raise LoglinError(f"cannot write {path}: No space left on device; free some space")

    whole = known(tagged()(None))[0]
    monkeypatch.setattr(files, "write", full)
    with pytest.warns(UserWarning, match=r"no checkpoint: .* training goes on") as heard:
        found = known(tagged()(tmp_path / "state"))[0]
    assert found == whole
    assert len([w for w in heard if "no checkpoint" in str(w.message)]) == 1


def test_trials_of_a_grid_share_one_file(tmp_path, monkeypatch):
    def select(checkpoint: Any) -> Any:
        given = {k: v for k, v in HIDDEN.items() if k != "data"} | {"max_iter": 5}
        tagger = Tagger("em", checkpoint=checkpoint, checkpoint_every=0, **given)
        return select_tagger(tagger, {"smoothing": [0.1, 1.0, 5.0]}, WORDS[:12], dev=WORDS[:5])[0]

    whole = known(select(None))
    found, crashes = until_it_ends(lambda: select(tmp_path / "state"), monkeypatch, times=6)
    assert crashes > 1
    assert known(found) == whole
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "é"], "b": (1, (2,)), "c": {}},
        {"random": np.random.default_rng(3).bit_generator.state},
        [np.arange(6.0).reshape(2, 3), np.zeros((0, 4), np.float32), np.array([np.inf, -np.inf, np.nan])],
        [float("nan"), float("-inf"), 0.1 + 0.2, -0.0, 1 << 127],
    ],
)
def test_values_come_back_from_a_section_as_they_were(value):
    def plain(one: Any) -> Any:
        return (one.dtype.str, one.shape, one.tobytes()) if isinstance(one, np.ndarray) else one

    def flat(one: Any) -> str:
        if isinstance(one, dict):
            return repr({k: flat(v) for k, v in one.items()})
        return repr([flat(v) for v in one] + [type(one)]) if isinstance(one, list | tuple) else repr(plain(one))

    assert flat(unpacked(packed(value))) == flat(value)
