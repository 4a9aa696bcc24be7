"""Trainers: the features, objective and models of CRFsuite, which is called as the oracle."""

from __future__ import annotations

import math

import numpy as np
import pycrfsuite as theirs
import pytest

from loglin import LoglinError, Tagger, load
from loglin import crfsuite as ours
from loglin.crfsuite.log_parser import TrainLogParser
from support.weather import weather

X, Y = weather(60)
EXACT = {"epsilon": 1e-9, "delta": 1e-12}


def trained(module, path, algorithm="lbfgs", data=(X, Y), holdout=-1, groups=None, **params):
    """A trainer that has run, and a tagger with its model."""
    trainer = module.Trainer(algorithm, {k.replace("_dot_", "."): v for k, v in params.items()}, verbose=False)
    for n, (xseq, yseq) in enumerate(zip(*data, strict=True)):
        trainer.append(xseq, yseq, groups[n] if groups else 0)
    name = str(path / f"{module.__name__}.model")
    trainer.train(name, holdout)
    tagger = module.Tagger()
    tagger.open(name)
    return trainer, tagger


def both(path, *given, **params):
    return [trained(module, path, *given, **params) for module in (ours, theirs)]


@pytest.mark.parametrize(
    "params",
    [
        {"c2": 0.3},
        {"c2": 0.3, "feature_dot_possible_states": True, "feature_dot_possible_transitions": True},
        {"c2": 0.1, "feature_dot_minfreq": 1, "feature_dot_possible_transitions": True},
        {"c2": 0.1, "feature_dot_minfreq": 2.5, "feature_dot_possible_states": True},
        {"c1": 0.4, "c2": 0.05, "feature_dot_possible_transitions": True},
    ],
    ids=str,
)
def test_features_objective_and_answers(tmp_path, params):
    (mine, tagger), (peer, other) = both(tmp_path, **params, **EXACT)
    assert mine.logparser.featgen_num_features == peer.logparser.featgen_num_features
    assert mine.logparser.last_iteration["loss"] == pytest.approx(peer.logparser.last_iteration["loss"], rel=1e-5)
    assert set(tagger.labels()) == set(other.labels())
    for xseq, yseq in zip(*weather(40, seed=1), strict=True):
        found = tagger.tag(xseq)
        assert found == other.tag(xseq)
        assert tagger.probability(found) == pytest.approx(other.probability(found), abs=2e-3)
        assert tagger.probability(yseq) == pytest.approx(other.probability(yseq), abs=2e-3)
        for t in range(len(xseq)):
            for label in tagger.labels():
                assert tagger.marginal(label, t) == pytest.approx(other.marginal(label, t), abs=2e-3)


def test_weights_are_those_of_crfsuite(tmp_path):
    (_, tagger), (_, other) = both(tmp_path, c2=1.0, **EXACT)
    mine, peer = tagger.info(), other.info()
    assert mine.attributes.keys() == peer.attributes.keys()
    for a, b in ((mine.transitions, peer.transitions), (mine.state_features, peer.state_features)):
        assert {k: a.get(k, 0.0) for k in a | b} == pytest.approx({k: b.get(k, 0.0) for k in a | b}, abs=2e-3)
    assert [int(n) for n in mine.attributes.values()] == list(range(len(mine.attributes)))


ONE = [X[3] + X[5] + X[8] + X[9] + X[11]], [Y[3] + Y[5] + Y[8] + Y[9] + Y[11]]


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [
        ("ap", {}),
        ("ap", {"max_iterations": 3}),
        *(
            ("pa", {"type": t, "c": 0.05, "error_sensitive": e, "averaging": e})
            for t in range(3)
            for e in (True, False)
        ),
        ("pa", {"epsilon": 0.5, "averaging": False}),
        ("arow", {"variance": 0.5, "gamma": 2}),
        ("arow", {"max_iterations": 4}),
    ],
    ids=str,
)
def test_mistake_driven_algorithms_are_those_of_crfsuite(tmp_path, algorithm, params):
    """On one sentence, where no order is drawn: the same weights."""
    (_, tagger), (_, other) = both(tmp_path, algorithm, ONE, **params)
    mine, peer = tagger.info(), other.info()
    for a, b in ((mine.transitions, peer.transitions), (mine.state_features, peer.state_features)):
        a, b = ({k: w for k, w in part.items() if abs(w) > 1e-6} for part in (a, b))
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow"])
def test_other_algorithms_are_about_as_right(tmp_path, algorithm):
    (mine, tagger), (peer, other) = both(tmp_path, algorithm)
    share = [
        np.mean([a == b for x, y in zip(X, Y, strict=True) for a, b in zip(one.tag(x), y, strict=True)])
        for one in (tagger, other)
    ]
    assert share[0] > share[1] - 0.1  # the order of sentences is drawn on both sides
    if algorithm == "l2sgd":
        assert mine.logparser.last_iteration["loss"] < peer.logparser.last_iteration["loss"] * 1.01


