"""What each kind of model answers: items and options in, JSON objects out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Protocol

import numpy as np

from loglin.corpus import schemes
from loglin.corpus.plaintext import distinct_words
from loglin.corpus.tokenizing import RAW, Tokenizer, tokenizer
from loglin.corpus.trees import without_brackets
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.models import kinds
from loglin.serve.limits import Limits, Refusal
from loglin.serve.requests import COUNT, FLAG, POSITION, SPAN, WORD, Item, Option, check_length

LONGEST_PARSE = 200  # tokens: a parse takes time with their third power
Answer = dict[str, Any]


class Answering(Protocol):
    """A model made ready to answer requests."""

    verb: ClassVar[str]  # what it is asked to do, and the path of its requests
    options: ClassVar[Mapping[str, Option]]
    explaining: ClassVar[Mapping[str, Option]]  # options of /explain
    keys: Sequence[str]  # what an item may be given as
    trained: Any  # the model of the file

    def answers(self, items: list[Item], asked: Mapping[str, Any]) -> list[Answer]:
        """The answer of every item."""

    def explain(self, item: Item, asked: Mapping[str, Any]) -> Answer:
        """Why the model answers as it does."""

    def about(self) -> Answer:
        """What /models says."""


def answering(path: str, limits: Limits, threads: int | None = 1) -> Answering:
    """The model in a file, copied into memory and made ready."""
    model = kinds.load(path, mapped=False)
    found: Answering = _WAYS[model.kind.face](model, path, limits, threads)
    found.trained = model
    with suppress(LoglinError, Refusal):  # a first answer, so that nothing is left to be laid out; not all read text
        found.answers([Item(found.keys[0], _WARM[found.keys[0]])], {})
    return found


_WARM = {"text": "a b", "candidates": {"a": ["b"], "b": ["c"]}}


class Tagging:
    """A tagger."""

    verb = "tag"
    keys: Sequence[str] = ("text", "tokens")
    trained: Any = None
    options: ClassVar[Mapping[str, Option]] = {"entities": FLAG, "marginals": FLAG, "nbest": COUNT, "votes": FLAG}
    explaining: ClassVar[Mapping[str, Option]] = {"position": POSITION}

    def __init__(self, model: Any, path: str, limits: Limits, threads: int | None):
        from loglin.estimators import Tagger

        self.tagger, self.limits = Tagger.from_model(model, threads), limits
        if model.record.get("feature_function"):
            raise LoglinError(
                f"{path} was trained with a feature function, which files do not keep; it cannot be served"
            )
        self.has_columns = isinstance(model.extractor, TemplateExtractor)
        self.splits = tokenizer(RAW if self.tagger.tokenizer is None else self.tagger.tokenizer)
        self.has_entities = schemes.detect([str(label) for label in model.labels]) is not None

    def about(self) -> Answer:
        return {"labels": self.tagger.classes_, "tokenizer": self.splits.name, "entities": self.has_entities}

    def answers(self, items: list[Item], asked: Mapping[str, Any]) -> list[Answer]:
        read = [self._read(item) for item in items]
        sentences = [tokens for tokens, _ in read]
        found: list[Answer] = [
            {"tokens": tokens, "labels": labels}
            if spans is None
            else {"tokens": tokens, "spans": spans, "labels": labels}
            for (tokens, spans), labels in zip(read, self.tagger.predict(sentences), strict=True)
        ]
        for name in asked:
            for answer, more in zip(found, getattr(self, f"_{name}")(items, read, asked), strict=True):
                answer[name] = more
        return found

    def explain(self, item: Item, asked: Mapping[str, Any]) -> Answer:
        tokens, _ = self._read(item)
        if not tokens:
            raise Refusal(422, "the sentence has no tokens to explain; give some")
        (answer,) = self.answers([item], {"entities": True})
        rows, names = self.tagger.predict_proba([tokens])[0], self.tagger.classes_
        certainty = [float(row[names.index(label)]) for row, label in zip(rows, answer["labels"], strict=True)]
        position = asked.get("position", int(np.argmin(certainty)))
        explanation = self.tagger.explain(tokens, position).as_dict()
        return answer | {
            "probabilities": certainty,
            "position": position % len(tokens),
            "explanation": explanation,
        }

    def _read(self, item: Item) -> tuple[list, list[tuple[int, int]] | None]:
        """Tokens as the model takes them, and their places in the text if that is given."""
        if item.key == "text":
            tokens, spans = split(self.splits, item.value, self.limits)
            return tokens, spans
        if self.has_columns:
            if any(type(token) is dict for token in item.value):
                raise Refusal(422, "some tokens are objects, but the model looks at words; give strings")
            return [tuple(token) if type(token) is list else token for token in item.value], None
        return item.value, None

    def _entities(self, items: list[Item], read: list, asked: Mapping[str, Any]) -> list[list[Answer]]:
        if not self.has_entities:
            return [[] for _ in items]
        found = self.tagger.entities([tokens for tokens, _ in read])
        return [
            [vars(entity if spans is None else entity.within(item.value, spans)) for entity in entities]
            for item, (_, spans), entities in zip(items, read, found, strict=True)
        ]

    def _marginals(self, items: list[Item], read: list, asked: Mapping[str, Any]) -> list[list[Answer]]:
        found = self.tagger.predict_marginals([tokens for tokens, _ in read])
        return [[{str(y): round(p, 9) for y, p in row.items()} for row in rows] for rows in found]

    def _nbest(self, items: list[Item], read: list, asked: Mapping[str, Any]) -> list[list[Answer]]:
        found = self.tagger.predict_nbest([tokens for tokens, _ in read], asked["nbest"])
        return [[{"labels": labels, "probability": p} for labels, p in ranked] for ranked in found]

    def _votes(self, items: list[Item], read: list, asked: Mapping[str, Any]) -> list[list[list[Answer]]]:
        """For every token every active feature with its votes."""
        return [[[v.as_dict() for v in votes] for votes in self.tagger.votes(tokens)] for tokens, _ in read]


def split(splits: Tokenizer, text: str, limits: Limits) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of a raw text with their places, not too many."""
    spans = splits.spans(text)
    check_length(len(spans), limits, '"text"')
    return [text[begin:end] for begin, end in spans], spans


