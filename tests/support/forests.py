"""Small random grammars with their scores, as the package takes them and as enumeration does; and the contract."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

import oracle
from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.structures import Forest, Forests
from loglin.structures.forest import scores_of

INF = math.inf
CLOSE = {"rtol": 1e-9, "atol": 1e-8}
MANY = 300  # list all n-best trees of at most so many


def cells_of(states: int) -> dict[tuple[int, int], int]:
    """Cell (i, j) → its number: by j, then by i."""
    return {(i, j): c for c, (j, i) in enumerate((j, i) for j in range(1, states) for i in range(j))}


def random_grammar(rng: np.random.Generator, n_symbols: int, n_binary: int, n_unary: int) -> Grammar:
    """Rules of symbols in no particular order; unary ones lead from an earlier symbol of a permutation to a later."""
    names = [f"S{n}" for n in rng.permutation(n_symbols)]
    rules = [tuple(rng.choice(names, 3)) for _ in range(n_binary)]
    pairs = list(itertools.combinations(range(n_symbols), 2))
    rules += [tuple(names[n] for n in pairs[p]) for p in rng.permutation(len(pairs))[:n_unary]]
    return Grammar.of([tuple(map(str, rule)) for rule in dict.fromkeys(rules)], sorted(names))


def sprinkle(rng: np.random.Generator, array: np.ndarray, share: float) -> np.ndarray:
    """Forbid a random share of the entries."""
    return np.where(rng.random(array.shape) < share, -INF, array)


@dataclass
class Listed:
    """Every tree over one path of words, or over several, by enumeration; scores of rules stand out in full."""

    grammar: Grammar
    leaves: np.ndarray  # (rows, N)
    roots: np.ndarray  # (N,)
    rows: np.ndarray  # (cells, R)
    splits: np.ndarray | None  # (states, binary)
    states: int
    trees: list[tuple[tuple, tuple, float]]  # (path of states, tree with words "w" + row, score)

    @classmethod
    def of(cls, grammar, leaves, roots, rules, splits, paths, allowed=None) -> Listed:
        """paths are (states, rows of leaves); rules (R,) or (cells, R); allowed (cells, N) bool masks nodes."""
        states = 1 + max(at[-1] for at, _ in paths)
        at_cell = cells_of(states)
        rows = np.broadcast_to(rules, (len(at_cell), grammar.n_rules))
        listed = cls(grammar, leaves, roots, rows, splits, states, [])
        plain = dict.fromkeys(grammar.rules, 0.0)
        plain |= {(grammar.symbols[A], f"w{r}"): 0.0 for r, A in np.argwhere(leaves > -INF).tolist()}
        for at, words in paths:
            for tree, _ in oracle.trees(plain, [f"w{r}" for r in words]):
                uses = listed.uses(at, tree)
                score = listed.score(uses)
                if allowed is not None and not all(allowed[at_cell[i, j], A] for _, A, i, j, *_ in uses[1:]):
                    continue
                if score > -INF:
                    listed.trees.append((tuple(at), tree, score))
        return listed

    def uses(self, at, tree) -> list[tuple]:
        """("root", A), ("leaf", A, i, j, row), ("rule", A, i, j, r, split state or −1) of a tree from the top."""
        number = self.grammar.number
        found: list[tuple] = [("root", number[tree[0]])]
        for production, ends in oracle.tree_uses(tree):
            i, j, A = at[ends[0]], at[ends[-1]], number[production[0]]
            if production[1].startswith("w"):
                found.append(("leaf", A, i, j, int(production[1][1:])))
            else:
                split = at[ends[1]] if len(ends) == 3 else -1
                found.append(("rule", A, i, j, self.grammar.rules.index(production), split))
        return found

    def score(self, uses) -> float:
        at_cell, terms = cells_of(self.states), []
        for kind, A, *where in uses:
            if kind == "root":
                terms.append(self.roots[A])
            elif kind == "leaf":
                terms.append(self.leaves[where[2], A])
            else:
                i, j, r, split = where
                terms.append(self.rows[at_cell[i, j], r])
                if split >= 0 and self.splits is not None:
                    terms.append(self.splits[split, r])
        return -INF if -INF in terms else math.fsum(terms)

    @property
    def listing(self) -> list[tuple[tuple, float]]:
        return [((at, tree), score) for at, tree, score in self.trees]

    def partition(self) -> float:
        return oracle.log_partition(self.listing)

    def expected(self) -> dict[str, np.ndarray]:
        """Expected uses of leaves (rows, N), roots, rules (R,), dense (cells, R), spans (cells, N), splits."""
        at_cell, N, R = cells_of(self.states), self.grammar.n_symbols, self.grammar.n_rules
        made = {
            "leaves": np.zeros(self.leaves.shape), "roots": np.zeros(N), "dense": np.zeros((len(at_cell), R)),
            "spans": np.zeros((len(at_cell), N)), "splits": np.zeros((self.states, len(self.grammar.binary))),
        }  # fmt: skip
        probabilities = oracle.probabilities(self.listing) if self.trees else []
        for (at, tree, _), p in zip(self.trees, probabilities, strict=True):
            for kind, A, *where in self.uses(at, tree):
                if kind == "root":
                    made["roots"][A] += p
                    continue
                made["spans"][at_cell[where[0], where[1]], A] += p
                if kind == "leaf":
                    made["leaves"][where[2], A] += p
                else:
                    made["dense"][at_cell[where[0], where[1]], where[2]] += p
                    if where[3] >= 0:
                        made["splits"][where[3], where[2]] += p
        made["rules"] = made["dense"].sum(axis=0)
        return made

    def told(self, nodes: np.ndarray, row_of_arc) -> tuple[tuple, tuple]:
        """A derivation's nodes as (path of states, tree); its score must then be found in the listing."""
        path = sorted({int(x) for node in nodes for x in node[1:3]})
        ahead = iter(nodes.tolist())

        def below(expected):
            A, i, j, rule = next(ahead)
            assert expected in (None, (A, i)), "children stand in preorder, the left one first"
            name, n_binary = self.grammar.symbols[A], len(self.grammar.binary)
            if rule < 0:
                return (name, f"w{row_of_arc[-1 - rule]}"), j
            if rule >= n_binary:
                assert self.grammar.unary[rule - n_binary, 0] == A
                child, end = below((self.grammar.unary[rule - n_binary, 1], i))
                assert end == j
                return (name, child), j
            assert self.grammar.binary[rule, 0] == A
            left, split = below((self.grammar.binary[rule, 1], i))
            right, end = below((self.grammar.binary[rule, 2], split))
            assert end == j
            return (name, left, right), j

        tree, end = below(None)
        assert next(ahead, None) is None
        assert end == nodes[0, 2]
        assert nodes[0, 1] == 0
        return tuple(path), tree