def test_a_held_out_group_is_scored_and_not_learned_from(tmp_path):
    groups = [n % 3 for n in range(len(X))]
    (mine, tagger), (peer, _) = both(tmp_path, holdout=2, groups=groups, c2=0.5, **EXACT)
    a, b = mine.logparser.last_iteration, peer.logparser.last_iteration
    assert mine.logparser.featgen_num_features == peer.logparser.featgen_num_features
    for name in ("scores", "avg_f1", "item_accuracy", "instance_accuracy", "avg_precision", "avg_recall"):
        assert a[name] == b[name], name
    wanted = [(x, y) for x, y, g in zip(X, Y, groups, strict=True) if g == 2]
    right = sum(p == q for x, y in wanted for p, q in zip(tagger.tag(x), y, strict=True))
    assert a["item_accuracy_float"] == right / sum(len(y) for _, y in wanted)


# ---------------------------------------------------------------------- the log


def messages_of(module, **params):
    class Listening(module.Trainer):
        def __init__(self):
            self.heard = []

        def message(self, message):
            self.heard.append(message)

    trainer = Listening()
    trainer.set_params({"max_iterations": 7} | params)
    for n, (xseq, yseq) in enumerate(zip(X, Y, strict=True)):
        trainer.append(xseq, yseq, n % 2)
    trainer.train("", 1)
    return trainer.heard


@pytest.mark.parametrize("module", [ours, theirs], ids=["ours", "theirs"])
def test_both_parsers_read_both_logs(module):
    from pycrfsuite._logparser import TrainLogParser as Theirs

    mine, peer = TrainLogParser(), Theirs()
    for message in messages_of(module):
        assert mine.feed(message) == peer.feed(message)
        assert mine.last_log == peer.last_log
    assert mine.iterations
    assert mine.iterations == peer.iterations
    assert mine.events == peer.events
    for name in ("featgen_percent", "featgen_num_features", "featgen_seconds", "training_seconds", "storing_seconds"):
        assert (getattr(mine, name) or 0) == (getattr(peer, name) or 0)  # None for no second


def test_a_trainer_prints_what_its_methods_are_told(capsys):
    class Telling(ours.Trainer):
        def on_iteration(self, log, info):
            print("iteration", info["num"], info["loss"] > 0, end=";")

        def on_end(self, log):
            print("done", end="")

    trainer = Telling("pa", {"max_iterations": 2})
    trainer.append(*ONE[0], *ONE[1])
    trainer.train("")
    printed = capsys.readouterr().out
    assert "type: CRF1d" in printed
    assert printed.count("iteration 1 True;") == 1
    assert printed.endswith("done")
    assert trainer.model_.labels


def test_an_exception_of_a_listener_ends_training(tmp_path):
    class Stubborn(ours.Trainer):
        def message(self, message):
            if "Iteration" in message:
                raise ZeroDivisionError

    trainer = Stubborn()
    trainer.append(*ONE[0], *ONE[1])
    with pytest.raises(ZeroDivisionError):
        trainer.train(tmp_path / "none.model")
    assert not (tmp_path / "none.model").exists()


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "algorithm", ["lbfgs", "l2sgd", "ap", "averaged-perceptron", "PA", "passive-aggressive", "arow"]
)
def test_parameters_are_those_of_crfsuite(algorithm):
    mine, peer = ours.Trainer(algorithm), theirs.Trainer(algorithm)
    assert mine.params() == peer.params()
    assert mine.get_params() == pytest.approx(peer.get_params())
    assert [type(v) for v in mine.get_params().values()] == [type(v) for v in peer.get_params().values()]
    assert all(mine.help(name) for name in mine.params())
    mine.set("max_iterations", "12")
    assert mine.get("max_iterations") == 12
    mine.select("lbfgs")
    assert mine.get("max_iterations") == 2**31 - 1


