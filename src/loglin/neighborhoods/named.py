"""Neighborhoods by name, from a transducer, or from a function.

del1word                one word less
trans1, trans2, …       two words exchanged that stand at most 1, 2, … apart
delortrans1             either of del1word and trans1
del1subseq              any contiguous words less, but not all
a+b                     the union of such, or of transducer files
length                  all sentences of the same length
observed                all sentences of the corpus (Eq. 8; Riezler 1999, Johnson et al. 1999)
conditional:1,2         all sentences with the same columns 1 and 2; the others vary (conditional EM, §3.2)
everything              all sentences: no lattice, but the partition function of the model (EM, Table 2)

Definitions of Smith and Eisner (2005). Every neighborhood holds the sentence itself.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from loglin.errors import LoglinError
from loglin.neighborhoods.alphabet import Alphabet
from loglin.neighborhoods.transducer import Transducer
from loglin.structures.word_lattices import Automata, Sentences, WordLattices, cut, joined

NAMES = ["del1word", "trans1", "trans2", "delortrans1", "del1subseq", "length", "observed", "conditional:COLUMNS"]
NAMES += ["everything"]

_TRANSDUCERS = {
    "del1word": "0 copy 0 \n 0 delete 1 \n 1 copy 1 \n final 0 1",
    "trans1": "0 copy 0 \n 0 swap 1 \n 1 copy 1 \n final 0 1",
    "delortrans1": "0 copy 0 \n 0 delete 1 \n 0 swap 1 \n 1 copy 1 \n final 0 1",
    "del1subseq": "0 copy 0 \n 0 delete 1 \n 1 delete 1 \n 1 copy 2 \n 2 copy 2 \n final 0 1 2",
}


class Neighborhood(ABC):
    """A rule that gives every sentence its neighbors, as word lattices."""

    name: str
    needs_corpus: ClassVar[bool] = False  # whether the neighbors of a sentence depend on the other sentences

    def lattices(
        self,
        sentences: Sentences,
        n_symbols: int,
        tokens: Sequence[Any] | None = None,
        symbol_of: Callable[[Any], int | None] | None = None,
        varying: Sequence[int] | np.ndarray | None = None,
    ) -> WordLattices:
        """The neighbors of each sentence of symbols 0 … n_symbols − 1.

        ``tokens`` are what the symbols stand for, a string or a tuple of columns each; functions, columns and
        words written in transducers need them. ``symbol_of`` tells the symbol of a token in another way than by
        looking for it among them. ``varying`` are the symbols that length and conditional put in place of
        others, such as the words of the training data; by default all.
        """
        words, offsets = joined(sentences, n_symbols)
        return self._lattices(words, offsets, Alphabet.of(n_symbols, tokens, symbol_of, varying))

    @abstractmethod
    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices: ...


@dataclass(frozen=True)
class Edits(Neighborhood):
    """The sentences that a transducer writes."""

    transducer: Transducer

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.transducer.name

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        automata = self.transducer.compose(words, offsets, alphabet)
        return automata.lattices(words, offsets, alphabet.size, self.name)


@dataclass(frozen=True)
class Listed(Neighborhood):
    """The sentences that a function of the sentence lists, and the sentence itself."""

    function: Callable[[list], Iterable[Sequence]]

    @property
    def name(self) -> str:  # type: ignore[override]
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        sets = [[s, *self._neighbors(k, s, alphabet)] for k, s in enumerate(cut(words, offsets))]
        return Automata.of_strings(sets).lattices(words, offsets, alphabet.size, self.name)

    def _neighbors(self, number: int, sentence: np.ndarray, alphabet: Alphabet) -> list[np.ndarray]:
        place = f"the neighborhood {self.name} of sentence {number}"
        listed = self.function([alphabet.tokens[w] for w in sentence.tolist()])
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise LoglinError(f"{place} is {listed!r:.60}; let the function give a list of sentences")
        found = []
        for neighbor in listed:
            if isinstance(neighbor, str) or not isinstance(neighbor, Iterable):
                raise LoglinError(f"{place} holds {neighbor!r:.60}; let the function give lists of tokens")
            found.append(np.array([alphabet.symbol(token, place) for token in neighbor], np.int32))
        return found


@dataclass(frozen=True)
class Length(Neighborhood):
    """All sentences of m words, Σ^m, for a sentence of m words."""

    name: str = "length"

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        sentences = [np.zeros(m, np.int32) for m in np.diff(offsets).tolist()]
        return WordLattices.pooled(sentences, [alphabet.varying], alphabet.size)


@dataclass(frozen=True)
class Observed(Neighborhood):
    """The set of all sentences that are given together: one lattice for all."""

    name: str = "observed"
    needs_corpus: ClassVar[bool] = True

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        sentences = cut(words, offsets)
        automata = Automata.of_strings([sentences] if sentences else [])
        one = automata.lattices(words[:0], np.zeros(2, np.int64), alphabet.size, self.name)
        return replace(one, of=np.zeros(len(sentences), np.int64), separate=True)


@dataclass(frozen=True)
class Conditional(Neighborhood):
    """Sentences whose tokens agree with the observed ones in the given columns (x₁ varies, x₂ is kept)."""

    columns: tuple[int, ...]
    needs_corpus: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"conditional:{','.join(map(str, self.columns))}"

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        numbers: dict[tuple, int] = {}
        given = [numbers.setdefault(self._given(token), len(numbers)) for token in alphabet.tokens]
        pool_of = np.array(given, np.int32)
        varying = pool_of[alphabet.varying]
        pools = [alphabet.varying[varying == k] for k in range(len(numbers))]
        return WordLattices.pooled(cut(pool_of[words], offsets), pools, alphabet.size)

    def _given(self, token: Any) -> tuple:
        columns = token if isinstance(token, tuple | list) else (token,)
        n = len(columns)
        for c in self.columns:
            if not -n <= c < n:
                raise LoglinError(f"the neighborhood {self.name} keeps column {c}, but {token!r:.60} has only {n}")
        if len({c % n for c in self.columns}) == n:
            raise LoglinError(f"the neighborhood {self.name} keeps all columns of {token!r:.60}; let one of them vary")
        return tuple(columns[c] for c in self.columns)


@dataclass(frozen=True)
class Everything(Neighborhood):
    """All sentences of every length: what is summed is the model's automaton, see structures/automaton.py."""

    name: str = "everything"

    def _lattices(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> WordLattices:
        raise LoglinError("the neighborhood everything has no lattices; it is the partition function of the model")


def neighborhood(given: str | os.PathLike | Transducer | Callable | Neighborhood) -> Neighborhood:
    """The neighborhood that a name, a transducer file, a Transducer or a function sentence → sentences stands for."""
    if isinstance(given, Neighborhood):
        return given
    if isinstance(given, Transducer):
        return Edits(given)
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, os.PathLike):
        return Edits(Transducer.read(given))
    if callable(given):
        return Listed(given)
    raise LoglinError(f"{given!r:.60} is no neighborhood; give a name, a Transducer, its file, or a function")