def sentence_path(n: int, first: int = 0) -> list[tuple[tuple, tuple]]:
    """The only path of a sentence of n words whose leaf rows begin at ``first``."""
    return [(tuple(range(n + 1)), tuple(range(first, first + n)))]


def lattice_paths(words, lattice: int = 0, least: int = 1) -> list[tuple[tuple, tuple]]:
    """Every path of a word lattice to a state with final ≥ least: its states and what it reads."""
    first, found = int(words.states[lattice]), []
    ahead: list[tuple[tuple, tuple]] = [((0,), ())]
    while ahead:
        at, read = ahead.pop()
        if words.final[first + at[-1]] >= least:
            found.append((at, read))
        for a in range(words.arcs[first + at[-1]], words.arcs[first + at[-1] + 1]):
            ahead.append(((*at, int(words.targets[a])), (*read, int(words.symbols[a]))))
    return found


class Case:
    """A random grammar over n words; rules (R,), or with a row for every cell."""

    def __init__(
        self, seed, n, N=3, B=5, U=1, scale=1.0, forbidden=0.0, per_cell=False, splits=False, states=None, rows=None
    ):
        rng = np.random.default_rng(seed)
        self.grammar = random_grammar(rng, N, B, U)
        self.n, states = n, n + 1 if states is None else states
        R, n_binary = self.grammar.n_rules, len(self.grammar.binary)

        def drawn(*shape):
            return sprinkle(rng, scale * rng.normal(size=shape), forbidden)

        self.leaves, self.roots = drawn(n if rows is None else rows, N), drawn(N)
        self.rules = drawn(len(cells_of(states)), R) if per_cell else drawn(R)
        self.splits = drawn(states, n_binary) if splits else None
        self.masks = rng.random((len(cells_of(states)), N)) < 0.8

    def forest(self, words=None) -> Forest:
        return Forest(self.grammar, self.leaves, self.rules, self.roots, self.splits, words)

    def listed(self, paths=None, allowed=None) -> Listed:
        paths = paths or sentence_path(self.n)
        return Listed.of(self.grammar, self.leaves, self.roots, self.rules, self.splits, paths, allowed)


