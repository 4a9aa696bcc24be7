"""Where labels are hidden: unusual data and options, and what is refused before anything is trained."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from loglin import LoglinError, Tagger, select_tagger
from loglin.corpus.columns import from_sentences
from loglin.criteria import Contrastive
from loglin.optimize.penalties import Penalties
from loglin.optimize.record import StopTraining
from loglin.problems.hidden import unlabeled_value
from support.shell import check_sentence, program
from support.solving import run_of

WORDS = {"they": ["PRON"], "can": ["AUX", "NOUN"], "fish": ["NOUN", "VERB"], "the": ["DET"], "swim": ["VERB"]}
SENTENCES = [s.split() for s in ("they can fish", "the fish can swim", "the can", "they swim")]
LABELS = [["PRON", "AUX", "VERB"], None, ["DET", "NOUN"], None]


def tagger(criterion="contrastive", **given):
    return Tagger(criterion, **({"dictionary": WORDS} | given))


@pytest.mark.parametrize("criterion", ["contrastive", "em"])
@pytest.mark.parametrize("labels", [[None] * 5, [LABELS[0], *[None] * 4], [None] * 3])
def test_as_many_label_sequences_as_sentences(criterion, labels):
    with pytest.raises(LoglinError, match=f"4 sentences but {len(labels)} label sequences"):
        tagger(criterion).fit(SENTENCES, labels)


def test_a_cutoff_keeps_the_order():
    text = [*SENTENCES, ["they", "can", "swim"]]
    found = tagger(cutoff=3).fit(text).model_
    assert len(found.index.triples) == 0
    assert found.order == 2
    assert tagger("em", cutoff=3).fit(text).model_.base.order == 2


def test_weights_of_labels_weigh_labeled_sentences():
    """Twice the weight of all labels is twice the labelled sentences; without any label there is nothing to weigh."""
    twice = tagger("mixture", label_weights={y: 2.0 for tags in WORDS.values() for y in tags}).fit(SENTENCES, LABELS)
    weights = [2.0 if y else 1.0 for y in LABELS]
    expected = tagger("mixture").fit(SENTENCES, LABELS, sample_weight=weights)
    assert twice.model_.record["objective"] == pytest.approx(expected.model_.record["objective"], rel=1e-6)
    with pytest.raises(LoglinError, match="no token has a certain label"):
        tagger(label_weights={"NOUN": 2.0}).fit(SENTENCES)


def test_tuples_need_a_template():
    """Default templates look at words alone, and would pass over the other columns without a word."""
    pairs = [[(w, w[0]) for w in s] for s in SENTENCES]
    with pytest.raises(LoglinError, match="2 columns, but criterion contrastive looks at words"):
        tagger().fit(pairs)
    told = tagger(template="trigram").fit(pairs)
    assert told.predict(pairs) == told.predict(SENTENCES) == tagger().fit(SENTENCES).predict(SENTENCES)


def test_one_word_sentences_do_not_diverge():
    """Each is its only neighbor: no weight moves, so none grows without end."""
    found = tagger(l2=0.0).fit([["can"], ["fish"]])
    assert found.model_.record["converged"]
    assert "without end" not in found.model_.record["stopped"]


@pytest.mark.parametrize("criterion", ["contrastive", "em"])
@pytest.mark.parametrize(
    ("dev", "part"),
    [
        ([], "dev holds no words"),
        ([["they"], []], "dev: sentence 1 has no words"),
        ([[("they", "t")]], "dev has 2 columns, the training text 1"),
        ([["they"], ["can", "zebras"]], "dev: sentence 1, token 1: 'zebras' is not in the tagging dictionary"),
    ],
)
def test_held_text_is_refused_before_training(criterion, dev, part, tmp_path):
    (tmp_path / "D").write_text("".join(f"{w}\t{' '.join(t)}\n" for w, t in WORDS.items()) + "#! unknown=refuse\n")
    seen = []
    with pytest.raises(LoglinError, match=part):
        Tagger(criterion, dictionary=str(tmp_path / "D"), dev=dev, callbacks=[seen.append]).fit(SENTENCES)
    assert not seen


def test_refused_words_are_named_at_their_places():
    model = tagger().fit(SENTENCES).model_
    model.dictionary = model.dictionary.with_unknown("refuse")
    with pytest.raises(LoglinError, match="text: sentence 1, token 2: 'zebras'"):
        unlabeled_value(model, from_sentences([["they"], ["they", "they", "zebras"]], "text"))


def test_held_text_without_a_finite_criterion_keeps_the_model():
    """New words, of weight zero, bring the sum over all sentences beyond its limit."""
    record = tagger("marginal-likelihood", dev=[["they", "zebras"]]).fit(SENTENCES).model_.record
    assert record["held_criterion"] == -np.inf
    assert "no limit" in record["warnings"][-1]


def test_em_starts_from_no_model():
    found = tagger("em", warm_start=True).fit(SENTENCES)
    with pytest.raises(LoglinError, match="em starts as its settings say"):
        found.fit(SENTENCES)
    with pytest.raises(LoglinError, match="has no weights"):
        Tagger("crf", settings={"init": found}).fit(SENTENCES[:1], LABELS[:1])
    with pytest.raises(LoglinError, match="init is 'contrastive'"):
        Tagger("crf", settings={"init": "contrastive"}).fit(SENTENCES[:1], LABELS[:1])


def test_a_loaded_model_is_fitted_again_as_it_was(tmp_path):
    found = tagger("em").fit(SENTENCES)
    found.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.order is None  # as it was given; em's own is 2
    assert again.fit(SENTENCES).model_.record["objective"] == pytest.approx(found.model_.record["objective"])


def test_an_interrupted_round_is_judged_without_annealing():
    """The annealed criterion is larger, so that a start that was cut short would seem the best."""
    calls, penalty = [], np.full(2, 0.5)

    class Criterion:
        n_features, evaluations, epochs, beta = 2, 0, 0.0, 1.0

        def __call__(self, weights):
            calls.append(self.beta)
            return float(np.sum((weights - 1) ** 2)) - (100.0 if self.beta < 1 else 0.0), 2 * (weights - 1)

    annealed = Contrastive(annealing=0.5, annealing_rate=1.5)
    run = run_of(stop=lambda: "asked", max_iter=50, tol=1e-9)
    found = annealed.rounds(Criterion(), np.zeros(2), Penalties(0 * penalty, penalty), run)
    expected = np.sum((found.weights - 1) ** 2) + 0.25 * np.sum(found.weights**2)
    assert found.value == pytest.approx(expected)
    assert calls[-1] == 1.0


@pytest.mark.parametrize(
    ("grid", "part"),
    [
        ({"neighborhood": ["trans1", "length"]}, "cannot be compared"),
        ({"depth": [1, 2]}, "the grid names 'depth'"),
        ({"seed": [0.5]}, "seed is 0.5"),
    ],
)
def test_grids_that_make_no_sense(grid, part):
    with pytest.raises(LoglinError, match=part):
        select_tagger(tagger(), grid, SENTENCES, dev=SENTENCES)


def test_no_trials_after_an_interruption():
    seen = []

    def interrupt(iteration):
        seen.append(iteration.number)
        os.kill(os.getpid(), signal.SIGINT)

    given = tagger(callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        select_tagger(given, {"l2": [0.5, 1.0, 2.0]}, SENTENCES, dev=SENTENCES)
    assert seen == [1]
    assert given.predict(SENTENCES[:1])


# ---------------------------------------------------------------------- the shell


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(s) for s in SENTENCES))
    (tmp_path / "D").write_text("".join(f"{w}\t{' '.join(tags)}\n" for w, tags in WORDS.items()))
    (tmp_path / "part.conll").write_text("they\t_\ncan\tAUX|NOUN\nfish\tVERB\n\nthe\tDET\ncan\t_\n\n")
    return tmp_path


def test_grid_in_the_shell(folder):
    arguments = ["train", "raw.txt", "--criterion", "em", "--dictionary", "D", "-o", "m", "--quiet"]
    code, out, _ = program(
        folder, [*arguments, "--dev", "raw.txt", "--grid", "seed=1,2", "--grid", "cutoff=1", "--json"]
    )
    assert code == 0
    assert [t["parameters"] for t in json.loads(out)["selection"]["trials"]] == [
        {"seed": 1, "cutoff": 1},
        {"seed": 2, "cutoff": 1},
    ]
    for more, part in (
        (["--grid", "l2=1"], "give held-out text"),
        (["--gold", "raw.txt"], "--gold is for the trials of --grid"),
        (["--dev", "raw.txt", "--grid", "labels=2,3"], "--grid names 'labels'"),
    ):
        code, _, err = program(folder, [*arguments, *more])
        check_sentence(code, err, part)


def test_labels_known_in_part_in_the_shell(folder):
    """--partial heeds the labels that DATA has; the words are of one column."""
    train = ["train", "part.conll", "--criterion", "em", "--dictionary", "D", "--json", "-o", "m"]
    code, out, _ = program(folder, [*train, "--partial"])
    assert code == 0
    X, y = [["they", "can", "fish"], ["the", "can"]], [[None, {"AUX", "NOUN"}, "VERB"], ["DET", None]]
    expected = tagger("em").fit(X, y).model_.record["objective"]
    assert json.loads(out)["objective"] == pytest.approx(expected)


def test_hidden_markov_models_are_not_pruned(folder):
    tagger("em").fit(SENTENCES).save(folder / "em")
    code, _, err = program(folder, ["prune", "em", "-o", "less"])
    check_sentence(code, err, "no weights to prune")


@pytest.mark.parametrize("settings", [{"starts": 3}, {"annealing": 0.1}], ids=str)
def test_a_callback_ends_all_starts_and_rounds(settings):
    seen = []

    def enough(iteration):
        seen.append(iteration)
        if len(seen) == 2:
            raise StopTraining("the callback has seen enough")

    words = {"a": ["X"], "b": ["X", "Y"], "c": ["Y", "Z"]}
    tagger = Tagger("contrastive", dictionary=words, settings=settings, callbacks=[enough], tol=1e-12)
    record = tagger.fit([["a", "b", "c"], ["b", "c", "a", "b"]]).model_.record
    assert len(seen) == 2
    assert "the callback has seen enough" in record["stopped"]
    assert not record["converged"]
