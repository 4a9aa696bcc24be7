"""Few tagged sentences and much text (Smith, Eisner 2005, §6): mixtures of conditional and contrastive likelihood.

training sentences ──► the first n with their tags, the others without ──► mixture; CRF of the n alone; EM
    every choice of weight and prior: trained with half of the n, tried on the other half, and the other way round
    the best, trained with all n ──► accuracy on later sentences
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from loglin.estimators.tagger import Tagger
from loglin.evaluation.induced import TaggingReport
from loglin.evaluation.significance import compare
from loglin.reproduce import figures
from loglin.reproduce.fitting import fit_quietly
from loglin.reproduce.table import Drawings, Progress, Row, Table
from loglin.reproduce.unlabeled_tagging import (
    EM,
    FULL,
    Criterion,
    Data,
    TaggedText,
    contrastive,
    file_word,
    load,
)

DRAWS = True
WORDS, QUICK = 24_000, 3_000
LABELED, QUICK_LABELED = (0, 10, 50, 100, 500), (0, 20)  # sentences, and all
TEST, QUICK_TEST = 1_000, 200  # sentences
COMPARED = 100
SMOOTHING = (0.1, 1.0, 3.0)
REMARKS = [
    "The training part is the first {words:,} words ({sentences:,} sentences) of the treebank sample, the test its "
    "{test:,} next words. The first n training sentences have their tags; mixtures and EM also learn from the others, "
    "without tags, the CRF from the n alone. All heed the same dictionary, which comes from the whole sample, or from "
    "its words that the training part has three times, others being allowed every tag.",
    "The mixture maximizes Σ log p(y | x) of tagged sentences + γ Σ log p(x | N(x)) of the others − ‖θ‖² / 2σ². The "
    "CRF has the same features. EM counts tagged sentences as they are and expects the tags of the others.",
    "Selected: among {mixtures} pairs of γ and σ², and {priors} priors of the CRF and {smoothings} priors and starts "
    "of EM, that which tags one half of the n best when trained with the other half, both ways; no other tags are "
    "used. Where none are given, the best criterion on {development:,} words without tags. Oracle: the best on the "
    "test itself, which shows what better choices could gain. With all sentences tagged a mixture is the CRF.",
    "The tags and features of each condition, the neighborhoods and the grids were settled after trials that were "
    "scored on sentences of this test, so the gains may flatter.",
]


@dataclass(frozen=True)
class Condition:
    """A dictionary, the tags that go with it, and the features."""

    name: str
    dictionary: str  # of unlabeled_tagging.DICTIONARIES
    coarse: bool
    spelling: bool
    neighborhoods: tuple[str, ...] = ("trans1", "delortrans1")
    weights: tuple[float, ...] = (0.03, 0.1, 0.3)  # γ
    variances: tuple[float, ...] = (1.0, 5.0)  # σ²

    @property
    def template(self) -> str:
        return "trigram-spelling" if self.spelling else "trigram"


CONDITIONS = (
    Condition("full dictionary, 45 tags", FULL, False, False),
    Condition("count ≥ 3, 17 tags, spelling", "count ≥ 3", True, True, ("trans1",)),
)

Choice = tuple[Criterion, float]  # with the strength of its prior


@dataclass(frozen=True)
class Method:
    name: str
    choices: Sequence[Choice]
    without: Sequence[Choice] = ()  # where no sentence has tags
    alone: bool = False  # learns from sentences with tags only

    def fitted(self, choice: Choice, data: Data, tagged: Collection[int], threads: int | None) -> Tagger:
        """Trained on the training part, of which these sentences have their tags."""
        criterion, strength = choice
        text = data.training
        more: dict[str, Any] = {"dictionary": data.dictionary, "threads": threads}
        if not tagged:
            more["dev"] = data.development.words
        used = [s for s in range(len(text.words)) if s in tagged or not self.alone]
        words, tags = [text.words[s] for s in used], [text.tags[s] if s in tagged else None for s in used]
        return fit_quietly(criterion.tagger(strength, **more), words, tags)


def methods(condition: Condition) -> list[Method]:
    found, options = [], {"criterion": "mixture", "template": condition.template}
    for name in condition.neighborhoods:
        weighted = [
            Criterion(f"γ = {weight:g}", options | {"neighborhood": name}, {"weight": weight})
            for weight in condition.weights
        ]
        choices = [(criterion, variance) for criterion in weighted for variance in condition.variances]
        without = [(contrastive(name, condition.spelling), variance) for variance in condition.variances]
        found.append(Method(f"mixture with {name.upper()}", choices, without))
    alone = [(Criterion("CRF", options), variance) for variance in (*condition.variances, 20.0)]
    smoothed = [(criterion, strength) for criterion in EM for strength in SMOOTHING]
    return [*found, Method("CRF", alone, alone=True), Method("EM", smoothed, smoothed)]


# ---------------------------------------------------------------------- choices


def half_by_half(method: Method, choice: Choice, data: Data, n: int, threads: int | None) -> float:
    """Accuracy on each half of the first n sentences of a model that knows the tags of the other half alone."""
    right, total = 0.0, 0
    for held, tagged in ((range(n // 2, n), range(n // 2)), (range(n // 2), range(n // 2, n))):
        tagger = method.fitted(choice, data, tagged, threads)
        part = data.training.part(held.start, held.stop)
        right += tagger.evaluate_unsupervised(part.words, part.tags).accuracy * part.n_words
        total += part.n_words
    return right / total


@dataclass(frozen=True)
class Point:
    """What a method reaches with n tagged sentences."""

    n: int
    selected: TaggingReport  # on the test
    oracle: TaggingReport
    chosen: str
    tags: list[list[str]]  # of the test, by the selected model


def point(method: Method, data: Data, test: TaggedText, n: int, progress: Progress, threads: int | None) -> Point:
    """Choose, train with all n, and tag the test."""
    found: list[tuple[float, TaggingReport, str, Tagger]] = []
    for choice in method.choices if n else method.without:
        began = time.perf_counter()
        score = half_by_half(method, choice, data, n, threads) if n else None
        tagger = method.fitted(choice, data, range(n), threads)
        score = tagger.model_.record["held_criterion"] if score is None else score
        report = tagger.evaluate_unsupervised(test.words, test.tags)
        told = f"{choice[0].name}, {choice[0].told(choice[1])}"
        found.append((score, report, told, tagger))
        progress(
            f"{method.name}, {n:,} tagged, {told}: {100 * report.accuracy:.2f} % of the test, "
            f"{score:,.4f} for the choice; {time.perf_counter() - began:.1f} s"
        )
    _, report, told, tagger = max(found, key=lambda entry: entry[0])
    oracle = max((entry[1] for entry in found), key=lambda r: r.accuracy)
    return Point(n, report, oracle, told, tagger.predict(test.words))


# ---------------------------------------------------------------------- the table


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    conditions, labeled = (CONDITIONS[:1], QUICK_LABELED) if quick else (CONDITIONS, LABELED)
    words, test = (QUICK, QUICK_TEST) if quick else (WORDS, TEST)
    return make_table(conditions, words, test, labeled, progress, threads)


def make_table(
    conditions: Sequence[Condition],
    n_words: int,
    n_test: int | None,
    labeled: Sequence[int],
    progress: Progress,
    threads: int | None,
) -> Table:
    """``labeled`` are numbers of sentences with tags, beside all of the first so many words."""
    rows: list[Row] = []
    remarks: list[str] = []
    drawings: Drawings = {}
    for condition in conditions:
        data = load(n_words, condition.coarse).diluted(condition.dictionary)
        test, everything = data.between.part(0, n_test), len(data.training.words)
        points: dict[str, list[Point]] = {}
        for method in methods(condition):
            sizes = [n for n in labeled if n or method.without]
            sizes += [everything] if method.name in ("CRF", "EM") else []
            points[method.name] = [point(method, data, test, n, progress, threads) for n in sizes]
            rows += [row for p in points[method.name] for row in _rows(f"{method.name}, {condition.name}", p)]
        chance = points["EM"][0].selected.random_accuracy
        assert chance is not None
        rows.append(Row(f"random, {condition.name}", "all words", None, 100 * chance))
        remarks.append(_verdict(condition, points, test, labeled))
        title = f"Held-out words tagged correctly: {condition.name}"
        drawings[file_word(condition.dictionary)] = partial(_draw, title=title, points=points)
    remarks += _remarks(conditions, data, test)
    heading = "Tagging with few tagged sentences and more text: mixtures, CRF, EM"
    return Table("semi-supervised", heading, rows, remarks, drawings)


def _rows(name: str, found: Point) -> list[Row]:
    name = f"{name}, {found.n:,} tagged"
    selected, oracle = found.selected, found.oracle
    return [
        Row(name, "all words", None, 100 * selected.accuracy, found.chosen),
        Row(name, "ambiguous", None, 100 * (selected.ambiguous_accuracy or 0.0)),
        Row(name, "all words, oracle", None, 100 * oracle.accuracy),
    ]


def _remarks(conditions: Sequence[Condition], data: Data, test: TaggedText) -> list[str]:
    numbers = {
        "words": data.training.n_words,
        "sentences": len(data.training.words),
        "test": test.n_words,
        "development": data.development.n_words,
        "mixtures": " or ".join(dict.fromkeys(str(len(c.weights) * len(c.variances)) for c in conditions)),
        "priors": len(conditions[0].variances) + 1,
        "smoothings": len(EM) * len(SMOOTHING),
    }
    return [remark.format(**numbers) for remark in REMARKS]


def _verdict(condition: Condition, points: dict[str, list[Point]], test: TaggedText, labeled: Sequence[int]) -> str:
    """Mixtures against the CRF of the same tagged sentences."""
    n = COMPARED if COMPARED in labeled else max(labeled)
    outputs = {name: next(p.tags for p in found if p.n == n) for name, found in points.items()}
    verdicts = []
    for name in (name for name in outputs if name.startswith("mixture")):
        result = compare(test.tags, outputs[name], outputs["CRF"], metric="accuracy")
        verdicts.append(
            f"{name} {100 * result.difference:+.2f} points, 95 % interval {100 * result.interval[0]:+.2f} to "
            f"{100 * result.interval[1]:+.2f}, p = {result.bootstrap.p:.2g} by the bootstrap"
        )
    return f"{condition.name}, {n} tagged sentences, against the CRF: {'; '.join(verdicts)}."


NONE = 1.0  # where no tagged sentence stands on a logarithmic axis


def _draw(path: Path, title: str, points: dict[str, list[Point]]) -> None:
    lines = {
        name: ([max(p.n, NONE) for p in found], [100 * p.selected.accuracy for p in found])
        for name, found in points.items()
    }
    figures.curves(
        path, title, lines, "sentences with tags", "held-out words tagged correctly, %", logx=True, ticks={NONE: "0"}
    )
