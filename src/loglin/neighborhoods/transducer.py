"""Finite-state transducers that turn a sentence into its neighbors (contrastive estimation, §4 and Fig. 1).

    # DEL1WORD: every sentence with one word less, and the sentence itself
    0 copy 0
    0 delete 1
    1 copy 1
    final 0 1

A line is an arc: state, operation (see operations.py), state. The transducer starts in state 0 and ends, when all words
are read, in a final state. The neighborhood is the set of strings that it writes on any path; a string written twice
counts once. The empty string is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from loglin.corpus.files import read_text
from loglin.errors import LoglinError
from loglin.neighborhoods.alphabet import Alphabet
from loglin.neighborhoods.operations import LITERAL, Operation, parse_operation
from loglin.structures.word_lattices import Automata


@dataclass(frozen=True)
class Arc:
    source: int
    operation: Operation
    target: int
    place: str  # for messages


@dataclass(frozen=True)
class Transducer:
    """A finite-state transducer, checked."""

    arcs: tuple[Arc, ...]
    final: tuple[int, ...]
    name: str = "transducer"

    @classmethod
    def of(
        cls, arcs: Iterable[tuple[int, str, int]], final: Iterable[int], name: str = "transducer", places=None
    ) -> Transducer:
        """A transducer from arcs such as (0, "copy", 0); states that lead nowhere and endless loops are refused."""
        arcs = list(arcs)
        places = [f"{name}, arc {k}" for k in range(len(arcs))] if places is None else places
        made = [
            Arc(_state(source, place), parse_operation(operation, place), _state(target, place), place)
            for (source, operation, target), place in zip(arcs, places, strict=True)
        ]
        transducer = cls(tuple(made), tuple(sorted({_state(q, f"{name}, final") for q in final})), name)
        _check_states(transducer)
        transducer.order()
        return transducer

    @classmethod
    def parse(cls, text: str, name: str = "transducer") -> Transducer:
        """A transducer from lines "STATE OPERATION STATE" and "final STATE …"; # begins a comment."""
        arcs, places, final = [], [], None
        for number, line in enumerate(text.splitlines(), 1):
            fields, place = line.split(), f"{name}, line {number}"
            if not fields or fields[0].startswith("#"):
                continue
            if fields[0] == "final":
                final = [*(final or []), *(_state(q, place) for q in fields[1:])]
            elif len(fields) < 3:
                raise LoglinError(f"{place}: {line.strip()!r} is no arc; write STATE OPERATION STATE, such as 0 copy 0")
            else:
                arcs.append((_state(fields[0], place), " ".join(fields[1:-1]), _state(fields[-1], place)))
                places.append(place)
        if not final:
            raise LoglinError(f"{name} has no final state; end it with a line such as final 0 1")
        return cls.of(arcs, final, name, places)

    @classmethod
    def read(cls, path: str | os.PathLike) -> Transducer:
        return cls.parse(read_text(path), str(path))

    @classmethod
    def union(cls, parts: Sequence[Transducer], name: str) -> Transducer:
        """A transducer that writes what any of the parts writes, by silent arcs from a new start to theirs."""
        arcs, final, base = [], [], 1
        for part in parts:
            start = f"{name}, start of {part.name}"
            arcs.append(Arc(0, parse_operation("epsilon", start), base, start))
            arcs += [Arc(base + a.source, a.operation, base + a.target, a.place) for a in part.arcs]
            final += [base + q for q in part.final]
            base += 1 + max(part.states)
        return cls(tuple(arcs), tuple(final), name)

    @property
    def states(self) -> set[int]:
        return {0, *self.final, *(q for a in self.arcs for q in (a.source, a.target))}

    @property
    def words(self) -> list[str]:
        """The words that operations name and write without reading them."""
        return list(dict.fromkeys(s.word for a in self.arcs for s in a.operation.steps if s.writes == LITERAL))

    def order(self) -> list[int]:
        """The states in an order in which arcs that read nothing lead onwards; a loop of such arcs is refused."""
        silent = [a for a in self.arcs if a.operation.reads == 0]
        waiting, order = self.states, []
        while waiting:
            ready = waiting - {a.target for a in silent if a.source in waiting}
            if not ready:
                arc = next(a for a in silent if a.source in waiting and a.target in waiting)
                raise LoglinError(
                    f"{arc.place}: {arc.operation.text!r} from state {arc.source} to {arc.target} is part of a loop "
                    "that reads no word, so that it could write without end; let an arc of the loop read one"
                )
            order += sorted(ready)
            waiting -= ready
        return order

    def compose(self, words: np.ndarray, offsets: np.ndarray, alphabet: Alphabet) -> Automata:
        """A lattice for each sentence of all that the transducer writes for it; state = position · nodes + node."""
        order = self.order()
        steps, K = self._steps(order, alphabet)
        source, target, writes, symbol, reads, needs = steps.T
        lengths = np.diff(offsets)
        ends = offsets[1:] + np.arange(len(lengths))  # positions behind the last words
        positions = np.arange(offsets[-1] + len(lengths))
        ahead = np.repeat(ends, lengths + 1) - positions  # words from here
        place, s = np.nonzero(needs <= ahead[:, None])
        final = np.zeros(len(positions) * K, bool)
        final[(ends[:, None] * K + np.flatnonzero(np.isin(order, self.final))).ravel()] = True
        first = np.append(ends - lengths, len(positions)) * K
        degrees = np.bincount(place * K + source[s], minlength=len(final))
        word = np.insert(words, offsets[1:], -1)[place + np.maximum(writes[s], 0)]
        return Automata(
            first=first,
            starts=first[:-1] + order.index(0),
            arcs=np.concatenate([[0], np.cumsum(degrees)]),
            targets=(place + reads[s]) * K + target[s],
            symbols=np.where(writes[s] >= 0, word, symbol[s]).astype(np.int32),
            final=final,
        )

    def _steps(self, order: list[int], alphabet: Alphabet) -> tuple[np.ndarray, int]:
        """Rows (node, node, writes, symbol, words read, words needed), sorted, and how many nodes there are.

        Nodes are the states in their order and behind them those inside operations, so that steps lead onwards.
        """
        node = {q: k for k, q in enumerate(order)}
        rows, n = [], len(order)
        for arc in self.arcs:
            needs = arc.operation.reads
            for step in arc.operation.steps:
                source = node[arc.source] if step.source == 0 else n + step.source - 1
                target = node[arc.target] if step.target < 0 else n + step.target - 1
                symbol = alphabet.symbol(step.word, arc.place) if step.writes == LITERAL else -1
                rows.append((source, target, step.writes, symbol, needs if step.target < 0 else 0, needs))
            n += arc.operation.nodes
        return np.array(sorted(rows), np.int64).reshape(-1, 6), n


