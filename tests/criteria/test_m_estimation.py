"""M-estimation: the note's known answers, the loss against its definition, every solver, base models, files."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.criteria import MEstimation
from loglin.demo.ingredients import generate
from loglin.generative.expectations import expectations
from loglin.generative.hmm import HMM
from loglin.models.chain import Model
from loglin.objectives.exponential import ExponentialLoss, sentence_features
from loglin.problems.chains import ChainProblem
from support.chains import CONDITIONED, numbered, problem
from support.errors import refused
from support.hmms import counted
from support.losses import loss_of, solved
from support.model_files import header_of, rewritten

SOLVERS = ("dual", "lbfgs", "newton")


def split(lines):
    return [[t for t, _ in line] for line in lines], [[y for _, y in line] for line in lines]


TRAIN, TEST = split(generate(150, 1, "train")), split(generate(80, 2, "test"))
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%suffix[0,0,2]\nB\n"


def from_hmm(settings=None, **given) -> Tagger:
    """A tagger by M-estimation whose base model is an HMM unless the settings say another."""
    return Tagger("m-estimation", settings={"base": "hmm"} | (settings or {}), **{"l2": 1.0} | given)


# ---------------------------------------------------------------------- known answers of notes/m_estimation.md


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("E", "c", "w"),
    [(0.1, 1, 0.278470354), (0.1, 10, 0.944455779), (0, 1, 0.351733711), (0, 10, 1.326724665)],
)
def test_one_feature(E, c, w, solver):
    """p·e^−w = E + w / c with p = ½."""
    loss = loss_of([[1], [0], [0], [1]], [E])
    weights, value = solved(loss, solver, 1 / c)
    assert weights == pytest.approx([w], abs=1e-8)
    assert value == pytest.approx(0.5 * math.exp(-w) + 0.5 + E * w + w * w / (2 * c), abs=1e-12)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_one_feature_without_a_penalty(solver):
    weights, value = solved(loss_of([[1], [0], [0], [1]], [0.1]), solver)
    assert weights == pytest.approx([math.log(5)], abs=1e-8)
    assert value == pytest.approx(0.6 + 0.1 * math.log(5), abs=1e-12)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_two_features(solver):
    loss = loss_of([[1, 1], [1, 0]], [2, 1])
    weights, value = solved(loss, solver)
    assert weights == pytest.approx([-math.log(2), 0], abs=1e-6)
    assert value == pytest.approx(0.613706, abs=1e-6)
    assert loss.outside()[0] < 1e-6


def test_an_expectation_outside_the_cone_has_no_minimum():
    loss = loss_of([[1, 1], [1, 0]], [1, 2])
    missed, proven = loss.outside()
    assert missed == pytest.approx(math.sqrt(0.5 / 5), rel=1e-6)  # (1, 2) lies √½ from the ray (1, 1)
    assert proven
    values = [loss(t * np.array([1.0, -1.0]))[0] for t in (0, 1, 10, 100)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < -90


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
@pytest.mark.parametrize("repeated", [True, False], ids=["repeated", "weighted"])
def test_saturated(repeated, solver):
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    loss = loss_of(np.repeat(np.eye(3), [5, 3, 2], axis=0), q) if repeated else loss_of(np.eye(3), q, p)
    weights, value = solved(loss, solver)
    assert weights == pytest.approx([0.916291, 0, -0.916291], abs=1e-6)
    assert value == pytest.approx(0.725113, abs=1e-6)
    assert q @ np.exp(weights) == pytest.approx(1, abs=1e-6)  # Z
    assert loss.outside() == (0, False)


# ---------------------------------------------------------------------- the loss against its definition


def dense(design, gold, index, inputs=False) -> np.ndarray:
    """f(x, y) of every sentence (sentences, features), summed token by token."""
    L, tokens = index.n_labels, design.unfolded()
    u, b, p, _ = index.sizes
    rows = np.zeros((design.n_sentences, index.n_features + inputs * design.n_attributes))
    pair = {int(k): u + b + i for i, k in enumerate(index.pairs)}
    triple = {int(k): u + b + p + i for i, k in enumerate(index.triples)}
    for s, row in enumerate(rows):
        first = design.offsets[s]
        for t in range(first, design.offsets[s + 1]):
            y = gold.codes[t]
            for q in range(tokens.ptr[t], tokens.ptr[t + 1]):
                a, value = int(tokens.ids[q]), tokens.values[q] if tokens.values.size else 1.0
                for f in range(index.ptr[a], index.ptr[a + 1]):
                    row[f] += value * (index.labels[f] == y)
                if inputs:
                    row[index.n_features + a] += value
            if t == first:
                continue
            step = int(gold.codes[t - 1]) * L + int(y)
            for a in design.bigrams.ids[design.bigrams.ptr[t] : design.bigrams.ptr[t + 1]]:
                for f in range(index.bigram_ptr[a], index.bigram_ptr[a + 1]):
                    row[u + f] += index.bigram_pairs[f] == step
            if step in pair:
                row[pair[step]] += 1
            number = int(gold.codes[t - 2]) * L * L + step if t > first + 1 else -1
            if number in triple:
                row[triple[number]] += 1
    return rows


@pytest.mark.parametrize("inputs", [False, True], ids=["labelled", "inputs"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_value_gradient_and_hessian(seed, order, inputs):
    design, gold, index = problem(seed, template=CONDITIONED, order=order, values=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    F = dense(design, gold, index, inputs)
    given = rng.uniform(0.2, 3, design.n_sentences) if seed > 1 else None
    share = np.full(len(F), 1 / len(F)) if given is None else given / given.sum()
    E, w, v = (rng.normal(size=F.shape[1]) for _ in range(3))
    loss = ExponentialLoss(sentence_features(design, gold, index, inputs), E, given, np.float64)
    steep = share * np.exp(-F @ w)
    value, gradient = loss(w)
    assert loss.margins(w) == pytest.approx(F @ w)
    assert value == pytest.approx(steep.sum() + w @ E)
    assert gradient == pytest.approx(E - F.T @ steep)
    assert loss.hessian_product(w, v) == pytest.approx(F.T @ (steep * (F @ v)))
    h = 1e-5
    assert gradient @ v == pytest.approx((loss(w + h * v)[0] - loss(w - h * v)[0]) / (2 * h), rel=1e-6)
    slope = (loss(w + h * v)[1] - loss(w - h * v)[1]) / (2 * h)
    assert loss.hessian_product(w, v) == pytest.approx(slope, rel=1e-5, abs=1e-6 * np.abs(slope).max())


def test_lists_count_what_occurs_twice():
    design, gold, index = problem(2, template=CONDITIONED, order=2)
    ptr, ids, values = sentence_features(design, gold, index)
    assert not values.size
    counts = [np.bincount(ids[b:e], minlength=index.n_features) for b, e in itertools.pairwise(ptr)]
    assert np.array_equal(counts, dense(design, gold, index))


def test_far_out_the_loss_is_a_straight_line():
    loss = loss_of([[1], [2]], [0.0])
    (a, slope), (b, _) = loss(np.array([-100.0])), loss(np.array([-101.0]))
    assert np.isfinite([a, b]).all()
    assert b - a == pytest.approx(-slope[0], rel=1e-9)


# ---------------------------------------------------------------------- solvers


@pytest.mark.parametrize("l2", [0.1, 1.0])
def test_solvers_agree_at_the_optimum(l2):
    """w = (Fᵀ e^−Fw / n − E) / l2, for all of them."""
    design, gold, index = problem(5, template=CONDITIONED, values=True)
    F = dense(design, gold, index)
    E = np.random.default_rng(0).uniform(0, 0.5, F.shape[1])
    loss = ExponentialLoss(sentence_features(design, gold, index), E, None, np.float64)
    found = [solved(loss, solver, l2) for solver in SOLVERS]
    for weights, value in found:
        assert weights == pytest.approx((F.T @ np.exp(-F @ weights) / len(F) - E) / l2, abs=1e-6)
        assert weights == pytest.approx(found[0][0], abs=1e-6)
        assert value == pytest.approx(found[0][1], rel=1e-10)


@pytest.fixture(scope="module")
def trained():
    """A tagger by each solver; the value's last digits are the square root in weights: ½·l2·‖w − w*‖² ≤ gap."""
    common = {"template": TEMPLATE, "l2": 1.0, "tol": 1e-14, "dtype": "float64", "max_iter": 5000}
    return {s: from_hmm(settings={"optimizer": s}, **common).fit(*TRAIN) for s in SOLVERS}