@pytest.mark.parametrize(
    ("act", "parts"),
    [
        (lambda: ours.Trainer("foo"), ["'foo'", "lbfgs", "arow"]),
        (lambda: ours.Trainer().select("lbfgs", "crf2d"), ["'crf2d'"]),
        (lambda: ours.Trainer("pa", {"c1": 1}), ["no parameter 'c1'", "error_sensitive"]),
        (lambda: ours.Trainer(params={"c2": "much"}), ["c2 is 'much'", "a number"]),
        (lambda: ours.Trainer(params={"c2": math.inf}), ["c2 is inf"]),
        (lambda: ours.Trainer(params={"max_iterations": 2.5}), ["max_iterations is 2.5", "whole"]),
        (lambda: ours.Trainer().append([{"a": "b"}], []), ["1 tokens but 0 labels"]),
        (lambda: ours.Trainer().append("text", "OOOO"), ["'text'", "list"]),
        (lambda: ours.Trainer().append(["w"], ["O"]), ["token 0", "'w'"]),
        (lambda: ours.Trainer().append([{"a": math.nan}], ["O"]), ["'a'", "nan"]),
        (lambda: ours.ItemSequence([3]), ["item 0", "3"]),
        (lambda: ours.CRF(c7=1), None),
        (lambda: ours.CRF().set_params(c7=1), ["'c7'", "c1, c2"]),
        (lambda: ours.CRF().fit(X, Y[1:]), ["60 sentences", "59"]),
        (lambda: ours.CRF().fit(X, Y, X), ["X_dev", "y_dev"]),
        (lambda: ours.CRF(algorithm="ap", c1=2).fit(X, Y), ["'c1'"]),
        (lambda: ours.CRF(algorithm="pa", pa_type=4).fit(X, Y), ["type is 4"]),
        (lambda: ours.CRF(trainer_cls=int).fit(X, Y), ["trainer_cls"]),
        (lambda: ours.CRF(c2=-1).fit(X, Y), ["-2"]),
    ],
)
def test_bad_input_is_one_sentence(act, parts):
    with pytest.raises(TypeError if parts is None else LoglinError) as caught:
        act()
    assert all(part in str(caught.value) for part in parts or [])


def test_an_instance_that_was_refused_leaves_nothing():
    trainer = ours.Trainer(verbose=False)
    trainer.append([{"a": "b"}], ["O"])
    for bad in ([{"a": 2.0, "b": math.nan}], [{"c": [3]}]):
        with pytest.raises(LoglinError):
            trainer.append(bad, ["X"])
    trainer.append([{"b": "c"}], ["P"])
    trainer.train("")
    assert trainer.model_.labels == ["O", "P"]
    assert set(trainer.model_.extractor.names.strings) == {"a:b", "b:c"}


@pytest.mark.parametrize(
    ("algorithm", "params"), [("lbfgs", {"linesearch": "Backtracking"}), ("l2sgd", {"calibration.eta": 0.5})]
)
def test_a_parameter_without_effect_is_warned_of(algorithm, params):
    trainer = ours.Trainer(algorithm, params, verbose=False)
    trainer.append(*ONE[0], *ONE[1])
    with pytest.warns(UserWarning, match=f"{next(iter(params))}=.* has no effect"):
        trainer.train("")


