"""Scores of predicted labels: phrases as conlleval counts them, or tokens where labels are no chunk scheme.

codes (N,) ──► letter and type of every token ──► starts (N,), stops (N,) ──► counts per type ──► Evaluation
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from loglin.corpus import schemes
from loglin.corpus.shown import Shown
from loglin.errors import LoglinError

Codes = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Evaluation(Shown):
    """Scores as fractions between 0 and 1; a fraction of nothing is 0.

    With unit "phrase" (every label fits IOB1, IOB2, IOBES or BILOU) precision, recall and f1 are over
    phrases, where a phrase is right when its type and both its ends are, exactly as conlleval and seqeval's
    default mode count; `by_type` has one entry per phrase type.

    With unit "token" (part-of-speech tags and the like) `by_type` has one entry per label, and precision,
    recall and f1 are micro averages over all labels, hence all equal to the accuracy; macro_f1 is then the
    more telling number: the plain mean of the f1 of the types that occur in gold or prediction.

    With unit "label" every example has a set of labels; precision, recall and f1 are micro averages over all pairs of
    example and label, and sentence_accuracy is the share of sets that are right.
    """

    unit: str  # "phrase", "token" or "label"
    accuracy: float  # of tokens
    precision: float
    recall: float
    f1: float
    macro_f1: float
    sentence_accuracy: float  # share of sentences with every token right
    sentences: int
    tokens: int
    phrases: int  # gold phrases, or tokens
    found: int  # predicted phrases, or tokens
    correct: int  # phrases, or tokens, that are both
    by_type: dict[str, dict[str, Any]] = field(repr=False)  # precision recall f1 support found correct

    def as_dict(self) -> dict[str, Any]:
        """Every field, as numbers and strings that `json` can write."""
        return asdict(self)

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """The text that conlleval prints, with the support added to each line of a type.

        As in conlleval, the number right after FB1 is how many phrases of that type were predicted.
        """
        if self.unit == "phrase":
            counts = f"{self.phrases} phrases; found: {self.found}; correct: {self.correct}."
        else:
            counts = f"{len(self.by_type)} labels; correct: {self.correct}; macro FB1: {100 * self.macro_f1:.2f}."
        overall = _conlleval_scores(self.precision, self.recall, self.f1)
        lines = [
            f"processed {self.tokens} tokens with {counts}",
            f"accuracy: {100 * self.accuracy:6.2f}%; {overall}",
        ]
        for name, row in self.by_type.items():
            scores = _conlleval_scores(row["precision"], row["recall"], row["f1"])
            lines.append(f"{name:>17}: {scores}  {row['found']} (support {row['support']})")
        lines.append(f"sentences: {self.sentences}; all correct: {100 * self.sentence_accuracy:.2f}%")
        return "\n".join(lines)


def evaluate(
    gold: Codes,
    predicted: Codes,
    label_names: Sequence[str],
    offsets: npt.ArrayLike,
    *,
    tokens_only: bool = False,
) -> Evaluation:
    """Compare two label codings (N,) of sentences that begin and end at `offsets` (S + 1,).

    Codes index `label_names`. Phrases are counted when every name fits a chunk scheme, tokens otherwise;
    `tokens_only` counts tokens whatever the names look like, as for the classes of documents.
    """
    gold = checked_codes(gold, "gold", len(label_names))
    predicted = checked_codes(predicted, "predicted", len(label_names))
    bounds = _checked_offsets(offsets, gold, predicted)
    if tokens_only or schemes.detect(label_names) is None:
        unit, names = "token", list(label_names)
        coded = (gold, predicted, gold[gold == predicted])
    else:
        unit = "phrase"
        names, types, gold_start, start, agree = _matched_phrases(gold, predicted, label_names, bounds)
        coded = (types[gold[gold_start]], types[predicted[start]], types[predicted[start[agree]]])
    counts = np.stack([np.bincount(codes, minlength=len(names)) for codes in coded], axis=1)
    wrong = np.concatenate(([0], np.cumsum(gold != predicted)))  # (N + 1,) mistakes before each token
    spotless = wrong[bounds[1:]] == wrong[bounds[:-1]]
    order = sorted(range(len(names)), key=names.__getitem__)
    return _evaluation(unit, [names[i] for i in order], counts[order], gold == predicted, spotless)


def evaluate_label_sets(gold: np.ndarray, predicted: np.ndarray, label_names: Sequence[str]) -> Evaluation:
    """Compare label sets, (examples, labels) bool: precision, recall and F1 are over all pairs (micro averages)."""
    counts = np.stack([sets.sum(axis=0) for sets in (gold, predicted, gold & predicted)], axis=1)
    agree = gold == predicted
    scores = _evaluation("label", [str(name) for name in label_names], counts, agree, agree.all(axis=1))
    return replace(scores, tokens=len(gold))


def _evaluation(unit: str, names: Sequence[str], counts: Codes, right: np.ndarray, spotless: np.ndarray) -> Evaluation:
    """The scores from support, found and correct of every type (K, 3), and from what is right: tokens, sentences."""
    by_type = {name: scores_of(*row) for name, row in zip(names, counts.tolist(), strict=True) if row[0] or row[1]}
    total = scores_of(*counts.sum(axis=0).tolist())
    return Evaluation(
        unit=unit,
        accuracy=ratio(int(right.sum()), right.size),
        precision=total["precision"],
        recall=total["recall"],
        f1=total["f1"],
        macro_f1=ratio(sum(row["f1"] for row in by_type.values()), len(by_type)),
        sentence_accuracy=ratio(int(spotless.sum()), len(spotless)),
        sentences=len(spotless),
        tokens=right.size,
        phrases=total["support"],
        found=total["found"],
        correct=total["correct"],
        by_type=by_type,
    )


def evaluate_labels(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Evaluation:
    """`evaluate` for sentences of label strings; a label may occur on one side only."""
    if len(gold) != len(predicted):
        raise LoglinError(f"{len(gold)} gold sentences but {len(predicted)} predicted ones: predict every sentence")
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(right) != len(guess):
            raise LoglinError(
                f"sentence {number} has {len(right)} gold labels but {len(guess)} predicted ones: "
                "give one label per token"
            )
    names, codes, offsets = coded_sentences(gold, predicted)
    return evaluate(codes[0], codes[1], list(map(str, names)), offsets)


def coded_sentences(*outputs: Sequence[Sequence[Any]]) -> tuple[list[str], list[Codes], Codes]:
    """The labels of outputs for the same sentences, the codes (N,) of each output, sentence offsets (S + 1,)."""
    number: dict[str, int] = {}
    codes: list[Codes] = [
        np.array([number.setdefault(y, len(number)) for sentence in labels for y in sentence], dtype=np.int64)
        for labels in outputs
    ]
    offsets = np.concatenate(([0], np.cumsum([len(sentence) for sentence in outputs[0]], dtype=np.int64)))
    return list(number), codes, offsets


def sentence_counts(gold: Codes, predicted: Codes, label_names: Sequence[str], offsets: npt.ArrayLike) -> Codes:
    """Support, found and correct of every sentence (S, 3); their sums over S are those of `evaluate`."""
    gold = checked_codes(gold, "gold", len(label_names))
    predicted = checked_codes(predicted, "predicted", len(label_names))
    bounds = _checked_offsets(offsets, gold, predicted)
    if schemes.detect(label_names) is None:
        everything = np.arange(len(gold))
        places: tuple[Codes, ...] = (everything, everything, np.flatnonzero(gold == predicted))
    else:
        _, _, support, found, agree = _matched_phrases(gold, predicted, label_names, bounds)
        places = (support, found, found[agree])  # where phrases start
    sentence = [np.searchsorted(bounds, place, side="right") - 1 for place in places]
    return np.stack([np.bincount(s, minlength=len(bounds) - 1) for s in sentence], axis=1)


def _matched_phrases(
    gold: Codes, predicted: Codes, label_names: Sequence[str], bounds: Codes
) -> tuple[list[str], Codes, Codes, Codes, npt.NDArray[np.bool_]]:
    """Type names, the type of every label, where the gold phrases start, where the predicted ones do, and
    which of the predicted ones are right."""
    parts = [part for name in label_names if (part := schemes.split(name)) is not None]
    names = sorted({kind for letter, kind in parts if letter != "O"})
    letters = np.array([letter for letter, _ in parts], dtype="U1")
    # -1 for O, which makes a change to or from O a change of type
    types = np.array([names.index(kind) if letter != "O" else -1 for letter, kind in parts], dtype=np.int64)
    gold_start, gold_stop = _phrases(gold, letters, types, bounds)
    start, stop = _phrases(predicted, letters, types, bounds)
    stop_of = np.zeros(len(gold), dtype=np.int64)  # by start; no phrase stops at 0
    stop_of[gold_start] = gold_stop
    agree = (stop_of[start] == stop) & (types[gold[start]] == types[predicted[start]])
    return names, types, gold_start, start, agree


def _phrases(codes: Codes, letters: np.ndarray, types: Codes, bounds: Codes) -> tuple[Codes, Codes]:
    """Start and stop (P,) of every phrase. With t a token's type and c its letter, a phrase

    starts at i   when tᵢ ≠ O and ( i opens a sentence, cᵢ ∈ {B, S}, cᵢ₋₁ ∈ {E, S} or tᵢ₋₁ ≠ tᵢ )
    stops after i when tᵢ ≠ O and ( i closes a sentence, tᵢ₊₁ = O or a phrase starts at i + 1 )
    """
    kind = types[codes]
    inside = kind >= 0
    cut = np.zeros(len(codes) + 1, dtype=bool)  # (N + 1,) between token i - 1 and token i
    cut[bounds] = True
    opens, closes = np.isin(letters, ("B", "S")), np.isin(letters, ("E", "S"))
    cut[:-1] |= opens[codes]
    cut[1:] |= closes[codes]
    cut[1:-1] |= kind[1:] != kind[:-1]
    return np.flatnonzero(inside & cut[:-1]), np.flatnonzero(inside & cut[1:]) + 1


def scores_of(support: int, found: int, correct: int) -> dict[str, Any]:
    return {
        "precision": ratio(correct, found),
        "recall": ratio(correct, support),
        "f1": ratio(2 * correct, support + found),
        "support": support,
        "found": found,
        "correct": correct,
    }


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _conlleval_scores(precision: float, recall: float, f1: float) -> str:
    return f"precision: {100 * precision:6.2f}%; recall: {100 * recall:6.2f}%; FB1: {100 * f1:6.2f}"


def checked_codes(codes: Codes, side: str, labels: int) -> Codes:
    codes = np.asarray(codes)
    if codes.ndim != 1 or (codes.size and not np.issubdtype(codes.dtype, np.integer)):
        raise LoglinError(
            f"the {side} labels are a {codes.dtype} array of shape {codes.shape}: give integer codes (N,)"
        )
    bad = np.flatnonzero((codes < 0) | (codes >= labels))
    if bad.size:
        raise LoglinError(
            f"the {side} label at token {bad[0]} is code {codes[bad[0]]}, but there are {labels} names: "
            "call evaluate_labels where a label may be unknown to the model"
        )
    return codes.astype(np.int64, copy=False)


def _checked_offsets(offsets: npt.ArrayLike, gold: Codes, predicted: Codes) -> Codes:
    if len(gold) != len(predicted):
        raise LoglinError(f"{len(gold)} gold labels but {len(predicted)} predicted ones: give one per token")
    bounds = np.asarray(offsets, dtype=np.int64)
    if bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or bounds[-1] != len(gold) or (np.diff(bounds) < 0).any():
        raise LoglinError(
            f"sentence offsets {np.array2string(bounds, threshold=6)} do not rise from 0 to {len(gold)}, "
            "the number of tokens: give the start of every sentence, then that number"
        )
    return bounds


def best_threshold(values: np.ndarray, has: np.ndarray) -> float:
    """The threshold of values (examples, labels) that gives the best micro F1, halfway to the next value below."""
    order = np.argsort(-values, axis=None, kind="stable")
    ranked, right = values.ravel()[order], has.ravel()[order].cumsum()
    f1 = 2 * right / (np.arange(1, len(right) + 1) + has.sum())
    last = np.append(ranked[1:] < ranked[:-1], True) & np.isfinite(ranked)  # equal values fall on one side
    best = int(np.argmax(np.where(last, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) and np.isfinite(ranked[best + 1]) else ranked[best]
    return float((ranked[best] + below) / 2)
