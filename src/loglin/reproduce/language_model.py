"""Collins' lecture on log-linear models: its features of histories as language models of the Brown corpus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from loglin.corpus import datasets
from loglin.corpus.plaintext import Text
from loglin.criteria.likelihood import next_word_likelihood
from loglin.estimators.language_model import LanguageModel
from loglin.problems.histories import HistoryProblem, LanguageOptions
from loglin.reproduce import figures
from loglin.reproduce.table import Drawings, Progress, Row, Table
from loglin.threads import Threads

DRAWS = True

NGRAMS = ("bigram", "trigram")
ADDED = {
    "skips": ("skip",),
    "suffixes": ("suffix",),
    "classes": ("class", "class-pair"),
    "triggers": ("trigger",),
}
REMARKS = [
    "The Brown corpus, case kept; the last tenth of its sentences is the test. {vocabulary:,} words are known; unknown "
    "words and ends of sentences are predicted and counted. All log-linear models have {iterations} iterations of "
    "L-BFGS, so that features are compared at equal effort. Variances and smallest counts are the defaults; those of "
    "n-grams, skips, suffixes and classes were compared on the last tenth of the training text, those of triggers and "
    "cache were not tuned. Classes are each word's most frequent tag in the training text. The file does not say "
    "where documents begin, so triggers look back over {trigger_window} and the cache over {window} known words.",
    "Nothing was published for this split, so there is nothing to compare with but the counted models.",
    "A pass is one value with its gradient; given is the fastest of {passes} with {threads} thread{s}, at the starting "
    "point, of 1- to 3-grams on the same tokens. From {small:,} to {large:,} words the time grows {seconds:.2f} times, "
    "the features {features:.2f} times, the words touched {touches:.2f} times: a touch takes {per_touch:.2f} times as "
    "long. The terms of plain sums grow {dense:.2f} times.",
]


@dataclass(frozen=True)
class Size:
    sentences: int | None = None
    vocabulary: int = 10_000
    vocabularies: tuple[int, ...] = (5_000, 10_000, 20_000)
    iterations: int = 40
    window: int = LanguageOptions.window
    trigger_window: int = LanguageOptions.trigger_window
    trigger_pairs: int = LanguageOptions.trigger_pairs
    passes: int = 15


QUICK = Size(4_000, 2_000, (1_000, 2_000, 4_000), 15, 200, 50, 1_000, 5)


@dataclass(frozen=True)
class Pass:
    """What one value with its gradient costs."""

    vocabulary: int
    features: int
    touches: int
    dense: int  # histories · words: the terms of plain sums
    seconds: float


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    size = QUICK if quick else Size()
    text = datasets.load_text("brown")
    text = text if size.sentences is None else text.part(0, size.sentences)
    cut = int(text.corpus.n_sentences * 0.9)
    training, test = text.part(0, cut), text.part(cut, text.corpus.n_sentences)
    rows = _counted(training, test, size, progress) + _log_linear(training, test, size, progress, threads)
    passes = [_pass(training, v, size.passes, threads, progress) for v in size.vocabularies]
    cost = _cost_rows(passes)
    drawings: Drawings = {
        "perplexity": partial(
            figures.bars, title=f"Language models of the Brown corpus, {size.vocabulary:,} words",
            names=[row.name for row in rows], values=[row.ours or 0.0 for row in rows], xlabel="test perplexity",
        ),
        "pass": partial(
            figures.curves, title="Growth of a pass with the vocabulary, relative to the smallest",
            lines=_growth(passes), xlabel="words", ylabel="times",
        ),
    }  # fmt: skip
    remarks = [remark.format(**_facts(size, passes, threads)) for remark in REMARKS]
    title = "Language model of the Brown corpus: the lecture's features of histories"
    return Table("language-model", title, rows + cost, remarks, drawings)


def _counted(training: Text, test: Text, size: Size, progress: Progress) -> list[Row]:
    rows = []
    for name, criterion in (("Kneser–Ney", "kneser-ney"), ("modified Kneser–Ney", "modified-kneser-ney")):
        model = LanguageModel(criterion=criterion, vocabulary=size.vocabulary).fit(training)
        rows.append(_row(f"{name}, 3-grams", model.perplexity(test), model.record_))
        progress(f"{rows[-1].name}: perplexity {rows[-1].ours:.2f}")
    return rows


def _log_linear(training: Text, test: Text, size: Size, progress: Progress, threads: int | None) -> list[Row]:
    """The features one kind at a time beside n-grams, then all; each model with a cache gives two rows."""
    rows, with_cache = [], []
    chosen = {name: getattr(size, name) for name in ("vocabulary", "window", "trigger_window", "trigger_pairs")}
    everything = tuple(kind for kinds in ADDED.values() for kind in kinds)
    variants = [("1- to 3-grams", (), True), *((f"+ {name}", kinds, False) for name, kinds in ADDED.items())]
    for name, kinds, cache in [*variants, ("+ all these", everything, True)]:
        features = (*NGRAMS, *kinds, "cache") if cache else (*NGRAMS, *kinds)
        model = LanguageModel(features=features, max_iter=size.iterations, tol=0.0, threads=threads, **chosen).fit(
            training
        )
        plain = model.without_cache()
        rows.append(_row(name, plain.perplexity(test), plain.record_))
        if cache:
            with_cache.append(_row(f"{name}, cache", model.perplexity(test), model.record_))
        progress(f"{name}: perplexity {rows[-1].ours:.2f}, {model.record_['train_seconds']:.0f} seconds")
    return [*rows, *with_cache]


def _row(name: str, perplexity: float, record: dict[str, Any]) -> Row:
    note = f"{record['n_features']:,} features"
    if record.get("touches"):
        note += f", {record['touches'] / 1e6:.1f} million touches a pass"
    return Row(name, "perplexity", None, perplexity, note)


def _pass(training: Text, vocabulary: int, n: int, threads: int | None, progress: Progress) -> Pass:
    options = LanguageOptions(features=NGRAMS, vocabulary=vocabulary)
    criterion = next_word_likelihood(HistoryProblem.of(training, options, threads=Threads(threads)).histories)
    weights, seconds = np.zeros(criterion.n_features), []
    weights[: criterion.n_words] = np.log(criterion.observed[: criterion.n_words] + 0.5)
    criterion(weights)  # compiled, and in the caches
    for _ in range(n):
        began = time.perf_counter()
        criterion(weights)
        seconds.append(time.perf_counter() - began)
    progress(f"{vocabulary:,} words: {min(seconds):.3f} seconds a pass")
    dense = len(criterion.tree.counts) * criterion.n_words
    return Pass(vocabulary, criterion.n_features, criterion.touches, dense, min(seconds))


def _cost_rows(passes: Sequence[Pass]) -> list[Row]:
    return [
        Row(
            f"1- to 3-grams, {p.vocabulary:,} words", "milliseconds a pass", None, 1000 * p.seconds,
            f"{p.features:,} features, {p.touches / 1e6:.2f} million touches, {p.dense / 1e6:,.0f} million terms in "
            f"plain sums, {1e9 * p.seconds / p.touches:.0f} ns a touch",
        )
        for p in passes
    ]  # fmt: skip


def _growth(passes: Sequence[Pass]) -> dict[str, tuple[list[float], list[float]]]:
    xs = [float(p.vocabulary) for p in passes]
    shown = {"seconds": "seconds", "touches": "touches", "features": "features", "dense": "terms of plain sums"}
    return {name: (xs, [_ratio(p, passes[0], field) for p in passes]) for field, name in shown.items()}


def _ratio(one: Pass, other: Pass, field: str) -> float:
    return getattr(one, field) / getattr(other, field)


def _facts(size: Size, passes: Sequence[Pass], threads: int | None) -> dict[str, Any]:
    first, last, used = passes[0], passes[-1], Threads(threads).n
    growth = {field: _ratio(last, first, field) for field in ("seconds", "features", "touches", "dense")}
    vocabularies = {"small": first.vocabulary, "large": last.vocabulary}
    per_touch = growth["seconds"] / growth["touches"]
    return (
        asdict(size) | growth | vocabularies | {"threads": used, "s": "" if used == 1 else "s", "per_touch": per_touch}
    )
