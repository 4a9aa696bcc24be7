"""Labelled brackets compared, by the conventions of evalb (Sekine and Collins 1997) or others.

gold and found tree ──► words that count ──► brackets (label, i, j) of each ──► counts per sentence ──► ParseReport

A bracket is a node above preterminals with the words that count below it; one without such words is none. Brackets
are multisets: of n equal ones in one tree and m in the other, min(n, m) are right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from loglin.corpus.shown import Shown
from loglin.corpus.trees import TRACE, Tree
from loglin.errors import LoglinError
from loglin.evaluation.sequences import ratio, scores_of
from loglin.evaluation.significance import Comparison, f1_parts, score_interval, tests_of

PUNCTUATION = (",", ":", "``", "''", ".")  # tags
LENGTHS = (10, 15, 40)  # words; sentences up to these lengths are reported separately
BAND = 10  # words
FEW = 2  # crossing brackets
_FUNCTION = re.compile(r"(?<!^)[-=]")  # where a label is cut; evalb leaves | alone, unlike `grammars.stripping`

Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class Conventions:
    """What counts as a bracket, and as the same one. The defaults are those of evalb with COLLINS.prm."""

    punctuation: tuple[str, ...] = PUNCTUATION  # tags of words that do not count
    punctuation_of: str = "each"  # tree; "gold": the words that the gold tree tags so do not count in the other either
    equal_labels: tuple[tuple[str, ...], ...] = (("ADVP", "PRT"),)  # labels, and tags, that are taken for the same
    left_out: tuple[str, ...] = ("TOP", "ROOT", "S1", "")  # labels whose brackets do not count
    function_tags: bool = False  # NP-SBJ is NP if not
    labeled: bool = True  # if not, brackets with any labels agree
    errors_count: bool = False  # a sentence that cannot be compared counts as one without any bracket; else not at all

    def __post_init__(self) -> None:
        if self.punctuation_of not in ("each", "gold"):
            raise LoglinError(f"punctuation_of is {self.punctuation_of!r}; write 'each' or 'gold'")
        for name in ("punctuation", "left_out", "equal_labels"):
            if isinstance(getattr(self, name), str):
                raise LoglinError(f"{name} is the string {getattr(self, name)!r}; give a tuple")

    def label(self, label: str) -> str:
        """The label that a node's label counts as."""
        return self.same(label if self.function_tags else _FUNCTION.split(label, maxsplit=1)[0])

    def same(self, label: str) -> str:
        """The first of the labels that are taken for the same as this one."""
        return next((group[0] for group in self.equal_labels if label in group), label)


CONVENTIONS = {
    "evalb": Conventions(),
    "plain": Conventions(punctuation_of="gold", equal_labels=(), left_out=("",), errors_count=True),
}


@dataclass(frozen=True)
class SentenceScore:
    """Two trees of one sentence: by label how many brackets each has, and how many agree."""

    number: int  # of the sentence, from 1
    length: int  # in words, punctuation among them
    gold: Counter[str]
    found: Counter[str]
    correct: Counter[str]
    crossing: int  # found brackets that cross one of the gold tree
    words: int  # that count
    tags: int  # of these that both trees tag alike
    error: str = ""  # why the trees cannot be compared
    complete: bool = True  # as the parser says

    @property
    def exact(self) -> bool:
        return not self.error and self.gold == self.found == self.correct

    @property
    def f1(self) -> float:
        """F1 of this sentence; 1 where neither tree has a bracket."""
        return ratio(2 * self.correct.total(), self.gold.total() + self.found.total()) if not self.exact else 1.0


