"""Whether two taggers or parsers differ by more than chance, from their output for the same sentences.

gold, first, second ──► codes (N,) and offsets (S + 1,) ──► wrong labels, phrase counts per sentence ──► tests

Sentences are the independent units. Whatever is first minus second is positive where the first is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from loglin.corpus import schemes
from loglin.corpus.shown import Shown
from loglin.errors import LoglinError
from loglin.evaluation.sequences import Codes, coded_sentences, sentence_counts

Labels = Sequence[Sequence[Any]]  # for every sentence the label of every token

LEVEL = 0.05  # the p-value below which a test is said to see a difference
METRICS = ("f1", "accuracy")
UNITS = ("sentence", "token")
_DRAWS_AT_ONCE = 1 << 21  # bounds the memory of the bootstrap


@dataclass(frozen=True)
class McNemar:
    """McNemar's test on the units that exactly one of the two got right."""

    unit: str  # "sentence" (every label of it right) or "token"
    only_first: int  # b, right in the first output alone
    only_second: int  # c, right in the second output alone
    p: float  # exact: two-sided binomial
    chi2: float  # with continuity correction, one degree of freedom
    chi2_p: float

    @property
    def direction(self) -> int:
        return _sign(self.only_first - self.only_second)


@dataclass(frozen=True)
class PairedT:
    """Paired t-test on the number of wrong labels, or brackets, per sentence."""

    mean: float  # mean number of wrong ones per sentence that the first output avoids
    t: float | None  # None where the differences do not vary, so that t would be 0/0 or infinite
    freedom: int
    p: float

    @property
    def direction(self) -> int:
        return _sign(self.mean)


@dataclass(frozen=True)
class Bootstrap:
    """Scores of the corpus with its sentences drawn anew, with replacement."""

    metric: str
    difference: float  # observed, first minus second, as a fraction
    low: float  # 95 % of the resampled differences lie between low and high
    high: float
    resamples: int
    seed: int
    p: float

    @property
    def direction(self) -> int:
        return _sign(self.difference)


@dataclass(frozen=True)
class Comparison(Shown):
    """Two outputs for the same sentences: their scores, and three tests of the difference."""

    names: tuple[str, str]
    metric: str  # "f1" or "accuracy"
    unit: str  # what f1 counts: "phrase", "token" or "bracket"
    sentences: int
    tokens: int
    first: float  # score, as a fraction
    second: float
    difference: float
    interval: tuple[float, float]  # 95 %, of the bootstrap
    mcnemar: McNemar
    t_test: PairedT
    bootstrap: Bootstrap

    def as_dict(self) -> dict[str, Any]:
        """Every field and the verdict, as numbers and strings that `json` can write."""
        return asdict(self) | {"verdict": self.verdict()}

    def verdict(self) -> str:
        """One sentence on what the tests say together, at the 5 % level."""
        tests: dict[str, McNemar | PairedT | Bootstrap]
        tests = {"McNemar's test": self.mcnemar, "the t-test": self.t_test, "the bootstrap": self.bootstrap}
        seen = {name: test.direction for name, test in tests.items() if test.p < LEVEL}
        if not seen:
            return "The difference may be chance: no test finds it significant at the 5 % level."
        if len(set(seen.values())) > 1:
            sides = "; ".join(f"{name} for {self.names[0 if side > 0 else 1]}" for name, side in seen.items())
            return f"The tests point in different directions at the 5 % level: {sides}."
        better = self.names[0 if next(iter(seen.values())) > 0 else 1]
        if len(seen) == len(tests):
            return f"{better} is better, and hardly by chance: all three tests find it significant at the 5 % level."
        rest = " and ".join(name for name in tests if name not in seen)
        return f"{better} is probably better: {' and '.join(seen)} at the 5 % level, but not {rest}."

    def report(self) -> str:
        """The scores, the difference with its interval, the three tests and the verdict."""
        name = f"F1 of {self.unit}s" if self.metric == "f1" else "accuracy of tokens"
        mistakes = "brackets" if self.unit == "bracket" else "labels"
        width = max(map(len, (*self.names, "difference")))
        m, t, b = self.mcnemar, self.t_test, self.bootstrap
        lines = [
            f"{self.sentences:,} sentences, {self.tokens:,} tokens; {name}, in %",
            f"{self.names[0]:<{width}}  {100 * self.first:6.2f}",
            f"{self.names[1]:<{width}}  {100 * self.second:6.2f}",
            f"{'difference':<{width}}  {100 * self.difference:+6.2f}  95 % interval "
            f"{100 * self.interval[0]:+.2f} to {100 * self.interval[1]:+.2f}",
            f"McNemar, {m.unit}s:  p = {_shown(m.p)}  (only the first right {m.only_first:,}, only the second "
            f"{m.only_second:,}; chi-square {m.chi2:.2f}, p = {_shown(m.chi2_p)})",
            f"paired t-test:       p = {_shown(t.p)}  (wrong {mistakes} a sentence fewer in the first "
            f"{t.mean:+.4f}; t = {'none, no variation' if t.t is None else f'{t.t:.2f}'}, {t.freedom:,} degrees of "
            "freedom)",
            f"paired bootstrap:    p = {_shown(b.p)}  ({b.resamples:,} resamples of the sentences, seed {b.seed})",
            self.verdict(),
        ]
        return "\n".join(lines)


