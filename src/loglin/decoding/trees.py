"""Sentences to trees: the best tree, the n best, probabilities of spans, and why a span is what it is.

A sentence without a tree is tried again with all tags for all words. If the grammar cannot derive it at all, it gets
the fewest subtrees that cover it, under one root, and is flagged; one whose chart would not fit into memory is refused
with the same flag and a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loglin.corpus.shown import Shown
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.grammars.symbols import base_label
from loglin.kernels.forest_scores import Scores
from loglin.models.parser import ParserModel
from loglin.structures.forest import Derivation, Forests, cell, chart_bytes, max_recall
from loglin.structures.local import check_precise, checked_count
from loglin.threads import Threads

MEMORY = 2**30  # bytes that the chart of one sentence may take
COVER = "X"  # the label of a word that no tag fits, and of a cover's root if the grammar names no root
RELAXED = 1e-4  # of a word's least likely tag: what all others get where there is no tree otherwise
BATCH = 2000  # sentences whose attributes are held at once


@dataclass(frozen=True)
class Parse(Shown):
    tree: Tree
    score: float  # of the tree in the model; of a cover −inf
    complete: bool = True
    note: str = ""  # what is wrong with an incomplete one
    probability: float | None = None  # p(tree | sentence), where asked for

    def __str__(self) -> str:
        return str(self.tree)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity; of a tree alone, not of its sentence."""
        value = {"tree": str(self.tree), "score": self.score if math.isfinite(self.score) else None}
        return value | ({} if self.probability is None else {"probability": self.probability})

    def phrases(self, probabilities: Mapping[tuple[str, int, int], float]) -> list[dict[str, Any]]:
        """Every phrase of the tree with its probability among those of the sentence."""
        return [
            {"label": label, "begin": i, "end": j, "probability": float(probabilities.get((label, i, j), 0.0))}
            for label, i, j in self.tree.spans()
        ]


@dataclass(frozen=True)
class Vote:
    """What one feature says for a rule at a span."""

    feature: str
    weight: float


@dataclass(frozen=True)
class SpanExplanation(Shown):
    """A span of the best tree, the rule on its top, and the strongest rival."""

    label: str
    begin: int
    end: int
    probability: float  # of the label over the span
    rule: str
    rule_probability: float  # of this rule on top of the span
    votes: list[Vote]  # of the rule's score here
    rivals: list[tuple[str, float]]  # other rules and their probabilities, likeliest first

    def __str__(self) -> str:
        lines = [f"{self.label} over words {self.begin}-{self.end}: probability {self.probability:.4f}"]
        lines.append(f"  {self.rule}: probability {self.rule_probability:.4f}")
        lines += [f"  {vote.weight:+9.4f}  {vote.feature}" for vote in self.votes]
        lines += [f"  rival {name}: probability {p:.4f}" for name, p in self.rivals]
        return "\n".join(lines)


def checked_words(sentence: Any, number: int) -> list[str]:
    """The words of a sentence, which has this number among others."""
    if isinstance(sentence, str) or not isinstance(sentence, Iterable):
        what = f"the string {sentence[:40]!r}" if isinstance(sentence, str) else f"{sentence!r:.60}"
        raise LoglinError(f"sentence {number} is {what}; give its words as a list, such as text.split()")
    words = list(sentence)
    wrong = next((w for w in words if not isinstance(w, str) or not w), None)
    if not words or wrong is not None:
        what = "no words" if not words else f"the word {wrong!r}"
        raise LoglinError(f"sentence {number} has {what}; give words that are not empty")
    return words