@dataclass(frozen=True)
class ParseReport(Shown):
    """Scores as fractions between 0 and 1; a fraction of nothing is 0."""

    precision: float  # of brackets
    recall: float
    f1: float
    interval: tuple[float, float]  # 95 % of f1 when sentences are drawn anew
    sentence_f1: float  # mean over sentences
    exact: float  # share of sentences whose brackets all agree
    crossing: float  # found brackets a sentence that cross a gold one
    no_crossing: float  # share of sentences without
    few_crossing: float  # share of sentences with at most FEW
    tagging: float  # accuracy of tags, punctuation left out
    sentences: int
    compared: int  # sentences that count
    incomplete: int  # sentences of these that the parser covered in part
    errors: list[tuple[int, str]]  # number of a sentence, and why it cannot be compared
    words: int  # that count
    gold: int  # brackets
    found: int
    correct: int
    by_label: dict[str, dict[str, Any]] = field(repr=False)  # precision recall f1 support found correct
    up_to: dict[str, dict[str, Any]] = field(repr=False)  # the same of short sentences, sentences and exact
    by_length: dict[str, dict[str, Any]] = field(repr=False)  # the same in bands of BAND words
    conventions: Conventions = field(repr=False)
    scores: tuple[SentenceScore, ...] = field(repr=False)  # of the sentences that count

    def as_dict(self) -> dict[str, Any]:
        """Every field but the scores of single sentences, as `json` can write it."""
        return {name: value for name, value in asdict(replace(self, scores=())).items() if name != "scores"}

    def __str__(self) -> str:
        return self.report()

    def report(self, by_label: bool = False, by_length: bool = False) -> str:
        """The text that people read: one score per line, in percent, then what cannot be compared, then tables."""
        low, high = self.interval
        lines = [
            f"processed {self.sentences} sentences with {self.gold} brackets; found: {self.found}; correct: "
            f"{self.correct}.",
            f"precision: {_percent(self.precision)}%; recall: {_percent(self.recall)}%; F1: {_percent(self.f1)} "
            f"(95 % interval {100 * low:.2f} to {100 * high:.2f}); mean F1 of sentences: {_percent(self.sentence_f1)}",
            f"exact match: {_percent(self.exact)}%; tagging accuracy: {_percent(self.tagging)}% of {self.words} words",
            f"crossing brackets: {self.crossing:.2f} a sentence; none: {_percent(self.no_crossing)}%; at most {FEW}: "
            f"{_percent(self.few_crossing)}%",
        ]
        if self.incomplete:
            lines.append(f"incomplete parses: {self.incomplete}")
        if self.errors:
            counted = "counted as having no brackets" if self.conventions.errors_count else "left out"
            number, why = self.errors[0]
            lines.append(f"{counted}: {len(self.errors)} of the sentences; the first is sentence {number}: {why}")
        if by_length:
            lines += ["", *_table("words", self.up_to | self.by_length, {"sentences": "sentences", "exact": "exact"})]
        if by_label:
            lines += ["", *_table("label", self.by_label, {"support": "gold", "found": "found"})]
        return "\n".join(lines)