class Classifying:
    """A classifier, or a ranking of candidates."""

    verb = "classify"
    trained: Any = None
    options: ClassVar[Mapping[str, Option]] = {"nbest": COUNT, "votes": FLAG}
    explaining: ClassVar[Mapping[str, Option]] = {}

    def __init__(self, model: Any, path: str, limits: Limits, threads: int | None):
        from loglin.estimators import judging

        self.judging = judging  # which imports scikit-learn
        self.classifier, self.limits = judging.classifier_of(model, path, threads), limits
        self.keys: Sequence[str] = ("candidates",) if model.kind.ranks else ("text", "features")

    def about(self) -> Answer:
        return {"labels": [str(y) for y in self.classifier.classes_.tolist()]}

    def answers(self, items: list[Item], asked: Mapping[str, Any]) -> list[Answer]:
        X = [self._read(item) for item in items]
        found = [
            self.judging.as_dict(answer, values, asked.get("nbest"))
            for answer, values in self.judging.judged(self.classifier, X)
        ]
        if "votes" in asked:
            found = [answer | {"votes": self._explained(x)["votes"]} for answer, x in zip(found, X, strict=True)]
        return found

    def explain(self, item: Item, asked: Mapping[str, Any]) -> Answer:
        x = self._read(item)
        known = self.classifier.model_.extractor.names
        return self._explained(x) | {
            "unknown": [name for name in x if known.code(name) < 0] if item.key == "text" else []
        }

    def _explained(self, x: dict) -> Answer:
        return self.classifier.explain(x, *([list(x)] if "candidates" in self.keys else [])).as_dict()

    def _read(self, item: Item) -> dict:
        """Attributes by name, or candidates with theirs."""
        if item.key == "candidates":
            return {c: self.judging.summed_attributes(f, f"candidate {c!r}") for c, f in item.value.items()}
        features = distinct_words(item.value) if item.key == "text" else item.value
        return self.judging.summed_attributes(features, f'"{item.key}"')


