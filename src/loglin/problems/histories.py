"""The training problem of language models: a text, its vocabulary, the features of its histories, penalties.

text, vocabulary, options ──► features of histories, their counts, penalties ──► a model of the next word
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from loglin.corpus.plaintext import Text
from loglin.errors import LoglinError
from loglin.features.histories import NO_CLASSES, Classes, HistoryExtractor, checked_kinds, distances_of, order_of
from loglin.features.history_transfer import transferred_history_weights
from loglin.features.triggers import Triggers
from loglin.features.words import RunningText, Words
from loglin.models.cache import CacheModel
from loglin.models.language import PredictorModel
from loglin.models.next_word import NextWordModel
from loglin.optimize.penalties import Penalties
from loglin.optimize.run import check_whole
from loglin.problems.request import Annotation
from loglin.threads import Threads

if TYPE_CHECKING:
    from loglin.kernels.history import Tree
    from loglin.optimize.objective import Objective
    from loglin.optimize.run import Make
    from loglin.problems.parts import Part, Parts

CACHE = "cache"
# by kind: variance of the Gaussian prior, and the fewest occurrences of a feature; n-grams, skips, suffixes and classes
# were compared on held-out Brown text, prefixes, triggers, documents and the cache were not tuned
VARIANCES = {
    "unigram": 10.0, "bigram": 3.3, "n-gram": 1.0, "skip": 1.0, "suffix": 1.0, "prefix": 1.0, "class": 3.3,
    "class-pair": 1.0, "trigger": 1.0, "document": 1.0, "cache": 1.0,
}  # fmt: skip
MIN_COUNTS = {
    "bigram": 1, "trigram": 1, "n-gram": 2, "skip": 2, "suffix": 3, "prefix": 3, "class": 2, "class-pair": 2,
    "trigger": 5, "document": 5,
}  # fmt: skip


@dataclass(frozen=True)
class LanguageOptions:
    """What a language model looks at; see ``LanguageModel``."""

    features: Sequence[str] = ("bigram", "trigram")
    vocabulary: int = 10_000
    min_count: int | Mapping[str, int] | None = None
    variances: Mapping[str, float] | None = None
    window: int = 400
    trigger_window: int = 200
    trigger_pairs: int = 10_000

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            raise LoglinError(f"features is the string {self.features!r}; give a list of names")
        if not isinstance(self.features, Sequence):
            raise LoglinError(f"features is {self.features!r:.60}; give a list of names")
        for name in ("vocabulary", "window", "trigger_window", "trigger_pairs"):
            check_whole(name, getattr(self, name), 1)
        kinds = checked_kinds(self.kinds, 3)
        counts = self.min_count if isinstance(self.min_count, Mapping) else {}
        if not isinstance(self.min_count, Mapping) and self.min_count is not None:
            check_whole("min_count", self.min_count, 1)
        for kind, count in counts.items():
            check_whole(f"min_count of {kind}", count, 1)
        if self.variances is not None and not isinstance(self.variances, Mapping):
            raise LoglinError(f"variances is {self.variances!r:.60}; give a dict of numbers by feature")
        for kind, variance in (self.variances or {}).items():
            if not isinstance(variance, int | float) or not math.isfinite(variance) or variance <= 0:
                raise LoglinError(f"the variance of {kind} is {variance!r}; give a number above 0")
        for kind in {*counts, *(self.variances or {})} - {*kinds, "unigram", *({CACHE} & {*self.features})}:
            raise LoglinError(f"{kind!r} has a setting but is none of the features; add it, or leave the setting out")

    @property
    def kinds(self) -> list[str]:
        """The features of histories: all but the cache."""
        return [kind for kind in self.features if kind != CACHE]

    @property
    def cached(self) -> bool:
        """Whether the model has a cache."""
        return CACHE in self.features

    @property
    def order(self) -> int:
        """Of the longest n-gram."""
        return max((order_of(kind) or 1 for kind in self.features), default=1)

    def variance(self, kind: str) -> float:
        return float((self.variances or {}).get(kind, VARIANCES[_family(kind, VARIANCES)]))

    def count(self, kind: str) -> int:
        usual = MIN_COUNTS[_family(kind, MIN_COUNTS)]
        if isinstance(self.min_count, Mapping):
            return int(self.min_count.get(kind, usual))
        return usual if self.min_count is None else int(self.min_count)


def _family(kind: str, known: Mapping[str, Any]) -> str:
    """The name under which the usual settings of a kind are listed."""
    if kind in known:
        return kind
    return "n-gram" if order_of(kind) else "skip" if distances_of(kind) else kind


@dataclass(eq=False)
class Histories:
    """Histories whose next words are predicted, and the features that these have."""

    tree: Tree
    ptr: np.ndarray  # (attributes + 1,) int64: the words of each attribute
    targets: np.ndarray  # (features,) int32: these words
    observed: np.ndarray  # (weights,) float64: counts of single words, then of features
    threads: Threads


@dataclass(eq=False)
class HistoryProblem:
    """A text whose words are to be predicted; features are chosen when they are first asked for."""

    text: Text
    words: Words
    options: LanguageOptions = field(default_factory=LanguageOptions)
    classes: Mapping[str, str] | None = None  # of words; None: their tags
    threads: Threads = field(default_factory=lambda: Threads(1))
    parts: Parts | None = None  # where the objective is made of parts of the histories; see problems/parts.py
    structure: ClassVar[str] = "history"
    annotation: ClassVar[Annotation] = Annotation.CERTAIN

    @classmethod
    def of(cls, text: Text, options: LanguageOptions, **more: Any) -> HistoryProblem:
        """The problem with the vocabulary of the text's own most frequent words."""
        return cls(text, Words.most_frequent(text, options.vocabulary), options, **more)

    def require_labels(self, criterion: str) -> None:
        """A text is its own annotation, so that nothing is refused."""
        return None

    # ------------------------------------------------------------------ features

    @cached_property
    def running(self) -> RunningText:
        return self.words.encode(self.text)

    @cached_property
    def _chosen(self) -> tuple[HistoryExtractor, np.ndarray]:
        extractor = self._new_extractor()
        return extractor, extractor.fit(self.running, {kind: self.options.count(kind) for kind in extractor.kinds})

    @property
    def extractor(self) -> HistoryExtractor:
        return self._chosen[0]

    @property
    def observed(self) -> np.ndarray:
        """Counts of the features, those of the single words first: (features,) float64."""
        return self._chosen[1]

    @property
    def n_features(self) -> int:
        return len(self.observed)

    @property
    def histories(self) -> Histories:
        """All histories of the text."""
        extractor = self.extractor
        tree, _ = extractor.tree(self.running)
        return Histories(tree, extractor.ptr, extractor.targets, self.observed, self.threads)

    def objective(self, make: Callable[[Histories, type], Objective]) -> Make:
        """What is minimized; ``make`` makes it of histories. Of parts it is the sum."""
        return partial(make, self.histories) if self.parts is None else partial(self.parts.sum, make)

    def pieces(self, tokens: int) -> Iterator[Part]:
        """The histories cut into parts of about so many."""
        from loglin.problems.parts import pieces_of_histories

        return pieces_of_histories(self.histories, tokens)

    def _new_extractor(self) -> HistoryExtractor:
        words, options = self.words, self.options
        kinds, found, triggers = checked_kinds(options.kinds, words.n_symbols), NO_CLASSES, None
        if {"class", "class-pair"} & set(kinds):
            if self.classes is None and len(self.text.corpus.columns) < 2:
                raise LoglinError(
                    "classes of words are neither given nor read from tags; "
                    "give classes (--classes FILE), or tagged text (--tagged)"
                )
            found = Classes.of_tags(self.text) if self.classes is None else Classes.of(self.classes)
        if "trigger" in kinds:
            limits = options.trigger_window, options.trigger_pairs, options.count("trigger")
            triggers = Triggers.choose(self.running, len(words.names), *limits)
        return HistoryExtractor(words, kinds, found, triggers)

    @property
    def penalties(self) -> Penalties:
        l2 = inverse_variances(self.extractor, self.options)
        return Penalties(np.zeros(len(l2)), l2)

    def feature_name(self, feature: int) -> str:
        """A word, or the value of a history with the word behind it, as people know them."""
        extractor, word = self.extractor, feature - self.words.n_predicted
        if word < 0:
            return self.words.strings[feature]
        attribute = int(np.searchsorted(extractor.ptr, word, side="right")) - 1
        return f"{extractor.name(attribute)} for {self.words.strings[extractor.targets[word]]}"

    # ------------------------------------------------------------------ starts

    def word_shares(self) -> np.ndarray:
        """Weights that say nothing but how frequent the words are."""
        n, weights = self.words.n_predicted, np.zeros(len(self.observed))
        weights[:n] = np.log(self.observed[:n] + 0.5) - np.log((self.observed[:n] + 0.5).sum())
        return weights

    def transferred(self, old: Any) -> np.ndarray:
        """The weights of another language model; new words begin with their frequency, other new features at zero."""
        old = getattr(old, "predictor", old)
        old = old.base if isinstance(old, CacheModel) else old
        if not isinstance(old, NextWordModel):
            raise LoglinError(
                "the model to start from has no weights of histories: counted n-grams have none, and only language "
                "models have some; choose another"
            )
        return transferred_history_weights(old.extractor, old.weights, self.extractor, self.word_shares())

    # ------------------------------------------------------------------ models

    def stored(self, dtype: str) -> type:
        """The precision of stored weights: double."""
        return np.float64

    def model(self, weights: np.ndarray) -> PredictorModel:
        """The log-linear model with these weights."""
        return PredictorModel(NextWordModel(self.extractor, weights))

    def about(self, model: PredictorModel) -> dict[str, Any]:
        """What a model's record says of the data."""
        return {
            "n_features": model.predictor.n_features,
            "vocabulary": len(self.words.names),
            "documents": self.text.n_documents,
            "sentences": self.text.corpus.n_sentences,
            "tokens": len(self.running),
        } | ({} if self.parts is None else self.parts.about())


def inverse_variances(extractor: HistoryExtractor, options: LanguageOptions) -> np.ndarray:
    """1 / variance of every weight: (features,)."""
    by_kind = np.array([1 / options.variance(kind) for kind in extractor.kinds])
    unigrams = np.full(extractor.words.n_predicted, 1 / options.variance("unigram"))
    return np.concatenate([unigrams, np.repeat(by_kind[extractor.kind_of()], np.diff(extractor.ptr))])