def parts(tagger, X=TRAIN[0], y=TRAIN[1]):
    """Design and gold of labelled sentences as the tagger's model sees them, and the corpus."""
    corpus = from_sentences(X)
    design = tagger.model_.extractor.transform(corpus)
    _, gold = gold_of_sequences(y, [len(s) for s in X], tagger.model_.labels)
    return design, gold, corpus


@pytest.mark.parametrize("solver", SOLVERS)
def test_trained_weights_are_the_optimum(trained, solver):
    model = trained[solver].model_
    design, gold, _ = parts(trained[solver])
    E = expectations(model.base, model.extractor, model.index)
    loss = ExponentialLoss(sentence_features(design, gold, model.index), E, None, np.float64)
    assert model.weights.dtype == np.float64
    assert model.weights == pytest.approx(-loss(model.weights)[1] / 1.0, abs=1e-6)
    assert model.weights == pytest.approx(trained["newton"].model_.weights, abs=1e-6)
    assert model.record["objective"] == pytest.approx(
        loss(model.weights)[0] + 0.5 * (model.weights @ model.weights), rel=1e-9
    )
    assert model.record["converged"]


def test_the_gap_is_a_certificate(trained):
    history = trained["dual"].model_.record["history"]
    values, gaps = (np.array([i[k] for i in history]) for k in ("value", "gradient_norm"))
    best = trained["newton"].model_.record["objective"]
    assert (gaps >= -1e-12).all()
    assert (values - best <= gaps + 1e-12).all()  # the optimum is no further away than the gap says
    assert gaps[-1] < 1e-10 < 1e-4 < gaps[0]
    assert (gaps[5::5] < gaps[:-5:5]).all()
    assert "duality gap" in trained["dual"].model_.record["stopped"]


