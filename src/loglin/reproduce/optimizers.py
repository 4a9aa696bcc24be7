"""Every optimizer on one problem: how far the objective is from its optimum, by passes over the data and by seconds.

Parts of speech as independent decisions: five attributes a token (the word, its last three letters, its neighbors,
a capital), the nineteen most frequent tags and all others as one, a weight for every pair, variance 1. The lectures
give no numbers; the slides say that general methods work better than iterative scaling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from loglin.corpus import datasets
from loglin.corpus.columns import Corpus
from loglin.corpus.labels import Gold
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design
from loglin.features.index import FeatureIndex, build_index
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.optimize.fit import fit_weights
from loglin.optimize.optimizers import optimizer
from loglin.optimize.penalties import Penalties
from loglin.optimize.record import Iteration
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run
from loglin.reproduce import figures
from loglin.reproduce.table import Progress, Row, Table
from loglin.threads import Threads

DRAWS = True
SENTENCES, QUICK = 500, 100
LABELS = 20
GOALS = (1e-2, 1e-3, 1e-4)
SHOWN = {
    "auto": "stochastic start, L-BFGS",
    "lbfgs": "L-BFGS",
    "conjugate-gradient": "conjugate gradient",
    "gradient": "gradient ascent",
    "newton": "Newton",
    "gis": "GIS",
    "iis": "IIS",
    "sgd": "SGD",
    "averaged-sgd": "averaged SGD",
}
ROUNDS = {"gis": 4000, "iis": 4000, "gradient": 4000}  # iterations at most; others 1,000
QUICK_ROUNDS = {"gis": 500, "iis": 500, "gradient": 1000}
POINTS = 18  # of a curve
REMARKS = [
    "{tokens:,} tokens of the first {sentences} sentences of the Penn Treebank sample, {labels} labels, {features:,} "
    "weights, σ² = 1, sums in float64, one thread. An optimizer ends at the last goal; goals are relative to the "
    "optimum {optimum:,.4f}.",
    "A pass is an evaluation of value and gradient, a Hessian product, or a step for every token. Passes of the search "
    "for a step size are counted (the sample that it looks at is as large as these data), and so are the looks at the "
    "objective between epochs. IIS needs two passes a round: the second sums expectations by the number of features.",
    "Every token has five attributes with weights for all labels, so the features of all pairs sum to five and GIS and "
    "IIS take the same steps; where sums differ, IIS takes longer ones.",
]


@dataclass(frozen=True)
class Problem:
    design: Design
    gold: Gold
    index: FeatureIndex

    def criterion(self, dtype: type = np.float64) -> ConditionalLikelihood:
        return ConditionalLikelihood(self.design, self.gold, self.index, None, dtype, Threads(1))


Course = list[tuple[float, float, float]]  # how the objective fell: passes, seconds, the best value so far


def first_below(course: Course, value: float) -> tuple[float, float] | None:
    """The passes and seconds after which the objective is at most a value."""
    return next(((passes, seconds) for passes, seconds, reached in course if reached <= value), None)


class _Enough(Exception):
    pass


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    sentences, rounds = (QUICK, QUICK_ROUNDS) if quick else (SENTENCES, ROUNDS)
    corpus = datasets.load("treebank")
    problem = tagging_problem(corpus, sentences)
    n = problem.index.n_features
    exactly = Run(warm_start=False, dtype="float64", tol=1e-11)
    optimum = fit_weights(problem.criterion, Penalties.uniform(n, 0.0, 1.0), exactly).value
    small = tagging_problem(corpus, 3)
    courses = {}
    for name, shown in SHOWN.items():
        course_of(name, small, 0.0, 2)  # compiles what it needs
        courses[shown] = course_of(name, problem, optimum * (1 + GOALS[-1]), rounds.get(name, 1000))
        passes, seconds, value = courses[shown][-1]
        progress(f"{shown}: {passes:,.0f} passes, {seconds:.1f} s, {value / optimum - 1:.1e} above the optimum")
    facts = {"tokens": problem.design.n_tokens, "sentences": sentences, "labels": LABELS, "features": n}
    remarks = [remark.format(**facts, optimum=optimum) for remark in REMARKS] + _verdict(courses, optimum)
    drawings: dict[str, Callable] = {
        word: partial(
            figures.curves, title="Objective above the optimum, relative", lines=_curves(courses, optimum, which),
            xlabel=label, ylabel="(objective − optimum) / optimum", logx=True, logy=True,
        )
        for which, (word, label) in enumerate((("passes", "passes over the data"), ("seconds", "seconds")))
    }  # fmt: skip
    title = "Optimizers on the same problem: passes and seconds to the optimum"
    return Table("optimizers", title, _rows(courses, optimum), remarks, drawings)


def tagging_problem(corpus: Corpus, sentences: int) -> Problem:
    """The first sentences of a corpus of words and tags."""
    if corpus.n_sentences < sentences:
        raise LoglinError(f"the treebank has {corpus.n_sentences} sentences, fewer than {sentences}; get all its files")
    words, tags = (column.strings() for column in corpus.columns[:2])
    offsets = corpus.offsets[: sentences + 1].tolist()
    examples = [
        [_attributes(["<s>", *words[begin:end], "</s>"], place)]
        for begin, end in pairwise(offsets)
        for place in range(1, end - begin + 1)
    ]
    frequent = [tag for tag, _ in Counter(tags[: offsets[-1]]).most_common(LABELS - 1)]
    code = {tag: i for i, tag in enumerate(frequent)}
    gold = Gold.certain(np.array([code.get(tag, LABELS - 1) for tag in tags[: offsets[-1]]]), LABELS)
    design = AttributeExtractor().fit(examples)
    return Problem(design, gold, build_index(design, gold, True, False, 1))


def _attributes(words: list[str], place: int) -> list[str]:
    word = words[place]
    near = [f"before={words[place - 1]}", f"behind={words[place + 1]}"]
    return [f"word={word}", f"suffix={word[-3:]}", *near, f"capital={word[0].isupper()}"]


def course_of(name: str, problem: Problem, goal: float, max_iter: int) -> Course:
    """Run one optimizer until the objective is at most ``goal``."""
    course: Course = []
    n, made = problem.index.n_features, []

    def make(dtype: type = np.float64) -> ConditionalLikelihood:
        made.append(problem.criterion(dtype))
        return made[-1]

    def follow(iteration: Iteration, weights: np.ndarray) -> None:
        counted = made[-1].evaluations if name != "newton" else iteration.evaluations  # with Hessian products
        passes = counted + made[-1].epochs
        best = min(iteration.value, course[-1][2]) if course else iteration.value
        course.append((passes, iteration.seconds, best))
        if best <= goal:
            raise _Enough

    run = Run(name, max_iter, tol=0.0, dtype="float64", reporter=Reporter(follow))
    with suppress(_Enough):
        optimizer(name).minimize(make, Penalties.uniform(n, 0.0, 1.0), run, None, str)
    return course


def _rows(courses: dict[str, Course], optimum: float) -> list[Row]:
    rows = []
    for shown, course in courses.items():
        for goal in GOALS:
            found = first_below(course, optimum * (1 + goal))
            note = f"{found[1]:.2f} s" if found else f"not within {course[-1][0]:,.0f}"
            rows.append(Row(shown, f"passes to {goal:g}", None, found[0] if found else None, note))
    return rows


def _verdict(courses: dict[str, Course], optimum: float) -> list[str]:
    """What the slides say of GIS, in our numbers, at the first goal that it has."""
    for goal in reversed(GOALS):
        scaling = first_below(courses[SHOWN["gis"]], optimum * (1 + goal))
        if scaling:
            others = {
                SHOWN[name]: first_below(courses[SHOWN[name]], optimum * (1 + goal))
                for name in ("conjugate-gradient", "lbfgs", "averaged-sgd")
            }
            told = ", ".join(f"{shown} {found[0]:,.0f}" for shown, found in others.items() if found)
            return [f"As the slides say: to {goal:g} GIS needs {scaling[0]:,.0f} passes; {told}."]
    return ["As the slides say: GIS reached none of the goals."]


def _curves(courses: dict[str, Course], optimum: float, which: int) -> dict[str, tuple[list[float], list[float]]]:
    """x and relative distance of every method, thinned to points equally far apart on a logarithmic axis."""
    lines = {}
    for shown, course in courses.items():
        points = [(p[which], p[2] / optimum - 1) for p in course if p[2] > optimum and p[which] > 0]
        wanted = np.geomspace(points[0][0], points[-1][0], POINTS)
        places = np.unique(np.minimum(np.searchsorted([x for x, _ in points], wanted), len(points) - 1))
        lines[shown] = [points[i][0] for i in places], [points[i][1] for i in places]
    return lines
