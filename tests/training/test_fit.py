"""The one path of training: what it refuses, what it reports, and the defects that the older paths had."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from loglin import LoglinError, MaxEnt, Tagger
from loglin.corpus.columns import encode_strings, from_sentences
from loglin.criteria import CRF, Contrastive, ExpectationMaximization, HiddenMarkovModel, Margin, Piecewise
from loglin.criteria.criterion import Criterion
from loglin.criteria.registry import criterion
from loglin.optimize.bounds import percent
from loglin.optimize.record import HELD_OUT, INTERRUPTED, LIMIT, Stop, StopTraining
from loglin.optimize.reporter import Judge, Reporter
from loglin.problems.hidden import unlabeled_value
from loglin.training.fit import was_interrupted

X = [["a", "b"], ["b", "a", "c"], ["c"], ["a", "a"]]
Y = [["A", "B"], ["B", "A", "C"], ["C"], ["A", "B"]]  # "a" twice with two labels: no perceptron gets all right
WORDS = {"a": ["A", "B"], "b": ["A", "B"], "c": ["C"]}


def test_an_explicit_limit_is_the_limit():
    """It once gave a perceptron 10 epochs where it was 1000, the default of other criteria."""
    mixed = [["a"], ["a"]], [["A"], ["B"]]
    assert Tagger("perceptron", max_iter=1000).fit(*mixed).model_.record["iterations"] == 1000
    assert Tagger("perceptron").fit(*mixed).model_.record["iterations"] == 10
    assert Tagger("perceptron", max_iter=3).fit(*mixed).model_.record["iterations"] == 3


def test_a_criterion_without_a_way_is_none():
    """A name in the table of criteria but without a branch once trained an MEMM."""

    @dataclasses.dataclass(frozen=True)
    class Unfinished(Criterion):
        structures = ()

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()
    with pytest.raises(LoglinError, match="no criterion is called 'unfinished'; there are crf, "):
        Tagger("unfinished").fit(X, Y)


def test_everything_given_is_restored(tmp_path):
    """Template, min_count and label_weights were once forgotten."""
    given = {
        "template": "U:%x[0,0]\nB\n",
        "min_count": 2,
        "label_weights": {"A": 2.0},
        "l2": 0.3,
        "seed": 4,
        "cutoff": 2,
    }
    tagger = Tagger("piecewise", settings={"nota": "none"}, constrain=None, **given).fit(X, Y)
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert {name: again.get_params()[name] for name in given} == given
    assert again.get_params()["criterion__nota"] == "none"
    assert again.fit(X, Y).model_.weights.tobytes() == tagger.model_.weights.tobytes()


def test_a_model_with_a_base_is_no_hidden_markov_model():
    """Any model with a base model was once judged by the likelihood of that."""
    tagger = Tagger("m-estimation", settings={"base": "hmm"}, template="U:%x[0,0]\nB\n").fit(X, Y)
    assert tagger.model_.base is not None
    with pytest.raises(LoglinError, match="trained from labels, with a base model"):
        unlabeled_value(tagger.model_, from_sentences(X))
    assert np.isfinite(unlabeled_value(Tagger("hmm").fit(X, Y).model_, from_sentences(X)))


def test_training_without_the_resource_module():
    """Windows has none."""
    code = (
        "import sys; sys.modules['resource'] = None\n"
        "from loglin import Tagger\n"
        "tagger = Tagger(threads=1).fit([['a', 'b']] * 3, [['A', 'B']] * 3)\n"
        "print(tagger.predict([['a', 'b']]), tagger.model_.record['peak_memory_mb'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[['A', 'B']] None"


@pytest.mark.parametrize("name", ["hmm", "em"])
def test_counted_models_number_no_features(name, monkeypatch):
    """They once built the index and the penalties of all templates and threw them away."""
    made = []
    problem = Tagger.problem
    monkeypatch.setattr(Tagger, "problem", lambda self, *given: made.append(problem(self, *given)) or made[-1])
    tagger = Tagger(name, dictionary=WORDS if name == "em" else 0)
    tagger.fit(X, None if name == "em" else Y)
    assert "index" not in made[0].__dict__
    assert "penalties" not in made[0].__dict__


def test_settings_are_not_changed_by_training(tmp_path):
    """Training once wrote the loaded base model into the settings that it was handed."""
    Tagger("hmm").fit(X, Y).save(tmp_path / "base")
    settings = {"base": str(tmp_path / "base")}
    tagger = Tagger("m-estimation", settings=settings, template="U:%x[0,0]\nB\n").fit(X, Y)
    assert settings == {"base": str(tmp_path / "base")}
    assert tagger.settings is settings


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"threads": 0}, "threads is 0; give a whole number of at least 1"),
        ({"threads": 1.5}, "threads is 1.5; give a whole number of at least 1"),
        ({"max_iter": 0}, "max_iter is 0; give a whole number of at least 1"),
        ({"dev_metric": "accuracy"}, "dev_metric is 'accuracy'; choose f1 or likelihood"),
        ({"dtype": "float16"}, "dtype is 'float16'; choose auto, float32 or float64"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_though_they_would_do_nothing(given, sentence):
    with pytest.raises(LoglinError) as caught:
        Tagger(**given).fit(X, Y)
    assert str(caught.value) == sentence
    if "dev_metric" not in given:
        with pytest.raises(LoglinError) as caught:
            MaxEnt(**given).fit([{"a": 1.0}, {"b": 1.0}], ["p", "q"])
        assert str(caught.value) == sentence


# ---------------------------------------------------------------------- criteria as objects


def test_word_object_and_settings_mean_the_same():
    ways = [
        Tagger("piecewise", settings={"nota": "none"}),
        Tagger(Piecewise(nota="none")),
        Tagger(Piecewise(), settings={"nota": "none"}),
        Tagger("piecewise").set_params(criterion__nota="none"),
    ]
    weights = {tagger.fit(X, Y).model_.weights.tobytes() for tagger in ways}
    assert len(weights) == 1
    assert {tagger.get_params()["criterion__nota"] for tagger in ways} == {"none"}
    assert Contrastive(neighborhood="del1word").around.name == "del1word"


def test_settings_are_checked_when_the_criterion_is_made():
    with pytest.raises(LoglinError, match="piecewise's setting nota is 'some'; choose auto, all, sampled"):
        Piecewise(nota="some")
    with pytest.raises(LoglinError, match="em's setting starts is 0"):
        ExpectationMaximization(starts=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Margin().loss = "hinge"
    with pytest.raises(LoglinError, match="criterion hmm has its own way to weights"):
        Tagger(HiddenMarkovModel(), optimizer="lbfgs").fit(X, Y)
    with pytest.raises(LoglinError, match=r"criterion crf \(CRF\) is not for this model"):
        criterion(CRF(), "forest")


def test_columns_are_learnt_from_as_they_are():
    corpus, labels = from_sentences(X), encode_strings([y for labels in Y for y in labels])
    assert Tagger().fit(corpus, labels).model_.weights.tobytes() == Tagger().fit(X, Y).model_.weights.tobytes()
    with pytest.raises(LoglinError, match="there are 8 tokens but 1 labels"):
        Tagger().fit(corpus, encode_strings(["A"]))


# ---------------------------------------------------------------------- who follows training


def test_a_reporter_numbers_all_runs_as_one():
    seen = []
    reporter = Reporter(lambda iteration, learned: seen.append(iteration.number))
    reporter.note(2.0, 1.0, np.ones(2), 1)
    reporter.evaluations += 3
    reporter.note(1.0, 0.5, np.array([0.0, 1.0]), 2, skipped=2)
    assert seen == [1, 4]
    assert [(i.active, i.evaluations) for i in reporter.iterations] == [(2, 1), (1, 5)]
    quiet = reporter.quietly()
    quiet.note(1.0, 1.0, np.ones(1), 1)
    assert seen == [1, 4]


def test_a_judge_ends_training_and_keeps_the_best():
    scores = iter([0.5, 0.9, 0.8, 0.7])
    reporter = Reporter(judge=Judge(lambda w: next(scores), "f1", patience=2))
    for w in range(3):
        reporter.note(1.0, 1.0, np.full(1, float(w)), w)
    with pytest.raises(StopTraining) as ended:
        reporter.note(1.0, 1.0, np.full(1, 3.0), 3)
    assert ended.value.stop.kind == HELD_OUT
    assert reporter.best.learned.tolist() == [1.0]
    with pytest.raises(StopTraining):
        reporter.quietly().check()  # a request holds for all runs


def test_records_say_why_training_ended():
    record = Tagger(max_iter=2, tol=0.0).fit(X, Y).model_.record
    assert (record["stop"], record["converged"]) == (LIMIT, False)
    assert record["stopped"].startswith("max_iter = 2 iterations were reached before convergence; about ")
    assert record["stopped"].endswith(f"proved: at most {percent(record['certificate']['proved'])}")
    assert not was_interrupted(record)
    assert was_interrupted({"stop": INTERRUPTED})
    assert Stop("limit", "a").also("b").text == "a; b"
