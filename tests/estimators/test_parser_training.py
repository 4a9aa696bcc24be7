"""Parsers on the one way of training: parameters, starts, held-out trees, weights of trees, optimizers, files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from loglin import LoglinError, Parser, load
from loglin.corpus.trees import Tree
from loglin.criteria import CRF, CRFTrees, MixtureTrees, PiecewiseTrees
from loglin.criteria.registry import criteria
from loglin.criteria.trees import likelihood_of_trees
from loglin.evaluation.trees import evaluate_trees
from loglin.optimize.record import StopTraining
from loglin.problems.trees import TreeOptions
from support.grammars import SENTENCE, TREES

TEMPLATE = "R01:%first[0]\nR02:%last[0]/%length[3]\nL01:%first[-1]\nS01:%split[0]\nU01:%x[0,0]\nU02:%suffix[0,0,1]\n"
UNLABELED = [s.split() for s in ("the man slept .", "Kim saw a cat", "the dog saw the man")]
AMBIGUOUS = [  # the same words with two trees: not separable
    "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN cat))))))",
    "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN cat)))))",
]


def problem(weight=None, trees=TREES, **given):
    return CRFTrees(**given).problem(
        [Tree.parse(t) for t in trees], TreeOptions(template=TEMPLATE, threads=1, weight=weight)
    )


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize(("given", "epochs"), [({}, 10), ({"max_iter": 200}, 200), ({"max_iter": 3}, 3)])
def test_an_explicit_number_of_iterations_is_kept(given, epochs):
    """Two trees of one sentence are never both right, so that a perceptron ends with its last epoch."""
    record = Parser("perceptron", threads=1, **given).fit(AMBIGUOUS).model_.record
    assert record["iterations"] == epochs
    assert record["stopped"] == f"max_iter = {epochs} epochs were done"


def test_criteria_as_words_and_as_objects():
    settings = {"threshold": 3.0, "iterations": 4}
    named = Parser("piecewise", settings=settings, threads=1, max_iter=5).fit(TREES)
    made = Parser(PiecewiseTrees(threshold=3.0, iterations=4), threads=1, max_iter=5).fit(TREES)
    assert made.model_.weights.tobytes() == named.model_.weights.tobytes()
    assert made.model_.record["settings"] == named.model_.record["settings"]
    with pytest.raises(LoglinError, match=r"criterion crf \(CRF\) is not for this model"):
        Parser(CRF()).fit(TREES)


def test_settings_are_parameters():
    parser = Parser("piecewise", settings={"threshold": 3.0})
    assert parser.get_params()["criterion__threshold"] == 3.0
    assert "criterion__threshold" not in parser.get_params(deep=False)
    parser.set_params(criterion__threshold=2.0, l2=0.5)
    assert (parser.chosen_criterion().threshold, parser.l2) == (2.0, 0.5)
    again = clone(parser)
    assert (again.chosen_criterion().threshold, again.l2) == (2.0, 0.5)
    with pytest.raises(ValueError, match="has no parameter 'treshold'"):
        parser.set_params(treshold=1)


def test_grid_search():
    grid = GridSearchCV(
        Parser(threads=1, max_iter=4), {"l2": [0.1, 10.0], "criterion__base": ["pcfg", "lexicon"]}, cv=2
    )
    grid.fit(TREES)
    assert set(grid.best_params_) == {"l2", "criterion__base"}
    assert grid.best_score_ > 0.3


@pytest.mark.parametrize("criterion", criteria("forest"))
def test_a_file_keeps_all_parameters(criterion, tmp_path):
    around = {"neighborhood": "del1word"} if criterion in ("contrastive", "mixture") else {}
    template = {} if criterion in ("pcfg", "em") else {"template": "R01:%first[0]\nU01:%x[0,0]\n"}
    template = {"template": "U01:%x[0,0]\n"} if around else template
    given = {"l1": 0.01, "l2": 0.3, "max_iter": 4, "tol": 0.02, "seed": 3, "max_length": 9, "vertical": 2}
    given |= {"horizontal": 1, "settings": {"rare": 0}} | template | around
    more = [["the", "man", "slept", "."]] if criterion == "mixture" else None
    parser = Parser(criterion, **given, threads=1).fit(TREES, more)
    parser.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.criterion == criterion
    kept = again.get_params(deep=False)
    assert {name: kept[name] for name in given} == given
    assert again.chosen_criterion() == parser.chosen_criterion() or around
    again.threads = 1
    assert again.fit(TREES, more).model_.weights.tobytes() == parser.model_.weights.tobytes()


def test_a_file_without_parameters(tmp_path):
    parser = Parser("crf", vertical=2, threads=1, max_iter=3).fit(TREES)
    del parser.model_.record["options"]  # as older files
    parser.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.criterion, again.vertical) == ("crf", 2)
    assert again.parse([SENTENCE])[0] == parser.parse([SENTENCE])[0]


# ---------------------------------------------------------------------- callbacks and held-out trees


@pytest.mark.parametrize("criterion", ["crf", "mecfg", "piecewise", "perceptron", "m-estimation", "mixture", "em"])
def test_held_out_trees_are_scored_at_the_current_weights(criterion):
    """Training is cut after every number of iterations; the score there is that of the model it gives."""
    more, seen = UNLABELED if criterion == "mixture" else None, []
    options = {"threads": 1, "tol": 0.0, "template": None if criterion in ("em", "mixture") else TEMPLATE}
    if criterion in ("mecfg", "piecewise"):
        options["template"] = "paper"
    dev = [*AMBIGUOUS, *TREES[5:]]
    Parser(criterion, dev=dev, max_iter=4, callbacks=[lambda i: seen.append(i.score)], **options).fit(TREES, more)
    assert len(seen) == 4 or criterion == "perceptron"
    for n in (1, len(seen)):
        cut = Parser(criterion, max_iter=n, **options).fit(TREES, more)
        assert cut.score(dev) == seen[n - 1]


def test_the_best_on_held_out_trees_is_kept():
    dev = [Tree.parse(t) for t in (*AMBIGUOUS, *TREES[:3])]
    parser = Parser("crf", template=TEMPLATE, dev=dev, l2=0.01, tol=0.0, max_iter=40, threads=1).fit(TREES)
    record = parser.model_.record
    scores = [i["score"] for i in record["history"]]
    assert record["dev_score"] == max(scores) == parser.score(dev)
    assert record["stop"] == "held-out"
    assert record["iterations"] == 1 + scores.index(max(scores)) + 10  # the patience
    assert "the development data's f1 has not risen" in record["stopped"]
    counted = Parser("pcfg", dev=dev, threads=1).fit(TREES)
    found = evaluate_trees(dev, counted.predict([tree.words() for tree in dev]))
    assert counted.model_.record["dev_score"] == found.f1
    with pytest.raises(LoglinError, match="the development data are 1 trees without a word"):
        Parser(dev=["(S (-NONE- *))"]).fit(TREES)


def test_a_callback_ends_training():
    def stop(iteration):
        if iteration.number == 3:
            raise StopTraining("enough")

    for criterion in ("crf", "perceptron", "mecfg"):
        record = (
            Parser(criterion, callbacks=[stop], tol=0.0, l2=1e-3, threads=1).fit([*TREES, *AMBIGUOUS]).model_.record
        )
        assert (record["iterations"], record["stopped"]) == (3, "enough")


# ---------------------------------------------------------------------- starts


@pytest.mark.parametrize("criterion", ["crf", "mecfg", "piecewise", "m-estimation", "contrastive", "mixture"])
def test_training_goes_on_from_a_file(criterion, tmp_path):
    more = UNLABELED if criterion == "mixture" else None
    options = {"threads": 1, "tol": 1e-6, "max_iter": 500}
    first = Parser(criterion, **options).fit(TREES, more)
    first.save(tmp_path / "model")
    again = Parser(criterion, **options).fit(TREES, more, start=load(tmp_path / "model").model_)
    assert again.model_.record["iterations"] < first.model_.record["iterations"]
    if criterion != "piecewise":  # whose mistakes are those of its first weights
        assert again.model_.record["objective"] == pytest.approx(first.model_.record["objective"], rel=1e-4)
    warm = Parser(criterion, warm_start=True, **options).fit(TREES, more).fit(TREES, more)
    assert warm.model_.weights.tobytes() == again.model_.weights.tobytes()


def test_weights_are_found_by_name():
    """Grammar, words and attributes have other numbers in other trees; what both have keeps its weight."""
    before, new = problem(trees=TREES[:5]), problem(trees=[*TREES[5:], *TREES[2:4]])
    drawn = np.random.default_rng(0).normal(size=before.index.n_features)
    named = {before.feature_name(f): w for f, w in enumerate(drawn)}
    weights = new.transferred(before.model(drawn, before.base("pcfg")))
    names = [new.feature_name(f) for f in range(new.index.n_features)]
    assert len(set(names)) == len(names)
    assert {"S → NP VP", "NP → DT NN", "S", "U01:the for DT", "R01:the for NP → DT NN"} <= set(names)
    assert weights.tolist() == [named.get(name, 0.0) for name in names]
    for kind in new.index.split(weights):
        assert np.count_nonzero(kind) > 0
    assert np.count_nonzero(weights) < len(weights)


def test_starts_that_are_refused():
    old = Parser("crf", vertical=2, threads=1, max_iter=2).fit(TREES).model_
    with pytest.raises(LoglinError, match=r"vertical=2.*give the same horizontal, vertical and annotations"):
        Parser("crf", threads=1).fit(TREES, start=old)
    for criterion in ("pcfg", "em"):
        with pytest.raises(LoglinError, match=f"{criterion} starts as its settings say"):
            Parser(criterion, vertical=2, threads=1).fit(TREES, start=old)


def test_a_perceptron_goes_on():
    first = Parser("perceptron", threads=1, max_iter=2).fit([*TREES, *AMBIGUOUS])
    second = Parser("perceptron", threads=1, max_iter=1).fit([*TREES, *AMBIGUOUS], start=first.model_)
    assert second.model_.weights.tobytes() != first.model_.weights.tobytes()
    assert second.model_.record["objective"] <= first.model_.record["objective"] + 1


# ---------------------------------------------------------------------- optimizers


@pytest.mark.parametrize("optimizer", ["lbfgs", "gradient", "conjugate-gradient"])
def test_optimizers_agree(optimizer):
    options = {"template": TEMPLATE, "tol": 1e-7, "max_iter": 2000, "threads": 1}
    known = Parser("crf", **options).fit(TREES).model_
    found = Parser("crf", optimizer=optimizer, **options).fit(TREES).model_
    assert found.record["objective"] == pytest.approx(known.record["objective"], rel=1e-5)
    np.testing.assert_allclose(found.weights, known.weights, atol=0.02)


def test_newton_for_m_estimation_and_what_is_refused():
    options = {"tol": 1e-8, "max_iter": 500, "threads": 1}
    known, found = (Parser("m-estimation", optimizer=o, **options).fit(TREES).model_ for o in ("auto", "newton"))
    assert found.record["objective"] == pytest.approx(known.record["objective"], rel=1e-6)
    for criterion, optimizer, message in (
        ("perceptron", "lbfgs", "has its own way to weights"),
        ("em", "gradient", "has its own way to weights"),
        ("mixture", "newton", "is not concave"),
        ("crf", "gis", "is for independent decisions"),
        ("crf", "sgd", "takes one sentence at a time"),
        ("crf", "best", "no optimizer is called 'best'"),
    ):
        with pytest.raises(LoglinError, match=message):
            Parser(criterion, optimizer=optimizer, threads=1).fit(TREES, UNLABELED if criterion == "mixture" else None)
    with pytest.raises(LoglinError, match="has no l1 penalty"):
        Parser("crf", optimizer="gradient", l1=1.0).fit(TREES)


# ---------------------------------------------------------------------- weights of trees


@pytest.mark.parametrize("base", ["pcfg", "lexicon"])
def test_a_tree_that_counts_twice_is_a_tree_given_twice(base):
    """The likelihood of weighted trees, against that of repeated ones under the same grammar."""
    twice = [0, 1, 1, 2, 3, 3, 4, 5, 6, 7]
    weight = np.bincount(twice, minlength=len(TREES)).astype(float)
    one = problem(weight)
    both = CRFTrees().problem(
        [Tree.parse(TREES[n]) for n in twice], TreeOptions(template=TEMPLATE, threads=1), pcfg=one.pcfg
    )
    weights = np.random.default_rng(3).normal(size=one.index.n_features)
    value, gradient = likelihood_of_trees(one, one.base(base))(weights)
    expected, slope = likelihood_of_trees(both, both.base(base))(both.transferred(one.model(weights, one.base(base))))
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(np.sort(gradient), np.sort(slope), atol=1e-9)


@pytest.mark.parametrize("criterion", ["crf", "mecfg", "piecewise", "perceptron", "m-estimation"])
def test_weights_choose_among_trees(criterion):
    """Of two trees of the same words the heavier one is found."""
    for heavy in (0, 1):
        weight = [1.0] * len(TREES) + [10.0 if n == heavy else 0.0 for n in (0, 1)]
        template = None if criterion in ("mecfg", "piecewise") else TEMPLATE
        how = {"l2": 0.001 if criterion == "m-estimation" else 0.1, "threads": 1, "template": template}
        parser = Parser(criterion, **how).fit([*TREES, *AMBIGUOUS], sample_weight=weight)
        words = Tree.parse(AMBIGUOUS[0]).words()
        if criterion in ("mecfg", "piecewise"):  # normalized rule by rule, which cannot always tell
            known = Parser(criterion, **how).fit([*TREES, *AMBIGUOUS]).model_.weights
            assert not np.array_equal(parser.model_.weights, known)
        else:
            assert str(parser.predict([words])[0]) == AMBIGUOUS[heavy]


def test_weights_of_sentences():
    """What counts nothing could as well be left out, where the first grammar is the same."""
    sentences = [["a", "c"], ["a", "d"], ["b", "c"], ["d", "a"]]
    for criterion in ("em", "contrastive"):
        options = {"settings": {"symbols": 2}, "threads": 1, "max_iter": 20}
        ones = Parser(criterion, **options).fit(sentences, sample_weight=np.ones(4))
        plain = Parser(criterion, **options).fit(sentences)
        assert ones.model_.record["objective"] == plain.model_.record["objective"]
        some = Parser(criterion, **options).fit(sentences, sample_weight=[1, 1, 1, 0])
        assert some.model_.record["objective"] < plain.model_.record["objective"]
    mixed = [["x", "y"], "(S (A x) (B y))", ["y", "x"]]
    numbers = []
    for weight in ([5, 1, 1], [1, 1, 5]):
        parser = Parser("em", settings={"symbols": 2}, threads=1, max_iter=1).fit(mixed, sample_weight=weight)
        numbers.append(parser.model_.record["objective"])
    assert numbers[0] != numbers[1]  # each goes to its own sentence


def test_weights_of_a_mixture():
    trees, weight = [Tree.parse(t) for t in TREES], np.array([2.0] * len(TREES) + [0.5] * len(UNLABELED))
    options = TreeOptions(threads=1, weight=weight)
    heavy = MixtureTrees().problem(trees, options, UNLABELED)
    plain = MixtureTrees().problem(trees, TreeOptions(threads=1), UNLABELED)
    w = np.random.default_rng(0).normal(size=plain.index.n_features)
    known = likelihood_of_trees(plain, plain.base("pcfg"))(w)[0]
    both = MixtureTrees().objective(plain)(w)[0]
    assert MixtureTrees().objective(heavy)(w)[0] == pytest.approx(2 * known + 0.5 * (both - known))


@pytest.mark.parametrize(
    ("criterion", "weight", "message"),
    [
        ("pcfg", np.ones(8), "criterion pcfg counts every tree once; leave sample_weight out"),
        ("crf", np.ones(3), "must be 8 finite numbers"),
        ("crf", -np.ones(8), "must be 8 finite numbers"),
        ("crf", np.zeros(8), "all instance weights are zero"),
        ("em", np.ones(2), "must be 8 finite numbers"),
    ],
)
def test_weights_that_are_refused(criterion, weight, message):
    with pytest.raises(LoglinError, match=message):
        Parser(criterion, threads=1).fit(TREES, sample_weight=weight)


# ---------------------------------------------------------------------- without a penalty


@pytest.mark.parametrize("base", ["pcfg", "lexicon"])
def test_separable_trees_are_reported(base, tmp_path):
    """Every word has one tag, so that rules and spans alone tell the trees."""
    settings = {"base": base, "rare": 0, "smoothing": 0}
    parser = Parser("crf", template=TEMPLATE, l2=0.0, settings=settings, tol=0.0, max_iter=500, threads=1)
    with pytest.warns(ConvergenceWarning, match="separable"):
        parser.fit(TREES)
    record = parser.model_.record
    assert "without a prior the weights grow without end; give l2 above 0" in record["unbounded"]
    assert (record["stop"], record["converged"]) == ("separable", False)
    assert record["iterations"] < 100
    parser.save(tmp_path / "model")
    assert load(tmp_path / "model").model_.record["unbounded"] == record["unbounded"]
    assert parser.score(TREES) == 1.0


def test_what_is_not_separable_is_not_reported():
    """Two trees of one sentence, a penalty, and sentences that have no other tree at all."""
    certain = ["(S (A x) (B y))", "(S (A y) (B x))"]
    for trees, l2 in ((AMBIGUOUS, 0.0), (TREES, 0.01), (certain, 0.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            record = Parser("crf", template=TEMPLATE, l2=l2, threads=1, max_iter=60).fit(trees).model_.record
        assert record["unbounded"] == ""


def test_trees_that_the_lexicon_alone_tells_are_no_proof():
    """Without attributes of words the rules cannot tell x from y, whatever the lexicon says of them."""
    trees = ["(S (A x) (B y))", "(S (B y) (A x))"] * 3 + ["(S (A x) (A x))", "(S (B y) (B y))"]
    found = CRFTrees().problem([Tree.parse(t) for t in trees], TreeOptions(template="R01:%length[3]\n", threads=1))
    criterion = likelihood_of_trees(found, found.base("pcfg"))
    value, _ = criterion(np.zeros(found.index.n_features))
    assert value < 0.1  # every tree has nearly all of the probability
    assert not criterion.all_right()
