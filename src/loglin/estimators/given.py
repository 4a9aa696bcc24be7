"""What users give as sentences, examples and labels, as lists that can be read again.

A string's characters, the keys of a dict, the order of a set and what is left of a generator are never what is meant:
they are refused with what to write instead.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.frames import is_frame, plain_values
from loglin.corpus.labels import PartialColumn, plain_labels
from loglin.corpus.tokenizing import Tokenizer
from loglin.errors import LoglinError

WORDS, COLUMNS, ATTRIBUTES = "strings", "tuples of columns", "attributes (lists of strings, or dicts)"

SENTENCES = "give a list of sentences, each a list of tokens, such as [text.split()]"
_SENTENCE = (
    "split it into tokens, such as text.split(), or put a single sentence into a list, or set a tokenizer, such as "
    "Tagger(tokenizer='words')"
)


def listed(given: Any, place: str, remedy: str) -> list:
    """The items of a list, a tuple, an array, a series or a generator; ``remedy`` says what to give instead."""
    if type(given) is list:
        return list(given)
    wrong = isinstance(given, str | bytes | Mapping | Set) or is_frame(given)
    if wrong or not isinstance(given, Iterable) or getattr(given, "shape", None) == ():
        raise LoglinError(f"{place} is {described(given)}; {remedy}")
    return plain_values(given) if hasattr(given, "__arrow_c_stream__") or hasattr(given, "to_pylist") else list(given)


def described(given: Any) -> str:
    """A value as errors name it."""
    if isinstance(given, str):
        return f"the string {given[:40]!r}"
    if is_frame(given):
        return "a data frame"
    return f"{given!r:.60}"


def again(given: Any, name: str) -> Any:
    """A parameter that every fit reads; what can be read only once is refused."""
    parts = given if isinstance(given, tuple) else (given,)
    if any(isinstance(part, Iterator) for part in parts):
        raise LoglinError(f"{name} is a generator, which can be read only once; give a list")
    return given


def pair_of(given: Any, name: str, vectors: bool = False) -> tuple:
    """Inputs and labels that are given together; with ``vectors``, those of the tokens may stand behind them."""
    if not isinstance(given, tuple | list) or not 2 <= len(given) <= 2 + vectors:
        raise LoglinError(f"{name} is {described(given)}; give two things, inputs and labels")
    return tuple(again(part, name) for part in given)


# ---------------------------------------------------------------------- sentences


def sentences_of(X: Any, name: str = "X", tokenizer: Tokenizer | None = None) -> Corpus | list[list]:
    """Sentences as lists of tokens, raw text split if there is a tokenizer, or a corpus as it is."""
    if isinstance(X, Corpus):
        return X
    return [
        tokenizer.tokens(s) if tokenizer and isinstance(s, str) else listed(s, f"{name}: sentence {n}", _SENTENCE)
        for n, s in enumerate(listed(X, name, SENTENCES))
    ]


def offsets_of(sentences: Corpus | list[list]) -> np.ndarray:
    """Where sentences begin, and their end: (sentences + 1,)."""
    if isinstance(sentences, Corpus):
        return sentences.offsets
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def label_sequences(y: Any, name: str = "y") -> Any:
    """The labels of sentences as lists, or None for a sentence without; columns of labels as they are."""
    if y is None or isinstance(y, Column | PartialColumn):
        return y
    remedy = "give a list of labels, one for each token"
    sequences = listed(y, name, "give a list with a list of labels for each sentence")
    return [None if s is None else listed(s, f"{name}: sentence {n}", remedy) for n, s in enumerate(sequences)]


def certain_labels(sequences: Any, classes: Sequence, name: str = "y") -> list[list]:
    """Labels to compare with, one for each token, of the kind of a model's classes: 1 is not "1"."""
    if sequences is None or any(sequence is None for sequence in sequences):
        raise LoglinError(f"{name} lacks the labels of some sentences; give every token one label to compare with")
    flat = [label for sequence in sequences for label in sequence]
    if any(label is None or isinstance(label, set | frozenset | list | tuple) for label in flat):
        raise LoglinError(f"{name}: some labels are not certain; give every token one label to compare with")
    named = iter(plain_labels([*classes[:1], *flat])[len(classes[:1]) :])
    return [list(itertools.islice(named, len(sequence))) for sequence in sequences]


