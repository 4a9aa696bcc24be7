"""Context-free rules as arrays: A → B C and A → B over numbered symbols; words are in a lexicon.

Rules are numbered, binary ones first (sorted by parent, left, right), then unary ones in an order in which the rules
of a symbol come before those that have it as their child. So one sweep over the unary rules closes a chart's cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.errors import LoglinError

Rule = tuple[str, ...]  # parent, then one or two children


@dataclass(frozen=True, eq=False)
class Grammar:
    """Numbered symbols and rules, without probabilities."""

    symbols: list[str]
    binary: np.ndarray  # (binary rules, 3) int32: parent, left, right
    unary: np.ndarray  # (unary rules, 2) int32: parent, child

    @classmethod
    def of(cls, rules: Iterable[Rule], symbols: Iterable[str] = ()) -> Grammar:
        """A grammar of rules such as ("S", "NP", "VP"); ``symbols`` come first and may have no rules, like tags."""
        distinct = set(rules)
        wrong = next((r for r in distinct if len(r) not in (2, 3)), None)
        if wrong is not None:
            raise LoglinError(f"the rule {wrong!r} has {len(wrong) - 1} children; binarize it to one or two")
        names = list(dict.fromkeys([*symbols, *sorted({s for rule in distinct for s in rule})]))
        number = {name: n for n, name in enumerate(names)}
        binary = sorted(tuple(number[s] for s in rule) for rule in distinct if len(rule) == 3)
        unary = sorted((number[r[0]], number[r[1]]) for r in distinct if len(r) == 2)
        ordered = _children_first(unary, names)
        return cls(names, np.array(binary, np.int32).reshape(-1, 3), np.array(ordered, np.int32).reshape(-1, 2))

    @property
    def n_symbols(self) -> int:
        return len(self.symbols)

    @property
    def n_rules(self) -> int:
        return len(self.binary) + len(self.unary)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of every symbol."""
        return {name: n for n, name in enumerate(self.symbols)}

    @cached_property
    def parents(self) -> np.ndarray:
        """The parent of every rule: (rules,) int32."""
        return np.concatenate([self.binary[:, 0], self.unary[:, 0]])

    @cached_property
    def rules(self) -> list[Rule]:
        """Every rule in the names of its symbols, in the order of the numbers."""
        return [tuple(self.symbols[s] for s in row) for rows in (self.binary, self.unary) for row in rows.tolist()]

    @cached_property
    def rule_number(self) -> dict[Rule, int]:
        return {rule: n for n, rule in enumerate(self.rules)}

    @cached_property
    def expansions(self) -> np.ndarray:
        """Where binary rules begin: those of A are expansions[A] … expansions[A + 1] − 1: (symbols + 1,) int64."""
        return np.searchsorted(self.binary[:, 0], np.arange(self.n_symbols + 1)).astype(np.int64)

    def is_consistent(self) -> bool:
        """Whether rules from a file name symbols that exist and stand in their order."""
        rules = [self.binary, self.unary]
        names = isinstance(self.symbols, list) and all(isinstance(name, str) for name in self.symbols)
        if not names or len(set(self.symbols)) < len(self.symbols) or any(r.dtype != np.int32 for r in rules):
            return False
        inside = all(not r.size or (int(r.min()) >= 0 and int(r.max()) < self.n_symbols) for r in rules)
        return inside and all(map(np.array_equal, rules, self._in_order()))

    def _in_order(self) -> list[np.ndarray]:
        """The rules as ``of`` would number them."""
        again = Grammar.of(self.rules, self.symbols)
        return [again.binary, again.unary]

    @cached_property
    def unary_depth(self) -> int:
        """How many unary rules can stand above one another."""
        depth = np.zeros(self.n_symbols, np.int64)
        for parent, child in self.unary.tolist():
            depth[parent] = max(depth[parent], depth[child] + 1)
        return int(depth.max(initial=0))


def _children_first(unary: list[tuple[int, int]], names: list[str]) -> list[tuple[int, int]]:
    """Unary rules in such an order that all rules of a symbol precede the rules with it as their child."""
    of_parent: dict[int, list[int]] = {}
    for parent, below in unary:
        of_parent.setdefault(parent, []).append(below)
    ordered: list[tuple[int, int]] = []
    state: dict[int, int] = {}  # 1 while a symbol's children are visited, then 2
    for top in sorted(of_parent):
        path = [(top, iter(of_parent[top]))] if top not in state else []
        state.setdefault(top, 1)
        while path:
            symbol, children = path[-1]
            child = next(children, None)
            if child is None:
                ordered += [(symbol, c) for c in of_parent[symbol]]
                state[symbol] = 2
                path.pop()
            elif state.get(child) == 1:
                cycle = [s for s, _ in path][[s for s, _ in path].index(child) :]
                shown = " → ".join(names[s] for s in [*cycle, child])
                raise LoglinError(
                    f"unary rules go in a circle, {shown}, so that every tree has endlessly many variants; "
                    "remove one of these rules"
                )
            elif child not in state and child in of_parent:
                state[child] = 1
                path.append((child, iter(of_parent[child])))
    return ordered