def _named(text: str) -> Neighborhood:
    name = text.strip().lower()
    plain = {"length": Length(), "observed": Observed(), "everything": Everything()}
    if name in plain:
        return plain[name]
    if name.startswith("conditional"):
        return _conditional(name)
    whole = _transducer(text)
    if whole is not None:
        return Edits(whole)
    parts = [_transducer(part) for part in text.split("+")] if "+" in text else []
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        missing = next((t for t, part in zip(text.split("+"), parts, strict=False) if part is None), text).strip()
        kind = "cannot be part of a union" if missing.lower() in plain else "is neither a neighborhood nor a file"
        raise LoglinError(
            f"{missing!r} {kind}; the neighborhoods are {', '.join(NAMES)}, unions such as del1word+trans1, "
            "and files of transducers (functions are given in Python, not by name)"
        )
    return Edits(Transducer.union(known, "+".join(part.name for part in known)))


def _transducer(text: str) -> Transducer | None:
    """The transducer of this name, or in this file."""
    name = text.strip().lower()
    trans = re.fullmatch(r"trans([1-9][0-9]{0,3})", name)
    if trans:
        swaps = "".join(f"0 swap:{n} 1 \n" for n in range(1, int(trans[1]) + 1))
        return Transducer.parse(f"0 copy 0 \n {swaps} 1 copy 1 \n final 0 1", name)
    if name in _TRANSDUCERS:
        return Transducer.parse(_TRANSDUCERS[name], name)
    return Transducer.read(text) if Path(text).is_file() else None


def _conditional(name: str) -> Conditional:
    columns = name.removeprefix("conditional").removeprefix(":").replace(",", " ").split()
    if not columns or not all(re.fullmatch(r"-?[0-9]{1,4}", c) for c in columns):
        raise LoglinError(
            f"{name!r} does not say which columns are kept; write their numbers, from 0, such as conditional:1,2"
        )
    return Conditional(tuple(map(int, columns)))
