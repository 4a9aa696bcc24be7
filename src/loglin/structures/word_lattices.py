"""Sets of sentences as acyclic deterministic automata, many at once.

lattice i                states[i] … states[i + 1] − 1, in topological order, the first its start
arcs of state q          arcs[q] … arcs[q + 1] − 1, sorted by what they read
neighbors of sentence s  the strings of lattice of[s]

Every string is there once, and none is empty. Unless ``separate``, sentence s has lattice s to itself, and on it a
path of its own: a state on it is reached by the sentence's first words only, and its end is the one state with
final 2. So one pass over the lattice sums the sentence apart from its neighbors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from loglin.corpus.shown import Shown
from loglin.errors import LoglinError
from loglin.kernels import transduce as kernels

Sentences = Sequence[Sequence[int]] | Sequence[np.ndarray]  # of symbols


@dataclass(frozen=True, eq=False)
class WordLattices(Shown):
    states: np.ndarray  # (lattices + 1,) int64
    arcs: np.ndarray  # (states + 1,) int64
    targets: np.ndarray  # (arcs,) int32, counted from the lattice's first state
    symbols: np.ndarray  # (arcs,) int32: what the arc reads; from n_symbols on, pool symbol − n_symbols
    final: np.ndarray  # (states,) int8: 1 where a neighbor ends, 2 where the observed sentence ends
    n_symbols: int
    of: np.ndarray  # (sentences,) int64: the lattice of each sentence
    pools: list[np.ndarray] = field(default_factory=list)  # sorted symbols: an arc reads any one of them
    separate: bool = False  # lattices are shared and end in final 1 alone; the sentences are summed as chains()

    @classmethod
    def chains(cls, sentences: Sentences, n_symbols: int | None = None) -> WordLattices:
        """Of every sentence itself and nothing else."""
        words, offsets = joined(sentences, n_symbols)
        n_symbols = int(words.max(initial=-1)) + 1 if n_symbols is None else n_symbols
        return _chains(words, offsets, n_symbols, final=2, of=np.arange(len(sentences)))

    @classmethod
    def pooled(cls, sentences: Sequence[np.ndarray], pools: list[np.ndarray], n_symbols: int) -> WordLattices:
        """Of sentences of pool numbers; those with the same numbers share a lattice."""
        numbers: dict[bytes, int] = {}
        of = [numbers.setdefault(np.asarray(s, np.int32).tobytes(), len(numbers)) for s in sentences]
        words, offsets = joined([np.frombuffer(key, np.int32) for key in numbers], len(pools))
        return _chains(words + np.int32(n_symbols), offsets, n_symbols, 1, np.array(of, np.int64), pools, True)

    def prefix_tree(self) -> tuple[WordLattices, np.ndarray]:
        """Chains as one lattice that shares their beginnings, and where among its final states each of them ends."""
        children: list[dict[int, int]] = [{}]
        ends = []
        for i in range(len(self)):
            q = 0
            for a in range(self.arcs[self.states[i]], self.arcs[self.states[i + 1]]):
                q = children[q].setdefault(int(self.symbols[a]), len(children))
                if q == len(children):
                    children.append({})
            ends.append(q)
        final = np.zeros(len(children), np.int8)
        final[ends] = 1
        arcs = np.concatenate([[0], np.cumsum([len(c) for c in children])]).astype(np.int64)
        targets = np.array([*chain.from_iterable(c.values() for c in children)], np.int32)
        symbols = np.array([*chain.from_iterable(children)], np.int32)
        tree = WordLattices(
            np.array([0, len(children)], np.int64), arcs, targets, symbols, final, self.n_symbols,
            np.zeros(len(self.of), np.int64), self.pools, True,
        )  # fmt: skip
        return tree, (np.cumsum(final > 0) - 1)[ends]

    def unpooled(self) -> WordLattices:
        """With an arc for every symbol of a pool."""
        if not self.pools:
            return self
        sizes = np.array([1] * self.n_symbols + [len(pool) for pool in self.pools])
        read = np.concatenate([np.arange(self.n_symbols), *self.pools])
        n, first = sizes[self.symbols], (np.cumsum(sizes) - sizes)[self.symbols]
        ends = np.concatenate([[0], np.cumsum(n)])
        symbols = read[np.repeat(first - ends[:-1], n) + np.arange(ends[-1])].astype(np.int32)
        return replace(
            self, arcs=ends[self.arcs].astype(np.int64), targets=np.repeat(self.targets, n), symbols=symbols, pools=[]
        )

    def __len__(self) -> int:
        return len(self.states) - 1

    def size(self, i: int) -> int:
        """How many strings lattice i holds."""
        first, last = int(self.states[i]), int(self.states[i + 1])
        behind = [0] * (last - first)
        for q in range(last - 1, first - 1, -1):
            behind[q - first] = int(self.final[q] > 0)
            for a in range(self.arcs[q], self.arcs[q + 1]):
                behind[q - first] += len(self._read(a)) * behind[self.targets[a]]
        return behind[0]

    def strings(self, i: int) -> Iterator[tuple[int, ...]]:
        """All strings of lattice i, one after the other, in the order of their symbols."""
        first = int(self.states[i])
        ahead: list[tuple[int, tuple[int, ...]]] = [(first, ())]
        while ahead:
            q, prefix = ahead.pop()
            if self.final[q]:
                yield prefix
            for a in range(self.arcs[q + 1] - 1, self.arcs[q] - 1, -1):
                target = first + int(self.targets[a])
                ahead += [(target, (*prefix, symbol)) for symbol in reversed(self._read(a))]

    def _read(self, arc: int) -> list[int]:
        """The symbols that an arc reads."""
        symbol = int(self.symbols[arc])
        return [symbol] if symbol < self.n_symbols else self.pools[symbol - self.n_symbols].tolist()


@dataclass(frozen=True, eq=False)
class Automata:
    """Nondeterministic automata, one a sentence, whose arcs lead to states of higher numbers."""

    first: np.ndarray  # (n + 1,) int64: automaton s has the states first[s] … first[s + 1] − 1
    starts: np.ndarray  # (n,) int64
    arcs: np.ndarray  # (states + 1,) int64: arcs of state q are arcs[q] … arcs[q + 1] − 1
    targets: np.ndarray  # (arcs,) int64
    symbols: np.ndarray  # (arcs,) int32, -1 if it reads nothing
    final: np.ndarray  # (states,) bool

    @classmethod
    def of_strings(cls, sets: Iterable[Sequence[np.ndarray]]) -> Automata:
        """Each automaton accepts the strings of one set: a start, and behind it a chain for each."""
        first, arcs, symbols, final, targets = [0], [0], [], [], []
        for strings in sets:
            strings = [s for s in strings if len(s)]
            begins = first[-1] + 1 + np.concatenate([[0], np.cumsum([len(s) for s in strings])]).astype(np.int64)
            last = np.zeros(begins[-1] - first[-1], bool)
            last[begins[1:] - 1 - first[-1]] = True
            inner = np.arange(first[-1] + 1, begins[-1])[~last[1:]]
            targets += [begins[:-1], inner + 1]
            symbols += [np.array([s[0] for s in strings], np.int32), *(s[1:] for s in strings)]
            counts = (~last).astype(np.int64)
            counts[0] = len(strings)
            arcs += (arcs[-1] + np.cumsum(counts)).tolist()
            final.append(last)
            first.append(int(begins[-1]))
        return cls(
            np.array(first, np.int64),
            np.array(first[:-1], np.int64),
            np.array(arcs, np.int64),
            np.concatenate([np.empty(0, np.int64), *targets]),
            np.concatenate([np.empty(0, np.int32), *symbols]).astype(np.int32),
            np.concatenate([np.empty(0, bool), *final]),
        )

    def lattices(self, words: np.ndarray, offsets: np.ndarray, n_symbols: int, name: str) -> WordLattices:
        """Without silent arcs, deterministic, minimal; the observed sentences (words, offsets) apart on their paths."""
        automata = self.first, self.starts, self.arcs, self.targets, self.symbols, self.final
        lost, states, arcs, targets, symbols, final = kernels.word_lattices(*automata, words, offsets)
        if lost >= 0:
            raise LoglinError(
                f"the neighborhood {name} loses sentence {lost} itself ({offsets[lost + 1] - offsets[lost]} words), "
                "which must be among its own neighbors; let a path of copies lead to a final state"
            )
        return WordLattices(states, arcs, targets, symbols, final, n_symbols, np.arange(len(self.starts)))


def joined(sentences: Sentences, n_symbols: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Words of all sentences (tokens,) int32 and where each begins (sentences + 1,) int64, checked."""
    lengths = np.array([len(s) for s in sentences], np.int64)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        raise LoglinError(f"sentence {empty[0]} has no words, so it has no neighbors; leave it out")
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = np.concatenate([np.empty(0, np.int64), *(np.asarray(s) for s in sentences)])
    end = np.iinfo(np.int32).max if n_symbols is None else n_symbols
    wrong = np.flatnonzero(~((words >= 0) & (words < end) & (words == np.floor(words))))
    if len(wrong):
        s = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
        raise LoglinError(
            f"sentence {s}, word {wrong[0] - offsets[s]} is symbol {words[wrong[0]]}; symbols are numbers from 0 to "
            f"{end - 1}"
        )
    return words.astype(np.int32), offsets


def cut(words: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """The sentences that ``joined`` put one behind the other."""
    return np.split(words, offsets[1:-1])[: len(offsets) - 1]


def _chains(
    words: np.ndarray,
    offsets: np.ndarray,
    n_symbols: int,
    final: int,
    of: np.ndarray,
    pools: Sequence[np.ndarray] = (),
    separate: bool = False,
) -> WordLattices:
    """One path a sentence, which ends in ``final``."""
    n = len(offsets) - 1
    lengths = np.diff(offsets)
    states = offsets + np.arange(n + 1)
    ends = np.zeros(states[-1], np.int8)
    ends[states[1:] - 1] = final
    arcs = np.concatenate([[0], np.cumsum(ends == 0)]).astype(np.int64)
    targets = (np.arange(len(words)) - np.repeat(offsets[:-1], lengths) + 1).astype(np.int32)
    return WordLattices(states, arcs, targets, words, ends, n_symbols, of, list(pools), separate)
