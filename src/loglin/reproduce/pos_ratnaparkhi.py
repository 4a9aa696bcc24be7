"""Parts of speech with Ratnaparkhi's (1996) features: an MEMM of order 2, its dictionary, beam and cut-off.

treebank sample ──► first 3,000 sentences train, 914 test ──► Tagger(template, σ², cut-off) ──► decodings ──► rows

σ² is the variance of the Gaussian prior of the weights, l2 = 1 / σ².
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from loglin.corpus import datasets
from loglin.corpus.columns import from_sentences
from loglin.estimators.tagger import Tagger
from loglin.evaluation.significance import compare
from loglin.features.read import RATNAPARKHI
from loglin.reproduce.fitting import decoded, fit_quietly
from loglin.reproduce.table import Progress, Row, Table

Tags = list[list[str]]
TRAINING = 3000
BEAM = 5
MAX_ITER = 100  # as Ratnaparkhi's; only models without a prior need them all
PUBLISHED = (96.63, 85.56)  # Ratnaparkhi (1996), trained on 962,687 words of the whole Wall Street Journal
NLTK_EPOCHS = 5
REMARKS = [
    "Trained on {training:,} sentences of the treebank sample, tested on {test:,} others; {unknown:.1f} % of the test "
    "words are unknown. Ratnaparkhi's published figures are of a model trained on the whole Wall Street Journal, more "
    "than ten times as much: they are not to be reached here.",
    "NLTK's averaged perceptron is trained on the same sentences where NLTK is installed (it is no dependency).",
    "The dictionary gives words of the training text the tags that they had there. It helps where common words "
    "have no spelling features, and costs accuracy where all words have them. “All pairs” has weights for every "
    "attribute with every tag, seen together or not. σ² was not tuned. Without a prior, the weights are those after "
    "{max_iter} iterations.",
]


# ---------------------------------------------------------------------- features

_AFFIXES = [f"U{end[0]}{n}:%{end}[0,0,{n}]" for end in ("prefix", "suffix") for n in (1, 2, 3, 4)]
_TESTS = [f'Ut{i}:%if[0,0,"{pattern}"]' for i, pattern in enumerate((r"\d", r"\u", "-"))]
_HISTORY = ["Ue1:%edge[-1,0]", "Be2:%edge[-2,0]", "B"]
_FIRST_ORDER = [*(f"Uw{o}:%x[{o},0]" for o in range(-2, 3)), *_AFFIXES, *_TESTS, *_HISTORY]
SPELLING = "\n".join([*_FIRST_ORDER, "T"])  # Ratnaparkhi's, with spelling for all words
_MORE = [
    "U1:%x[-1,0]/%x[0,0]",
    "U2:%x[0,0]/%x[1,0]",
    "U3:%lower[0,0]",
    "U4:%shape[0,0]",
    *(f"Us{o}:%short-shape[{o},0]" for o in (-1, 0, 1)),
    *(f"Un{o}{n}:%suffix[{o},0,{n}]" for o in (-1, 1) for n in (2, 3)),
]
CONTEXT = "\n".join([*_FIRST_ORDER, *_MORE])  # shapes, endings of the neighbors, word pairs; without tag trigrams


# ---------------------------------------------------------------------- data and models


class Data(NamedTuple):
    words: list[list[str]]  # of the training sentences
    tags: Tags
    test_words: list[list[str]]
    test_tags: Tags

    def scores(self, tags: Tags) -> tuple[float, float]:
        """Accuracy on all words and on those that training did not see, in %."""
        seen = {word for sentence in self.words for word in sentence}
        right: dict[bool, list[bool]] = {True: [], False: []}
        for words, gold, found in zip(self.test_words, self.test_tags, tags, strict=True):
            for word, tag, ours in zip(words, gold, found, strict=True):
                right[word in seen].append(tag == ours)
        every = right[True] + right[False]
        return 100 * sum(every) / len(every), 100 * sum(right[False]) / max(1, len(right[False]))

    @property
    def unknown(self) -> float:
        """Unknown words of the test sentences, in %."""
        seen = {word for sentence in self.words for word in sentence}
        words = [word for sentence in self.test_words for word in sentence]
        return 100 * sum(word not in seen for word in words) / len(words)


def load(training: int = TRAINING, test: int | None = None) -> Data:
    sentences = datasets.load("treebank").sentences()
    words, tags = ([[token[c] for token in sentence] for sentence in sentences] for c in (0, 1))
    held = slice(TRAINING, None if test is None else TRAINING + test)
    return Data(words[:training], tags[:training], words[held], tags[held])


def most_frequent(data: Data) -> Tags:
    """Every word's most frequent tag; of unknown words the most frequent tag of words seen once."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for words, tags in zip(data.words, data.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += 1
    once = Counter(tag for found in counts.values() if found.total() == 1 for tag in found)
    unknown = once.most_common(1)[0][0] if once else data.tags[0][0]
    best = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    return [[best.get(word, unknown) for word in sentence] for sentence in data.test_words]


def tagged(tagger: Tagger, data: Data, threads: int | None, decoding: Mapping[str, Any]) -> Tags:
    return decoded(tagger.model_, from_sentences(data.test_words), threads, decoding)


