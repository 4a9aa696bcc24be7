"""What a PCFG expects of the features of trees, exactly, for M-estimation (Smith, Vail and Lafferty 2007, §4.1.2).

    rules, roots                              as the grammar expects them
    attributes of spans × rules or symbols    what is around a rule times p times what is below it, with the words of
    attributes of splits × rules              the attribute there: see generative/tree_expectations.py
    attributes of words × tags                o_A Σ p(A → x) over the terminals x that have the attribute

Templates read terminals of the lexicon: known words, and signatures in angle brackets. An item's value is a class of
them. A template may look at one word in each of three places, and at the length: around the span (before it or behind
it), in its left part (its first word, or the last before the split) and in its right part.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from loglin.corpus.columns import from_sentences
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.spans import SpanExtractor
from loglin.features.template import Template
from loglin.features.views import View
from loglin.generative.pcfg import PCFG
from loglin.generative.tree_expectations import Spans, dependent
from loglin.structures.tree_scores import TreeIndex, token_matrix

PLACES = {
    ("first", 0): "first",
    ("last", 0): "last",
    ("first", -1): "before",
    ("last", 1): "after",
    ("split", -1): "split-left",
    ("split", 0): "split-right",
}
EDGE, NOBODY = -1, -2  # the class of an item beyond the sentence, and of one that no terminal is in


def expected_features(
    pcfg: PCFG, index: TreeIndex, tokens: TemplateExtractor | None, spans: SpanExtractor | None
) -> np.ndarray:
    """E[f] under the grammar: (features,)."""
    if not pcfg.is_tight():
        raise LoglinError(
            f"the grammar is not tight: with probability {1 - pcfg.total:.3g} a derivation never ends; M-estimation "
            "needs the probabilities of whole trees: lower those of recursive rules"
        )
    rules, _ = pcfg.expected_rules()
    parts = [rules, np.exp(pcfg.roots) * pcfg.inside]
    if spans is None:
        parts.append(np.zeros(sum(index.spans.sizes[2:])))
    else:
        parts += _SpanFeatures(pcfg, spans).expected(index)
    parts.append(np.zeros(0) if tokens is None else _of_tokens(pcfg, index.tokens, tokens))
    return np.concatenate(parts)


def _of_tokens(pcfg: PCFG, index: FeatureIndex, tokens: TemplateExtractor) -> np.ndarray:
    """Expected counts of every pair of a word's attribute and a tag: (pairs,)."""
    source = tokens.templates.source
    wrong = next((t for t in tokens.templates.templates if any(item.offset for item in t.items)), None)
    if wrong is not None:
        raise LoglinError(
            f"{source}: {wrong.text!r} looks at the neighbors of a word, of which a grammar's expectation is not "
            "worked out; leave it out, or take criterion crf"
        )
    if tokens.templates.oov == "first":
        raise LoglinError(
            f"{source}: oov=first reads a word's first token otherwise than its second, which a grammar does not; "
            "leave it out: rare words are signatures here"
        )
    words = [[pcfg.lexicon.text(row)] for row in range(len(pcfg.lexicon.terminals))]
    attributes = token_matrix(tokens.transform(from_sentences(words)))  # (terminals, attributes)
    written = (attributes.T @ pcfg.lexicon.matrix).toarray() * pcfg.outside[pcfg.lexicon.tags]  # (attributes, tags)
    return written[np.repeat(np.arange(tokens.n_attributes), np.diff(index.ptr)), index.labels]