def _state(number: int | str, place: str) -> int:
    if not (str(number).isascii() and str(number).isdigit()):
        raise LoglinError(f"{place}: {number!r} is no state; states are numbers from 0")
    return int(number)


def _check_states(transducer: Transducer) -> None:
    """Refuse a state that is not reached from state 0 or does not reach a final state."""
    reached = _closure({0}, {(a.source, a.target) for a in transducer.arcs})
    ending = _closure(set(transducer.final), {(a.target, a.source) for a in transducer.arcs})
    if not transducer.final:
        raise LoglinError(f"{transducer.name} has no final state; name at least one")
    for q in transducer.final:
        if q not in reached:
            raise LoglinError(
                f"{transducer.name}: final state {q} does not exist, no arc leads to it; check its number"
            )
    for arc in transducer.arcs:
        if arc.source not in reached:
            raise LoglinError(
                f"{arc.place}: state {arc.source} does not exist, no arcs lead there from 0; check its number"
            )
        if arc.target not in ending:
            raise LoglinError(
                f"{arc.place}: state {arc.target} leads to no final state; add an arc from it, or make it final"
            )


def _closure(found: set[int], steps: set[tuple[int, int]]) -> set[int]:
    while True:
        more = found | {b for a, b in steps if a in found}
        if more == found:
            return found
        found = more