def test_dual_ascent_that_ends_early_says_so():
    tagger = from_hmm(template=TEMPLATE, l2=1e-3, tol=1e-12, max_iter=2).fit(*TRAIN)
    assert tagger.model_.record["stopped"] == "max_iter = 2 epochs were reached before convergence"
    assert not tagger.model_.record["converged"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_for_any_number_of_threads(solver):
    def weights(threads):
        settings = {"optimizer": solver, "input_features": True}
        tagger = from_hmm(template=TEMPLATE, l2=0.1, threads=threads, settings=settings)
        return tagger.fit(*TRAIN).model_.weights.tobytes()

    assert weights(1) == weights(2) == weights(3)


def test_which_solver_is_taken():
    def stopped(settings=None, **given):
        return from_hmm(template=TEMPLATE, settings=settings, **given).fit(*TRAIN).model_.record["stopped"]

    assert "duality gap" in stopped(l2=0.5)
    assert "duality gap" not in stopped({"init": "memm"}, l2=0.5)
    assert "duality gap" not in stopped(l1=0.01, l2=0.5)
    with pytest.raises(LoglinError, match="dual ascent needs one l2 above 0 for all weights and no l1"):
        stopped({"optimizer": "dual"}, l1=0.01)
    with pytest.raises(LoglinError, match="optimizer newton has no l1 penalty"):
        stopped({"optimizer": "newton"}, l1=0.01)


def test_instance_weights_equal_repetition():
    X, y = TRAIN[0][:30], TRAIN[1][:30]
    base = Tagger("hmm").fit(X, y).model_.base
    common = {"template": TEMPLATE, "l2": 0.1, "tol": 1e-12, "dtype": "float64", "settings": {"base": base}}
    twice = from_hmm(**common).fit(X + X[:10], y + y[:10])
    weighted = from_hmm(**common).fit(X, y, sample_weight=[2.0] * 10 + [1.0] * 20)
    assert weighted.model_.weights == pytest.approx(twice.model_.weights, abs=1e-5)


def test_without_a_penalty_the_unbounded_is_refused():
    for l1 in (0.0, 1e-6):
        tagger = from_hmm(template="U0:%x[0,0]\nB", l1=l1, l2=0)
        with pytest.raises(LoglinError, match=r"has no minimum here: .* missed\); set l2 above 0"):
            tagger.fit([["a", "b"]], [["A", "B"]])


# ---------------------------------------------------------------------- base models


def sampler(n, rng):
    """Sentences of the training data with any labels: what weights are left to tell apart."""
    names = sorted({y for labels in TRAIN[1] for y in labels})
    words = [TRAIN[0][i] for i in rng.integers(len(TRAIN[0]), size=n)]
    return words, [[names[k] for k in rng.integers(len(names), size=len(s))] for s in words]


def hmm_instance():
    return Tagger("hmm", order=2).fit(*TRAIN).model_.base


@pytest.mark.parametrize("base", ["hmm", "uniform", "empirical", "sampled", "instance", "sampler"])
def test_bases(base, tmp_path):
    given = {"instance": hmm_instance, "sampler": lambda: sampler}.get(base, lambda: base)()
    tagger = from_hmm(template=TEMPLATE, l2=1.0, settings={"base": given, "samples": 500})
    tagger.fit(*TRAIN)
    majority = max(sum(labels.count(k) for labels in TEST[1]) for k in tagger.classes_) / sum(map(len, TEST[1]))
    assert tagger.evaluate(*TEST).accuracy > majority + 0.2
    assert (tagger.model_.base is None) == (base == "sampler")
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.predict(TEST[0]) == tagger.predict(TEST[0])
    assert np.allclose(np.vstack(again.predict_proba(TEST[0])), np.vstack(tagger.predict_proba(TEST[0])))


def test_the_model_is_the_base_model_times_its_features(trained):
    """Chain scores are log q0(x, y) + w·f(x, y)."""
    tagger = trained["newton"]
    design, gold, corpus = parts(tagger)
    base, loss = tagger.model_.base, dense(design, gold, tagger.model_.index) @ tagger.model_.weights
    expected = base.log_probability(corpus, gold.codes) + loss
    for s, chain in enumerate(tagger._decoder.chains(design)):
        labels = gold.codes[design.offsets[s] : design.offsets[s + 1]]
        assert chain.score(labels) == pytest.approx(expected[s], abs=1e-8)


def test_without_its_base_the_model_forgets_it(tmp_path):
    common = {"template": TEMPLATE, "l2": 0.05}
    kept = from_hmm(**common).fit(*TRAIN)
    dropped = from_hmm(settings={"keep_base": False}, **common).fit(*TRAIN)
    assert kept.model_.base is not None
    assert dropped.model_.base is None
    assert dropped.model_.weights.tobytes() == kept.model_.weights.tobytes()
    assert dropped.predict(TEST[0]) != kept.predict(TEST[0])
    kept.save(tmp_path / "kept")
    dropped.save(tmp_path / "dropped")
    assert (tmp_path / "dropped").stat().st_size < (tmp_path / "kept").stat().st_size


def problem_of(tagger, X, y) -> ChainProblem:
    design, gold, corpus = parts(tagger, X, y)
    design.corpus = corpus
    model = tagger.model_
    return numbered(design, gold, model.index, model.labels, extractor=model.extractor)


@pytest.mark.parametrize("inputs", [False, True], ids=["labelled", "inputs"])
def test_sampled_expectations_come_near_the_exact_ones(inputs):
    tagger = from_hmm(template=TEMPLATE, max_iter=1).fit(*TRAIN)
    everything, base = problem_of(tagger, *TRAIN), tagger.model_.base
    exact = MEstimation(input_features=inputs).expected_features(everything, base)
    assert len(exact) == tagger.model_.index.n_features + inputs * tagger.model_.extractor.n_attributes

    def distance(n):
        given = {"base": "sampled", "samples": n, "input_features": inputs}
        return np.linalg.norm(MEstimation(**given).expected_features(everything, base) - exact)

    near, far = distance(20_000), distance(200)
    assert near < 0.25 * far
    assert near < 0.03 * np.linalg.norm(exact)


def test_sample_smoothing():
    tagger = from_hmm(template=TEMPLATE, max_iter=1).fit(*TRAIN)
    everything, base = problem_of(tagger, *TRAIN), tagger.model_.base

    def expected(smoothing):
        given = {"base": "sampled", "samples": 50, "sample_smoothing": smoothing}
        return MEstimation(**given).expected_features(everything, base)

    assert expected(1.0) == pytest.approx(expected(0.0) + 1 / 50)


def test_a_sampler_is_counted_as_it_is():
    """The features of a sampler that repeats the training data are expected as often as observed."""
    tagger = from_hmm(template=TEMPLATE, max_iter=1).fit(*TRAIN)
    everything = problem_of(tagger, *TRAIN)
    sampled = MEstimation(base=lambda n, rng: TRAIN, input_features=True)
    found = sampled.expected_features(everything, None)
    _, gold, corpus = parts(tagger)
    n = len(TRAIN[0])
    truth = counted(tagger.model_.extractor, tagger.model_.index, corpus, gold.codes, np.full(n, 1 / n))
    assert found == pytest.approx(np.concatenate(truth))


def test_empirical_expectations_against_marginals():
    """E[f] with the training words and q0's labels for them: sums of the chains' marginals."""
    tagger = from_hmm(template="U0:%x[0,0]\nB", max_iter=1).fit(*TRAIN)
    everything, base, index = problem_of(tagger, *TRAIN), tagger.model_.base, tagger.model_.index
    found = MEstimation(base="empirical", input_features=True).expected_features(everything, base)
    design, _, corpus = parts(tagger)
    L, n = index.n_labels, corpus.n_sentences
    unigram, pairs = np.zeros((design.n_attributes, L)), np.zeros((L, L))
    ids = iter(design.tokens.ids)
    for chain in base.chains(corpus):
        for row in chain.marginals():
            unigram[next(ids)] += row / n
        pairs += chain.transition_marginals().sum(axis=0) / n
    owner = np.repeat(np.arange(design.n_attributes), np.diff(index.ptr))
    parts_found = index.split(found[: index.n_features])
    assert parts_found[0] == pytest.approx(unigram[owner, index.labels], abs=1e-9)
    assert parts_found[2] == pytest.approx(pairs.ravel()[index.pairs], abs=1e-9)
    assert found[index.n_features :] == pytest.approx(unigram.sum(axis=1), abs=1e-9)


def test_input_only_features_change_the_weights_but_not_their_number():
    common = {"template": TEMPLATE, "l2": 0.05}
    plain = from_hmm(**common).fit(*TRAIN).model_
    more = from_hmm(settings={"input_features": True}, **common).fit(*TRAIN).model_
    assert len(more.weights) == len(plain.weights)
    assert not np.allclose(more.weights, plain.weights, atol=1e-3)


# ---------------------------------------------------------------------- what is refused


def test_a_base_model_that_holds_the_data_impossible():
    base = HMM.of(["A", "B"], [[0.5, 0, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], [[[1.0], [1.0]]], [["a"]])
    tagger = from_hmm(template="U0:%x[0,0]\nB", settings={"base": base})
    refused(
        lambda: tagger.fit([["a"], ["a", "b"]], [["A"], ["B", "A"]]),
        "sentence 1, token 1: the base model gives 'b' in column 0 with label 'A' probability zero; smooth it",
    )
    refused(lambda: tagger.fit([["a", "a"]], [["A", "B"]]), "sentence 0, token 1", "label 'B' there")
    refused(lambda: tagger.fit([["a", "a"]], [["A", "C"]]), "the base model has the labels ['A', 'B']")


def test_ready_made_attributes_are_refused():
    for tagger in (from_hmm(), Tagger("hmm")):
        refused(
            lambda t=tagger: t.fit([[{"w": "a"}, {"w": "b"}]], [["A", "B"]]),
            "a generative model emits columns of words, but the data are ready-made attributes",
        )


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"base": "pcfg"}, "m-estimation's setting base is 'pcfg'; choose memm, hmm, uniform, empirical, sampled"),
        ({"base": "sampled", "samples": 0}, "samples is 0; give a whole number of at least 1"),
        ({"base_order": 3}, "m-estimation's setting base_order is 3; choose 1, 2"),
        ({"columns": "0,x"}, "columns is '0,x'; write column numbers such as 0,1"),
        ({"columns": "1"}, "column 1"),
        ({"keep_base": "perhaps"}, "m-estimation's setting keep_base is 'perhaps'; write true or false"),
        ({"smoothing": -1}, "m-estimation's setting smoothing is -1; give a number of at least 0"),
        ({"optimizer": "adam"}, "m-estimation's setting optimizer is 'adam'; choose auto, dual, lbfgs, newton"),
    ],
)
def test_bad_settings(settings, part):
    refused(lambda: from_hmm(template=TEMPLATE, settings=settings).fit(*TRAIN), part)