class Attributed:
    """Sentences whose cells and split points have attributes, with weights for rules and for all rules of a symbol."""

    def __init__(self, seed, lengths, N=3, B=4, U=1, scale=1.0, forbidden=0.0, templates=2, splits=1, local=0, K=None):
        rng = np.random.default_rng(seed)
        self.lengths, self.local, self.grammar = lengths, local, random_grammar(rng, N, B, U)
        R, n_binary = self.grammar.n_rules, len(self.grammar.binary)
        n_cells, n_states = sum(n * (n + 1) // 2 for n in lengths), sum(n + 1 for n in lengths)
        self.tags = rng.permutation(N)[: N if K is None else K]

        def drawn(*shape):
            return sprinkle(rng, scale * rng.normal(size=shape), forbidden)

        def table(n_places, n_templates, n_targets, n_attributes=5):
            attributes = rng.integers(-1, n_attributes, (n_places, n_templates)).astype(np.int32)
            counts = rng.integers(0, 4, n_attributes) * (n_targets > 0)
            ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            targets = rng.integers(0, max(n_targets, 1), ptr[-1]).astype(np.int32)  # the same rule may come twice
            return [attributes, ptr, targets, drawn(ptr[-1])]

        self.leaves, self.roots, self.rules = drawn(sum(lengths), len(self.tags)), drawn(N), drawn(R)
        self.spans, self.splits = table(n_cells, templates, R + N), table(n_states, splits, n_binary)

    @property
    def forests(self) -> Forests:
        return Forests.of_sentences(self.grammar, self.tags, self.lengths)

    def scores(self, **changed):
        part = {"leaves": self.leaves, "roots": self.roots, "rules": self.rules}
        part |= {"pairs": self.spans[3], "splits": self.splits[3]} | changed
        return scores_of(
            part["leaves"], part["roots"], part["rules"],
            spans=(*self.spans[:3], part["pairs"]), splits=(*self.splits[:3], part["splits"]),
            local=self.local, expansions=self.grammar.expansions,
        )  # fmt: skip

    def rows(self, first, states, g=None):
        """Scores of all rules at the cells of a sentence, by hand; normalized if they are to be."""
        R, n_binary = self.grammar.n_rules, len(self.grammar.binary)
        rows = np.tile(self.rules, (len(cells_of(states)), 1))
        attributes, ptr, targets, weights = self.spans
        for c, t in itertools.product(range(len(rows)), range(attributes.shape[1])):
            a = attributes[first + c, t]
            for p in range(ptr[a], ptr[a + 1]) if a >= 0 else ():
                rows[c, self.aimed(targets[p])] += weights[p]
        for A in range(self.grammar.n_symbols) if self.local else ():
            own = np.flatnonzero(self.grammar.parents[:n_binary] == A)
            for row in rows:
                total = oracle.log_sum([*row[own], *([0.0] if self.local == 2 else [])]) if len(own) else 0.0
                row[own] -= total if total > -INF else 0.0
        assert rows.shape[1] == R
        return rows

    def aimed(self, target):
        """The rules that a target stands for."""
        R, n_binary = self.grammar.n_rules, len(self.grammar.binary)
        return [target] if target < R else np.flatnonzero(self.grammar.parents[:n_binary] == target - R)

    def listed(self, allowed=None) -> list[Listed]:
        leaves = np.full((len(self.leaves), self.grammar.n_symbols), -INF)
        leaves[:, self.tags] = self.leaves
        found, word, state, cell = [], 0, 0, 0
        for n in self.lengths:
            splits = np.zeros((n + 1, len(self.grammar.binary)))
            for k, t in itertools.product(range(n + 1), range(self.splits[0].shape[1])):
                a = self.splits[0][state + k, t]
                for p in range(self.splits[1][a], self.splits[1][a + 1]) if a >= 0 else ():
                    splits[k, self.splits[2][p]] += self.splits[3][p]
            n_cells = n * (n + 1) // 2
            mask = None if allowed is None else allowed[cell : cell + n_cells]
            rows, paths = self.rows(cell, n + 1), sentence_path(n, word)
            found.append(Listed.of(self.grammar, leaves, self.roots, rows, splits, paths, mask))
            word, state, cell = word + n, state + n + 1, cell + n_cells
        return found

    def expected(self, weight, allowed=None) -> dict[str, np.ndarray]:
        """Σ_sentences weight · expected uses, and those of the pairs of attributes and targets."""
        listed = self.listed(allowed)
        uses = [one.expected() for one in listed]
        made = {k: sum(w * u[k] for w, u in zip(weight, uses, strict=True)) for k in ("leaves", "roots", "rules")}
        made["leaves"] = made["leaves"][:, self.tags]
        made["partitions"] = np.array([[one.partition()] * 2 for one in listed])
        for name in ("dense", "spans"):
            made[name] = np.concatenate([w * u[name] for w, u in zip(weight, uses, strict=True)])
        made["pairs"] = self.collected(self.spans, made["dense"])
        made["splits"] = self.collected(
            self.splits, np.concatenate([w * u["splits"] for w, u in zip(weight, uses, strict=True)])
        )
        return made

    def collected(self, table, uses):
        attributes, ptr, targets, weights = table
        pairs = np.zeros(len(weights))
        for place, t in itertools.product(range(len(attributes)), range(attributes.shape[1])):
            a = attributes[place, t]
            for p in range(ptr[a], ptr[a + 1]) if a >= 0 else ():
                pairs[p] += uses[place, self.aimed(targets[p])].sum()
        return pairs


def rows_of(forest):
    return forest._forests.layout.row


def check_best(forest, listed):
    best, scores = forest.best(), dict(listed.listing)
    told = listed.told(best.nodes, rows_of(forest))
    np.testing.assert_allclose(best.score, scores[told], **CLOSE)
    assert told in oracle.best_set(listed.listing)
    ranked = sorted(scores.values(), reverse=True)
    for k in (1, 4, *([len(ranked) + 3] if len(ranked) <= MANY else [])):
        found = forest.nbest(k)
        trees = [listed.told(d.nodes, rows_of(forest)) for d in found]
        assert len(set(trees)) == len(trees) == min(k, len(ranked))
        assert all(a.score >= b.score for a, b in itertools.pairwise(found))
        np.testing.assert_allclose([d.score for d in found], ranked[:k], **CLOSE)
        np.testing.assert_allclose([d.score for d in found], [scores[t] for t in trees], **CLOSE)


def check_forest(forest, listed):
    """Every quantity of a forest against the list of its trees."""
    np.testing.assert_allclose(forest.partition(), listed.partition(), **CLOSE)
    if not listed.trees:
        for impossible in (
            forest.expectations,
            forest.marginals,
            forest.leaf_marginals,
            forest.best,
            lambda: forest.nbest(2),
            lambda: forest.sample(1, np.random.default_rng(0)),
            *([] if forest.words is not None else [forest.max_recall]),
        ):
            with pytest.raises(LoglinError, match="No tree is possible; add rules"):
                impossible()
        return
    expected = listed.expected()
    np.testing.assert_allclose(forest.expectations(), expected["rules"], **CLOSE)
    rules, spans = forest.marginals()
    np.testing.assert_allclose(rules, expected["dense"], **CLOSE)
    np.testing.assert_allclose(spans, expected["spans"], **CLOSE)
    np.testing.assert_allclose(forest.leaf_marginals(), expected["leaves"], **CLOSE)
    check_best(forest, listed)
    drawn = {listed.told(d.nodes, rows_of(forest)) for d in forest.sample(20, np.random.default_rng(0))}
    assert drawn <= {tree for tree, _ in listed.listing}