def compare(
    gold: Labels,
    first: Labels,
    second: Labels,
    *,
    metric: str = "f1",
    unit: str = "sentence",
    resamples: int = 10_000,
    seed: int = 0,
    names: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """All three tests on two outputs for the sentences of `gold`; scores are those of `loglin eval`."""
    pair = _align(gold, first, second)
    scored = "phrase" if metric == "f1" and schemes.detect(pair.names) is not None else "token"
    return tests_of(
        pair.ratio_parts(metric),
        pair.right(unit),
        pair.wrong(),
        names=names,
        metric=metric,
        scored=scored,
        unit=unit,
        tokens=len(pair.gold),
        resamples=resamples,
        seed=seed,
    )


def tests_of(
    parts: np.ndarray,
    right: Sequence[np.ndarray],
    wrong: Sequence[np.ndarray],
    *,
    names: tuple[str, str],
    metric: str,
    scored: str,
    unit: str,
    tokens: int,
    resamples: int,
    seed: int,
) -> Comparison:
    """The three tests on what two outputs have in every sentence.

    ``parts`` (S, 2 outputs, 2) are numerators and denominators of the score, ``right`` which units each output has
    right, ``wrong`` (S,) how many mistakes each makes.
    """
    drawn = _bootstrap(parts, metric, resamples, seed)
    first, second = _scores(parts.sum(axis=0)[None])[0].tolist()
    return Comparison(
        names=names,
        metric=metric,
        unit=scored,
        sentences=len(parts),
        tokens=tokens,
        first=first,
        second=second,
        difference=drawn.difference,
        interval=(drawn.low, drawn.high),
        mcnemar=_mcnemar(right, unit),
        t_test=_paired_t(wrong),
        bootstrap=drawn,
    )


def mcnemar(gold: Labels, first: Labels, second: Labels, unit: str = "sentence") -> McNemar:
    """McNemar's test on sentences (right when all of their labels are) or tokens.

    With b units right in the first output alone and c in the second alone, under no difference
    b ~ Binomial(b + c, ½): exact p = min(1, 2 · P(X ≤ min(b, c))), and (|b − c| − 1)² / (b + c) is about χ²₁.
    Tokens of a sentence are not independent, so unit "token" gives p-values that are too small.
    """
    return _mcnemar(_align(gold, first, second).right(unit), unit)


def paired_t(gold: Labels, first: Labels, second: Labels) -> PairedT:
    """Paired t-test on dₛ, the wrong labels of sentence s in the second output minus those in the first.

    t = mean(d) · √S / sd(d), with S − 1 degrees of freedom. Where all dₛ are equal there is no sd: p is 1 if
    they are all zero or there is a single sentence, and 0, the limit, otherwise.
    """
    return _paired_t(_align(gold, first, second).wrong())


def paired_bootstrap(
    gold: Labels, first: Labels, second: Labels, *, metric: str = "f1", resamples: int = 10_000, seed: int = 0
) -> Bootstrap:
    """Draw S of the S sentences with replacement, R times; d* is the difference of the scores of one drawing.

    p = min(1, 2 · (1 + #{d* on the other side of zero than d, or on it}) / (1 + R)); the added ones count
    the corpus itself as a drawing, so that p is never 0 (Davison and Hinkley 1997, section 4.2).
    """
    return _bootstrap(_align(gold, first, second).ratio_parts(metric), metric, resamples, seed)


def score_interval(parts: np.ndarray, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of a score with the sentences drawn anew; ``parts`` (S, 2) are numerators and denominators."""
    low, high = np.quantile(_scores(_resampled(parts[:, None], resamples, seed))[:, 0], [0.025, 0.975]).tolist()
    return low, high


@dataclass(frozen=True)
class _Pair:
    gold: Codes  # (N,)
    guesses: list[Codes]  # of the two outputs
    names: list[str]  # of the codes
    offsets: Codes  # (S + 1,)

    def wrong(self) -> list[Codes]:
        """Wrong labels of every sentence (S,), for each output."""
        before = [np.concatenate(([0], np.cumsum(self.gold != guess))) for guess in self.guesses]
        return [np.diff(counts[self.offsets]) for counts in before]

    def right(self, unit: str) -> list[np.ndarray]:
        """Which units each output has right: sentences (S,), or tokens (N,)."""
        if unit not in UNITS:
            raise LoglinError(f"the unit of McNemar's test is {unit!r}; write {' or '.join(UNITS)}")
        if unit == "sentence":
            return [wrong == 0 for wrong in self.wrong()]
        return [self.gold == guess for guess in self.guesses]

    def ratio_parts(self, metric: str) -> np.ndarray:
        """Numerators and denominators of the score, by sentence: (S, 2 outputs, 2).

        Accuracy = Σ right labels / Σ labels, F1 = Σ 2·correct / Σ (support + found).
        """
        if metric == "accuracy":
            length = np.diff(self.offsets)
            return np.stack([np.stack([length - wrong, length], axis=1) for wrong in self.wrong()], axis=1)
        if metric != "f1":
            raise LoglinError(f"the metric is {metric!r}; write {' or '.join(METRICS)}")
        _require_one_scheme(self)
        counts = [sentence_counts(self.gold, guess, self.names, self.offsets).T for guess in self.guesses]
        return np.stack([f1_parts(*one) for one in counts], axis=1)


def f1_parts(support: Codes, found: Codes, correct: Codes) -> np.ndarray:
    """F1 = Σ 2·correct / Σ (support + found): numerators and denominators (S, 2)."""
    return np.stack([2 * correct, support + found], axis=1)


# ---------------------------------------------------------------------- the three tests


def _mcnemar(right: Sequence[np.ndarray], unit: str) -> McNemar:
    from scipy.special import bdtr

    b, c = (int(np.count_nonzero(x & ~y)) for x, y in (right, right[::-1]))
    if b + c == 0:
        return McNemar(unit, 0, 0, 1.0, 0.0, 1.0)
    chi2 = max(abs(b - c) - 1, 0) ** 2 / (b + c)
    exact = min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5)))
    return McNemar(unit, b, c, exact, chi2, math.erfc(math.sqrt(chi2 / 2)))  # P(χ²₁ > x) = erfc √(x/2)


def _paired_t(wrong: Sequence[np.ndarray]) -> PairedT:
    from scipy.special import stdtr

    saved = wrong[1] - wrong[0]  # (S,)
    size, mean = len(saved), float(saved.mean())
    if (saved == saved[0]).all():
        return PairedT(mean, None, size - 1, 0.0 if mean and size > 1 else 1.0)
    t = mean * math.sqrt(size) / float(saved.std(ddof=1))
    return PairedT(mean, t, size - 1, 2 * float(stdtr(size - 1, -abs(t))))


def _bootstrap(parts: np.ndarray, metric: str, resamples: int, seed: int) -> Bootstrap:
    observed = float(_difference(parts.sum(axis=0)[None])[0])
    drawn = _difference(_resampled(parts, resamples, seed))
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    against = np.count_nonzero(drawn <= 0 if observed > 0 else drawn >= 0) if observed else resamples
    p = min(1.0, 2 * (1 + int(against)) / (1 + resamples))
    return Bootstrap(metric, observed, low, high, resamples, seed, p)


def _resampled(parts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sums of parts (S, outputs, 2) over S of the S sentences drawn with replacement: (resamples, outputs, 2)."""
    if resamples < 1 or seed < 0:
        raise LoglinError(f"resamples is {resamples} and seed {seed}; give at least one resample and a seed from 0 on")
    size, columns = len(parts), parts.reshape(len(parts), -1).astype(np.float64)
    rng, drawn = np.random.default_rng(seed), np.empty((resamples, columns.shape[1]))
    step = max(1, _DRAWS_AT_ONCE // size)
    for begin in range(0, resamples, step):
        rows = min(step, resamples - begin)
        draws = rng.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        times = np.bincount(draws.ravel(), minlength=rows * size).reshape(rows, size)  # each sentence was drawn
        drawn[begin : begin + rows] = times.astype(np.float64) @ columns  # integers, hence exact
    return drawn.reshape(resamples, *parts.shape[1:])


def _scores(sums: np.ndarray) -> np.ndarray:
    """Numerator by denominator, (rows, outputs) of sums (rows, outputs, 2); 0 / 0 is 0."""
    return np.divide(sums[:, :, 0], sums[:, :, 1], out=np.zeros(sums.shape[:2]), where=sums[:, :, 1] > 0)


def _difference(sums: np.ndarray) -> np.ndarray:
    """First score minus second: (rows,) of sums (rows, 2, 2)."""
    first, second = _scores(sums).T
    return first - second


# ---------------------------------------------------------------------- input


def _align(gold: Labels, first: Labels, second: Labels) -> _Pair:
    """The three label sequences in common codes; an output may have labels that gold lacks, and the reverse."""
    if not len(gold):
        raise LoglinError("there are no gold sentences to compare on; give at least one")
    for name, output in (("first", first), ("second", second)):
        if len(output) != len(gold):
            raise LoglinError(f"{len(gold)} gold sentences but {len(output)} in the {name} output: give every sentence")
        for number, (right, guess) in enumerate(zip(gold, output, strict=True), start=1):
            if isinstance(guess, str) or isinstance(right, str):
                raise LoglinError(f"sentence {number} is a string, not a list of labels; split it first")
            if len(right) != len(guess):
                raise LoglinError(
                    f"sentence {number} has {len(right)} gold labels but {len(guess)} in the {name} output: "
                    "give one label per token"
                )
    names, codes, offsets = coded_sentences(
        *([[str(y) for y in sentence] for sentence in labels] for labels in (gold, first, second))
    )
    return _Pair(codes[0], codes[1:], names, offsets)


def _require_one_scheme(pair: _Pair) -> None:
    """Refuse two outputs of which one has phrases and the other tokens."""
    right = [pair.names[c] for c in np.unique(pair.gold)]
    if schemes.detect(right) is not None and schemes.detect(pair.names) is None:
        strange = next((name for name in pair.names if schemes.split(name) is None), pair.names[-1])
        raise LoglinError(
            f"the gold labels are chunks but the output label {strange!r} belongs to no chunk scheme; "
            "correct it, or compare by accuracy"
        )


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _shown(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"