def test_a_sampler_with_other_labels():
    def other(n, rng):
        return [["a"]] * n, [["NEW"]] * n

    refused(lambda: from_hmm(template=TEMPLATE, settings={"base": other}).fit(*TRAIN), "'NEW'")


# ---------------------------------------------------------------------- model files


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    X, y = [["a", "b", "c"], ["b", "a"], ["c"]], [["X", "Y", "O"], ["Y", "X"], ["O"]]
    from_hmm(template="U0:%x[0,0]\nB", l2=0.1).fit(X, y).save(path)
    return path


def test_the_file_holds_the_base_model(saved):
    header = header_of(saved)[1]
    assert header["version"] == 2
    assert header["base"]["labels"] == ["X", "Y", "O"]
    assert header["base"]["order"] == 2
    model = Model.load(saved)
    model.save(saved.parent / "again")
    again = Model.load(saved.parent / "again")
    assert np.array_equal(again.base.transition, model.base.transition)
    assert all(map(np.array_equal, again.base.emissions, model.base.emissions))


def test_models_without_a_base_are_still_of_version_1(tmp_path):
    for settings in ({"keep_base": False}, {"base": sampler}):
        tagger = from_hmm(template=TEMPLATE, settings=settings, max_iter=2).fit(*TRAIN)
        tagger.save(tmp_path / "m")
        assert header_of(tmp_path / "m")[1]["version"] == 1


