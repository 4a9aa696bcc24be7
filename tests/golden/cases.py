"""Named cases for the golden numbers: each fits one estimator by its public face and says what to predict.

CASES[name]() ──► Fitted: an estimator, its inputs, further arguments of predict
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.criteria.criterion import Defaults
from loglin.criteria.registry import criteria

from . import data


class Fitted(NamedTuple):
    estimator: Any
    inputs: Any
    arguments: dict = {}  # noqa: RUF012 (never changed)


CASES: dict[str, Callable[[], Fitted]] = {}


def add(name: str, fit: Callable[[], Fitted]) -> None:
    assert name not in CASES, name
    CASES[name] = fit


# ---------------------------------------------------------------------- taggers

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%suffix[0,0,2]\nU3:%x[0,1]\nB\nB1:%x[0,1]"
HIDDEN = ("contrastive", "mixture", "marginal-likelihood", "em")
SUPERVISED = (
    "crf", "perceptron", "memm", "pseudolikelihood", "piecewise", "margin", "label-likelihood", "accuracy",
    "expected-accuracy", "boosting", "hmm", "m-estimation",
)  # fmt: skip
OPTIMIZERS = (
    "auto", "lbfgs", "gradient", "conjugate-gradient", "newton", "gis", "iis", "sgd", "averaged-sgd",
)  # fmt: skip


def recorded(criterion: str, given: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a tagger, with the tol that was the default when the numbers were recorded."""
    usual = criteria("chain")[criterion].defaults.tol == Defaults().tol
    return ({"tol": 5e-4} if usual else {}) | given


def tagger(name: str, criterion: str, X=data.X, y=data.Y, new=data.X_NEW, weights=None, **given: Any) -> None:
    """A case of a tagger of two columns, its labels given."""
    plain = recorded(criterion, {"template": TEMPLATE, "max_iter": 12, "threads": 1} | given)
    add(f"tag {name}", lambda: Fitted(Tagger(criterion, **plain).fit(X, y, sample_weight=weights), new))


def hidden(name: str, criterion: str, y: Any = None, new=data.WORDS_NEW, **given: Any) -> None:
    """A case of a tagger that sees words alone."""
    labels = data.SOME_LABELS if criterion == "mixture" and y is None else y
    plain = recorded(criterion, {"dictionary": data.LEXICON, "max_iter": 8, "threads": 1} | given)
    if criterion == "mixture":  # recorded before its default template was as rich as a CRF's
        plain.setdefault("template", "bigram" if plain.get("order") == 1 else "trigram")
    add(f"tag {name}", lambda: Fitted(Tagger(criterion, **plain).fit(data.WORDS, labels), new))


def tagger_grid() -> None:
    """Every criterion in both orders, by precision and number of threads."""
    for order in (1, 2):
        for dtype in ("auto", "float32", "float64"):
            for threads in (1, 3):
                common = {"order": order, "dtype": dtype, "threads": threads}
                tail = f"o{order} {dtype} t{threads}"
                for criterion in SUPERVISED:
                    tagger(f"{criterion} {tail}", criterion, **common)
                for criterion in HIDDEN:
                    hidden(f"{criterion} {tail}", criterion, **common)