def test_without_data_nothing_is_written(tmp_path):
    with pytest.warns(UserWarning, match="no labels to learn from"):
        ours.Trainer().train(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    with pytest.warns(UserWarning, match="no labels"), pytest.raises(LoglinError, match="no labels"):
        ours.CRF().fit([], [])


def test_cleared_data_are_gone():
    trainer = ours.Trainer(verbose=False)
    trainer.append([{"a": "b"}], ["O"])
    trainer.clear()
    trainer.append([["x"], ["y"]], [b"P", "Q"])
    trainer.train("")
    assert trainer.model_.labels == ["P", "Q"]


# ---------------------------------------------------------------------- items, models


def test_items_are_those_of_crfsuite():
    for xseq in X:
        mine, peer = ours.ItemSequence(xseq), theirs.ItemSequence(xseq)
        assert mine.items() == peer.items()
        assert repr(mine) == repr(peer)
        assert ours.ItemSequence(mine).items() == mine.items()


def test_item_sequences_learn_and_tag_alike(tmp_path):
    plain, _ = trained(ours, tmp_path, c2=0.5)
    converted, tagger = trained(ours, tmp_path, data=([ours.ItemSequence(x) for x in X], Y), c2=0.5)
    assert np.allclose(plain.model_.weights, converted.model_.weights, atol=1e-4)
    assert tagger.tag(ours.ItemSequence(X[9])) == tagger.tag(X[9])


def test_a_tagger_opens_models_of_crfsuite(tmp_path):
    _, other = trained(theirs, tmp_path, c2=0.4)
    path = tmp_path / "pycrfsuite.model"
    with ours.Tagger().open(path) as tagger, ours.Tagger().open_inmemory(path.read_bytes()) as again:
        for xseq in weather(30, seed=2)[0]:
            assert tagger.tag(xseq) == again.tag(xseq) == other.tag(xseq)
            assert tagger.probability(tagger.tag()) == pytest.approx(other.probability(other.tag()), abs=1e-9)
        mine, peer = tagger.info(), other.info()
        assert mine.labels == peer.labels
        assert mine.transitions == pytest.approx(peer.transitions, abs=1e-6)
        assert mine.state_features == pytest.approx(peer.state_features, abs=1e-6)
    crf = ours.CRF(model_filename=path)
    assert crf.predict(X) == [other.tag(x) for x in X]
    assert crf.num_attributes_ == int(peer.header["num_attrs"])


def test_a_model_is_one_of_loglin(tmp_path):
    _, tagger = trained(ours, tmp_path, c2=0.4)
    whole = load(tmp_path / "loglin.crfsuite.model")
    assert isinstance(whole, Tagger)
    assert whole.predict(X[:9]) == [tagger.tag(x) for x in X[:9]]


def test_what_a_closed_tagger_is_asked(tmp_path):
    _, tagger = trained(ours, tmp_path)
    tagger.tag(X[9])
    tagger.close()
    for ask in (tagger.labels, tagger.info, tagger.dump, lambda: tagger.tag(X[0]), lambda: tagger.marginal("O", 0)):
        with pytest.raises(LoglinError, match="not opened"):
            ask()
    with pytest.raises(FileNotFoundError):
        tagger.open(tmp_path / "nothing")


def test_wrong_questions_to_a_tagger(tmp_path):
    _, tagger = trained(ours, tmp_path)
    assert tagger.tag() == []
    assert tagger.probability([]) == 0.0
    tagger.set(X[9])
    n = len(X[9])
    for ask, part in (
        (lambda: tagger.probability(["O"] * (n + 1)), f"{n} tokens but {n + 1} labels"),
        (lambda: tagger.probability(["?"] * n), "no label '?'"),
        (lambda: tagger.marginal("O", n), f"no position {n}"),
        (lambda: tagger.marginal("O", -1), "no position -1"),
    ):
        with pytest.raises(LoglinError, match=part.replace("?", r"\?")):
            ask()


def test_dumps_can_be_read(tmp_path, capsys):
    from pycrfsuite._dumpparser import CRFsuiteDumpParser

    _, tagger = trained(ours, tmp_path, c2=0.4)
    tagger.dump(tmp_path / "dump")
    tagger.dump()
    text = (tmp_path / "dump").read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    parser = CRFsuiteDumpParser()
    for line in text.splitlines(True):
        parser.feed(line)
    info = tagger.info()
    assert parser.result.header == info.header
    assert parser.result.labels == info.labels
    assert parser.result.transitions == pytest.approx(info.transitions, abs=1e-6)
    assert len(parser.result.state_features) == len(info.state_features)