def test_truncated_at_every_length(saved):
    content = saved.read_bytes()
    for size in [*range(0, len(content), 61), len(content) - 1]:
        saved.write_bytes(content[:size])
        with pytest.raises(LoglinError, match=str(saved)):
            Model.load(saved)


def test_flipped_bytes_never_crash(saved):
    content, rng = bytearray(saved.read_bytes()), np.random.default_rng(0)
    for position in rng.integers(0, len(content), 300):
        damaged = bytearray(content)
        damaged[position] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged)
        try:
            Tagger.load(saved).predict([["a", "d", "c"], ["b"]])
        except LoglinError as error:
            assert re.search(r"[;:,] \w", str(error))  # noqa: PT017
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize(
    "change",
    [
        lambda h, m: m.update(base=[]),
        lambda h, m: m.update(base={}),
        lambda h, m: m["base"].update(labels=["X", "O", "Y"]),
        lambda h, m: m["base"].update(labels=["X", "Y"]),
        lambda h, m: m["base"].update(labels=[["X"], "Y", "O"]),
        lambda h, m: m["base"].update(order=1),
        lambda h, m: m["base"].update(order=3),
        lambda h, m: m["base"].update(columns=[7]),
        lambda h, m: m["base"].update(columns=[0, 0]),
        lambda h, m: m["base"].update(columns="0"),
        lambda h, m: m["base"].update(oov="first"),
        lambda h, m: m["base"].update(oov={}),
        lambda h, m: m["base"].update(values=None),
        lambda h, m: m["base"]["values"].update(template="U0:%suffix[0,0,1]"),
        lambda h, m: h.pop("base.transition"),
        lambda h, m: h.pop("base.emission.0"),
        lambda h, m: h["base.transition"].update(dtype="I64"),
        lambda h, m: h["base.transition"].update(dtype="F32", shape=[128]),
        lambda h, m: h["base.emission.0"].update(dtype="I64"),
        lambda h, m: h["base.emission.0"].update(data_offsets=h["base.transition"]["data_offsets"][:1] * 2, shape=[0]),
        lambda h, m: h["base.transition"].update(h["base.emission.0"]),
        lambda h, m: m.update(decoding={"steps": "sideways"}),
        lambda h, m: m.update(decoding={"steps": ["local"]}),
        lambda h, m: m.update(decoding={"steps": "scaled"}),
        lambda h, m: m.update(decoding={"steps": "scaled", "scale": [1.0]}),
        lambda h, m: m.update(decoding={"steps": "scaled", "scale": [1.0, 1.0, 1.0, float("nan")]}),
        lambda h, m: m.update(decoding={"beam": -1}),
        lambda h, m: m.update(decoding={"beam": 1.5}),
        lambda h, m: m.update(decoding={"command": "rm"}),
        lambda h, m: m.update(decoding=[]),
    ],
)
def test_hostile_headers(saved, change):
    rewritten(saved, change)
    with pytest.raises(LoglinError, match="train it again"):
        Model.load(saved)


@pytest.mark.parametrize("number", [np.nan, np.inf, -0.25, 2.0])
@pytest.mark.parametrize("array", ["base.transition", "base.emission.0"])
def test_hostile_probabilities(saved, array, number):
    content = bytearray(saved.read_bytes())
    length = int.from_bytes(content[:8], "little")
    begin = json.loads(content[8 : 8 + length])[array]["data_offsets"][0] + 8 + length
    content[begin : begin + 8] = np.float64(number).tobytes()
    saved.write_bytes(content)
    with pytest.raises(LoglinError, match="damaged"):
        Model.load(saved)