SETTINGS: list[tuple[str, dict]] = [
    ("perceptron", {"averaged": False}),
    ("memm", {"decoding": "global"}),
    ("memm", {"decoding": "nota"}),
    ("memm", {"decoding": "scaled"}),
    ("memm", {"beam": 2}),
    ("pseudolikelihood", {"nota": "all"}),
    ("pseudolikelihood", {"nota": "one"}),
    ("piecewise", {"nota": "all"}),
    ("piecewise", {"nota": "none"}),
    ("piecewise", {"nota": "sampled", "rate": 2}),
    ("piecewise", {"nota": "selected", "threshold": 0.1, "iterations": 5}),
    ("piecewise", {"nota": "none", "decoding": "local"}),
    ("piecewise", {"nota": "none", "decoding": "global"}),
    ("piecewise", {"decoding": "nota"}),
    ("piecewise", {"decoding": "scaled"}),
    ("piecewise", {"beam": 2}),
    ("margin", {"loss": "hinge"}),
    ("margin", {"cost": 2.5}),
    ("margin", {"cost": "N>V:5,A>N:0.5"}),
    ("margin", {"cost": "N>V:5,A>N:0.5", "loss": "hinge"}),
    ("label-likelihood", {"init": None}),
    ("accuracy", {"init": None, "sharpness": 2}),
    ("accuracy", {"init": "memm"}),
    ("expected-accuracy", {"init": None}),
    ("boosting", {"init": None}),
    ("boosting", {"init": "perceptron"}),
    ("crf", {"init": "memm"}),
    ("crf", {"init": "pseudolikelihood"}),
    ("crf", {"init": "piecewise"}),
    ("crf", {"init": "m-estimation"}),
    ("crf", {"init": "perceptron"}),
    ("crf", {"init": "margin"}),
    ("memm", {"init": "crf"}),
    ("perceptron", {"init": "crf"}),
    ("piecewise", {"init": "memm"}),
    ("hmm", {"prior": "unigram", "smoothing": 0.5, "transition_smoothing": 0.1}),
    ("hmm", {"columns": "0", "oov": "first"}),
    ("hmm", {"oov": "unseen"}),
    ("m-estimation", {"base": "uniform"}),
    ("m-estimation", {"base": "empirical"}),
    ("m-estimation", {"base": "empirical", "base_order": 1, "init": "memm", "optimizer": "lbfgs"}),
    ("m-estimation", {"base": "sampled", "samples": 300, "sample_smoothing": 0.1}),
    ("m-estimation", {"base": "hmm", "base_order": 1, "keep_base": False}),
    ("m-estimation", {"base": "hmm", "optimizer": "dual"}),
    ("m-estimation", {"base": "hmm", "optimizer": "lbfgs"}),
    ("m-estimation", {"base": "hmm", "optimizer": "newton"}),
    ("m-estimation", {"base": "hmm", "input_features": True}),
    ("m-estimation", {"base": "hmm", "input_features": True, "optimizer": "lbfgs"}),
    (
        "m-estimation",
        {"base": "hmm", "columns": "0", "smoothing": 0.5, "transition_smoothing": 0.2, "prior": "unigram"},
    ),
    ("m-estimation", {"optimizer": "lbfgs"}),
    ("m-estimation", {"input_features": True}),
]


def tagger_settings() -> None:
    for criterion, settings in SETTINGS:
        text = " ".join(f"{k}={v}" for k, v in settings.items())
        more = {"l2": 1.0} if criterion == "m-estimation" else {}
        for order in (1, 2):
            tagger(f"{criterion} {text} o{order}", criterion, settings=settings, order=order, **more)
    for order in (1, 2):
        for criterion in HIDDEN:
            given: dict[str, dict] = {"starts": {"starts": 2}, "annealing": {"annealing": 0.4}}
            given |= {"nameless": {"labels": 3, "starts": 2}} if criterion != "mixture" else {"weight": {"weight": 0.3}}
            for name, settings in given.items():
                words = {"dictionary": 0} if name == "nameless" else {}
                hidden(f"{criterion} {name} o{order}", criterion, settings=settings, order=order, **words)
        for start in ("per-tag", "random"):
            settings = {"start": start, "smoothing": 0.3}
            hidden(f"em {start} o{order}", "em", settings=settings, order=order)
        for around in ("del1word", "delortrans1", "trans2", "del1subseq", "length", "observed"):
            hidden(f"contrastive {around} o{order}", "contrastive", neighborhood=around, order=order)
        hidden(f"mixture del1word o{order}", "mixture", neighborhood="del1word", order=order)
        hidden(f"contrastive spelling o{order}", "contrastive", template="trigram-spelling", order=order)
        for criterion in HIDDEN:
            hidden(f"{criterion} held o{order}", criterion, order=order, dev=data.UNLABELED)
    hidden("contrastive partly", "contrastive", data.PARTLY, dictionary=0)
    hidden("em partly", "em", data.PARTLY, dictionary=0)
    for optimizer in OPTIMIZERS[1:]:
        hidden(f"contrastive {optimizer}", "contrastive", order=1, optimizer=optimizer)


def tagger_optimizers() -> None:
    for optimizer in OPTIMIZERS:
        for criterion in ("crf", "memm", "piecewise", "margin", "pseudolikelihood", "m-estimation", "label-likelihood"):
            for order in (1, 2):
                tagger(f"{criterion} by {optimizer} o{order}", criterion, optimizer=optimizer, order=order)
        for criterion in ("crf", "memm"):
            for dtype in ("float32", "float64"):
                given = {"dtype": dtype, "threads": 3, "l2": 0.3, "optimizer": optimizer}
                tagger(f"{criterion} by {optimizer} {dtype} t3", criterion, **given)
    for optimizer in ("auto", "lbfgs", "sgd", "gis"):
        for criterion in ("crf", "memm", "m-estimation"):
            tagger(f"{criterion} l1 by {optimizer}", criterion, l1=0.2, l2=0.1, optimizer=optimizer)