def form_of(sentences: list[list]) -> str | None:
    """What the tokens of sentences are, the same for all: words, columns, or attributes; None if there are none."""
    forms = {_form(kind) for kind in set(map(type, itertools.chain.from_iterable(sentences)))}
    if len(forms) <= 1 and None not in forms:
        return next(iter(forms), None)
    first = None
    for s, sentence in enumerate(sentences):
        for t, token in enumerate(sentence):
            form = _form(type(token))
            if form is None:
                raise LoglinError(
                    f"sentence {s}, token {t} is {described(token)}; give a string, a tuple of strings or attributes"
                )
            first = first or form
            if form != first:
                raise LoglinError(
                    f"sentence {s}, token {t} is {described(token)}, but tokens before it are {first}; "
                    "give all tokens in the same form"
                )
    return first


def warn_of_lists(sentences: list[list]) -> None:
    """Warn where lists, which are attributes, look like columns: all of a length, and without names as w=… has them."""
    tokens = list(itertools.islice(itertools.chain.from_iterable(sentences), 1000))
    if {type(token) for token in tokens} != {list} or len({len(token) for token in tokens}) != 1:
        return
    names = [name for token in tokens for name in token if isinstance(name, str)]
    if len(tokens[0]) > 1 and 2 * sum("=" in name or ":" in name for name in names) < len(names):
        warnings.warn(
            f"every token is a list of {len(tokens[0])} strings, which are taken as attributes without an order; where "
            f"they are columns, give tuples such as {tuple(tokens[0])!r:.60}",
            stacklevel=5,
        )


def _form(kind: type) -> str | None:
    if issubclass(kind, str):
        return WORDS
    if issubclass(kind, tuple):
        return COLUMNS
    return ATTRIBUTES if issubclass(kind, Iterable) and not issubclass(kind, bytes) else None


# ---------------------------------------------------------------------- examples


def examples_of(X: Any, name: str = "X") -> list:
    """Examples as a list."""
    return listed(X, name, "give a list of examples, such as a list of texts or of lists of strings")


def classes_of(y: Any) -> Any:
    """The classes of examples: an array of numbers or strings, or a list; those that would be mistaken are refused."""
    if y is None:  # in the words that scikit-learn's own checks look for
        raise LoglinError("a classifier requires y to be passed, but the target y is None; give each example a class")
    if hasattr(y, "__array__") and not isinstance(y, np.generic):
        y = np.asarray(y)
        given = y.tolist() if y.ndim == 1 and y.dtype.kind != "c" else []  # what else there is, scikit-learn refuses
        y = given if y.dtype == object and y.ndim == 1 else y
    else:
        given = y = listed(y, "y", "give a list with a class for each example")
    plain_labels(given)
    return y


def candidates_of(given: Any, example: int) -> list:
    """The candidates of one example, each once."""
    wrong = isinstance(given, str | bytes) or not isinstance(given, Iterable)
    found = [] if wrong else list(given)
    if wrong or len(set(found)) < len(found):
        raise LoglinError(f"example {example}: its candidates are {given!r:.60}; give a list that names each once")
    return found


def are_texts(examples: list) -> bool:
    """Whether examples are texts, all or none of them."""
    texts = [isinstance(example, str) for example in examples]
    if any(texts) and not all(texts):
        n = texts.index(not texts[0])
        raise LoglinError(
            f"example {n} is {described(examples[n])}, but those before it are {'texts' if texts[0] else 'attributes'};"
            " give all examples in the same form"
        )
    return bool(texts) and texts[0]
