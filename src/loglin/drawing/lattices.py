"""A word lattice in the terminal, one state per line, and as a graph for Graphviz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loglin.corpus.shown import Shown
from loglin.neighborhoods.alphabet import written
from loglin.structures.word_lattices import WordLattices

FEW = 3  # members of a pool that are written out


@dataclass(frozen=True)
class LatticeDrawing(Shown):
    """The states and labelled arcs of one word lattice."""

    arcs: list[tuple[int, str, int]]  # state, what is read, state
    final: list[int]  # of each state: 1 where a neighbor ends, 2 where the sentence does
    observed: list[int]  # the states of the sentence's own path; none if it is summed apart

    @classmethod
    def of(cls, lattices: WordLattices, i: int, tokens: Sequence[Any]) -> LatticeDrawing:
        """The drawing of lattice i; ``tokens`` are what its symbols stand for."""
        first, last = int(lattices.states[i]), int(lattices.states[i + 1])
        names = [written(token) for token in tokens] + [_pool_name(pool.tolist(), tokens) for pool in lattices.pools]
        arcs = [
            (q - first, names[lattices.symbols[a]], int(lattices.targets[a]))
            for q in range(first, last)
            for a in range(lattices.arcs[q], lattices.arcs[q + 1])
        ]
        final = lattices.final[first:last].tolist()
        before = {r: q for q, _, r in arcs}
        observed = [final.index(2)] if 2 in final else []
        while observed and observed[0] > 0:
            observed.insert(0, before[observed[0]])  # one arc alone leads there
        return cls(arcs, final, observed)

    def between(self) -> dict[tuple[int, int], list[str]]:
        """The labels of the arcs from one state to another."""
        found: dict[tuple[int, int], list[str]] = {}
        for q, label, r in self.arcs:
            found.setdefault((q, r), []).append(label)
        return found

    def text(self) -> str:
        """One line per state, with its arcs; * stands before the states of the sentence itself."""
        width = len(str(len(self.final)))
        ends = ["", "end of a neighbor", "end of the sentence"]
        lines = []
        for q, final in enumerate(self.final):
            arcs = [f"{label} → {r}" for p, label, r in self.arcs if p == q]
            mark = "*" if q in self.observed else " "
            lines.append(f"{mark} {q:>{width}}  {'   '.join([*arcs, *filter(None, [ends[final]])])}")
        return "\n".join(lines)

    def dot(self) -> str:
        """The lattice in Graphviz's language; the sentence's own path is bold."""
        lines = ["digraph neighborhood {", "  rankdir=LR;", "  node [shape=circle];"]
        for q, final in enumerate(self.final):
            shape = ["shape=doublecircle"] if final else []
            lines.append(f"  {q} [{', '.join([*shape, *(['style=bold'] if q in self.observed else [])])}];")
        own = set(zip(self.observed, self.observed[1:], strict=False))
        for (q, r), labels in self.between().items():
            text = "\\n".join(label.replace("\\", "\\\\").replace('"', '\\"') for label in labels)
            lines.append(f'  {q} -> {r} [label="{text}"{", style=bold" if (q, r) in own else ""}];')
        return "\n".join([*lines, "}"])


def _pool_name(pool: Sequence[int], tokens: Sequence[Any]) -> str:
    if len(pool) > FEW:
        return f"any of {len(pool)} words"
    return "{" + ", ".join(written(tokens[symbol]) for symbol in pool) + "}"