FIRST = "#! oov=first\n" + TEMPLATE
EDGES = "U0:%edge[-1,0]/%x[0,0]\nU1:%x[0,0]\nB\nB1:%edge[1,0]\nB2:%x[0,0]"
TRIGRAMS = "U0:%x[0,0]\nB\nT\nB1:%x[0,1]"
ALL = "U0:%x[0,0]\nU1:%x[0,1]\nB0:%x[0,1]\n#! labels=all U0 B0"
PRIORS = "U0:%x[0,0]\nU1:%suffix[0,0,2]\nB\n#! variance=0.1 U1\n#! variance=4 U0"
TEMPLATES = {"oov": FIRST, "edges": EDGES, "trigrams": TRIGRAMS, "all": ALL, "priors": PRIORS, "default": None}


def warm(criterion: str, **given: Any) -> Fitted:
    """A tagger that goes on from its first fit, on other sentences."""
    plain = recorded(criterion, {"template": TEMPLATE, "max_iter": 4, "threads": 1, "warm_start": True} | given)
    first = Tagger(criterion, **plain).fit(data.X[:20], data.Y[:20])
    return Fitted(first.fit(data.X, data.Y), data.X_NEW)


def from_tagger() -> Fitted:
    first = Tagger("memm", template="U0:%x[0,0]\nB", max_iter=5, threads=1, tol=5e-4).fit(data.X, data.Y)
    again = Tagger(template=TEMPLATE, max_iter=5, threads=1, tol=5e-4, settings={"init": first})
    return Fitted(again.fit(data.X, data.Y), data.X_NEW)


def from_hmm() -> Fitted:
    base = Tagger("hmm", threads=1, template=TEMPLATE, settings={"transition_smoothing": 0.1}).fit(data.X, data.Y)
    settings = {"base": base.model_.base}
    again = Tagger("m-estimation", template=TEMPLATE, max_iter=10, threads=1, settings=settings)
    return Fitted(again.fit(data.X, data.Y), data.X_NEW)


def tagger_inputs() -> None:
    """What else the data and the templates may say."""
    for name, template in TEMPLATES.items():
        X, new = (data.WORDS, data.WORDS_NEW) if template is None else (data.X, data.X_NEW)
        for criterion in SUPERVISED:
            tagger(f"{criterion} template {name}", criterion, X, data.Y, new, template=template)
    for criterion in SUPERVISED:
        tagger(f"{criterion} weights", criterion, weights=data.SENTENCE_WEIGHTS)
        tagger(f"{criterion} label weights", criterion, label_weights={"N": 2.0, "D": 0.5})
        tagger(f"{criterion} cutoff", criterion, cutoff=2, min_count=3)
        tagger(f"{criterion} all", criterion, all_features=True)
        tagger(f"{criterion} dictionary", criterion, dictionary=2)
        tagger(f"{criterion} dev", criterion, dev=(data.X_NEW, data.Y_NEW), max_iter=30)
        tagger(f"{criterion} attributes", criterion, data.ATTRIBUTES, data.Y, data.ATTRIBUTES_NEW, template=None)
        for order in (1, 2):
            tagger(f"{criterion} partly o{order}", criterion, y=data.PARTLY, order=order)
        add(f"tag {criterion} warm", lambda c=criterion: warm(c))
    for order in (1, 2):
        tagger(f"crf lexicon o{order}", "crf", dictionary=data.LEXICON, order=order)
        tagger(f"memm lexicon o{order}", "memm", dictionary=data.LEXICON, order=order)
        tagger(f"crf converged o{order}", "crf", order=order, max_iter=300, tol=1e-8)
        tagger(f"memm converged o{order}", "memm", order=order, max_iter=300, tol=1e-8)
    tagger("crf dev likelihood", "crf", dev=(data.X_NEW, data.Y_NEW), dev_metric="likelihood", max_iter=30)
    tagger("crf seed", "crf", seed=5)
    tagger("crf no prior", "crf", l2=0.0)
    tagger("memm no prior", "memm", l2=0.0)
    add("tag crf from a tagger", from_tagger)
    add("tag m-estimation from an hmm", from_hmm)


# ---------------------------------------------------------------------- classifiers


