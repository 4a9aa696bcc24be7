"""Annotation of sentences: spans proposed by a tagger, learnt from whole and partial labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglin.annotate.pool import Item
from loglin.annotate.rules import Rules, rules_of, single_words
from loglin.annotate.spans import OUTSIDE, Notation, Span, checked_spans
from loglin.annotate.work import Work
from loglin.errors import LoglinError
from loglin.estimators.tagger import Tagger

TAUGHT = 1000  # sentences of the pool that a given model labels for those that are learnt from
# Ingredients, a teacher of 300 lines (F1 84.0), 60 lines of a person: F1 83.0; with the weight 0.2 82.3; with labels
# from the probability 0 on 81.9, from 0.8 on 80.7.
TAUGHT_WEIGHT = 0.5  # of each of them; what a person has labelled counts 1
SURE = 0.4  # probability from which on a given model's labels are learnt
THRESHOLD = 0.95  # tokens that are at least so certain need not be read; see docs/benchmarks/annotate.md
HIDDEN = 300  # sentences without labels that the mixture learns from
Labels = list[Any]  # of every token: a label, a set of labels, or None


@dataclass
class Tagging:
    """Sentences with spans, or with a label for every token."""

    types: list[str]
    notation: Notation
    rules: Rules
    template: str | None = None
    tokenizer: str | None = None  # of raw text, whose name the model keeps
    threshold: float | None = None  # tokens that are at least so certain are not asked for; None: all are
    mixture: bool = False  # unlabelled sentences and the dictionary take part in learning
    examples: list[tuple[tuple, Labels]] = field(default_factory=list)  # labelled data to start from
    teacher: Tagger | None = None  # a model to start from
    name = "tag"

    @property
    def single(self) -> bool:
        return len(self.notation.forms(self.types[0])) == 1

    # ------------------------------------------------------------------ answers

    def checked(self, item: Item, given: dict[str, Any]) -> dict[str, Any]:
        n = len(item.places)
        spans = checked_spans(given.get("spans"), n, self.types)
        undecided = given.get("undecided", [])
        if not isinstance(undecided, list) or not all(type(t) is int and 0 <= t < n for t in undecided):
            raise LoglinError(f'"undecided" is {undecided!r:.60}; give a list of token numbers below {n}')
        open_ = sorted({*undecided, *self._unsaid(spans, n)} - {t for s in spans for t in range(s.start, s.stop)})
        return {"spans": [list(span) for span in spans], "undecided": open_}

    def _unsaid(self, spans: Sequence[Span], n: int) -> list[int]:
        """Tokens of which the spans say nothing."""
        return [t for t, label in enumerate(self.notation.labels(spans, n)) if label is None]

    def given(self, item: Item) -> dict[str, Any] | None:
        if item.given is None:
            return None
        labels = self.notation.unified(item.given)
        return self.checked(item, {"spans": [list(s) for s in self.notation.spans(labels)]})

    def labels(self, item: Item, answer: dict[str, Any]) -> list[str | None]:
        """The label of every token; None where it is undecided."""
        found = self.notation.labels([Span(*span) for span in answer["spans"]], len(item.places))
        for t in answer["undecided"]:
            found[t] = None
        return found

    # ------------------------------------------------------------------ learning

    @property
    def names(self) -> list[str]:
        """All labels that tokens may have."""
        outside = [] if self.single else [OUTSIDE]
        return [*outside, *(form for type_ in self.types for form in self.notation.forms(type_))]

    def target(self, item: Item, answer: dict[str, Any], work: Work) -> Labels:
        """What is learnt from an answer: labels, and of undecided tokens what they may be."""
        found: Labels = list(self.labels(item, answer))
        limits = rules_of(self.rules, work).allowed(item, work.never.get(item.number, ()), self.names)
        ends = {stop: type_ for _, stop, type_ in answer["spans"]}
        for t in answer["undecided"]:
            some = limits.get(t, set(self.names))
            if t in ends:  # which would make the span before it longer
                some = some - set(self.notation.forms(ends[t])[1:])
            if some and len(some) < len(self.names):
                found[t] = some
        return found

    def learn(self, items: Sequence[Item], work: Work, before: Tagger | None) -> Tagger | None:
        X = [list(tokens) for tokens, _ in self.examples]
        y: list[Labels | None] = [labels for _, labels in self.examples]
        for number, answer in work.answers.items():
            labels = self.target(items[number], answer, work)
            if any(label is not None for label in labels):
                X.append(list(items[number].tokens))
                y.append(labels)
        if not any(isinstance(label, str) for labels in y for label in labels or ()):
            return self.teacher
        weights = [1.0] * len(X)
        for tokens, labels in self._taught(items, work):
            X.append(tokens)
            y.append(labels)
            weights.append(TAUGHT_WEIGHT)
        start = None if before is None else before.model_
        if self.mixture:
            return self._mixed(X, y, items, work, start)
        return self._new().fit(X, y, weights if self.teacher else None, start)

    def _new(self) -> Tagger:
        template: Any = self.template
        if self.teacher is not None and template is None:
            template = self.teacher.template
        return Tagger(template=template, tokenizer=self.tokenizer, threads=1)

    def _taught(self, items: Sequence[Item], work: Work) -> Iterator[tuple[list, Labels]]:
        """Sentences that nobody has read as the given model labels them, where it is sure."""
        if self.teacher is None:
            return
        unread = [list(item.tokens) for item in items if item.number not in work.answers and item.tokens][:TAUGHT]
        if not unread:
            return
        names = self.teacher.classes_
        for tokens, rows in zip(unread, self.teacher.predict_proba(unread), strict=True):
            best = rows.argmax(axis=1)
            sure = rows.max(axis=1) >= SURE
            yield tokens, [names[y] if s else None for y, s in zip(best.tolist(), sure.tolist(), strict=True)]

    def _mixed(self, X: list, y: list, items: Sequence[Item], work: Work, start: Any) -> Tagger:
        """Labelled sentences together with sentences that nobody has read and the words of the dictionary."""
        hidden = [list(item.tokens) for item in items if item.number not in work.answers and item.tokens][:HIDDEN]
        words = single_words(rules_of(self.rules, work), self.names)
        for tokens, labels in zip(X, y, strict=True):  # what a person has said outweighs the dictionary
            for token, label in zip(tokens, labels, strict=True):
                if isinstance(label, str) and token in words and label not in words[token]:
                    del words[token]
        tagger = Tagger(
            "mixture", order=1, template=self.template, dictionary=words or 0, tokenizer=self.tokenizer, threads=1
        )
        return tagger.fit([*X, *hidden], [*y, *[None] * len(hidden)], start=start)

    # ------------------------------------------------------------------ proposals

    def proposal(self, model: Tagger | None, item: Item, work: Work) -> dict[str, Any]:
        n = len(item.places)
        rules, never = rules_of(self.rules, work), work.never.get(item.number, ())
        spans: list[dict[str, Any]] = []
        certain = [0.0] * n
        if model is not None and n:
            spans, certain = self._decoded(model, item, rules.allowed(item, never, model.classes_))
        told = [Span(b, e, next(iter(types))) for b, e, types in rules.found(item) if len(types) == 1]
        for rule in told:  # of a type that the model has never seen, or there is no model
            held = any(s["start"] <= rule.start and rule.stop <= s["stop"] and s["type"] == rule.type for s in spans)
            if rule.type != OUTSIDE and not held and not any(_overlap(rule, span) for span in never):
                spans = [s for s in spans if s["stop"] <= rule.start or rule.stop <= s["start"]]
                spans.append({**rule._asdict(), "probability": 1.0})
        spans.sort(key=lambda s: s["start"])
        asked = [t for t in range(n) if model is None or self.threshold is None or certain[t] < self.threshold]
        return {"spans": spans, "certainty": certain, "asked": asked or list(range(n))}  # where all is certain, all

    def _decoded(
        self, model: Tagger, item: Item, limits: dict[int, set[str]]
    ) -> tuple[list[dict[str, Any]], list[float]]:
        """The best spans with their probabilities, and the probability of every token's label."""
        decoder, design = model.prepared([list(item.tokens)])
        codes = {name: code for code, name in enumerate(model.classes_)}
        chain = next(decoder.chains(design))
        chain = chain.restrict({t: [codes[y] for y in sorted(some)] for t, some in limits.items()})
        best, _ = chain.best()
        certain = chain.marginals()[np.arange(len(best)), best].tolist()
        labels = [str(model.classes_[y]) for y in best]
        if not self.single:
            found = [(e.start, e.stop, e.type, e.probability) for e in decoder.entities(chain, item.words)]
        else:
            found = [(*span, p) for span, p in zip(self.notation.spans(labels), certain, strict=True)]
        spans = [{"start": b, "stop": e, "type": y, "probability": p} for b, e, y, p in found]
        return spans, certain

    def doubts(self, model: Tagger, items: Sequence[Item], measure: str) -> np.ndarray:
        return doubts(model, [list(item.tokens) for item in items], measure)

    def agreement(self, answers: Iterable[dict[str, Any]], items: Sequence[Item]) -> tuple[float, int]:
        """F1 of the spans that were proposed, in sentences that were decided wholly."""
        right = proposed = marked = sentences = 0
        for answer in answers:
            if answer.get("proposed") is None or answer["undecided"]:
                continue
            told, said = ({tuple(span) for span in answer[part]} for part in ("proposed", "spans"))
            right, proposed, marked = right + len(told & said), proposed + len(told), marked + len(said)
            sentences += 1
        return (2 * right / (proposed + marked) if proposed + marked else 1.0), sentences


def _overlap(a: Span, b: Span) -> bool:
    return a.type == b.type and a.start < b.stop and b.start < a.stop


def doubts(model: Tagger, sentences: Sequence[list], measure: str) -> np.ndarray:
    """How uncertain a tagger is of every sentence: its entropy, or one minus the probability of its worst token."""
    found = np.zeros(len(sentences))
    some = [s for s, tokens in enumerate(sentences) if tokens]
    if not some:
        return found
    decoder, design = model.prepared([sentences[s] for s in some])
    if measure == "entropy":
        found[some] = [chain.entropy() for chain in decoder.chains(design)]
    else:
        surest = decoder.marginals(design).max(axis=1)
        found[some] = 1 - np.minimum.reduceat(surest, design.offsets[:-1])
    return found