def evaluate_trees(
    gold: Sequence[Tree],
    found: Sequence[Tree | None],
    conventions: Conventions = CONVENTIONS["evalb"],
    *,
    max_length: int | None = None,
    lengths: Sequence[int] = LENGTHS,
    complete: Sequence[bool] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> ParseReport:
    """Compare trees sentence by sentence; None is a sentence without a parse, which cannot be compared.

    Only sentences of up to ``max_length`` words count; ``lengths`` are the bounds of `up_to`; ``complete`` is what the
    parser says of its trees; ``resamples`` and ``seed`` are those of the interval.
    """
    scores = score_sentences(gold, found, conventions, complete)
    scores = [s for s in scores if max_length is None or s.length <= max_length]
    counted = [s for s in scores if conventions.errors_count or not s.error]
    bands: dict[int, list[SentenceScore]] = {}
    for s in sorted(counted, key=lambda s: s.length):
        bands.setdefault((s.length - 1) // BAND, []).append(s)
    total = _row(counted)
    words = sum(s.words for s in counted)
    return ParseReport(
        precision=total["precision"],
        recall=total["recall"],
        f1=total["f1"],
        interval=score_interval(f1_parts(*_counts(counted).T), resamples, seed) if counted else (0.0, 0.0),
        sentence_f1=ratio(sum(s.f1 for s in counted), len(counted)),
        exact=total["exact"],
        crossing=total["crossing"],
        no_crossing=ratio(sum(not s.crossing and not s.error for s in counted), len(counted)),
        few_crossing=ratio(sum(s.crossing <= FEW and not s.error for s in counted), len(counted)),
        tagging=ratio(sum(s.tags for s in counted), words),
        sentences=len(scores),
        compared=len(counted),
        incomplete=sum(not s.complete for s in counted),
        errors=[(s.number, s.error) for s in scores if s.error],
        words=words,
        gold=total["support"],
        found=total["found"],
        correct=total["correct"],
        by_label=_by_label(counted) if conventions.labeled else {},
        up_to={f"≤ {n}": _row([s for s in counted if s.length <= n]) for n in lengths} | {"all": total},
        by_length={f"{BAND * b + 1}–{BAND * (b + 1)}": _row(band) for b, band in bands.items()},
        conventions=conventions,
        scores=tuple(counted),
    )


def compare_parsers(
    gold: Sequence[Tree],
    first: Sequence[Tree | None],
    second: Sequence[Tree | None],
    conventions: Conventions = CONVENTIONS["evalb"],
    *,
    max_length: int | None = None,
    names: tuple[str, str] = ("first", "second"),
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """The tests of `significance` on two parsers: F1 of brackets, exact match, wrong and missing brackets.

    A sentence that cannot be compared in one of the two outputs is left out of both, or counts as the conventions say.
    """
    sides = [score_sentences(gold, found, conventions) for found in (first, second)]
    pairs = [
        (a, b)
        for a, b in zip(*sides, strict=True)
        if (max_length is None or a.length <= max_length) and (conventions.errors_count or not (a.error or b.error))
    ]
    if not pairs:
        raise LoglinError("no sentence can be compared; give the same words to both parsers, or a larger length")
    scores = [[pair[side] for pair in pairs] for side in (0, 1)]
    counts = [_counts(one) for one in scores]  # (sentences, 3) each
    return tests_of(
        np.stack([f1_parts(*one.T) for one in counts], axis=1),
        [np.array([s.exact for s in one]) for one in scores],
        [one[:, 0] + one[:, 1] - 2 * one[:, 2] for one in counts],
        names=names,
        metric="f1",
        scored="bracket",
        unit="sentence",
        tokens=sum(s.words for s in scores[0]),
        resamples=resamples,
        seed=seed,
    )


# ---------------------------------------------------------------------- one sentence


def score_sentences(
    gold: Sequence[Tree],
    found: Sequence[Tree | None],
    conventions: Conventions = CONVENTIONS["evalb"],
    complete: Sequence[bool] | None = None,
) -> list[SentenceScore]:
    """The score of every pair of trees."""
    if len(gold) != len(found) or (complete is not None and len(complete) != len(found)):
        raise LoglinError(f"there are {len(gold)} gold trees but {len(found)} others; give one for every sentence")
    scores = [score_sentence(g, f, conventions, n) for n, (g, f) in enumerate(zip(gold, found, strict=True), start=1)]
    if complete is None:
        return scores
    return [replace(s, complete=bool(c)) for s, c in zip(scores, complete, strict=True)]


def score_sentence(gold: Tree, found: Tree | None, conventions: Conventions, number: int = 1) -> SentenceScore:
    """The score of a pair of trees; if they cannot be compared, the brackets of the gold tree are counted."""
    leaves = gold.leaves()
    length = sum(leaf.label != TRACE for leaf in leaves)
    skipped = {TRACE, *conventions.punctuation}
    counts = [leaf.label not in skipped for leaf in leaves]
    wanted = brackets(gold, counts, conventions)
    others, guess = ([], None) if found is None else (found.leaves(), found)
    if conventions.punctuation_of == "gold":
        counted = _following(leaves, counts, others)
    else:
        counted = [leaf.label not in skipped for leaf in others]
    ours = [leaf for leaf, c in zip(leaves, counts, strict=True) if c]
    theirs = [leaf for leaf, c in zip(others, counted, strict=True) if c]
    error = "there is no parse" if guess is None else _difference(ours, theirs)
    labels = Counter(label for label, _, _ in wanted)
    if error or guess is None:
        return SentenceScore(number, length, labels, Counter(), Counter(), 0, len(ours), 0, error)
    given = brackets(guess, counted, conventions)
    same = conventions.same
    return SentenceScore(
        number,
        length,
        labels,
        Counter(label for label, _, _ in given),
        Counter(label for label, _, _ in (Counter(wanted) & Counter(given)).elements()),
        crossing_brackets(wanted, given),
        len(ours),
        sum(same(a.label) == same(b.label) for a, b in zip(ours, theirs, strict=True)),
    )


def brackets(tree: Tree, counts: Sequence[bool], conventions: Conventions) -> list[Bracket]:
    """(label, i, j) of the nodes above preterminals; i and j number the words that count."""
    before = np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).tolist()  # words that count, before each word
    found = []
    for label, i, j in tree.spans():
        name = conventions.label(label)
        if before[i] < before[j] and name not in conventions.left_out:
            found.append((name if conventions.labeled else "", before[i], before[j]))
    return found


def crossing_brackets(gold: Sequence[Bracket], found: Sequence[Bracket]) -> int:
    """How many of ``found`` begin inside a gold bracket and end outside it, or the reverse."""
    spans = {(i, j) for _, i, j in gold}
    return sum(
        any(a < i < b < j or i < a < j < b for a, b in spans)
        for _, i, j in found
        if (i, j) not in spans  # gold brackets do not cross each other
    )


def _following(leaves: Sequence[Tree], counts: Sequence[bool], others: Sequence[Tree]) -> list[bool]:
    """Which leaves of the other tree count if the gold tree decides, word by word; all but traces if words differ."""
    decided = iter([c for leaf, c in zip(leaves, counts, strict=True) if leaf.label != TRACE])
    return [leaf.label != TRACE and next(decided, True) for leaf in others]


def _difference(ours: Sequence[Tree], theirs: Sequence[Tree]) -> str:
    """Why the words that count are not the same, as a sentence; empty if they are."""
    if len(ours) != len(theirs):
        return f"the gold tree has {len(ours)} words that count, the other {len(theirs)}"
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True), start=1):
        if a.word != b.word:
            return f"word {n} is {a.word!r} in the gold tree but {b.word!r} in the other"
    return ""