def maxent(
    name: str, criterion="likelihood", X=data.EXAMPLES, y=data.CLASSES, new=data.EXAMPLES_NEW, arguments=None,
    fit=None, **given: Any,
) -> None:  # fmt: skip
    plain = {"max_iter": 40, "threads": 1} | given
    add(f"max {name}", lambda: Fitted(MaxEnt(criterion, **plain).fit(X, y, **(fit or {})), new, arguments or {}))


def classifiers() -> None:
    matrix = {"X": data.COUNTS, "new": data.COUNTS_NEW}
    for criterion in ("likelihood", "margin", "least-squares", "perceptron"):
        for dtype in ("float32", "float64"):
            for threads in (1, 3):
                maxent(f"{criterion} {dtype} t{threads}", criterion, dtype=dtype, threads=threads, l2=0.5)
        maxent(f"{criterion} matrix", criterion, X=data.VALUES, new=data.COUNTS_NEW, l2=0.5)
        maxent(f"{criterion} sets", criterion, y=data.SETS, multi_label=True)
        maxent(f"{criterion} indicator", criterion, **matrix, y=data.INDICATOR, l2=0.2)
        maxent(f"{criterion} folds", criterion, y=data.SETS, multi_label=True, threshold="out-of-fold", max_iter=10)
        maxent(f"{criterion} candidates", criterion, fit={"candidates": data.CHOICES})
        maxent(f"{criterion} partly", criterion, y=data.PARTLY_CLASSES)
        maxent(f"{criterion} weights", criterion, fit={"sample_weight": data.EXAMPLE_WEIGHTS}, class_weight={"art": 2})
        maxent(f"{criterion} dicts", criterion, X=data.DICTS, new=data.DICTS_NEW, variances={"word:*": 0.2})
        maxent(f"{criterion} sparse", criterion, all_features=False, cutoff=2, min_count=2, fit_intercept=False)
        maxent(f"{criterion} l1", criterion, l1=0.3, l2=0.1, tol=1e-9, max_iter=500)
    maxent("margin softmax", "margin", settings={"loss": "softmax"})
    maxent("margin softmax cost", "margin", settings={"loss": "softmax", "cost": "law>art:3"})
    maxent("perceptron last", "perceptron", settings={"averaged": False})
    maxent("dev", dev=(data.EXAMPLES[:10], data.CLASSES[:10]))
    maxent("no prior", l2=0.0)
    maxent("some candidates", fit={"candidates": data.CHOICES}, arguments={"candidates": data.CHOICES_NEW})
    maxent("f", features=data.of_both)
    maxent("f cutoff", features=data.of_both, cutoff=2, fit={"sample_weight": data.EXAMPLE_WEIGHTS})
    maxent("f variances", features=data.of_both, variances={"shared": 10.0})
    people = {"candidates": data.PEOPLE}
    ranking = {"X": data.PRONOUNS, "y": data.ANTECEDENTS, "new": data.PRONOUNS_NEW, "features": data.antecedent}
    maxent("ranking", **ranking, fit=people, arguments={"candidates": data.PEOPLE_NEW}, l2=0.1)
    for optimizer in OPTIMIZERS:
        for dtype in ("float32", "float64"):
            maxent(f"by {optimizer} {dtype}", **matrix, optimizer=optimizer, dtype=dtype, max_iter=25)
        maxent(f"f by {optimizer}", features=data.of_both, optimizer=optimizer, max_iter=25)
        maxent(f"sets by {optimizer}", y=data.SETS, multi_label=True, optimizer=optimizer, max_iter=25)
        maxent(f"margin by {optimizer}", "margin", optimizer=optimizer, max_iter=25)

    def twice() -> Fitted:
        first = MaxEnt(max_iter=3, threads=1, warm_start=True).fit(data.EXAMPLES[:20], data.CLASSES[:20])
        return Fitted(first.fit(data.EXAMPLES, data.CLASSES), data.EXAMPLES_NEW)

    add("max warm", twice)
    for kind in ("multinomial", "bernoulli"):
        for objective in ("joint", "conditional"):
            for name, X, new in (("lists", data.EXAMPLES, data.EXAMPLES_NEW), ("matrix", *matrix.values())):
                plain = {"kind": kind, "objective": objective, "threads": 1, "max_iter": 30}
                add(
                    f"nb {kind} {objective} {name}",
                    lambda p=plain, X=X, new=new: Fitted(NaiveBayes(**p).fit(X, data.CLASSES), new),
                )
    weighted = {"alpha": 0.1, "class_prior": {"art": 0.5, "law": 0.25, "sport": 0.25}, "min_count": 2, "threads": 1}
    add(
        "nb weighted",
        lambda: Fitted(
            NaiveBayes(**weighted).fit(data.EXAMPLES, data.CLASSES, data.EXAMPLE_WEIGHTS), data.EXAMPLES_NEW
        ),
    )

    def freed() -> Fitted:
        joint = NaiveBayes(threads=1).fit(data.EXAMPLES, data.CLASSES)
        return Fitted(joint.joint_to_conditional(data.EXAMPLES, data.CLASSES, max_iter=10), data.EXAMPLES_NEW)

    add("nb to conditional", freed)


