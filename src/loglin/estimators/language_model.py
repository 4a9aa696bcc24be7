"""The next word: ``LanguageModel``, log-linear or counted, as an estimator."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from loglin.corpus.plaintext import ATTRIBUTES, Text, from_lines, tokens_of
from loglin.criteria.criterion import Criterion
from loglin.errors import LoglinError
from loglin.estimators.framed import lines_of
from loglin.estimators.given import again
from loglin.estimators.parameters import Estimator, WithCriterion, keeping_state, require_fitted
from loglin.estimators.sharing import shared
from loglin.features.words import END, UNKNOWN, RunningText
from loglin.generative.predictor import Predictor, Votes
from loglin.models.cache import CacheModel
from loglin.models.language import PredictorModel
from loglin.models.next_word import NextWordModel
from loglin.optimize.run import LARGEST_SEED, Run, check_whole
from loglin.problems.histories import HistoryProblem, LanguageOptions
from loglin.structures.local import checked_count
from loglin.threads import Threads, check_threads
from loglin.training.cache import require_sentences, with_cache
from loglin.training.fit import fit
from loglin.training.held_out_text import HeldOutText

Lines = Text | Iterable[str | Sequence[str]]
TOL = 1e-5
LONGEST = 1000  # words of a sampled sentence, unless told otherwise


@dataclass(frozen=True)
class TextScore:
    """How well a model predicts a text; ends of sentences are predicted too."""

    tokens: int
    sentences: int
    unknown: int  # tokens outside the vocabulary
    log_probability: float  # natural logarithm, of all tokens
    known_log_probability: float  # without the unknown ones

    @property
    def perplexity(self) -> float:
        return float(np.exp(-self.log_probability / self.tokens))

    @property
    def known_perplexity(self) -> float:
        return float(np.exp(-self.known_log_probability / max(1, self.tokens - self.unknown)))


class LanguageModel(WithCriterion, Estimator):
    """P(next word | history): log-linear, p(w | h) ∝ exp(Σ weights of the active features), or counted n-grams.

    A text is a list of lines, each a string or a list of tokens: a sentence a line, a blank line between
    documents, ``#! author=Chomsky`` at the start of one that has attributes; or what ``corpus.plaintext.read`` gives.
    Of a data frame, its column "text" or "tokens" is taken, or the only one.

    Parameters
    ----------
    criterion : "likelihood" (log-linear), "kneser-ney" or "modified-kneser-ney" (counted, interpolated n-grams).
    features : of the history, beside the weight of every word: "bigram", "trigram", "4-gram", …; "skip" (the word
        before the previous), "skip-3", "skip-1-3", …; "suffix" and "prefix" of the previous word; its "class",
        "class-pair"; "trigger" (recent words that announce others); "document" (attributes); "cache" (recent words
        come again). Counted models take n-grams and "cache".
    vocabulary : so many words are known, the most frequent ones; the others are <unk>.
    min_count : features seen less often are left out; a number for all kinds, or {kind: number}.
    variances : {kind: variance of the Gaussian prior}; "unigram" and "cache" are kinds too.
    classes : {word: class}; default the most frequent tag of each word, in a tagged text.
    window : so many known words of the document are in the cache.
    trigger_window : so many may stand between the words of a trigger pair; the cost of a pass grows with it.
    trigger_pairs : how many pairs "trigger" has, chosen by average mutual information.
    tagged : tokens of texts are word/tag; in histories they are plain words.
    max_iter, tol : end of training; ``tol`` is the relative improvement still to come. max_iter None is the
        criterion's default, 100 iterations.
    threads : default all cores; the weights are the same for any number.
    callbacks : functions called with every ``Iteration``.
    settings : of the criterion, as for ``Tagger``.
    optimizer : "auto" (L-BFGS in variables scaled by the counts of the features), "lbfgs", "gradient" or
        "conjugate-gradient" (docs/optimizers.md).
    dev : held-out text; training stops when the log-probability of its tokens no longer rises.
    warm_start : continue from the weights of the last fit.
    checkpoint, checkpoint_every : a file to write the state of training to, every so many seconds; the same ``fit``
        then goes on from it if it was killed, and removes it when it returns (docs/training.md).
    verbose : show iterations on standard error; the logger "loglin" hears of them in any case.
    """

    structure = "history"

    def __init__(
        self,
        *,
        criterion: str | Criterion = "likelihood",
        features: Sequence[str] = ("bigram", "trigram"),
        vocabulary: int = 10_000,
        min_count: int | Mapping[str, int] | None = None,
        variances: Mapping[str, float] | None = None,
        classes: Mapping[str, str] | None = None,
        window: int = LanguageOptions.window,
        trigger_window: int = LanguageOptions.trigger_window,
        trigger_pairs: int = LanguageOptions.trigger_pairs,
        tagged: bool = False,
        max_iter: int | None = None,
        tol: float = TOL,
        threads: int | None = None,
        callbacks: Sequence[Callable] | None = None,
        settings: Mapping | None = None,
        optimizer: str = "auto",
        dev: Lines | None = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: bool = False,
    ):
        self.criterion = criterion
        self.features = features
        self.vocabulary = vocabulary
        self.min_count = min_count
        self.variances = variances
        self.classes = classes
        self.window = window
        self.trigger_window = trigger_window
        self.trigger_pairs = trigger_pairs
        self.tagged = tagged
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads
        self.callbacks = callbacks
        self.settings = settings
        self.optimizer = optimizer
        self.dev = dev
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    # ------------------------------------------------------------------ training

    def check(self) -> None:
        """Refuse wrong parameters before any text is read."""
        self._checked_parameters()

    def _checked_parameters(self) -> tuple[Criterion, LanguageOptions, Run]:
        chosen = self.chosen_criterion()
        options = LanguageOptions(
            self.features, self.vocabulary, self.min_count, self.variances, self.window, self.trigger_window,
            self.trigger_pairs,
        )  # fmt: skip
        check_threads(self.threads)
        if chosen.counts and self.dev is not None:
            raise LoglinError(f"criterion {chosen.name} counts, and has no iterations to choose from; leave out dev")
        return chosen, options, self.new_run(chosen, 0.0, self.max_iter, tol=self.tol, dtype="float64")

    @keeping_state
    def fit(
        self,
        text: Lines,
        y: object = None,
        start: Predictor | None = None,
        *,
        work_dir: str | os.PathLike | None = None,
        memory: int | str | None = None,
        client: Any = None,
    ) -> LanguageModel:
        """Learn from a text; ``start`` is a log-linear language model whose weights training begins with.

        With ``work_dir``, ``memory`` ("2GB") or the Dask ``client`` every pass goes over parts that stand in that
        folder on disk, in this process or with the workers (docs/scale.md).
        """
        began = time.perf_counter()
        chosen, options, run = self._checked_parameters()
        problem = HistoryProblem.of(self._text(text), options, classes=self.classes, threads=Threads(self.threads))
        require_sentences(problem)
        held_out = None if self.dev is None else HeldOutText(self._text(again(self.dev, "dev")), problem.words)
        start = getattr(start, "model_", start)
        if start is None and self.warm_start:
            start = getattr(self, "model_", None)
        with shared(problem, chosen, self.optimizer, work_dir, memory, client) as problem, run.reporter.listening():
            model = fit(problem, chosen, run, start, held_out)
            if options.cached:
                model = with_cache(model, problem, chosen, run, held_out)
            model.record |= {"train_seconds": time.perf_counter() - began, "options": self.saved_parameters(chosen)}
            self._adopt(model)
        return self

    def _adopt(self, model: PredictorModel) -> LanguageModel:
        self.model_, self.record_ = model.predictor, model.record
        self.vocabulary_ = self.model_.words.strings[: self.model_.words.n_predicted]
        self.n_iter_ = model.record.get("iterations", 0)
        return self

    def _text(self, text: Lines) -> Text:
        return text if isinstance(text, Text) else from_lines(lines_of(text), self.tagged)

    # ------------------------------------------------------------------ probabilities

    def _log_probabilities(self, text: Text) -> tuple[RunningText, np.ndarray]:
        """log p of every token of a text, the ends of sentences included."""
        require_fitted(self)
        running = self.model_.words.encode(text)
        log_p = self.model_.log_probabilities(running, np.arange(len(running) + 1), running.words)
        return running, _checked(log_p)

    def evaluate(self, text: Lines) -> TextScore:
        """Perplexity, with and without unknown words, and what it is computed from."""
        given = self._text(text)
        if given.corpus.n_tokens == 0:
            raise LoglinError(f"{given.corpus.source} holds no words; give a text with at least one sentence")
        running, log_p = self._log_probabilities(given)
        unknown = running.words == self.model_.words.unknown
        total, known = float(log_p.sum()), float(log_p[~unknown].sum())
        return TextScore(len(running), given.corpus.n_sentences, int(unknown.sum()), total, known)

    def perplexity(self, text: Lines) -> float:
        """exp(−mean log p) over all tokens, ends of sentences and unknown words included."""
        return self.evaluate(text).perplexity

    def scores(self, text: Lines) -> np.ndarray:
        """The natural logarithm of every sentence's probability, given what its document said before: (sentences,)."""
        running, log_p = self._log_probabilities(self._text(text))
        starts = np.flatnonzero(running.place == 0)
        return np.add.reduceat(log_p, starts) if len(starts) else np.empty(0)

    def score(self, sentence: str | Sequence[str]) -> float:
        """The natural logarithm of one sentence's probability, its end included."""
        found = self.scores([sentence])
        if len(found) != 1:
            raise LoglinError(f"{sentence!r} has no words; give one sentence, a string or a list of tokens")
        return float(found[0])

    # ------------------------------------------------------------------ the next word

    def _open(self, earlier: list[str], sentence: list[str]) -> tuple[RunningText, int]:
        """A document whose last sentence goes on, and the token to predict."""
        require_fitted(self)
        running = self.model_.words.encode(from_lines([*earlier, [*sentence, UNKNOWN]], source="history"))
        return running, len(running) - 2  # the last but the end: what we added

    def _distribution(self, earlier: list[str], sentence: list[str]) -> np.ndarray:
        """log p of every word of the vocabulary, <unk> and the end of the sentence: (predicted words,)."""
        running, token = self._open(earlier, sentence)
        n = self.model_.words.n_predicted
        ptr = np.zeros(len(running) + 1, np.int64)
        ptr[token + 1 :] = n
        log_p = _checked(self.model_.log_probabilities(running, ptr, np.arange(n, dtype=np.int32)))
        total = float(np.exp(log_p).sum())
        if not abs(total - 1) < 1e-6:
            raise LoglinError(f"the probabilities of all words sum to {total:g}, so the model is none; train it again")
        return log_p

    def next(self, history: str | Sequence[str] = "", k: int = 10) -> list[tuple[str, float]]:
        """The k likeliest next words with their probabilities, the likeliest first.

        ``history`` is the sentence so far, as a string or a list of tokens; in a string, earlier lines are earlier
        sentences of the document and ``#!`` its attributes.
        """
        check_whole("k", k, 0)
        log_p = self._distribution(*_begun(history))
        best = np.argsort(-log_p, kind="stable")[:k]
        return [(self.vocabulary_[w], float(np.exp(log_p[w]))) for w in best.tolist()]

    def probability(self, history: str | Sequence[str], word: str) -> float:
        """p(word | history)."""
        return float(np.exp(self._distribution(*_begun(history))[self._code(word)]))

    @property
    def _whole_model(self) -> PredictorModel:
        return PredictorModel(self.model_, self.record_)

    def explain(self, history: str | Sequence[str], word: str) -> Votes:
        """The votes of every active feature for a word, and the normalizer; they add up to its log p."""
        running, token = self._open(*_begun(history))
        return Votes(self.model_.votes(running, token, self._code(word)), word)

    def knows(self, word: str) -> bool:
        """Whether a word has a probability of its own; all others share that of <unk>."""
        require_fitted(self)
        return word in (UNKNOWN, END) or self.model_.words.names.code(word) >= 0

    def _code(self, word: str) -> int:
        if not isinstance(word, str) or word.split() != [word]:
            raise LoglinError(f"{word!r:.60} is no word; give one word, a string without blanks")
        words = self.model_.words
        if word in (UNKNOWN, END):
            return words.unknown if word == UNKNOWN else words.end
        code = words.names.code(word)
        return code if code >= 0 else words.unknown

    def sample(
        self,
        n: int = 1,
        *,
        history: str | Sequence[str] = "",
        seed: int | None = None,
        temperature: float = 1.0,
        unknown: bool = False,
        max_length: int = LONGEST,
    ) -> list[list[str]]:
        """``n`` sentences, each drawn word by word after ``history``, with its words in front.

        Probabilities are raised to the power 1 / temperature; <unk> is drawn only if ``unknown``. With a seed the
        sentences are the same every time.
        """
        if not np.isfinite(temperature) or temperature <= 0:
            raise LoglinError(f"temperature is {temperature!r}; give a number above 0")
        n = checked_count(n, "sentences")
        if seed is not None:
            check_whole("seed", seed, 0, LARGEST_SEED)
        rng = np.random.default_rng(seed)
        earlier, begun = _begun(history)
        sentences = []
        for _ in range(n):
            sentence = list(begun)
            while len(sentence) < max_length:
                log_p = self._distribution(earlier, sentence)
                if not unknown:
                    log_p[self.model_.words.unknown] = -np.inf
                with np.errstate(over="ignore"):  # a tiny temperature leaves the likeliest word alone
                    sums = np.cumsum(np.exp((log_p - log_p.max()) / temperature))
                word = self.vocabulary_[int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))]
                if word == END:
                    break
                sentence.append(word)
            sentences.append(sentence)
        return sentences

    def without_cache(self) -> LanguageModel:
        """This model as it is below its cache, if it has one."""
        require_fitted(self)
        if not isinstance(self.model_, CacheModel):
            return self
        options, base = LanguageOptions(self.features), self.model_.base
        given = self.get_params(deep=False) | {"features": tuple(options.kinds)}
        return LanguageModel(**given)._adopt(PredictorModel(base, self.record_ | {"n_features": base.n_features}))

    # ------------------------------------------------------------------ files

    def saved_parameters(self, chosen: Criterion) -> dict[str, Any]:
        """The parameters as a model file keeps them; classes are kept with the features that look at them."""
        given = {"features": list(self.features), "classes": self.classes is not None}
        return super().saved_parameters(chosen) | given

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to one file."""
        require_fitted(self)
        self._whole_model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike) -> LanguageModel:
        """A language model from a file."""
        model = PredictorModel.load(path)
        return cls.from_model(model)

    @classmethod
    def from_model(cls, model: PredictorModel) -> Self:
        """The estimator of a trained model, with the parameters that its record keeps."""
        options = model.record.get("options")
        kept = options if isinstance(options, dict) else {}
        more: dict[str, Any] = {"classes": _classes(model.predictor) if kept.get("classes") else None}
        if "features" in kept:
            more["features"] = tuple(kept["features"])
        self = cls.restored(model.record, **more)
        self._adopt(model)
        return self


def _classes(model: Predictor) -> dict[str, str] | None:
    """The classes of words that a model looks at."""
    model = model.base if isinstance(model, CacheModel) else model
    if not isinstance(model, NextWordModel):
        return None
    found = model.extractor.classes
    return dict(zip(found.words.strings, (found.names[code] for code in found.codes.tolist()), strict=True)) or None


def _begun(history: str | Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines before the sentence that goes on, and its words so far."""
    if not isinstance(history, str):
        return [], list(history)
    *earlier, last = history.split("\n")
    words, plain = tokens_of(last, "history")
    return ([*earlier, last], []) if words[:1] == [ATTRIBUTES] and not plain else (earlier, words)


def _checked(log_p: np.ndarray) -> np.ndarray:
    if np.isnan(log_p).any():
        raise LoglinError("the model's scores overflow, so there are no probabilities; train it with smaller variances")
    return log_p
