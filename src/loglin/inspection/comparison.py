"""How a tagger did on labelled sentences, for a page: confusion between types, and mistakes worth reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from loglin.corpus import schemes
from loglin.estimators.tagger import Tagger
from loglin.structures.chain import Chain

MISTAKES = 200  # that are listed, the most confident first
NOTHING, ELSEWHERE = "nothing", "other extent"
Spans = dict[tuple[int, int], str]  # first token, token behind the last → type


class Mistake(NamedTuple):
    confidence: float  # of what was said, or that what is right is not there
    sentence: int
    start: int
    stop: int
    said: str
    right: tuple[tuple[str, int, int], ...]  # spans in its place


def compared(tagger: Tagger, sentences: Sequence[list], labels: Sequence[list], name: str) -> dict[str, Any]:
    """Scores, confusion and mistakes; what stands for a mistake's sentence is its number, under "sentence"."""
    result = tagger.evaluate(sentences, labels)
    value = result.as_dict()
    phrases = result.unit == "phrase"
    pairs: Counter[tuple[str, str]] = Counter()
    mistakes: list[Mistake] = []
    decoder, design = tagger.prepared(sentences)
    for number, (chain, right) in enumerate(zip(decoder.chains(design), labels, strict=True)):
        if not len(right):
            continue
        best, _ = chain.best()
        said = [str(tagger.classes_[y]) for y in best]
        gold, found = _spans([str(y) for y in right], phrases), _spans(said, phrases)
        pairs.update(_pairs(gold, found))
        if gold != found:
            mistakes += _mistakes(tagger, chain, number, gold, found, phrases)
    mistakes.sort(reverse=True)
    return {
        "file": name,
        **{key: value[key] for key in ("unit", "accuracy", "sentence_accuracy", "sentences", "tokens")},
        **{key: value.get(key) for key in ("f1", "precision", "recall")},
        "confusion": _table(pairs),
        "types": _by_type(pairs),
        "mistakes": [_shown(one, sentences[one.sentence]) for one in mistakes[:MISTAKES]],
    }


def _spans(labels: list[str], phrases: bool) -> Spans:
    """The phrases of a sentence, or its tokens."""
    if not phrases:
        return {(t, t + 1): label for t, label in enumerate(labels)}
    return {(start, stop): type_ for type_, start, stop in schemes.entities(labels)}


def _pairs(gold: Spans, found: Spans) -> list[tuple[str, str]]:
    """What is right and what was said of every span."""
    pairs = [(type_, found.get(span) or _near(span, found)) for span, type_ in gold.items()]
    return pairs + [(_near(span, gold), type_) for span, type_ in found.items() if span not in gold]


def _near(span: tuple[int, int], others: Spans) -> str:
    """Whether another span overlaps this one."""
    return ELSEWHERE if any(start < span[1] and span[0] < stop for start, stop in others) else NOTHING


def _table(pairs: Counter[tuple[str, str]]) -> dict[str, Any]:
    types = sorted({type_ for pair in pairs for type_ in pair} - {NOTHING, ELSEWHERE})
    rows = [*types, *(y for y in (ELSEWHERE, NOTHING) if any(gold == y for gold, _ in pairs))]
    columns = [*types, *(y for y in (ELSEWHERE, NOTHING) if any(found == y for _, found in pairs))]
    return {"rows": rows, "columns": columns, "counts": [[pairs[gold, said] for said in columns] for gold in rows]}


def _by_type(pairs: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """Precision, recall and F1 of every type."""
    right: Counter[str] = Counter()
    said: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for (gold, found), n in pairs.items():
        right[gold] += n
        said[found] += n
        both[gold] += n * (gold == found)
    rows = []
    for type_ in sorted(set(right) | set(said) - {NOTHING, ELSEWHERE}):
        if type_ in (NOTHING, ELSEWHERE):
            continue
        precision, recall = (both[type_] / max(1, n[type_]) for n in (said, right))
        f1 = 2 * both[type_] / (said[type_] + right[type_])
        rows.append({"type": type_, "precision": precision, "recall": recall, "f1": f1, "gold": right[type_]})
    return rows


def _mistakes(tagger: Tagger, chain: Chain, number: int, gold: Spans, found: Spans, phrases: bool) -> list[Mistake]:
    """Every span that is wrong, with the probability that it is right; every one that was overlooked."""
    wrong = [(span, type_) for span, type_ in found.items() if gold.get(span) != type_]
    lost = [(s, y) for s, y in gold.items() if s not in found and not any(_crosses(s, t) for t, _ in wrong)]
    names = [str(y) for y in tagger.classes_]
    marginals = chain.marginals()
    mistakes = []
    for (start, stop), type_ in wrong:
        confidence = _probability(tagger, chain, marginals, names, (start, stop), type_, phrases)
        right = tuple((y, *span) for span, y in sorted(gold.items()) if _crosses(span, (start, stop)))
        mistakes.append(Mistake(confidence, number, start, stop, type_, right))
    for (start, stop), type_ in lost:
        confidence = 1 - _probability(tagger, chain, marginals, names, (start, stop), type_, phrases)
        mistakes.append(Mistake(confidence, number, start, stop, NOTHING, ((type_, start, stop),)))
    return mistakes


def _crosses(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _probability(
    tagger: Tagger,
    chain: Chain,
    marginals: np.ndarray,
    names: list[str],
    span: tuple[int, int],
    type_: str,
    phrases: bool,
) -> float:
    """The probability that a span has just this extent and type; of a token, that of its label."""
    start, stop = span
    if not phrases:
        return float(marginals[start, names.index(type_)]) if type_ in names else 0.0
    begins = [i for i, y in enumerate(names) if schemes.split(y) in (("B", type_), ("S", type_))]
    inside = [i for i, y in enumerate(names) if schemes.split(y) in (("I", type_), ("E", type_))]
    allowed = np.zeros((stop - start + (stop < len(marginals)), len(names)), bool)
    allowed[0, [*begins, *([] if begins else inside)]] = True
    allowed[1 : stop - start, inside] = True
    if stop < len(marginals):
        allowed[-1] = True
        allowed[-1, inside] = False
    return chain.span_probability(start, allowed) if allowed.any(axis=1).all() else 0.0


def _shown(one: Mistake, tokens: list) -> dict[str, Any]:
    """A mistake as a page shows it."""
    words = [str(token[0] if isinstance(token, tuple | list) else token) for token in tokens]

    def text(start: int, stop: int) -> str:
        return " ".join(words[max(0, start) : stop])

    same = [y for y, start, stop in one.right if (start, stop) == (one.start, one.stop)]
    others = [f"{y} “{text(start, stop)}”" for y, start, stop in one.right]
    return {
        "text": text(one.start, one.stop),
        "said": one.said,
        "right": ", ".join(same or others) or NOTHING,
        "confidence": one.confidence,
        "before": text(one.start - 5, one.start),
        "after": text(one.stop, one.stop + 5),
        "sentence": one.sentence,
    }
