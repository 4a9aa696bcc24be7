"""One contract over the registry: every criterion on every structure that it supports.

Value against enumeration, gradient against differences, saved equals loaded, the same bits for any number of threads.
A new criterion is in all of these tests from the day its file is there, and needs a definition in DEFINITIONS.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import loglin
import oracle
from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.criteria.m_estimation import base_weights
from loglin.criteria.registry import FIRST, criteria
from loglin.decoding.chains import Decoder
from loglin.features.attributes import AttributeExtractor
from loglin.optimize.run import Run
from loglin.problems.base_features import posterior_features
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions
from loglin.problems.request import Annotation
from support.chains import parts_of
from support.definitions import COST_TEXT, defined
from support.losses import check_gradient
from support.trees import sampled_trees

WORDS = {"a": ["0"], "b": ["0", "1"], "c": ["1", "2"], "d": ["0", "1", "2"]}
SENTENCES = [s.split() for s in ("a b c d", "b b c b", "c d c", "d", "a d a", "b a")]
LABELS = [s.split() for s in ("0 1 2 0", "0 1 1 0", "2 1 2", "2", "0 2 0", "1 0")]
EXAMPLES = [
    {"x": 1.0, "y": 2.0},
    {"x": 2.0},
    {"y": 1.0, "z": 1.0},
    {"z": 3.0, "x": 0.5},
    {"y": 1.0},
    {"x": 1.0, "z": 1.0},
]
CLASSES = ["p", "q", "r", "q", "p", "r"]
TEXT = ["the cat sat", "the dog sat down", "a cat ran", "the dog ran", "a dog sat", "down the cat ran"] * 3
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\n"
SETTINGS = {
    ("chain", "margin"): {"cost": COST_TEXT},
    ("chain", "perceptron"): {"averaged": False},
    ("chain", "piecewise"): {"nota": "all"},
}
PAIRS = [(structure, name) for structure in FIRST for name in criteria(structure)]
IDS = [f"{structure}-{name}" for structure, name in PAIRS]


def estimator(structure: str, name: str, **given):
    """An estimator of this structure and criterion, few iterations long."""
    settings = SETTINGS.get((structure, name))
    most = {"max_iter": 5} if criteria(structure)[name].optimizes else {}
    if structure == "chain":
        hides = criteria(structure)[name].needs == Annotation.HIDDEN
        how = {"dictionary": WORDS, "order": 1} if hides else {"template": TEMPLATE}
        return Tagger(name, settings=settings, dtype="float64", **how, **most, **given)
    if structure == "local":
        return MaxEnt(name, settings=settings, **most, **given)
    if structure == "joint":
        return NaiveBayes(**given)
    if structure == "forest":
        return Parser(name, settings=settings, **most, **given)
    return LanguageModel(criterion=name, settings=settings, features=("bigram", "trigram"), **most, **given)


def fitted(structure: str, name: str, **given):
    one = estimator(structure, name, **given)
    if structure == "chain":
        known = [*LABELS[:3], None, None, None]
        y = {"mixture": known}.get(name, None if one.hides_labels else LABELS)
        return one.fit(SENTENCES, y)
    if structure in ("local", "joint"):
        return one.fit(EXAMPLES, CLASSES)
    if structure == "forest":
        trees = sampled_trees(0)
        more = {"unlabeled": [t.words() for t in sampled_trees(3)]} if name == "mixture" else {}
        return one.fit(trees, **more)
    return one.fit(TEXT)


def answers(one) -> object:
    """What an estimator says of new data, and how sure it is."""
    if isinstance(one, Tagger):
        return one.predict(SENTENCES), [p.tolist() for p in one.predict_proba(SENTENCES)]
    if isinstance(one, Parser):
        return [(str(p.tree), p.score) for p in one.parse([t.words() for t in sampled_trees(5)])]
    if isinstance(one, LanguageModel):
        return one.scores(["the dog ran down", "a cat sat"]).tolist()
    return one.predict(EXAMPLES).tolist(), one.scores(EXAMPLES).tolist()


def bits(one) -> bytes:
    """All numbers that were learnt."""
    if isinstance(one, LanguageModel):
        return one.scores(TEXT).tobytes()
    model = one.model_
    base = getattr(model, "base", None)
    arrays = [model.weights, *(getattr(base, name) for name in ("transition", "rules", "roots") if hasattr(base, name))]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)


@pytest.mark.parametrize(("structure", "name"), PAIRS, ids=IDS)
def test_saved_equals_loaded(structure, name, tmp_path):
    one = fitted(structure, name)
    one.save(tmp_path / "model")
    again = loglin.load(tmp_path / "model")
    assert type(again) is type(one)
    assert answers(again) == answers(one)
    assert bits(again) == bits(one)
    kept, given = again.get_params(), one.get_params()
    lost = {k for k in given if k not in ("callbacks", "threads", "dictionary") and kept[k] != given[k]}
    assert not {k for k in lost if given[k] is not None or kept[k] is not None} - {"settings", "criterion"}


@pytest.mark.parametrize(("structure", "name"), PAIRS, ids=IDS)
def test_same_bits_for_any_number_of_threads(structure, name):
    one, *others = (fitted(structure, name, threads=n) for n in (1, 2, 3))
    assert len(bits(one)) > 0
    for other in others:
        assert bits(other) == bits(one)


# ---------------------------------------------------------------------- what is maximized, by enumeration


def problem_of(structure: str, name: str):
    """A training problem, and the criterion."""
    one = estimator(structure, name)
    chosen = one.chosen_criterion()
    if structure == "chain":
        known = [*LABELS[:3], None, None, None]
        return one.problem(SENTENCES, {"mixture": known}.get(name, None if one.hides_labels else LABELS)), chosen
    extractor = AttributeExtractor()
    design = extractor.fit([[example] for example in EXAMPLES])
    labels, gold = gold_of_sequences([[c] for c in CLASSES], [1] * len(CLASSES))
    options = ChainOptions(all_features=True)
    return ChainProblem(design, extractor, labels, gold, options, task="classify", sequential=False), chosen


def log_z(weights, problem, sentences) -> list[float]:
    """log Σ_y u(x, y) of each sentence through chains, which share nothing with lattices but the features."""
    decoder = Decoder(problem.model(weights))
    return [chain.partition() for chain in decoder.chains(decoder.design(from_sentences(sentences)))]


def contrasted(weights, problem, sentences) -> float:
    around = [sorted(oracle.exchanged(tuple(s), 1)) for s in sentences]
    ours = sum(log_z(weights, problem, sentences))
    return sum(oracle.log_sum(log_z(weights, problem, [list(x) for x in some])) for some in around) - ours


def defined_contrastive(weights, problem, chosen) -> float:
    return contrasted(weights, problem, SENTENCES)


def defined_mixture(weights, problem, chosen) -> float:
    """The conditional likelihood of the labelled sentences, and contrastive estimation of the others."""
    decoder, total = Decoder(problem.model(weights)), contrasted(weights, problem, SENTENCES[3:])
    chains = decoder.chains(decoder.design(from_sentences(SENTENCES[:3])))
    for chain, y in zip(chains, LABELS, strict=False):
        total += chain.partition() - chain.score(np.array([problem.labels.index(label) for label in y]))
    return total


def defined_m_estimation(weights, problem, chosen) -> float:
    """mean exp(−w·f(x, y)) + w·E_q0[f], with what the base model expects (test_defaults.py enumerates that)."""
    scores = (
        oracle.chain_score(s, t, cube, y)
        for (s, t, cube), y in zip(parts_of(problem.design, problem.index, weights), _codes(problem), strict=True)
    )
    expected = posterior_features(problem, base_weights(problem, Run()), False)
    return float(np.mean([math.exp(-score) for score in scores]) + weights @ expected)


def _codes(problem) -> list[tuple[int, ...]]:
    cuts = problem.design.offsets.tolist()
    return [tuple(problem.gold.codes[b:e].tolist()) for b, e in itertools.pairwise(cuts)]


def defined_by_oracle(weights, problem, chosen) -> float:
    return defined(chosen.name, chosen.plain_settings(), problem.design, problem.gold, problem.index, weights)


def votes(weights, problem) -> np.ndarray:
    """w·f(x, c) of every example and class, attribute by attribute."""
    return np.array([scores[0] for scores, _, _ in parts_of(problem.design, problem.index, weights)])


def defined_likelihood(weights, problem, chosen) -> float:
    scores = votes(weights, problem)
    return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), problem.gold.codes]).sum())


def defined_squared_hinge(weights, problem, chosen) -> float:
    sign = np.where(problem.gold.allowed(), 1.0, -1.0)
    return float(np.square(np.maximum(0.0, 1.0 - sign * votes(weights, problem))).sum())


def defined_squares(weights, problem, chosen) -> float:
    return float(np.square(votes(weights, problem) - problem.gold.allowed()).sum() / 2)


DEFINITIONS = {
    ("chain", "contrastive"): defined_contrastive,
    ("chain", "mixture"): defined_mixture,
    ("chain", "m-estimation"): defined_m_estimation,
    ("local", "likelihood"): defined_likelihood,
    ("local", "margin"): defined_squared_hinge,
    ("local", "least-squares"): defined_squares,
} | {
    ("chain", name): defined_by_oracle
    for name in ("crf", "memm", "pseudolikelihood", "piecewise", "margin", "label-likelihood", "accuracy")
}
DEFINITIONS |= {("chain", name): defined_by_oracle for name in ("expected-accuracy", "boosting")}
# where the definition by enumeration is a test of its own, since the sum is over trees, texts or all sentences
ELSEWHERE = {
    ("chain", "marginal-likelihood"): "criteria/test_contrastive.py",
    ("chain", "hmm"): "generative/test_hmm.py",
    ("chain", "em"): "criteria/test_em.py",
    ("chain", "perceptron"): "objectives/test_criteria.py",
    ("chain", "passive-aggressive"): "objectives/test_criteria.py",
    ("chain", "arow"): "objectives/test_criteria.py",
    ("local", "perceptron"): "objectives/test_criteria.py",
    ("joint", "naive-bayes"): "estimators/test_naive_bayes.py",
    ("forest", "crf"): "estimators/test_parser.py",
    ("forest", "contrastive"): "estimators/test_parser_latent.py",
    ("forest", "em"): "criteria/test_inside_outside.py",
    ("forest", "m-estimation"): "criteria/test_tree_m_estimation.py",
    ("forest", "mecfg"): "objectives/test_expansions.py",
    ("forest", "mixture"): "estimators/test_parser_latent.py",
    ("forest", "pcfg"): "generative/test_pcfg.py",
    ("forest", "perceptron"): "estimators/test_parser.py",
    ("forest", "piecewise"): "objectives/test_expansions.py",
    ("history", "likelihood"): "estimators/test_language_model.py",
    ("history", "kneser-ney"): "estimators/test_language_model.py",
    ("history", "modified-kneser-ney"): "estimators/test_language_model.py",
}


def test_every_criterion_is_defined():
    assert {*DEFINITIONS, *ELSEWHERE} == set(PAIRS)


@pytest.mark.parametrize(("structure", "name"), DEFINITIONS, ids=lambda part: part)
@pytest.mark.parametrize("seed", [0, 1])
def test_value_and_gradient(structure, name, seed):
    problem, chosen = problem_of(structure, name)
    objective = chosen.way(problem, Run()).objective(np.float64)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=objective.n_features)
    assert objective(weights)[0] == pytest.approx(DEFINITIONS[structure, name](weights, problem, chosen), rel=1e-9)
    check_gradient(objective, weights, rng)
