"""Word senses by joint and by conditional estimation of the same features, after Klein and Manning (2002).

instances ──► bag of words, or with collocations ──► naive Bayes P(sense, words) and maximum entropy P(sense | words)

Every fifth instance tests. Smoothing is (a) tuned for each by cross-validation on the training instances, or
(b) literally the same: naive Bayes' parameters with a Dirichlet prior of 1, their joint or their conditional
likelihood maximized.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from loglin.corpus import datasets
from loglin.corpus.senseval import WORDS, Instance
from loglin.estimators.maxent import MaxEnt
from loglin.estimators.naive_bayes import NaiveBayes
from loglin.evaluation.significance import LEVEL, McNemar, mcnemar
from loglin.reproduce.table import Progress, Row, Table

FOLDS = 5
QUICK = 300  # instances of a word in a quick run
ALPHAS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)  # of naive Bayes
PENALTIES = (3.0, 1.0, 0.3, 0.1)  # l2 of maximum entropy
JOINT, CONDITIONAL = "joint", "conditional"
TUNED, EQUAL = "tuned", "equal smoothing"
# Klein and Manning (2002), Senseval-1: training and test accuracy
PUBLISHED = {JOINT: (86.8, 73.6), CONDITIONAL: (98.5, 76.1)}
REMARKS = [
    "The published figures are of Senseval-1, other words with more senses; what is to be compared is the gain of the "
    "conditional objective at equal smoothing. They stand beside the mean over the four words.",
    "Tuned: naive Bayes adds one of {alphas} to every count, maximum entropy has an l2 of {penalties}, each chosen by "
    "{folds}-fold cross-validation in which columns unseen in a fold are dropped. Equal smoothing: alpha = 1 for both, "
    "and the same parameters; only the objective differs.",
    "Collocations are the words and tags at distances 1 and 2, pairs of neighboring words, and the form of the word.",
]

# ---------------------------------------------------------------------- features


def bag(x: Instance) -> list[str]:
    return [f"b={word.lower()}" for i, word in enumerate(x.words) if i != x.head]


def with_collocations(x: Instance) -> list[str]:
    def at(column: Sequence[str], offset: int) -> str:
        place = x.head + offset
        return column[place].lower() if 0 <= place < len(column) else "<none>"

    pairs = ((-1, 1), (-2, -1), (1, 2))
    return [
        *bag(x),
        *(f"w{o}={at(x.words, o)}" for o in (-2, -1, 1, 2)),
        *(f"t{o}={at(x.tags, o)}" for o in (-2, -1, 1, 2)),
        *(f"w{a}{b}={at(x.words, a)} {at(x.words, b)}" for a, b in pairs),
        f"form={at(x.words, 0)}",
    ]


SETS: dict[str, Callable[[Instance], list[str]]] = {"bag of words": bag, "and collocations": with_collocations}


# ---------------------------------------------------------------------- one word


class Part(NamedTuple):
    X: Any  # counts (instances, attributes)
    y: np.ndarray
    test_X: Any
    test_y: np.ndarray

    @classmethod
    def of(cls, instances: Sequence[Instance], attributes: Callable[[Instance], list[str]]) -> Part:
        vectorizer = CountVectorizer(analyzer=attributes)
        training, test = ([x for i, x in enumerate(instances) if (i % 5 == 4) == held] for held in (False, True))
        X = vectorizer.fit_transform(training).astype(float)
        senses = [np.array([x.sense for x in part]) for part in (training, test)]
        return cls(X.tocsr(), senses[0], vectorizer.transform(test).astype(float).tocsr(), senses[1])


def tuned(part: Part, models: Mapping[str, Callable[[], Any]]) -> tuple[str, float]:
    """The name of the model with the best accuracy in cross-validation, and that accuracy in %."""
    fold = np.random.default_rng(0).permutation(len(part.y)) % FOLDS
    right = dict.fromkeys(models, 0)
    for k in range(FOLDS):
        inside = part.X[fold != k]
        seen = np.flatnonzero(np.asarray(inside.sum(axis=0)).ravel())
        X, other = inside[:, seen], part.X[fold == k][:, seen]
        for name, make in models.items():
            found = make().fit(X, part.y[fold != k]).predict(other)
            right[name] += int((found == part.y[fold == k]).sum())
    best = max(right, key=lambda name: right[name])
    return best, 100 * right[best] / len(part.y)


class Found(NamedTuple):
    training: float  # accuracy, in %
    test: float
    senses: list[str]  # of the test instances
    note: str


def found_by(model: Any, part: Part, note: str) -> Found:
    model.fit(part.X, part.y)
    senses = model.predict(part.test_X)
    training = 100 * float((model.predict(part.X) == part.y).mean())
    return Found(training, 100 * float((senses == part.test_y).mean()), senses.tolist(), note)


def outcomes(
    part: Part, alphas: Sequence[float], penalties: Sequence[float], threads: int | None
) -> dict[tuple[str, str], Found]:
    """(smoothing, objective) → what came out."""
    grids: dict[str, dict[str, Callable[[], Any]]] = {
        JOINT: {f"alpha = {a:g}": partial(NaiveBayes, alpha=a, threads=threads) for a in alphas},
        CONDITIONAL: {f"l2 = {c:g}": partial(MaxEnt, l2=c, tol=1e-6, threads=threads) for c in penalties},
    }
    found = {}
    for objective, models in grids.items():
        name, held = tuned(part, models)
        found[TUNED, objective] = found_by(models[name](), part, f"{name}, cross-validated {held:.2f}")
    for objective in grids:
        model = NaiveBayes(alpha=1.0, objective=objective, threads=threads)
        found[EQUAL, objective] = found_by(model, part, "alpha = 1")
    return found


# ---------------------------------------------------------------------- the table


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    rng = np.random.default_rng(0)
    words = {word: datasets.load("senseval", word) for word in WORDS}
    if quick:  # the files are sorted by sense
        words = {w: [x[i] for i in sorted(rng.permutation(len(x))[:QUICK])] for w, x in words.items()}
        return make_table(words, ALPHAS[1::2], PENALTIES[1:3], progress, threads)
    return make_table(words, ALPHAS, PENALTIES, progress, threads)


def make_table(
    words: Mapping[str, Sequence[Instance]],
    alphas: Sequence[float],
    penalties: Sequence[float],
    progress: Progress,
    threads: int | None,
) -> Table:
    rows: list[Row] = []
    tests: dict[tuple[str, str], list[McNemar]] = {}
    found: dict[tuple[str, str, str, str], Found] = {}
    for kind, attributes in SETS.items():
        for word, instances in words.items():
            part = Part.of(instances, attributes)
            for (smoothing, objective), outcome in outcomes(part, alphas, penalties, threads).items():
                found[kind, smoothing, word, objective] = outcome
            progress(f"{word}, {kind}")
            for smoothing in (TUNED, EQUAL):
                first, second = (found[kind, smoothing, word, o].senses for o in (CONDITIONAL, JOINT))
                test = mcnemar([part.test_y.tolist()], [first], [second], "token")
                tests.setdefault((kind, smoothing), []).append(test)
    for kind in SETS:
        for smoothing in (TUNED, EQUAL):
            rows += _rows(words, kind, smoothing, found, tests[kind, smoothing])
    numbers = {"alphas": _listed(alphas), "penalties": _listed(penalties), "folds": FOLDS}
    remarks = [_verdict(tests), *(remark.format(**numbers) for remark in REMARKS)]
    title = "Word senses: joint against conditional estimation (after Klein and Manning 2002)"
    return Table("word-sense", title, rows, remarks)


def _rows(words: Mapping, kind: str, smoothing: str, found: Mapping, tests: list[McNemar]) -> list[Row]:
    rows = []
    for word, test in zip(words, tests, strict=True):
        for objective in (JOINT, CONDITIONAL):
            outcome: Found = found[kind, smoothing, word, objective]
            note = f"training {outcome.training:.2f}; {outcome.note}"
            note += f"; McNemar p = {test.p:.2g}" if objective == CONDITIONAL else ""
            rows.append(Row(f"{word}, {kind}, {smoothing}, {objective}", "test", None, outcome.test, note))
    for objective in (JOINT, CONDITIONAL):
        several = [found[kind, smoothing, word, objective] for word in words]
        published = PUBLISHED[objective] if smoothing == EQUAL else (None, None)
        means = (float(np.mean([f.training for f in several])), float(np.mean([f.test for f in several])))
        name = f"mean, {kind}, {smoothing}, {objective}"
        rows += [Row(name, m, p, ours) for m, p, ours in zip(("training", "test"), published, means, strict=True)]
    return rows


def _verdict(tests: Mapping[tuple[str, str], list[McNemar]]) -> str:
    parts = []
    for smoothing in (TUNED, EQUAL):
        several = [test for (_, s), of_kind in tests.items() if s == smoothing for test in of_kind]
        wins = sum(test.direction > 0 for test in several)
        sure = [test.direction for test in several if test.p < LEVEL]
        parts.append(
            f"{smoothing}: conditional is better in {wins} of {len(several)} settings, significantly in "
            f"{sum(d > 0 for d in sure)}, and significantly worse in {sum(d < 0 for d in sure)}"
        )
    return f"McNemar's test at the 5 % level. {'. '.join(p[0].upper() + p[1:] for p in parts)}."


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
