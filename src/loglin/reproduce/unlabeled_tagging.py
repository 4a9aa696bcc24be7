"""Parts of speech from text and a tagging dictionary (Smith, Eisner 2005, §5): what its tables and figures share.

treebank sample ──► first N words train, last 5,000 develop ──► dictionary, diluted or not
    criterion × prior ──► Tagger ──► accuracy on the training text, criterion on the development text ──► a curve
    curve ──► selected: the best criterion on the development text;   oracle: the best accuracy
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from loglin.corpus import datasets
from loglin.corpus.columns import Corpus, encode_strings, from_sentences
from loglin.corpus.labels import Gold
from loglin.corpus.vocabulary import Vocabulary
from loglin.estimators.tagger import Tagger
from loglin.evaluation.induced import TaggingReport
from loglin.features.dictionary import TagDictionary, first_words, frequent_words
from loglin.models.chain import Model
from loglin.reproduce import figures
from loglin.reproduce.fitting import fit_quietly
from loglin.reproduce.table import Progress, Row

DEVELOPMENT = 5000  # words
VARIANCES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf)  # σ² of the Gaussian prior, l2 = 1 / σ²; inf: none
SMOOTHING = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # λ of EM, added to every expected count
MAX_ITER = 100  # the paper says that its runs typically took no more; those with weak priors or none would
# the 17 tags of §5.2 and those of the treebank that each stands for
COARSE = {
    "ADJ": "$ # CD JJ JJR JJS PRP$",
    "ADV": "RB RBR RBS",
    "CONJ": "CC",
    "DET": "DT PDT",
    "ENDPUNC": ".",
    "INPUNC": ", : LS SYM UH",
    "LPUNC": "`` -LRB-",
    "N": "EX FW NN NNP NNPS NNS PRP",
    "POS": "POS",
    "PREP": "IN",
    "PRT": "RP",
    "RPUNC": "'' -RRB-",
    "TO": "TO",
    "V": "MD VB VBD VBP VBZ",
    "VBG": "VBG",
    "VBN": "VBN",
    "WH": "WDT WP WP$ WRB",
}
TO_COARSE = {tag: coarse for coarse, tags in COARSE.items() for tag in tags.split()}


# ---------------------------------------------------------------------- data


@dataclass(frozen=True)
class TaggedText:
    words: list[list[str]]
    tags: list[list[str]]

    def part(self, begin: int, end: int | None = None) -> TaggedText:
        """Some of the sentences."""
        return TaggedText(self.words[begin:end], self.tags[begin:end])

    @property
    def n_words(self) -> int:
        return sum(map(len, self.words))


Dictionary = tuple[list[str], TagDictionary]  # the names of tags, and what each word may be


@dataclass(frozen=True)
class Data:
    training: TaggedText
    between: TaggedText  # behind the training sentences and before the development sentences
    development: TaggedText
    dictionary: Dictionary

    def diluted(self, how: str) -> Data:
        """With a smaller dictionary, one of DICTIONARIES: words that are not in it may have every tag (§5.2)."""
        if how == FULL:
            return self
        names, known = self.dictionary
        return replace(self, dictionary=(names, known.diluted(DICTIONARIES[how](from_sentences(self.training.words)))))


FULL = "full dictionary"
DICTIONARIES: dict[str, Callable[[Corpus], Vocabulary]] = {  # the words that a training text leaves in the dictionary
    FULL: lambda corpus: corpus.columns[0].vocabulary,
    "first 500 sentences": lambda corpus: first_words(corpus, 500),
    "count ≥ 2": lambda corpus: frequent_words(corpus.columns[0], 2),
    "count ≥ 3": lambda corpus: frequent_words(corpus.columns[0], 3),
}


def load(n_words: int, coarse: bool) -> Data:
    """The first sentences that have so many words, as far as there are; the dictionary is that of the whole sample."""
    sentences = datasets.load("treebank").sentences()
    words, tags = ([[token[c] for token in sentence] for sentence in sentences] for c in (0, 1))
    if coarse:
        tags = [[TO_COARSE[tag] for tag in sentence] for sentence in tags]
    text, ends = TaggedText(words, tags), np.cumsum([len(sentence) for sentence in words])
    behind = int(np.searchsorted(ends, ends[-1] - DEVELOPMENT, side="right"))  # the fewest last sentences
    end = min(int(np.searchsorted(ends, n_words)) + 1, behind)
    return Data(text.part(0, end), text.part(end, behind), text.part(behind), full_dictionary(text))


def full_dictionary(text: TaggedText) -> Dictionary:
    """Every tag that a word has in the text."""
    names = sorted(set(chain.from_iterable(text.tags)))
    number = {name: i for i, name in enumerate(names)}
    codes = np.array([number[tag] for tag in chain.from_iterable(text.tags)])
    return names, TagDictionary.of(encode_strings([*chain.from_iterable(text.words)]), Gold.certain(codes, len(names)))


# ---------------------------------------------------------------------- criteria


@dataclass(frozen=True)
class Criterion:
    """A way to train, up to the strength of its prior."""

    name: str
    options: Mapping[str, Any]  # what a Tagger is told
    settings: Mapping[str, Any] = field(default_factory=dict)  # of its criterion
    smoothed: tuple[str, ...] = ()  # the settings that are λ; without them the prior is Gaussian, of variance σ²
    labeled: bool = False  # learns from tags

    @property
    def prior(self) -> str:
        return "λ" if self.smoothed else "σ²"

    def told(self, strength: float) -> str:
        """A strength of the prior, as a note."""
        return f"{self.prior} = {'∞' if math.isinf(strength) else f'{strength:g}'}"

    @property
    def grid(self) -> tuple[float, ...]:
        return SMOOTHING if self.smoothed else VARIANCES

    def tagger(self, strength: float, **more: Any) -> Tagger:
        """With a prior of this strength."""
        options: dict[str, Any] = {"max_iter": MAX_ITER} | dict(self.options) | more
        if not self.smoothed:
            options["l2"] = 1 / strength
        return Tagger(**options, settings=dict(self.settings) | dict.fromkeys(self.smoothed, strength))


def contrastive(neighborhood: str, spelling: bool = False) -> Criterion:
    name = neighborhood.upper() + (" + spelling" if spelling else "")
    template = "trigram-spelling" if spelling else "trigram"
    return Criterion(name, {"criterion": "contrastive", "neighborhood": neighborhood, "template": template})


EM = tuple(  # HMMs of order 2, whose emissions begin at 1 / (words of the tag) or at 1 / words
    Criterion(name, {"criterion": "em"}, {"start": start}, ("smoothing",))
    for name, start in (("EM, per-tag start", "per-tag"), ("EM, uniform start", "uniform"))
)
# conditional likelihood among the tags of the dictionary, with the features of contrastive models
CRF = Criterion("supervised CRF", {"criterion": "mixture", "template": "trigram"}, labeled=True)
HMM = Criterion(
    "supervised HMM",
    {"criterion": "hmm", "order": 2},
    {"oov": "unseen"},
    ("smoothing", "transition_smoothing"),
    labeled=True,
)


# ---------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Run:
    """What one strength of a prior led to."""

    strength: float  # σ² or λ
    held: float  # the criterion on the development text; of models that learn from tags their accuracy there
    report: TaggingReport  # on the training text

    def accuracy(self, ambiguous: bool) -> float:
        """In % of all words, or of those with several tags in the dictionary."""
        return 100 * float((self.report.ambiguous_accuracy if ambiguous else self.report.accuracy) or 0.0)


@dataclass(frozen=True)
class Curve:
    """Runs over the strengths of one criterion's prior."""

    criterion: Criterion
    runs: list[Run]

    @property
    def selected(self) -> Run:
        """The best on the development text, of equals the first; what is not a number is never the best."""
        return max(self.runs, key=lambda run: -math.inf if math.isnan(run.held) else run.held)

    def oracle(self, ambiguous: bool) -> Run:
        """The best on the training text."""
        return max(self.runs, key=lambda run: run.accuracy(ambiguous))

    def told(self, run: Run) -> str:
        """The prior of a run."""
        return self.criterion.told(run.strength)

    def rows(self, name: str, ambiguous: bool, published: tuple[float, float] | None = None) -> list[Row]:
        """Accuracy of the model selected without labels and of the best."""
        words = "ambiguous" if ambiguous else "all words"
        runs = {"selected": self.selected, "oracle": self.oracle(ambiguous)}
        return [
            Row(name, f"{words}, {how}", theirs, run.accuracy(ambiguous), self.told(run), digits=1)
            for (how, run), theirs in zip(runs.items(), published or (None, None), strict=True)
        ]

    def random(self, name: str, ambiguous: bool, published: float | None = None, note: str = "") -> Row:
        """Guesses among the tags of the dictionary, which are as good under every criterion."""
        report, words = self.runs[0].report, "ambiguous" if ambiguous else "all words"
        share = report.random_ambiguous_accuracy if ambiguous else report.random_accuracy
        assert share is not None
        return Row(f"random, {name}", words, published, 100 * share, note, digits=1)

    def errors(self, n: int = 10) -> str:
        """The words that the selected model most often gets wrong."""
        found = (f"{word} {gold} → {tag} {count}" for word, gold, tag, count in self.selected.report.errors[:n])
        return f"{self.told(self.selected)}: {', '.join(found)}"


