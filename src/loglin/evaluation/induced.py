"""Scores of induced labels: on words with a choice in the dictionary, or after a mapping of label names.

gold (N,), predicted (N,) ──► table (gold, predicted) ──► which gold label each predicted one stands for ──► accuracy
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from loglin.corpus.columns import Column
from loglin.corpus.shown import Shown
from loglin.errors import LoglinError
from loglin.evaluation.sequences import Codes, checked_codes

MAPPINGS = ("none", "many-to-one", "one-to-one")


@dataclass(frozen=True)
class TaggingReport(Shown):
    """Scores as fractions between 0 and 1; a fraction of nothing is 0, and None is what was not asked for or given.

    Ambiguous tokens are those whose word may have several labels by the dictionary. The random scores are those of
    choosing among them blindly; expected ones are the mean probability that the model gives to the right label.
    """

    mapping: str  # one of MAPPINGS
    tokens: int
    accuracy: float
    random_accuracy: float | None
    expected_accuracy: float | None
    ambiguous: int | None  # tokens
    ambiguous_accuracy: float | None
    random_ambiguous_accuracy: float | None
    expected_ambiguous_accuracy: float | None
    tags_per_token: float | None
    homogeneity: float  # 1 − H(gold | predicted) / H(gold)
    completeness: float  # 1 − H(predicted | gold) / H(predicted)
    v_measure: float  # their harmonic mean
    variation_of_information: float  # H(gold | predicted) + H(predicted | gold), in bits
    map: dict[str, str | None]  # of predicted labels to gold ones, None where no gold label is left
    errors: list[tuple[str, str, str, int]] = field(repr=False)  # word, gold, predicted (mapped), tokens; most first

    @property
    def telling_accuracy(self) -> float:
        """The accuracy on words with a choice in the dictionary; on all words if there is no dictionary."""
        return self.accuracy if self.ambiguous_accuracy is None else self.ambiguous_accuracy

    def as_dict(self) -> dict[str, Any]:
        """Every field, as numbers, strings, lists and objects that `json` can write."""
        return asdict(self)

    def __str__(self) -> str:
        return self.report()

    def report(self, words: int = 0) -> str:
        """The text that people read: one score per line, then the mapping, then the most frequent errors."""
        lines = [f"processed {self.tokens} tokens" + (f", mapped {self.mapping}" if self.mapping != "none" else "")]
        lines.append(_line("all words", self.accuracy, self.random_accuracy, self.expected_accuracy))
        if self.ambiguous is not None and self.ambiguous_accuracy is not None:
            scores = (self.ambiguous_accuracy, self.random_ambiguous_accuracy, self.expected_ambiguous_accuracy)
            lines.append(f"{_line('ambiguous words', *scores)}; {self.ambiguous} tokens")
            lines.append(f"tags per token: {self.tags_per_token:.3f}")
        lines.append(
            f"V-measure: {100 * self.v_measure:6.2f}%; homogeneity: {100 * self.homogeneity:6.2f}%; completeness: "
            f"{100 * self.completeness:6.2f}%; variation of information: {self.variation_of_information:.3f} bits"
        )
        lines += [f"{name:>17} → {label or 'no label'}" for name, label in self.map.items()]
        lines += [f"{n:>7}  {word}: {gold} tagged {found}" for word, gold, found, n in self.errors[:words]]
        return "\n".join(lines)


def _line(what: str, accuracy: float, random: float | None, expected: float | None) -> str:
    line = f"{what}: accuracy {100 * accuracy:6.2f}%"
    line += f"; random {100 * random:6.2f}%" if random is not None else ""
    return line + (f"; expected {100 * expected:6.2f}%" if expected is not None else "")


def tagging_report(
    gold: Codes,
    predicted: Codes,
    label_names: Sequence[str],
    words: Column,
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
    mapping: str = "none",
    marginals: npt.NDArray[np.floating] | None = None,
) -> TaggingReport:
    """Compare two label codings (N,) of the words (N,).

    ``allowed`` (N, labels of the model) is what a dictionary says, ``marginals`` (N, labels of the model) the model's
    probabilities; the names of the model's labels come first.
    """
    n = len(label_names)
    gold, predicted = checked_codes(gold, "gold", n), checked_codes(predicted, "predicted", n)
    if not len(gold) == len(predicted) == len(words.codes):
        raise LoglinError(
            f"{len(words.codes)} words, {len(gold)} gold labels, {len(predicted)} predicted; give as many"
        )
    table = contingency(gold, predicted, n)
    to_gold = mapped_labels(table, mapping)
    found = np.where(to_gold[predicted] >= 0, to_gold[predicted], n + predicted)  # if it stands for none, it is wrong
    right, everywhere, several, choices, chance = found == gold, np.ones(len(gold), bool), None, None, None
    if allowed is not None:
        choices = allowed.sum(axis=1)
        several = choices > 1
        chance = _gold_share(allowed / choices[:, None], gold, to_gold) if mapping == "none" else None
    expected = None if marginals is None else _gold_share(marginals, gold, to_gold)
    homogeneity, completeness, v_measure, information = clustering_scores(table)
    used = np.flatnonzero(table.any(axis=0)).tolist() if mapping != "none" else []
    return TaggingReport(
        mapping=mapping,
        tokens=len(gold),
        accuracy=_mean(right, everywhere) or 0.0,
        random_accuracy=_mean(chance, everywhere),
        expected_accuracy=_mean(expected, everywhere),
        ambiguous=None if several is None else int(several.sum()),
        ambiguous_accuracy=_mean(right, several),
        random_ambiguous_accuracy=_mean(chance, several),
        expected_ambiguous_accuracy=_mean(expected, several),
        tags_per_token=_mean(choices, everywhere),
        homogeneity=homogeneity,
        completeness=completeness,
        v_measure=v_measure,
        variation_of_information=information,
        map={label_names[y]: label_names[to_gold[y]] if to_gold[y] >= 0 else None for y in used},
        errors=_errors(words, gold, found, [*label_names, *label_names]),
    )


# ---------------------------------------------------------------------- mappings


def contingency(gold: Codes, predicted: Codes, labels: int) -> Codes:
    """How many tokens have each pair of labels: (gold, predicted)."""
    return np.bincount(gold * labels + predicted, minlength=labels * labels).reshape(labels, labels)


def mapped_labels(table: Codes, mapping: str) -> Codes:
    """The gold label that each predicted one stands for, −1 for none: (predicted,).

    many-to-one: the gold label with which it agrees most often, of equals the first. one-to-one: each gold label is
    taken once at most, so that as many tokens as possible agree.
    """
    if mapping not in MAPPINGS:
        raise LoglinError(f"mapping is {mapping!r}; choose {', '.join(MAPPINGS)}")
    if mapping == "none":
        return np.arange(table.shape[1])
    if mapping == "many-to-one":
        label, column = table.argmax(axis=0), np.arange(table.shape[1])
    else:
        from scipy.optimize import linear_sum_assignment

        label, column = linear_sum_assignment(table, maximize=True)
    to_gold = np.full(table.shape[1], -1)
    to_gold[column] = np.where(table[label, column] > 0, label, -1)
    return to_gold


def clustering_scores(table: Codes) -> tuple[float, float, float, float]:
    """Homogeneity, completeness, V-measure (Rosenberg and Hirschberg 2007), variation of information (Meilă 2003)."""
    gold, predicted, both = (_entropy(counts) for counts in (table.sum(axis=1), table.sum(axis=0), table))
    shared = max(gold + predicted - both, 0.0)
    homogeneity, completeness = (shared / entropy if entropy else 1.0 for entropy in (gold, predicted))
    total = homogeneity + completeness
    v_measure = 2 * homogeneity * completeness / total if total else 0.0
    return homogeneity, completeness, v_measure, max(2 * both - gold - predicted, 0.0)


def _entropy(counts: Codes) -> float:
    """The entropy of a distribution given by counts, in bits."""
    p = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(p @ np.log2(p))) + 0.0


# ---------------------------------------------------------------------- tokens


def _gold_share(share: np.ndarray, gold: Codes, to_gold: Codes) -> np.ndarray:
    """The part of every token's row of ``share`` (N, labels of the model) that stands for its gold label: (N,)."""
    return (share * (to_gold[: share.shape[1]] == gold[:, None])).sum(axis=1)


def _mean(values: np.ndarray | None, where: np.ndarray | None) -> float | None:
    if values is None or where is None:
        return None
    return float(values[where].mean()) if where.any() else 0.0


def _errors(words: Column, gold: Codes, found: Codes, names: Sequence[str]) -> list[tuple[str, str, str, int]]:
    """(word, gold label, label that it got, tokens), most frequent first, of equals by word and labels."""
    wrong = np.flatnonzero(gold != found)
    rows, counts = np.unique(
        np.stack([words.codes[wrong], gold[wrong], found[wrong]], axis=1), axis=0, return_counts=True
    )
    errors = [
        (words.vocabulary[w], names[g], names[f], n)
        for (w, g, f), n in zip(rows.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(errors, key=lambda e: (-e[3], *e[:3]))