# ---------------------------------------------------------------------- parsers


def parser(name: str, criterion: str, trees=data.TREES, unlabeled=None, new=data.PARSED, **given: Any) -> None:
    plain = {"max_iter": 8, "threads": 1} | given
    add(f"tree {name}", lambda: Fitted(Parser(criterion, **plain).fit(trees, unlabeled), new))


def parsers() -> None:
    for threads in (1, 3):
        for criterion in ("pcfg", "mecfg", "piecewise", "crf", "perceptron", "m-estimation"):
            parser(f"{criterion} t{threads}", criterion, threads=threads)
            parser(f"{criterion} spans t{threads}", criterion, threads=threads, template=data.SPANS, l2=0.5)
        parser(f"mixture t{threads}", "mixture", unlabeled=data.TREELESS, threads=threads)
        for criterion in ("em", "contrastive"):
            settings = {"symbols": 3, "starts": 2}
            given = {"settings": settings, "threads": threads, "new": data.TAGS[:3]}
            parser(f"{criterion} t{threads}", criterion, data.TAGS, **given)
    for criterion in ("pcfg", "mecfg", "crf", "perceptron", "m-estimation"):
        parser(f"{criterion} vertical", criterion, vertical=2, horizontal=1)
    parser("crf lexicon", "crf", settings={"base": "lexicon"})
    parser("crf l1", "crf", l1=0.2, l2=0.1)
    parser("crf annotated", "crf", annotations="klein-manning", max_length=7)
    parser("perceptron last", "perceptron", settings={"averaged": False, "base": "lexicon"})
    for decoding in ("global", "nota"):
        parser(f"piecewise {decoding}", "piecewise", settings={"decoding": decoding, "threshold": 5, "iterations": 4})
    parser("m-estimation dropped base", "m-estimation", settings={"keep_base": False})
    parser("pcfg rare", "pcfg", settings={"rare": 2, "smoothing": 0.5})
    nameless = {"new": data.TAGS[:3]}
    parser("em brackets", "em", [*data.TAGS, data.BRACKETS], settings={"symbols": 3}, **nameless)
    parser("em annealing", "em", data.TAGS, settings={"symbols": 3, "annealing": 0.4}, **nameless)
    parser("em trees", "em", data.TREES[:6], unlabeled=data.TREELESS)
    for around in ("del1word", "length"):
        given = {"neighborhood": around, "settings": {"symbols": 3}}
        parser(f"contrastive {around}", "contrastive", data.TAGS, **given, **nameless)
    parser("mixture weight", "mixture", unlabeled=data.TREELESS, settings={"weight": 0.3}, neighborhood="del1word")


# ---------------------------------------------------------------------- language models


def language(name: str, **given: Any) -> None:
    plain = {"max_iter": 10, "threads": 1, "min_count": 1, "vocabulary": 14} | given
    add(f"lm {name}", lambda: Fitted(LanguageModel(**plain).fit(data.TEXT), data.TEXT_NEW))


def language_models() -> None:
    for threads in (1, 3):
        language(f"t{threads}", threads=threads)
        rich = ("bigram", "trigram", "skip", "skip-1-3", "suffix", "prefix", "class", "class-pair", "document", "cache")
        language(f"rich t{threads}", features=rich, classes=data.WORD_CLASSES, threads=threads)
        language(f"trigger t{threads}", features=("bigram", "trigger"), trigger_pairs=20, threads=threads)
    language("variances", variances={"bigram": 0.5, "unigram": 5.0}, min_count={"bigram": 2})
    language("cache", features=("bigram", "cache"), window=20)
    for criterion in ("kneser-ney", "modified-kneser-ney"):
        language(criterion, criterion=criterion, min_count=None)
        language(f"{criterion} cache", criterion=criterion, features=("bigram", "trigram", "cache"), min_count=None)
        language(f"{criterion} 4-gram", criterion=criterion, features=("4-gram",), min_count=None)


tagger_grid()
tagger_settings()
tagger_optimizers()
tagger_inputs()
classifiers()
parsers()
language_models()