@dataclass(frozen=True)
class Setup:
    name: str
    options: Mapping[str, Any]
    decodings: Mapping[str, Mapping[str, Any]]  # what to call one, and what a Decoder is told
    criterion: str = "memm"
    published: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of decodings

    def fitted(self, data: Data, threads: int | None) -> Tagger:
        options = {"max_iter": MAX_ITER, "dictionary": 1} | dict(self.options)
        return fit_quietly(Tagger(self.criterion, threads=threads, **options), data.words, data.tags)


_BEAM_AND_DICTIONARY = {"beam 5, dictionary": {"beam": BEAM}}
_BEAM = {"beam 5": {"beam": BEAM, "dictionary": False}}
SETUPS = (
    Setup(
        "Ratnaparkhi's set, σ² = 1",
        {"template": RATNAPARKHI},
        {
            **_BEAM_AND_DICTIONARY,
            "exact, dictionary": {},
            "greedy, dictionary": {"beam": 1},
            **_BEAM,
        },
        published={"beam 5, dictionary": PUBLISHED},
    ),
    Setup("cut-off 5, no prior", {"template": RATNAPARKHI, "cutoff": 5, "l2": 0.0}, _BEAM_AND_DICTIONARY),
    Setup("cut-off 5, σ² = 1", {"template": RATNAPARKHI, "cutoff": 5}, _BEAM_AND_DICTIONARY),
    Setup("spelling of all words", {"template": SPELLING}, {**_BEAM_AND_DICTIONARY, **_BEAM}),
    Setup("spelling of all words, all pairs", {"template": SPELLING, "all_features": True}, _BEAM),
    Setup("spelling and context, all pairs", {"template": f"{CONTEXT}\nT", "all_features": True}, _BEAM),
    Setup("spelling and context, CRF", {"template": CONTEXT}, {"exact": {"dictionary": False}}, "crf"),
)
NLTK = "NLTK's perceptron"
FIRST, BEST = "Ratnaparkhi's set, σ² = 1, beam 5, dictionary", "spelling and context, all pairs, beam 5"


def nltk_perceptron(data: Data) -> Tags | None:
    """What NLTK's averaged perceptron says, trained on the same sentences; None where NLTK is not installed."""
    try:
        from nltk.tag.perceptron import PerceptronTagger
    except ImportError:
        return None
    random.seed(0)  # it shuffles with the module's own generator
    peer = PerceptronTagger(load=False)
    sentences = [list(zip(words, tags, strict=True)) for words, tags in zip(data.words, data.tags, strict=True)]
    peer.train(sentences, nr_iter=NLTK_EPOCHS)
    return [[tag for _, tag in peer.tag(words)] for words in data.test_words]


# ---------------------------------------------------------------------- the table


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    return make_table(load(500, 100) if quick else load(), SETUPS, progress, threads)


def make_table(data: Data, setups: Sequence[Setup], progress: Progress, threads: int | None) -> Table:
    rows = _rows("most frequent tag", None, data.scores(most_frequent(data)))
    outputs = {}
    for setup in setups:
        start = time.perf_counter()
        tagger = setup.fitted(data, threads)
        seconds = time.perf_counter() - start
        note = f"{tagger.model_.record['n_features']:,} features, trained in {seconds:.0f} s"
        for way, decoding in setup.decodings.items():
            name = f"{setup.name}, {way}"
            outputs[name] = tagged(tagger, data, threads, decoding)
            rows += _rows(name, setup.published.get(way), data.scores(outputs[name]), note)
            progress(f"{name}: {note}, accuracy {rows[-2].ours:.2f}, of unknown words {rows[-1].ours:.2f}")
    peer = nltk_perceptron(data)
    if peer is not None:
        outputs[NLTK] = peer
        rows += _rows(NLTK, None, data.scores(peer), f"{NLTK_EPOCHS} epochs")
        progress(f"{NLTK}: accuracy {rows[-2].ours:.2f}, of unknown words {rows[-1].ours:.2f}")
    numbers = {"training": len(data.words), "test": len(data.test_words), "unknown": data.unknown, "max_iter": MAX_ITER}
    remarks = [remark.format(**numbers) for remark in REMARKS]
    for other in (NLTK, FIRST):
        if {other, BEST} <= outputs.keys():
            remarks.insert(0, _verdict(data, outputs[BEST], outputs[other], other))
    title = "Parts of speech: Ratnaparkhi's features, dictionary, beam, prior and cut-off"
    return Table("pos-ratnaparkhi", title, rows, remarks)


def _rows(name: str, published: tuple | None, ours: Sequence[float | None], note: str = "") -> list[Row]:
    metrics = ("accuracy", "unknown words")
    return [
        Row(name, metric, theirs, found, note)
        for metric, theirs, found in zip(metrics, published or (None, None), ours, strict=True)
    ]


def _verdict(data: Data, best: Tags, rival: Tags, name: str) -> str:
    result = compare(data.test_tags, best, rival, metric="accuracy")
    return (
        f"“{BEST}” against “{name}”: {100 * result.difference:+.2f} points, 95 % interval "
        f"{100 * result.interval[0]:+.2f} to {100 * result.interval[1]:+.2f}; p = {result.t_test.p:.2g} by a paired "
        f"t-test, {result.bootstrap.p:.2g} by the bootstrap."
    )