class TreeDecoder:
    """A model made ready to parse."""

    def __init__(self, model: ParserModel, threads: int | None = None, memory: int = MEMORY):
        if type(memory) is not int or memory < 1:
            raise LoglinError(f"memory is {memory!r:.60}; give a number of bytes, {MEMORY} for example")
        self.model, self.threads, self.memory = model, Threads(threads), memory
        self.worth = np.array([len(base_label(s)) for s in model.grammar.symbols], float)

    def _bytes(self, n_words: int) -> int:
        """What the chart of a sentence takes, for its best tree or for sums."""
        need = chart_bytes(self.model.grammar, n_words, bool(len(self.model.index.spans.split_rules)))
        return max(need.best, need.sums)

    @cached_property
    def longest(self) -> int:
        """How many words a sentence may have, so that its chart stays within ``memory``."""
        low, high = 1, 2
        while self._bytes(high) <= self.memory:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._bytes(middle) <= self.memory else (low, middle)
        return low

    # ------------------------------------------------------------------ trees

    def best(self, sentences: Sequence[Sequence[str]], criterion: str = "best") -> list[Parse]:
        """One tree a sentence: the "best", or by "max-recall" that of the likeliest spans."""
        if not isinstance(criterion, str) or criterion not in ("best", "max-recall"):
            raise LoglinError(f"no way to decode is called {criterion!r}; choose best or max-recall")
        return [parse for batch in self._batches(sentences) for parse in self._parsed(batch, criterion)]

    def nbest(self, sentences: Sequence[Sequence[str]], n: int) -> list[list[Parse]]:
        """The n best different trees of every sentence with their probabilities."""
        n = checked_count(n, "trees", 1)
        return [parses for batch in self._batches(sentences) for parses in self._listed(batch, n)]

    def _batches(self, sentences: Sequence[Sequence[str]]) -> Iterable[list[list[str]]]:
        if isinstance(sentences, str | Mapping) or not isinstance(sentences, Iterable):
            raise LoglinError(f"sentences are {sentences!r:.60}; give a list of sentences, such as [text.split()]")
        checked = [checked_words(s, number) for number, s in enumerate(sentences)]
        for b in range(0, len(checked), BATCH):
            yield checked[b : b + BATCH]

    def _fitting(self, sentences: list[list[str]]) -> tuple[np.ndarray, Forests | None, Scores | None]:
        """Which sentences are not too long, and their forests with scores."""
        fits = np.array([len(words) <= self.longest for words in sentences], bool)
        chosen = [words for words, ok in zip(sentences, fits, strict=True) if ok]
        if not chosen:
            return fits, None, None
        return fits, self.model.forests(chosen), self.model.scores(chosen)

    def _parsed(self, sentences: list[list[str]], criterion: str) -> list[Parse]:
        fits, forests, scores = self._fitting(sentences)
        places = np.cumsum(fits) - 1
        if forests is None or scores is None:
            return [self._too_long(words) for words in sentences]
        found: list[Derivation | None] = [None] * forests.n
        if criterion == "best":
            found = forests.best(scores, self.threads)
        else:
            spans = forests.totals(scores, np.tile([0.0, 1.0], (forests.n, 1)), self.threads, spans=True)
        parses = []
        for s, words in enumerate(sentences):
            f = int(places[s])
            if not fits[s]:
                parses.append(self._too_long(words))
            elif (best := found[f]) is not None:
                parses.append(Parse(self._tree(best.nodes, words), best.score))
            elif criterion == "max-recall" and spans.partitions[f, 1] > -math.inf:
                first = forests.layout.cells
                cells = spans.spans[first[f] : first[f + 1]]
                begin = int(forests.layout.row[forests.layout.arcs[f]])
                tags = spans.leaves[begin : begin + len(words)]
                parses.append(Parse(self._tree_of_spans(max_recall(cells, self.worth), cells, tags, words), math.nan))
            else:
                parses.append(self._cover(f, forests, scores, words))
        return parses

    def _listed(self, sentences: list[list[str]], n: int) -> list[list[Parse]]:
        fits, forests, scores = self._fitting(sentences)
        if forests is None or scores is None:
            return [[self._too_long(words)] for words in sentences]
        places, log_z = np.cumsum(fits) - 1, forests.totals(scores, threads=self.threads).partitions[:, 1]
        check_precise(log_z)
        lists = []
        for s, words in enumerate(sentences):
            f = int(places[s])
            if not fits[s]:
                lists.append([self._too_long(words)])
                continue
            wanted, parses = n, []
            chart = forests.best_chart(f, scores)
            while True:  # derivations that differ in annotation alone are one tree
                merged: dict[Tree, Parse] = {}
                found = chart.nbest(wanted)
                for nodes, score in found:
                    tree, p = self._tree(np.array(nodes), words), math.exp(score - log_z[f])
                    old = merged.get(tree)
                    merged[tree] = Parse(
                        tree, old.score if old else score, probability=p + (old.probability or 0) if old else p
                    )
                parses = list(merged.values())[:n]
                if len(parses) >= n or len(found) < wanted:
                    break
                wanted *= 2
            lists.append(parses or [self._cover(f, forests, scores, words)])
        return lists

    def sample(self, sentence: Sequence[str], n: int, rng: np.random.Generator) -> list[Tree]:
        """Trees of a sentence drawn by their probabilities."""
        words = checked_words(sentence, 0)
        drawn = self.model.forests([words]).sample(0, checked_count(n, "trees"), self.model.scores([words]), rng)
        return [self._tree(d.nodes, words) for d in drawn]

    # ------------------------------------------------------------------ from charts to trees

    def _tree(self, nodes: np.ndarray, words: list[str]) -> Tree:
        return self.model.decoded(self._encoded(nodes, words))

    def _encoded(self, nodes: np.ndarray, words: list[str]) -> Tree:
        names, n_binary = self.model.grammar.symbols, len(self.model.grammar.binary)
        rules = nodes[:, 3].tolist()
        sizes = [0 if r < 0 else 2 if r < n_binary else 1 for r in rules]
        read = [words[i] if r < 0 else None for i, r in zip(nodes[:, 1].tolist(), rules, strict=True)]
        return Tree.from_preorder([names[a] for a in nodes[:, 0].tolist()], sizes, read)

    def _tree_of_spans(
        self, spans: list[tuple[int, int, int]], cells: np.ndarray, tags: np.ndarray, words: list[str]
    ) -> Tree:
        """The tree of max_recall; below a symbol that rather has a unary rule than a word, its likeliest tag."""
        names, column = self.model.grammar.symbols, {A: k for k, A in enumerate(self.model.index.tags.tolist())}
        labels: list[str] = []
        sizes: list[int] = []
        read: list[str | None] = []
        for number, (symbol, i, j) in enumerate(spans):
            if symbol < 0 and (j - i == 1 or number == 0):
                symbol = int(cells[cell(i, j)].argmax())
            labels.append(names[symbol] if symbol >= 0 else "@" + COVER)
            itself = tags[i, column[symbol]] if j - i == 1 and symbol in column else 0.0
            if j - i == 1 and itself < cells[cell(i, j), symbol] / 2:
                labels.append(names[self.model.index.tags[int(tags[i].argmax())]])
                sizes.append(1)
                read.append(None)
            sizes.append(0 if j - i == 1 else 2)
            read.append(words[i] if j - i == 1 else None)
        return self.model.decoded(Tree.from_preorder(labels, sizes, read))

    def _relaxed(self, words: list[str]) -> Parse | None:
        """The best tree if every word may have every tag, those that the lexicon leaves out as 1e-4 of its least."""
        if self.model.coder is None:  # written by hand: what it leaves out is meant
            return None
        forests, scores = self.model.forests([words]), self.model.scores([words])
        known = scores.leaves > -math.inf
        if not known.any(axis=1).all():
            return None
        least = np.min(scores.leaves, axis=1, where=known, initial=math.inf) + math.log(RELAXED)
        best = forests.best(scores._replace(leaves=np.where(known, scores.leaves, least[:, None])))[0]
        if best is None:
            return None
        note = "there is no tree with the tags that the lexicon gives the words; others were tried"
        return Parse(self._tree(best.nodes, words), best.score, note=note)

    def _cover(self, f: int, forests: Forests, scores: Scores, words: list[str]) -> Parse:
        if (relaxed := self._relaxed(words)) is not None:
            return relaxed
        chart = forests.best_chart(f, scores)
        pieces = chart.cover(self.worth > 0)
        below = []
        for symbol, i, j in pieces:
            if symbol < 0:
                below.append(Tree(COVER, (), words[i]))
            else:
                below.append(self._tree(chart.nodes(symbol, i, j), words))
        unknown = [words[i] for symbol, i, _ in pieces if symbol < 0]
        note = f"the grammar has no tree for this sentence; it is covered by {len(pieces)} subtrees"
        if unknown:
            note += f", and it does not know {unknown[0]!r}"
        return Parse(Tree(self._root, tuple(below)), -math.inf, False, note)

    @property
    def _root(self) -> str:
        labels = base_label(self.model.grammar.symbols[int(self.model.base.roots.argmax())])
        return labels[0] if labels else COVER

    def _too_long(self, words: list[str]) -> Parse:
        need = self._bytes(len(words)) / 2**20
        note = (
            f"{len(words)} words need a chart of {need:,.0f} MiB, more than the limit of {self.memory / 2**20:,.0f} "
            f"({self.longest} words); cut the sentence, or raise the memory"
        )
        return Parse(Tree(self._root, tuple(Tree(COVER, (), w) for w in words)), -math.inf, False, note)

    # ------------------------------------------------------------------ probabilities

    def spans(self, sentence: Sequence[str]) -> np.ndarray:
        """p(symbol, i, j | sentence): (cells, N)."""
        return self._totals(sentence)[0]

    def _totals(self, sentence: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        words = checked_words(sentence, 0)
        if len(words) > self.longest:
            raise LoglinError(self._too_long(words).note)
        forests, scores = self.model.forests([words]), self.model.scores([words])
        found = forests.totals(scores, np.array([[0.0, 1.0]]), dense=True, spans=True)
        if found.partitions[0, 1] == -math.inf:
            raise LoglinError("the grammar has no tree for this sentence, so its spans have no probabilities")
        check_precise(found.partitions[0])
        return found.spans, found.dense

    def marginals(self, sentence: Sequence[str], least: float = 1e-3) -> list[tuple[str, int, int, float]]:
        """(label, i, j, probability) of the constituents that have at least that probability, by place."""
        if not isinstance(least, int | float | np.number) or not 0 <= least <= 1:
            raise LoglinError(f"least is {least!r:.60}; give a probability from 0 to 1")
        spans = self.spans(sentence)
        totals: dict[tuple[str, int, int], float] = {}
        n = int((math.isqrt(8 * len(spans) + 1) - 1) // 2)
        for j in range(1, n + 1):
            for i in range(j):
                row = spans[cell(i, j)]
                for A in np.flatnonzero(row).tolist():
                    for label in base_label(self.model.grammar.symbols[A]):
                        totals[label, i, j] = totals.get((label, i, j), 0.0) + float(row[A])
        found = [(label, i, j, p) for (label, i, j), p in totals.items() if p >= least]
        return sorted(found, key=lambda x: (x[1], -x[2], -x[3]))

    # ------------------------------------------------------------------ why

    def explain(self, sentence: Sequence[str], begin: int, end: int, most: int = 10) -> SpanExplanation:
        """Why words begin … end − 1 are what they are: their likeliest symbol, its rule, and what votes for it."""
        words, model = checked_words(sentence, 0), self.model
        if not 0 <= begin < end <= len(words):
            raise LoglinError(
                f"the span {begin}-{end} does not fit a sentence of {len(words)} words; give 0-{len(words)}"
            )
        spans, dense = self._totals(words)
        c = cell(begin, end)
        A, names = int(spans[c].argmax()), model.grammar.symbols
        label = "+".join(base_label(names[A])) or names[A]
        if spans[c, A] <= 0:
            raise LoglinError(f"no tree has a constituent over words {begin}-{end}; ask about another span")
        if end - begin == 1:
            tag = int(np.flatnonzero(model.index.tags == A)[0]) if A in model.index.tags else -1
            votes = self._leaf_votes(words, begin, tag) if tag >= 0 else []
            others = _ranked(
                [(f"{names[B]} → {words[begin]}", spans[c, B]) for B in np.flatnonzero(spans[c]) if B != A]
            )
            name, p = f"{names[A]} → {words[begin]}", float(spans[c, A])
            return SpanExplanation(label, begin, end, p, name, p, votes[:most], others)
        of_A = np.flatnonzero(model.grammar.parents == A)
        r = int(of_A[dense[c, of_A].argmax()])
        rivals = _ranked([(self._rule(x), dense[c, x]) for x in np.flatnonzero(dense[c]).tolist() if x != r])
        votes = self._rule_votes(words, c, r)
        return SpanExplanation(
            label, begin, end, float(spans[c, A]), self._rule(r), float(dense[c, r]), votes[:most], rivals[:3]
        )

    def _rule(self, r: int) -> str:
        parent, *children = self.model.grammar.rules[r]
        return f"{parent} → {' '.join(children)}"

    def _rule_votes(self, words: list[str], c: int, r: int) -> list[Vote]:
        model, index = self.model, self.model.index
        rules, _, pairs, _, _ = index.split(model.weights)
        votes = [Vote("the base model", float(model.base.rules[r])), Vote("the rule itself", float(rules[r]))]
        design, R = model.design([words]), index.grammar.n_rules
        for t in range(design.spans.shape[1]):
            a = int(design.spans[c, t])
            for target in (r, R + int(index.grammar.parents[r])) if a >= 0 else ():
                begin, end = int(index.spans.ptr[a]), int(index.spans.ptr[a + 1])
                place = begin + int(np.searchsorted(index.spans.targets[begin:end], target))
                if place < end and index.spans.targets[place] == target and model.spans is not None:
                    votes.append(Vote(model.spans.attribute_name(a), float(pairs[place])))
        return sorted((v for v in votes if v.weight), key=lambda v: -abs(v.weight))

    def _leaf_votes(self, words: list[str], t: int, tag: int) -> list[Vote]:
        model, index = self.model, self.model.index
        tokens, design = index.split(model.weights)[4], model.design([words])
        votes = [Vote("the lexicon", float(design.leaves[t, tag]))]
        row = design.tokens[t]
        for a in row.indices.tolist():
            begin, end = int(index.tokens.ptr[a]), int(index.tokens.ptr[a + 1])
            place = begin + int(np.searchsorted(index.tokens.labels[begin:end], tag))
            if place < end and index.tokens.labels[place] == tag and model.tokens is not None:
                votes.append(Vote(model.tokens.attribute_name(a), float(tokens[place])))
        return sorted((v for v in votes if v.weight), key=lambda v: -abs(v.weight))


def _ranked(rivals: list[tuple[str, Any]], most: int = 3) -> list[tuple[str, float]]:
    """The likeliest."""
    return sorted(((name, float(p)) for name, p in rivals), key=lambda rival: -rival[1])[:most]