# ---------------------------------------------------------------------- many sentences


def _counts(scores: Sequence[SentenceScore]) -> np.ndarray:
    """Gold, found and correct brackets of every sentence: (sentences, 3)."""
    rows = [(s.gold.total(), s.found.total(), s.correct.total()) for s in scores]
    return np.array(rows, np.int64).reshape(-1, 3)


def _row(scores: Sequence[SentenceScore]) -> dict[str, Any]:
    n = len(scores)
    exact, crossing = sum(s.exact for s in scores), sum(s.crossing for s in scores)
    row = {"sentences": n, "exact": ratio(exact, n), "crossing": ratio(crossing, n)}
    return scores_of(*_counts(scores).sum(axis=0).tolist()) | row


def _by_label(scores: Sequence[SentenceScore]) -> dict[str, dict[str, Any]]:
    """Scores by label, the most frequent label of the gold trees first."""
    gold, found, correct = Counter[str](), Counter[str](), Counter[str]()
    for s in scores:
        gold, found, correct = gold + s.gold, found + s.found, correct + s.correct
    labels = sorted(gold.keys() | found.keys(), key=lambda label: (-gold[label], -found[label], label))
    return {label: scores_of(gold[label], found[label], correct[label]) for label in labels}


def _table(what: str, rows: dict[str, dict[str, Any]], more: dict[str, str]) -> list[str]:
    """Lines of a table: precision, recall, F1 and the further columns that are named."""
    columns = {"precision": "precision", "recall": "recall", "f1": "F1"} | more
    width = max(map(len, (what, *rows)))
    lines = [f"{what:<{width}}" + "".join(f"  {title:>9}" for title in columns.values())]
    for name, row in rows.items():
        shown = (str(row[k]) if isinstance(row[k], int) else _percent(row[k]) for k in columns)
        lines.append(f"{name:<{width}}" + "".join(f"  {value:>9}" for value in shown))
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
