"""Noun phrase chunks of CoNLL-2000 as in Smith, Vail and Lafferty (2007), section 5: data, features, one model.

load ──► Data (training, development, test) ──► Features(data, template) ──► fit(criterion, c) ──► Fit
                                                                             chosen(fits) ──► the best on development
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loglin.corpus import datasets
from loglin.corpus.columns import Column, Corpus, encode_strings
from loglin.corpus.labels import gold_of_column
from loglin.criteria.registry import criteria
from loglin.decoding.chains import Decoder
from loglin.estimators.tagger import Tagger
from loglin.evaluation.sequences import Evaluation, evaluate
from loglin.generative.hmm import HMM
from loglin.models.chain import Model
from loglin.reproduce.fitting import fit_columns
from loglin.reproduce.table import Progress, Row

HELD_OUT = 900  # the last training sentences, to choose c
QUICK = 1500  # training sentences of a quick run
GRID = tuple(float(c) for c in 10 ** np.linspace(-1, 1, 7))  # the paper's values of c
COARSE = (0.1, 1.0, 10.0)
AS_PUBLISHED: dict[str, dict[str, Any]] = {"m-estimation": {"base": "hmm"}, "pseudolikelihood": {"bigram_penalty": 0}}
NAMES = {"hmm": "HMM", "crf": "CRF", "pseudolikelihood": "PL", "memm": "MEMM", "m-estimation": "M-est."}
Published = Sequence[float | None] | None
METRICS = {"precision": "P", "recall": "R", "f1": "F1"}  # as evaluations and as tables call them

# ---------------------------------------------------------------------- features

# Words and tags given the label, and label trigrams with start and stop: what the HMM of order 2 is made of.
HMM_FEATURES = """\
#! oov=first
U00:%x[0,0]
U01:%x[0,1]
T
U02:%edge[-1,0]
B03:%edge[-2,0]
B04:%edge[1,0]
U05:%edge[-1,0]/%edge[1,0]
"""

# Sha and Pereira's (2003) predicates of words and tags
_WORDS = ((0,), (-1,), (1,), (-2,), (2,), (-1, 0), (0, 1))
_TAGS = (*_WORDS, (-2, -1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
_LABELS = ("U", "B", "U1:%edge[-1,0]")
_TRIGRAMS = ("T", "U2:%edge[-1,0]", "B3:%edge[-2,0]", "B4:%edge[1,0]", "U5:%edge[-1,0]/%edge[1,0]")


def extended(look_ahead: bool = True) -> str:
    """Each predicate with the label and with the label pair (at the start, with the first label), and trigrams."""
    spans = [(0, offsets) for offsets in _WORDS] + [(1, offsets) for offsets in _TAGS]
    predicates = ["/".join(f"%x[{o},{column}]" for o in offsets) for column, offsets in spans]
    lines = [f"*{i}:{p}\nUs{i}:%edge[-1,0]/{p}" for i, p in enumerate(predicates)]
    lines = ["#! oov=first", *lines, *_LABELS, *_TRIGRAMS]
    return "\n".join(line for line in lines if look_ahead or not re.search(r"\[[12],", line)) + "\n"


EXTENDED = extended()

# ---------------------------------------------------------------------- data


@dataclass(frozen=True)
class Part:
    inputs: Corpus  # words and tags
    labels: Column  # B, I, O


@dataclass(frozen=True)
class Data:
    training: Part
    development: Part
    test: Part

    def first(self, sentences: int) -> Data:
        """The same with the first training sentences only."""
        return replace(self, training=_slice(self.training, 0, sentences))


def load(sentences: int | None = None) -> Data:
    """Training without the held-out sentences (or its first so many), development, test."""
    whole = np_chunks("train")
    n = whole.inputs.n_sentences - HELD_OUT
    training, development = _slice(whole, 0, min(n, sentences or n)), _slice(whole, n, n + HELD_OUT)
    return Data(training, development, np_chunks("test"))


def np_chunks(part: str) -> Part:
    corpus = datasets.load("conll2000", part)
    chunks = corpus.columns[2]
    names = [name[0] if name.endswith("-NP") else "O" for name in chunks.vocabulary.strings]
    labels = encode_strings([names[code] for code in chunks.codes.tolist()])
    return Part(Corpus(corpus.columns[:2], corpus.offsets, corpus.source), labels)


def _slice(part: Part, begin: int, end: int) -> Part:
    both = Corpus([*part.inputs.columns, part.labels], part.inputs.offsets, part.inputs.source)
    both = both.select(np.arange(begin, min(end, both.n_sentences)))
    return Part(Corpus(both.columns[:2], both.offsets, both.source), both.columns[2])


# ---------------------------------------------------------------------- models


@dataclass(frozen=True)
class Fit:
    """A trained model with its development scores; ``seconds`` are of training alone."""

    criterion: str
    c: float | None
    model: Model
    seconds: float
    development: Evaluation


@dataclass(frozen=True)
class Features:
    """The data with a template, and the models that are trained on them."""

    data: Data
    template: str
    threads: int | None = None
    progress: Progress = lambda line: None

    def fit(self, criterion: str, c: float | None = None, cold: bool = False, **options: Any) -> Fit:
        """Train with the penalty w²/2c (none for c = inf) and score the development data; ``cold``: see fit_columns."""
        if c is not None:
            options["l2"] = 0.0 if np.isinf(c) else 1 / c
        if criteria("chain")[criterion].counts:
            options["order"] = 2
        options["settings"] = AS_PUBLISHED.get(criterion, {}) | (options.get("settings") or {})
        tagger = Tagger(criterion, template=self.template, threads=self.threads, **options)
        model = fit_columns(tagger, self.data.training.inputs, self.data.training.labels, cold)
        seconds, scores = model.record["train_seconds"], self.score(model, "development")
        shown = "" if c is None else f", c = {c:.3g}"
        given = {k: v for k, v in (options.get("settings") or {}).items() if not isinstance(v, HMM)}
        extra = "".join(f", {k} = {v}" for k, v in given.items())
        self.progress(f"{NAMES[criterion]}{shown}{extra}: {seconds:.1f} s, development F1 {100 * scores.f1:.2f}")
        return Fit(criterion, c, model, seconds, scores)

    def score(self, model: Model, part: str, decoding: dict | None = None) -> Evaluation:
        """Phrases of a part ("development" or "test") as conlleval counts them; I follows only B and I."""
        held: Part = getattr(self.data, part)
        decoder = Decoder(model, self.threads, "bio", decoding)
        _, gold = gold_of_column(held.labels, labels=list(model.labels))
        return evaluate(gold.codes, decoder.best(decoder.design(held.inputs)), model.labels, held.inputs.offsets)

    def rows_of_best(self, name: str, published: Published, fits: Sequence[Fit], by: str = "f1") -> list[Row]:
        """The test scores of the best on the development data, with its c."""
        best = chosen(fits, by)
        return rows(name, published, self.score(best.model, "test"), f"c = {best.c:.3g}")


def chosen(fits: Sequence[Fit], by: str = "f1") -> Fit:
    """The best on the development data; of equals the one with the strongest penalty."""
    return max(fits, key=lambda fit: (getattr(fit.development, by), -(fit.c or 0.0)))


def rows(name: str, published: Published, scores: Evaluation, note: str = "") -> list[Row]:
    """Precision, recall and F1 in percent."""
    given = published or (None, None, None)
    found = [100 * getattr(scores, metric) for metric in METRICS]
    return [
        Row(name, metric, theirs, ours, note)
        for metric, theirs, ours in zip(METRICS.values(), given, found, strict=True)
    ]
