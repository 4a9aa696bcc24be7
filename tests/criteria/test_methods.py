"""Every criterion from a user's side: fit, predict, save, settings, the command line; and ways to decode."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import oracle
from loglin import LoglinError, Tagger
from loglin.cli.tagger_training import train_command
from loglin.criteria.registry import criteria
from loglin.criteria.registry import criterion as chosen
from loglin.decoding.chains import Decoder
from loglin.demo.ingredients import generate
from loglin.models.chain import Model
from loglin.problems.request import Annotation
from support.chains import CONDITIONED, PLAIN, known, parts_of, problem
from support.shell import check_sentence, program, snapshot


def split(lines):
    return [[t for t, _ in line] for line in lines], [[y for _, y in line] for line in lines]


CRITERIA = criteria("chain")
LATENT = [name for name, kind in CRITERIA.items() if kind.needs == Annotation.HIDDEN]
PARTIAL = [name for name, kind in CRITERIA.items() if kind.needs < Annotation.CERTAIN]
TRAIN, TEST = split(generate(120, 1, "train")), split(generate(80, 2, "test"))
MAJORITY = max(sum(y.count(k) for y in TEST[1]) for k in {k for y in TEST[1] for k in y}) / sum(map(len, TEST[1]))


@pytest.fixture(scope="module")
def taggers():
    return {c: Tagger(c).fit(*TRAIN) for c in CRITERIA}


# ---------------------------------------------------------------------- estimators


def test_names_agree():
    shown = next(option.type.choices for option in train_command.params if option.name == "criterion")
    assert shown == list(CRITERIA)
    for name in CRITERIA:
        assert f'"{name}"' in Tagger.__doc__, name


@pytest.mark.parametrize("criterion", CRITERIA)
def test_learns_and_is_saved(taggers, criterion, tmp_path):
    tagger = taggers[criterion]
    assert tagger.evaluate(*TEST).accuracy > MAJORITY + 0.3
    assert tagger.model_.record["criterion"] == criterion
    assert tagger.model_.record["stopped"]
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.criterion == criterion
    assert again.predict(TEST[0]) == tagger.predict(TEST[0])
    assert again.predict([[]]) == [[]]
    assert again.predict([[], TEST[0][0], []]) == [[], tagger.predict([TEST[0][0]])[0], []]
    assert again.predict([]) == []
    for rows, best in zip(again.predict_proba(TEST[0][:10]), tagger.predict_nbest(TEST[0][:10], 2), strict=True):
        np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-9)
        assert best[0][1] >= best[1][1]
    assert str(again.explain(TEST[0][0], 0))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_second_order(criterion):
    tagger = Tagger(criterion, order=2, max_iter=15).fit(*TRAIN)
    assert tagger.evaluate(*TEST).accuracy > MAJORITY + 0.2


def test_probabilities_of_all_sequences_sum_to_one(taggers):
    for name in ("memm", "crf", "hmm", "m-estimation"):
        ranked = taggers[name].predict_nbest([TEST[0][0][:3]], len(taggers[name].classes_) ** 3)[0]
        assert sum(p for _, p in ranked) == pytest.approx(1)


SETTINGS = [
    ("memm", {"decoding": "global"}),
    ("memm", {"beam": 3}),
    ("pseudolikelihood", {"nota": "all"}),
    ("pseudolikelihood", {"nota": "one"}),
    ("piecewise", {"nota": "selected"}),
    ("piecewise", {"nota": "selected", "init": "memm"}),
    ("piecewise", {"nota": "sampled", "rate": 2}),
    ("piecewise", {"nota": "none", "decoding": "nota"}),
    ("piecewise", {"decoding": "scaled"}),
    ("margin", {"loss": "hinge"}),
    ("margin", {"cost": {("B-QTY", "O"): 5}}),
    ("margin", {"cost": "B-QTY>O:5,O>B-QTY:0.5"}),
    ("expected-accuracy", {"init": None}),
    ("hmm", {"prior": "unigram", "smoothing": 0.5, "transition_smoothing": 0.1}),
    ("m-estimation", {"base": "empirical", "base_order": 1, "init": "memm"}),
]


@pytest.mark.parametrize(("criterion", "settings"), SETTINGS, ids=str)
def test_settings(criterion, settings, tmp_path):
    tagger = Tagger(criterion, settings=settings, max_iter=40).fit(*TRAIN)
    assert tagger.evaluate(*TEST).accuracy > MAJORITY + (0.05 if "sampled" in settings.values() else 0.2)
    tagger.save(tmp_path / "m")
    assert Tagger.load(tmp_path / "m").predict(TEST[0]) == tagger.predict(TEST[0])
    assert json.loads(json.dumps(tagger.model_.decoding)) == tagger.model_.decoding


# ---------------------------------------------------------------------- where to start


@pytest.mark.parametrize("init", ["memm", "pseudolikelihood", "piecewise", "m-estimation", "perceptron", "margin"])
def test_any_start_ends_at_the_same_optimum(init):
    """The likelihood has one optimum, so where it starts changes the way, not the end."""
    common = {"tol": 1e-8, "template": "U0:%x[0,0]\nB"}
    plain = Tagger(**common).fit(*TRAIN).model_.record["objective"]
    started = Tagger(settings={"init": init}, **common).fit(*TRAIN).model_.record["objective"]
    assert started == pytest.approx(plain, rel=1e-6)


def test_a_model_to_start_from(taggers):
    """Near the optimum there is little left to do; features are found by name, whatever the templates."""
    crf = taggers["crf"]
    for init in (crf, crf.model_):
        again = Tagger(settings={"init": init}).fit(*TRAIN)
        assert again.model_.record["history"][0]["value"] < 1.01 * crf.model_.record["objective"]
    other = Tagger(settings={"init": crf}, template="U0:%x[0,0]\nB").fit(TRAIN[0][:40], TRAIN[1][:40])
    assert other.score(*TEST) > 0.3


@pytest.mark.parametrize(
    ("criterion", "init", "part"),
    [
        ("crf", "crf", "init is 'crf', which gives no weights to start crf from; choose another"),
        ("crf", "hmm", "init is 'hmm', which gives no weights to start crf from; choose another"),
        ("memm", "nothing", "no criterion is called 'nothing'; there are crf, accuracy, arow, boosting"),
    ],
)
def test_no_such_start(criterion, init, part):
    with pytest.raises(LoglinError, match=part):
        Tagger(criterion, settings={"init": init}).fit(*TRAIN)


# ---------------------------------------------------------------------- what is refused

ALL = ", ".join(CRITERIA)
MISTAKES = [
    ("svm", None, f"no criterion is called 'svm'; there are {ALL}"),
    ("crf", {"nota": "all"}, "criterion crf has no setting 'nota'; it has init"),
    ("hmm", {"init": "crf"}, "criterion hmm has no setting 'init'; it has columns, smoothing, prior, "
     "transition_smoothing, oov"),
    ("memm", {"beam": "x"}, "memm's setting beam is 'x'; give a whole number of at least 0"),
    ("memm", {"beam": -1}, "memm's setting beam is -1; give a whole number of at least 0"),
    ("memm", {"beam": 1.5}, "memm's setting beam is 1.5; give a whole number of at least 0"),
    ("memm", {"beam": True}, "memm's setting beam is True; give a whole number of at least 0"),
    ("memm", {"decoding": "greedy"}, "memm's setting decoding is 'greedy'; choose local, global, nota, scaled"),
    ("memm", "beam=2", "settings are 'beam=2'; give a dict from names to values"),
    ("piecewise", {"nota": "some"}, "piecewise's setting nota is 'some'; choose auto, all, sampled, selected, none"),
    ("piecewise", {"rate": math.nan}, "piecewise's setting rate is nan; give a number of at least 0"),
    ("piecewise", {"rate": math.inf}, "piecewise's setting rate is inf; give a number of at least 0"),
    ("margin", {"loss": "log"}, "margin's setting loss is 'log'; choose softmax, hinge"),
    ("margin", {"cost": "x"}, "margin's setting cost is 'x'; give a number of at least 0"),
    ("margin", {"cost": "O>B:x"}, "cost is 'O>B:x'; write right>wrong:number, separated by commas"),
    ("margin", {"cost": "O>Q:1"}, "cost names 'Q', which is no label of the data"),
    ("margin", {"cost": {("O", "B-QTY"): -1}}, "a cost of a wrong label is negative or no finite number; give "
     "numbers of at least 0"),
    ("accuracy", {"sharpness": "high"}, "accuracy's setting sharpness is 'high'; give a number of at least 0"),
    ("hmm", {"columns": "3"}, "input has 1 columns, so there is no column 3; columns are numbered from 0, or from "
     "-1 backwards"),
    ("hmm", {"columns": "a"}, "columns is 'a'; write column numbers such as 0,1"),
    ("hmm", {"prior": "flat"}, "hmm's setting prior is 'flat'; choose uniform, unigram"),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "settings", "sentence"), MISTAKES, ids=str)
def test_mistakes(criterion, settings, sentence):
    with pytest.raises(LoglinError) as caught:
        Tagger(criterion, settings=settings).fit(*TRAIN)
    assert str(caught.value) == sentence


def test_text_is_as_good_as_numbers():
    assert chosen("memm", "chain", {"beam": "3", "decoding": "nota"}).beam == 3
    assert chosen("m-estimation", "chain", {"keep_base": "no", "base_order": "1"}).keep_base is False
    assert chosen("m-estimation", "chain", {"keep_base": "no", "base_order": "1"}).base_order == 1
    assert chosen("accuracy", "chain", {"sharpness": "2.5"}).sharpness == 2.5


@pytest.mark.parametrize("unknown", [None, {"O", "B-QTY"}], ids=["none", "set"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_partial_labels(criterion, unknown):
    labels = [list(y) for y in TRAIN[1]]
    labels[3][1] = unknown
    tagger = Tagger(criterion, max_iter=5)
    if criterion in PARTIAL:
        assert tagger.fit(TRAIN[0], labels).evaluate(*TEST).accuracy > MAJORITY
        return
    with pytest.raises(LoglinError) as caught:
        tagger.fit(TRAIN[0], labels)
    assert str(caught.value) == (
        f"criterion {criterion} needs one certain label for every token; sentence 3, token 1 has none: label it, "
        "or use criterion crf, which learns from partly labelled text"
    )


def test_a_start_that_needs_all_labels():
    labels = [list(y) for y in TRAIN[1]]
    labels[0][0] = None
    with pytest.raises(
        LoglinError, match="criterion memm needs one certain label for every token; sentence 0, token 0"
    ):
        Tagger(settings={"init": "memm"}).fit(TRAIN[0], labels)


# ---------------------------------------------------------------------- the command line


@pytest.fixture
def folder(tmp_path):
    for name, (X, y) in (("data", TRAIN), ("test", TEST)):
        lines = ["\n".join(f"{t} {label}" for t, label in zip(*pair, strict=True)) for pair in zip(X, y, strict=True)]
        (tmp_path / name).write_text("\n\n".join(lines[:60]) + "\n")
    (tmp_path / "out").write_bytes(b"older")
    return tmp_path


GIVEN = {
    "crf": ["init=memm"],
    "perceptron": [],
    "passive-aggressive": ["slack=squared", "c=0.5", "margin=one"],
    "arow": ["variance=2", "gamma=0.5"],
    "memm": ["beam=2", "decoding=local"],
    "pseudolikelihood": ["nota=one"],
    "piecewise": ["nota=selected", "threshold=0.1", "iterations=3"],
    "margin": ["cost=O>B-QTY:2", "loss=hinge"],
    "label-likelihood": ["init="],
    "accuracy": ["sharpness=2"],
    "expected-accuracy": [],
    "boosting": [],
    "hmm": ["smoothing=0.1", "columns=0"],
    "m-estimation": ["base=uniform", "keep_base=false", "samples=10"],
}


SUPERVISED = [criterion for criterion in CRITERIA if criterion not in LATENT]  # for others see test_contrastive.py


@pytest.mark.parametrize("criterion", SUPERVISED)
def test_command_line(folder, criterion):
    settings = [word for pair in GIVEN[criterion] for word in ("--set", pair)]
    arguments = ["train", "data", "-o", "model", "--criterion", criterion, *settings, "--max-iter", 20, "--json"]
    code, out, err = program(folder, arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["stopped"]
    code, out, _ = program(folder, ["eval", "model", "test", "--json"])
    assert code == 0
    assert json.loads(out)["accuracy"] > MAJORITY
    code, out, _ = program(folder, ["tag", "model", "test", "--marginals"])
    assert code == 0
    assert out.count("\n") >= sum(map(len, TEST[0][:60]))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--set", "nota"], ["--set is 'nota'; write NAME=VALUE, such as nota=selected"]),
        (["--set", "=x"], ["--set is '=x'; write NAME=VALUE"]),
        (["--set", "nota=all"], ["criterion crf has no setting 'nota'"]),
        (["--criterion", "memm", "--set", "beam=two"], ["memm's setting beam is 'two'"]),
        (["--criterion", "memm", "--set", "beam=1.5"], ["memm's setting beam is '1.5'"]),
        (["--criterion", "svm"], ["no criterion is called 'svm'; there are"]),
        (["--criterion", "m-estimation", "--set", "base=file"], ["choose memm, hmm, uniform, empirical, sampled"]),
        (["--criterion", "m-estimation", "--l2", "0"], ["no minimum", "set l2 above 0"]),
        (["--criterion", "hmm", "--set", "columns=1"], ["no column 1"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_settings_on_the_command_line(folder, arguments, parts):
    before = snapshot(folder)
    code, out, err = program(folder, ["train", "data", "-o", "out", "--quiet", *arguments])
    check_sentence(code, err, *parts)
    assert out == ""
    assert snapshot(folder) == before


@pytest.mark.parametrize("criterion", SUPERVISED)
def test_data_without_labels(folder, criterion):
    (folder / "words").write_text("a\nb\n\nc\n")
    (folder / "words.jsonl").write_text('{"tokens": ["a", "b"]}\n')
    (folder / "unknown").write_text("a _\nb _\n")
    (folder / "partly").write_text("a X\nb _\n\na X\nb Y\n")
    before = snapshot(folder)
    for name, part in (
        ("words", "has one column, so there are no labels to learn from"),
        ("words.jsonl", 'sentence 0 has no "labels"'),
        ("unknown", "no token has a label"),
        *([] if criterion in PARTIAL else [("partly", f"criterion {criterion} needs one certain label")]),
    ):
        code, out, err = program(folder, ["train", name, "-o", "out", "--partial", "--criterion", criterion, "--quiet"])
        check_sentence(code, err, part)
        assert out == ""
    assert snapshot(folder) == before


def test_attributes_have_no_generative_model(folder):
    (folder / "a.crfsuite").write_text("A\tw\nB\tv\n")
    for criterion, *more in (["hmm"], ["m-estimation", "--set", "base=hmm"]):
        options = ["--criterion", criterion, *more, "--quiet"]
        code, _, err = program(folder, ["train", "a.crfsuite", "-o", "out", *options])
        check_sentence(code, err, "ready-made attributes; give words and a template")


# ---------------------------------------------------------------------- decoding


def as_model(design, index, weights, order, decoding=None) -> Model:
    return Model("tag", list(range(index.n_labels)), None, index, weights, order, {}, None, decoding or {})


def step_probability(scores, steps, cube, y, constant) -> float:
    """Σ_t log(exp(step) / (constant + Σ exp(step))), nothing normalized with constant −1."""
    total = 0.0
    for t in range(len(y)):
        options = [oracle.step_score(scores, steps, cube, y[:t], t, j) for j in range(scores.shape[1])]
        total += options[y[t]]
        if constant >= 0:
            total -= oracle.log_sum([*options, 0.0] if constant == 1 else options)
    return total


CONSTANTS = {"global": -1, "local": 0, "nota": 1}


@pytest.mark.parametrize("steps", [*CONSTANTS, "scaled"])
@pytest.mark.parametrize("template", [PLAIN, CONDITIONED], ids=["plain", "conditioned"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", [1, 3, 5])
def test_best_against_enumeration(seed, order, template, steps):
    design, _, index = problem(seed, template=template, order=order)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=index.n_features)
    L = index.n_labels
    scale = rng.uniform(0.5, 2, L + 1)
    decoding = {"steps": steps, **({"scale": scale.tolist()} if steps == "scaled" else {})}
    model = as_model(design, index, weights, order, decoding)
    exact, by_chain = Decoder(model), Decoder(model)
    by_chain._quick = False
    assert exact._quick == (order == 1 and steps != "scaled")
    wide, greedy = (Decoder(model, decoding={"beam": width}) for width in (L**2, 1))
    found = {d: d.best(design) for d in (exact, by_chain, wide, greedy)}
    chains = list(exact.chains(design))
    for s, (parts, (b, e)) in enumerate(
        zip(parts_of(design, index, weights), itertools.pairwise(design.offsets.tolist()), strict=True)
    ):
        if steps == "scaled":
            listing = oracle.scaled_rows(*parts, scale)
        else:
            everything = itertools.product(range(L), repeat=e - b)
            listing = [(y, step_probability(*parts, y, CONSTANTS[steps])) for y in everything]
        best = oracle.best_set(listing)
        for decoder in (exact, by_chain, wide):
            assert tuple(found[decoder][b:e].tolist()) in best
        for y, score in listing:
            assert chains[s].score(np.array(y, int)) == pytest.approx(score, abs=1e-9)
        if steps == "local":
            assert max(v for _, v in listing) == pytest.approx(oracle.memm(*parts, list(next(iter(best)))))
            assert chains[s].partition() == pytest.approx(0, abs=1e-9)
        y: list[int] = []
        for t in range(e - b):
            options = [oracle.step_score(*parts, y, t, j) for j in range(L)]
            factor = (scale[y[-1]] if y else scale[L]) if steps == "scaled" else 1.0
            y.append(int(np.argmax(factor * np.array(options))))
        assert found[greedy][b:e].tolist() == y


def test_known_best():
    design, _, index, weights = known()
    for steps, labels, score in [("global", [1, 1], 1.75), ("local", [0, 0], -0.5138), ("nota", [0, 0], -1.1394)]:
        decoder = Decoder(as_model(design, index, weights, 1), decoding={"steps": steps})
        assert decoder.best(design).tolist() == labels
        chain = next(decoder.chains(design))
        assert chain.best()[0].tolist() == labels
        assert chain.best()[1] == pytest.approx(score, abs=1e-4)
        wide = Decoder(as_model(design, index, weights, 1), decoding={"steps": steps, "beam": 2})
        assert wide.best(design).tolist() == labels


def test_a_wider_beam_is_never_worse_at_its_end():
    design, _, index = problem(7, template=CONDITIONED, order=2, n_labels=5)
    weights = 2 * np.random.default_rng(0).normal(size=index.n_features)
    exact = list(Decoder(as_model(design, index, weights, 2, {"steps": "local"})).chains(design))
    raw = list(Decoder(as_model(design, index, weights, 2)).chains(design))
    for chain, plain in zip(exact, raw, strict=True):
        scores = []
        for width in (1, 2, 3, 25):
            labels, score = plain.beam(width, 0.0)
            assert score == pytest.approx(chain.score(labels), abs=1e-9)
            scores.append(score)
        assert scores[-1] == pytest.approx(chain.best()[1], abs=1e-9)
        assert max(scores) == pytest.approx(scores[-1], abs=1e-9)


@pytest.mark.parametrize("beam", [0, 1, 4])
@pytest.mark.parametrize("criterion", ["memm", "piecewise", "crf"])
def test_constraint_with_every_way_to_decode(taggers, criterion, beam):
    model = taggers[criterion].model_
    decoder = Decoder(model, constrain="bio", decoding={"beam": beam})
    design = decoder.design(taggers[criterion].input_of(model.extractor, TEST[0]))
    found = [model.labels[c] for c in decoder.best(design).tolist()]
    free = [model.labels[c] for c in Decoder(model, decoding={"beam": beam}).best(design).tolist()]
    legal = True
    for b, e in itertools.pairwise(design.offsets.tolist()):
        for before, label in itertools.pairwise(["O", *found[b:e]]):
            assert not label.startswith("I-") or before[2:] == label[2:]
        legal &= all(not y.startswith("I-") or x[2:] == y[2:] for x, y in itertools.pairwise(["O", *free[b:e]]))
    assert beam or free == found or not legal  # what is legal without being told stays as it is


def test_decoding_that_the_model_lacks(taggers):
    with pytest.raises(LoglinError, match="no scale factors; train it with --set decoding=scaled"):
        Decoder(taggers["crf"].model_, decoding={"steps": "scaled"})


# ---------------------------------------------------------------------- label bias (Lafferty et al. 2001, Figure 1)

RIB, ROB = ["r", "i", "b"], ["r", "o", "b"]
SENTENCES, STATES = [RIB] * 3 + [ROB] * 2, [["1", "2", "3"]] * 3 + [["4", "5", "3"]] * 2
AUTOMATON = "U0:%edge[-1,0]/%x[0,0]\nB\nB1:%x[0,0]\n"  # words are seen on the arcs only


def test_label_bias():
    """State 1 has one way out, so a locally normalized model takes it whatever it reads."""
    common = {"template": AUTOMATON, "l2": 0.01}
    memm, crf = Tagger("memm", **common).fit(SENTENCES, STATES), Tagger("crf", **common).fit(SENTENCES, STATES)
    assert memm.predict([RIB, ROB]) == [["1", "2", "3"], ["1", "2", "3"]]
    assert crf.predict([RIB, ROB]) == [["1", "2", "3"], ["4", "5", "3"]]
    first = {t: [p[0].max() for p in t.predict_proba([RIB, ROB])] for t in (memm, crf)}
    assert first[memm] == pytest.approx([0.6, 0.6], abs=0.01)  # the share of rib, whatever follows
    assert min(first[crf]) > 0.95


def test_none_of_the_above_cures_label_bias():
    pieces = Tagger("piecewise", template=AUTOMATON, l2=0.01).fit(SENTENCES, STATES)
    assert pieces.predict([RIB, ROB]) == [["1", "2", "3"], ["4", "5", "3"]]
