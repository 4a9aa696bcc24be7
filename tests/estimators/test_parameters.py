"""Every parameter of every estimator after saving and loading is what it was, but for listed exceptions."""

from __future__ import annotations

import inspect

import pytest

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger, load

SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 4
TAGS = [["B-NP", "I-NP", "O"]] * 12
TEXTS = ["the team won", "shares fell", "a late goal", "the bank lost"] * 5
CLASSES = ["sport", "money"] * 10
TREES = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (D a) (N cat)) (V sleeps))"] * 3
LINES = ["the dog barks", "a cat sleeps", "the cat barks"] * 4

# What a loaded estimator has not, and why.
NOT_KEPT = {
    "callbacks": "functions of the process",
    "dev": "data, of which a model keeps only what they chose",
    "threads": "of the machine",
    "verbose": "of the process",
    "checkpoint": "a file of the machine",
    "checkpoint_every": "of that file",
}
# Parameters that a file keeps in another form, with what stands for them.
ELSEWHERE = {
    (Tagger, "features"): "a function, which Tagger.load takes",
    (Tagger, "embeddings"): "tables of word vectors, which the model has",
    (MaxEnt, "features"): "a function, which MaxEnt.load takes",
    (Tagger, "dictionary"): "given words come back as (labels, TagDictionary)",
    (LanguageModel, "settings"): "no criterion of language models has any",
    (Parser, "grammar"): "the name of a file; its rules are in the model",
}


def template(text):
    return "U0:%x[0,0]\nB\n" if text == "chain" else "R01:%word[first,0,2]\nU01:%x[0,0]\n"


# For every parameter a value that is not its default, fitted with as few others as possible.
GIVEN = {
    Tagger: [
        {"criterion": "piecewise", "settings": {"nota": "selected"}, "template": template("chain")},
        {"criterion": "contrastive", "neighborhood": "length", "order": 1, "dictionary": 1},
        {
            "like": "crf++",
            "template": template("chain"),
            "l1": 0.1,
            "l2": 2.0,
            "all_features": True,
            "all_pairs": True,
            "min_count": 2,
            "cutoff": 2,
        },
        {"max_iter": 7, "tol": 0.1, "certify": True, "seed": 3, "dev_metric": "likelihood", "warm_start": True},
        {"constrain": "bio", "dtype": "float64", "label_weights": {"O": 0.5, "B-NP": 2.0}, "optimizer": "lbfgs"},
        {"l2": "auto", "label_weights": "balanced", "vector_l2": 0.5, "vector_scale": True, "tokenizer": "words"},
    ],
    MaxEnt: [
        {"criterion": "margin", "settings": {"loss": "softmax"}, "l1": 0.1, "l2": 2.0, "fit_intercept": False},
        {"variances": {"the": 0.5}, "all_features": False, "min_count": 2, "cutoff": 2, "max_iter": 9, "tol": 0.01},
        {"seed": 4, "warm_start": True, "dtype": "float64", "class_weight": {"sport": 2.0}, "optimizer": "gradient"},
        {"multi_label": True, "threshold": 0.3, "feature_names": ["a", "b"]},
        {"multi_label": True, "threshold": "out-of-fold"},
    ],
    NaiveBayes: [
        {"kind": "bernoulli", "alpha": 0.5, "class_prior": {"sport": 0.75, "money": 0.25}, "min_count": 2},
        {"objective": "conditional", "max_iter": 7, "tol": 0.1, "feature_names": ["a", "b"]},
    ],
    Parser: [
        {"criterion": "piecewise", "settings": {"threshold": 2}, "template": template("forest"), "max_length": 9},
        {"horizontal": 1, "vertical": 2, "l1": 0.1, "l2": 2.0, "max_iter": 5, "tol": 0.1, "memory": 10**8},
        {"annotations": ("unary-internal",), "seed": 3, "optimizer": "lbfgs", "warm_start": True},
        {"criterion": "contrastive", "neighborhood": "length", "max_iter": 3, "tokenizer": "characters"},
    ],
    LanguageModel: [
        {"criterion": "kneser-ney", "features": ("bigram",), "vocabulary": 5},
        {"min_count": 2, "variances": {"bigram": 0.5}, "max_iter": 5, "tol": 0.1, "optimizer": "lbfgs"},
        {"features": ("bigram", "class"), "classes": {"dog": "N", "cat": "N"}, "min_count": {"bigram": 2}},
        {"features": ("bigram", "trigger", "cache"), "window": 9, "trigger_window": 3, "trigger_pairs": 4},
        {"tagged": True, "warm_start": True},
    ],
}
CASES = [(kind, parameters) for kind, several in GIVEN.items() for parameters in several]


def fitted(estimator):
    match estimator:
        case Tagger():
            return estimator.fit(SENTENCES, TAGS)
        case MaxEnt(multi_label=True):
            return estimator.fit(TEXTS, [{y} for y in CLASSES])
        case MaxEnt() | NaiveBayes():
            return estimator.fit(TEXTS, CLASSES)
        case Parser():
            return estimator.fit(TREES)
    return estimator.fit([" ".join(f"{w}/X" for w in line.split()) for line in LINES] if estimator.tagged else LINES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=[f"{k.__name__}-{'-'.join(p)}" for k, p in CASES])
def test_loading_restores_every_parameter(kind, parameters, tmp_path):
    estimator = fitted(kind(**parameters))
    before = estimator.get_params()
    estimator.save(tmp_path / "model")
    after = load(tmp_path / "model").get_params()
    assert after == before


@pytest.mark.parametrize("kind", list(GIVEN))
def test_every_parameter_is_tried(kind):
    """A parameter that is added must be kept by files too, or be listed with the reason why not."""
    usual = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    tried = {name for parameters in GIVEN[kind] for name, value in parameters.items() if value != usual[name]}
    listed = set(NOT_KEPT) | {name for of, name in ELSEWHERE if of is kind}
    assert set(usual) == tried | (listed & set(usual))