class _SpanFeatures:
    """Templates of spans as rules with classes of words at places."""

    def __init__(self, pcfg: PCFG, spans: SpanExtractor):
        self.pcfg, self.spans = pcfg, spans
        terminals = [pcfg.lexicon.text(row) for row in range(len(pcfg.lexicon.terminals))]
        codes = spans.views.transform(from_sentences([word, word] for word in terminals))
        # what every view makes of a terminal that begins a sentence, and of one that does not: (terminals, 2)
        self.codes = {view: row.reshape(-1, 2) for view, row in zip(spans.views.order, codes, strict=True)}
        self.numbers: dict[tuple[View, ...], dict[tuple, int]] = {}  # the classes by the values of some views
        self.columns: list[np.ndarray] = []  # of every terminal the class: (terminals,) each
        self.n_classes = 0
        self.words = [self._words(number) for number in range(len(spans.observed))]

    def expected(self, index: TreeIndex) -> Iterator[np.ndarray]:
        """Expected counts of the pairs of spans, and of those of splits."""
        table = Spans(self.pcfg, np.stack(self.columns, axis=1) if self.columns else None)
        templates = list(zip(self.spans.observed, self.spans.tables, strict=True))
        n_spans, of = len(self.spans.templates.spans), index.spans
        for numbers, ptr, targets in (
            (range(n_spans), of.ptr, of.targets),
            (range(n_spans, len(templates)), of.split_ptr, of.split_rules),
        ):
            found = np.zeros(len(targets))
            for number in numbers:
                template, keys = templates[number]
                first, last = ptr[keys.base], ptr[keys.base + len(keys.keys)]
                attribute = np.repeat(np.arange(len(keys.keys)), np.diff(ptr[keys.base :][: len(keys.keys) + 1]))
                target = targets[first:last].astype(np.int64)
                pair, rules = self._rules(target) if template.kind == "label" else (np.arange(len(target)), target)
                uses = self._uses(table, number, attribute[pair], rules)
                found[first:last] = np.bincount(pair, uses, len(target))
            yield found

    def _rules(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rules of symbols, given as targets of a SpanIndex: for each rule its symbol's place, and its number."""
        grammar = self.pcfg.grammar
        by_parent, parents = np.argsort(grammar.parents, kind="stable"), np.sort(grammar.parents)
        begin, end = (np.searchsorted(parents, targets - grammar.n_rules, side) for side in ("left", "right"))
        pair = np.repeat(np.arange(len(targets)), end - begin)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(end - begin) - end, end - begin)
        return pair, by_parent[place]

    def _uses(self, table: Spans, number: int, attribute: np.ndarray, rules: np.ndarray) -> np.ndarray:
        """Expected uses of rules where a template has an attribute: (n,)."""
        words, lengths = self.words[number], self._lengths(number)
        possible = np.all([np.ones(len(lengths), bool), *(w != NOBODY for w in words.values())], axis=0)
        found = np.zeros(len(rules))
        for shortest, longest in np.unique(lengths, axis=0).tolist():
            some = possible & (lengths == (shortest, longest)).all(axis=1)
            chosen = np.flatnonzero(some[attribute])
            at = {place: w[attribute[chosen]] for place, w in words.items()}
            found[chosen] = table.expected(rules[chosen], at, shortest, longest or None)
        return found

    def _lengths(self, number: int) -> np.ndarray:
        """The shortest and the longest span of every attribute, 0 if there is no longest: (attributes, 2)."""
        codes = self.spans.item_codes(number)
        found = np.tile([1, 0], (len(codes), 1))
        for n, item in enumerate(self.spans.observed[number].items):
            if item.function == "length":
                m = codes[:, n] + 1
                exact = np.where(m < item.arguments[0], m, 0)  # several items that tell it exactly tell the same
                found = np.maximum(found, np.stack([m, exact], axis=1))
        return found

    def _words(self, number: int) -> dict[str, np.ndarray]:
        """The class of the word of every attribute, (attributes,), by place."""
        template, codes = self.spans.observed[number], self.spans.item_codes(number)
        words = {}
        for place, items in self._places(template).items():
            views = tuple(template.items[n].view for n in items)
            known = self._classes(views, template)
            outside = codes[:, items[0]] >= len(self.spans.views.vocabularies[views[0]])
            numbers = [known.get(row, NOBODY) for row in map(tuple, codes[:, items].tolist())]
            words[place] = np.where(outside, EDGE, np.array(numbers, np.int64))
        return words

    def _places(self, template: Template) -> dict[str, list[int]]:
        """Which items look at which place; refuses templates whose expectations cannot be computed."""
        places: dict[str, list[int]] = {}
        for n, item in enumerate(template.items):
            if item.function != "length":
                places.setdefault(PLACES.get((item.anchor, item.offset), ""), []).append(n)
        together = dependent(places, len(self.pcfg.grammar.unary) > 0)
        if "" in places or together:
            what = "words that depend on each other" if together else "a word further away"
            raise LoglinError(
                f"{self.spans.templates.source}: {template.text!r} looks at {what}, of which a grammar's expectation "
                "is not worked out; look at the first or the last word, at one beside the span or at those at the "
                "split, or take criterion crf"
            )
        return places

    def _classes(self, views: tuple[View, ...], template: Template) -> dict[tuple, int]:
        """Classes of terminals that have the same values in some views."""
        if views in self.numbers:
            return self.numbers[views]
        if any((self.codes[view][:, 0] != self.codes[view][:, 1]).any() for view in views):
            raise LoglinError(
                f"{self.spans.templates.source}: {template.text!r} tells words that begin a sentence from others, "
                "which a grammar does not; take %word with a cut-off that no known word is below (the setting rare, "
                "plus one)"
            )
        rows = [*map(tuple, np.stack([self.codes[view][:, 0] for view in views], axis=1).tolist())]
        numbers = self.numbers[views] = {row: self.n_classes + n for n, row in enumerate(dict.fromkeys(rows))}
        self.columns.append(np.array([numbers[row] for row in rows], np.int64))
        self.n_classes += len(numbers)
        return numbers