class Parsing:
    """A parser."""

    verb = "parse"
    keys: Sequence[str] = ("text", "tokens")
    trained: Any = None
    options: ClassVar[Mapping[str, Option]] = {"nbest": COUNT, "probabilities": FLAG, "max_recall": FLAG}
    explaining: ClassVar[Mapping[str, Option]] = {"span": SPAN}

    def __init__(self, model: Any, path: str, limits: Limits, threads: int | None):
        from loglin.estimators import Parser

        self.parser = Parser.from_model(model, threads)
        self.splits = tokenizer(RAW if self.parser.tokenizer is None else self.parser.tokenizer)
        self.limits = Limits(tokens=min(limits.tokens, LONGEST_PARSE))

    def about(self) -> Answer:
        return {"tokenizer": self.splits.name}

    def answers(self, items: list[Item], asked: Mapping[str, Any]) -> list[Answer]:
        read = [self._read(item) for item in items]
        sentences = [without_brackets(tokens) for tokens, _ in read]
        if "nbest" in asked:
            ranked = self.parser.parse_nbest(sentences, asked["nbest"])
        else:
            ranked = [[one] for one in self.parser.parse(sentences, "max-recall" if "max_recall" in asked else "best")]
        found = []
        for (tokens, spans), words, parses in zip(read, sentences, ranked, strict=True):
            best = parses[0]
            answer = {"tokens": tokens} | ({} if spans is None else {"spans": spans}) | best.as_dict()
            answer |= {"complete": best.complete, "note": best.note}
            if "nbest" in asked:
                answer["nbest"] = [parse.as_dict() for parse in parses]
            if "probabilities" in asked:
                marks = {(y, i, j): p for y, i, j, p in self.parser.marginals(words)} if best.complete else {}
                answer["phrases"] = best.phrases(marks)
            found.append(answer)
        return found

    def explain(self, item: Item, asked: Mapping[str, Any]) -> Answer:
        tokens, _ = self._read(item)
        found = self.parser.explain(without_brackets(tokens), asked.get("span", (0, len(tokens))))
        votes = [vars(vote) for vote in found.votes]
        return {"tokens": tokens, "explanation": vars(found) | {"votes": votes}}

    def _read(self, item: Item) -> tuple[list[str], list[tuple[int, int]] | None]:
        """Words, and their places in the text if that is given."""
        if item.key == "text":
            words, spans = split(self.splits, item.value, self.limits)
        else:
            words, spans = item.value, None
            check_length(len(words), self.limits, '"tokens"')
        if not words or not all(type(word) is str and word for word in words):
            raise Refusal(422, "a sentence to parse has words, strings that are not empty; give some")
        return words, spans


class Predicting:
    """A language model."""

    verb = "next"
    keys: Sequence[str] = ("text", "tokens")
    trained: Any = None
    options: ClassVar[Mapping[str, Option]] = {"k": COUNT, "votes": FLAG}
    explaining: ClassVar[Mapping[str, Option]] = {"word": WORD}

    def __init__(self, model: Any, path: str, limits: Limits, threads: int | None):
        from loglin.estimators import LanguageModel

        self.model, self.limits = LanguageModel.from_model(model), limits

    def about(self) -> Answer:
        return {"vocabulary": len(self.model.vocabulary_)}

    def answers(self, items: list[Item], asked: Mapping[str, Any]) -> list[Answer]:
        found = []
        for item in items:
            ranked = self.model.next(self._history(item), asked.get("k", 10))
            answer: Answer = {"next": [{"word": word, "probability": p} for word, p in ranked]}
            if "votes" in asked:
                answer["votes"] = [self._votes(item, word) for word, _ in ranked]
            found.append(answer)
        return found

    def explain(self, item: Item, asked: Mapping[str, Any]) -> Answer:
        if "word" not in asked:
            raise Refusal(422, '"word" is missing; say which word is to be explained')
        votes = self._votes(item, asked["word"])
        probability = math.exp(sum(vote["weight"] for vote in votes))
        known = self.model.knows(asked["word"])
        return {"word": asked["word"], "known": known, "probability": probability, "votes": votes}

    def _votes(self, item: Item, word: str) -> list[Answer]:
        return [{"feature": v.feature, "weight": v.weight} for v in self.model.explain(self._history(item), word)]

    def _history(self, item: Item) -> Any:
        if item.key == "text":
            check_length(len(item.value.split()), self.limits, '"text"')
        elif not all(type(token) is str for token in item.value):
            raise Refusal(422, '"tokens" are not all strings; give the words so far')
        return item.value


_WAYS: dict[str, Any] = {  # by the face of a kind of model
    "Tagger": Tagging,
    "MaxEnt": Classifying,
    "LanguageModel": Predicting,
    "Parser": Parsing,
}
WAYS = tuple(_WAYS.values())