def run_once(criterion: Criterion, data: Data, strength: float, threads: int | None) -> tuple[Run, Model]:
    """Train with one prior, tag the training text, and look at the development text."""
    text, held, labeled = data.training, data.development, criterion.labeled
    more = {"dictionary": data.dictionary, "threads": threads} | ({} if labeled else {"dev": held.words})
    tagger = fit_quietly(criterion.tagger(strength, **more), text.words, text.tags if labeled else None)
    if labeled:
        value = tagger.evaluate_unsupervised(held.words, held.tags).ambiguous_accuracy or 0.0
    else:
        value = tagger.model_.record["held_criterion"]
    return Run(strength, float(value), tagger.evaluate_unsupervised(text.words, text.tags)), tagger.model_


def curve(
    criterion: Criterion,
    data: Data,
    strengths: Sequence[float] | None,
    place: str,
    progress: Progress,
    threads: int | None,
) -> Curve:
    """A run for every strength, or for the criterion's grid; ``place`` tells progress lines where we are."""
    runs = []
    for strength in criterion.grid if strengths is None else strengths:
        began = time.perf_counter()
        run, model = run_once(criterion, data, strength, threads)
        runs.append(run)
        scores = f"{run.accuracy(True):.1f} % of ambiguous words, {run.accuracy(False):.1f} % of all"
        work = f"{model.record['iterations']} iterations, {time.perf_counter() - began:.1f} s"
        if not model.record["converged"]:
            work += ", not converged"
        name = f"{criterion.name}, {place}, {criterion.told(strength)}"
        progress(f"{name}: {scores}; held {run.held:,.2f}; {work}")
    return Curve(criterion, runs)


# ---------------------------------------------------------------------- figures

NO_SMOOTHING, NO_PRIOR = 1e-3, 100.0  # where λ = 0 and σ² = ∞ stand on a logarithmic axis


def draw(path: Path, title: str, curves: Mapping[str, Curve]) -> None:
    """Accuracy on ambiguous words against the prior; the selected models are circled."""
    figures.curves(
        path,
        title,
        {
            name: (
                [min(max(run.strength, NO_SMOOTHING), NO_PRIOR) for run in c.runs],
                [run.accuracy(True) for run in c.runs],
            )
            for name, c in curves.items()
        },
        "σ² of the prior; of HMMs λ",
        "ambiguous words tagged correctly, %",
        logx=True,
        circled={name: c.runs.index(c.selected) for name, c in curves.items()},
        ticks={NO_SMOOTHING: "0", NO_PRIOR: "∞"},
    )


def file_word(name: str) -> str:
    """What the file of a figure is called by."""
    return name.replace("≥ ", "").replace(" ", "-")
