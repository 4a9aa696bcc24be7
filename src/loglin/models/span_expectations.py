"""Expected counts of a parser's features under a probabilistic grammar: the base model of M-estimation on trees.

A template of spans is a condition on words at a span and beside it, and on its length; models/tree_expectations.py has
the sums. Words are what the grammar writes, known words and signatures, so the extractors must be fitted to sentences
as the lexicon reads them (Lexicon.as_terminals); then every expectation is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loglin.corpus.columns import Column
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.span_index import SpanIndex
from loglin.features.spans import SpanExtractor
from loglin.features.template import Item, Template
from loglin.features.views import Views
from loglin.models.pcfg import PCFG
from loglin.models.tree_expectations import Spans, Words

Read = Callable[[Item], tuple[int, np.ndarray]]

# where the item of a template of spans, or of a token, looks
PLACES = {
    ("first", 0): "first",
    ("first", -1): "before",
    ("last", 0): "last",
    ("last", 1): "after",
    ("split", -1): "split-left",
    ("split", 0): "split-right",
    ("", 0): "first",
    ("", -1): "before",
    ("", 1): "after",
}


class TreeBase:
    """A grammar's expectations of features."""

    def __init__(self, pcfg: PCFG):
        if not pcfg.is_tight():
            raise LoglinError(
                f"the grammar is not tight: its trees end with probability {pcfg.total:.3g}; take conditioned(), the "
                "grammar of trees that do"
            )
        self.pcfg, self.spans = pcfg, Spans(pcfg)
        self.words = Vocabulary.of(pcfg.lexicon.text(row) for row in range(len(pcfg.lexicon.terminals)))

    def of_rules(self) -> np.ndarray:
        """How often each rule is used: (R,)."""
        return self.pcfg.expected_rules()[0]

    def of_roots(self) -> np.ndarray:
        """How often each symbol is a root: (N,)."""
        return np.exp(self.pcfg.roots) * self.pcfg.inside

    def of_spans(self, extractor: SpanExtractor, index: SpanIndex) -> tuple[np.ndarray, np.ndarray]:
        """Of every pair of a span's attribute and a rule or symbol, and of a split's and a rule: (pairs,) each."""
        grammar = self.pcfg.grammar
        if (index.n_rules, index.n_symbols) != (grammar.n_rules, grammar.n_symbols):
            raise LoglinError(
                f"the features are of {index.n_rules} rules and {index.n_symbols} symbols, but the base model has "
                f"{grammar.n_rules} and {grammar.n_symbols}; count it from the same trees"
            )
        spans, splits = np.zeros(len(index.targets)), np.zeros(len(index.split_rules))
        for template, table in zip(extractor.observed, extractor.tables, strict=True):
            found, ptr, targets = spans, index.ptr, index.targets
            if template.kind == "split":
                found, ptr, targets = splits, index.split_ptr, index.split_rules
            ptr = ptr[table.base : table.base + len(table.keys) + 1]
            pairs, owner = slice(ptr[0], ptr[-1]), np.repeat(np.arange(len(table.keys)), np.diff(ptr))
            codes = extractor.item_codes(template, table.keys)[:, owner]
            found[pairs] = self._of_targets(extractor.views, template, codes, targets[pairs].astype(np.int64))
        return spans, splits

    def _of_targets(self, views: Views, template: Template, codes: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Of each target with the values of a template's items (items, n): (n,); a symbol stands for its rules."""
        grammar = self.pcfg.grammar
        symbols = np.maximum(targets - grammar.n_rules, 0)
        sizes = np.where(targets < grammar.n_rules, 1, np.diff(grammar.expansions)[symbols])
        first = np.where(targets < grammar.n_rules, targets, grammar.expansions[symbols])
        owner = np.repeat(np.arange(len(targets)), sizes)
        rules = np.arange(len(owner)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        found, lengths = np.zeros(len(rules)), [i.function == "length" for i in template.items]
        shortest, longest = self._lengths(template, codes[lengths], len(targets))
        for low, high in np.unique(np.stack([shortest, longest]), axis=1).T.tolist():
            some = np.flatnonzero((shortest[owner] == low) & (longest[owner] == high))
            words, classes, possible = self._words(template, codes[:, owner[some]], self._reader(views, template))
            some = some[possible]
            if len(some):
                found[some] = self.spans.expected(rules[some], words, low, None if high < 0 else high, classes)
        return np.bincount(owner, found, len(targets))

    def _lengths(self, template: Template, codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The shortest and the longest span that has the given lengths, −1 for any: (n,) each."""
        shortest, longest = np.ones(n, np.int64), np.full(n, -1)
        of_lengths = [item.arguments[0] for item in template.items if item.function == "length"]
        for most, code in zip(of_lengths, codes, strict=True):
            exact = code + 1 < most
            shortest = np.maximum(shortest, code + 1)
            longest = np.where(exact, np.where(longest < 0, code + 1, np.minimum(longest, code + 1)), longest)
        return shortest, longest

    def of_tokens(self, extractor: TemplateExtractor, index: FeatureIndex) -> np.ndarray:
        """Of every pair of a word's attribute and a tag: (pairs,)."""
        found, tags, reach = np.zeros(len(index.labels)), self.pcfg.lexicon.tags, extractor.templates.reach

        def read(item: Item) -> tuple[int, np.ndarray]:
            values = extractor.codes_of_values(item.view, self.words)
            return len(extractor.vocabularies[item.view]), values.astype(np.int64)

        for template, table in zip(extractor.observed_templates, extractor.tables, strict=True):
            if any(item.function == "ngrams" for item in template.items):
                raise _refusal(template, "has many values at one word")
            ptr = index.ptr[table.base : table.base + len(table.keys) + 1]
            owner = np.repeat(np.arange(len(table.keys)), np.diff(ptr))
            codes, rest = np.empty((len(template.items), len(table.keys)), np.int64), table.keys
            for n in reversed(range(len(template.items))):
                size = len(extractor.vocabularies[template.items[n].view])
                rest, codes[n] = np.divmod(rest, size + 2 * reach)
            words, classes, possible = self._words(template, codes[:, owner], read)
            some = np.flatnonzero(possible) + ptr[0]
            if len(some):
                found[some] = self.spans.expected_leaves(tags[index.labels[some].astype(np.int64)], words, classes)
        return found

    def _words(self, template: Template, codes: np.ndarray, read: Read) -> tuple[Words, Words, np.ndarray]:
        """What a template's values (items, n) say: classes of words at places, and each terminal's (V,) at each place.

        Classes are only of those of the n that are possible, (n,) bool.
        """
        asked: dict[str, np.ndarray] = {}
        classes: dict[str, np.ndarray] = {}
        possible = np.ones(codes.shape[1], bool)
        for item, code in zip(template.items, codes, strict=True):
            if item.function == "length":
                continue
            place = PLACES.get((item.anchor, item.offset))
            if place is None:
                raise _refusal(template, f"looks {item.offset:+d} words from a span's {item.anchor or 'word'}")
            size, values = read(item)
            possible &= (code < size) | (code == {"before": size, "after": size + 1}.get(place, -1))
            inside = np.where(code < size, code, -1)
            if place not in asked:
                asked[place], classes[place] = inside, values
            else:  # values of one word together; a word is either inside the sentence or not
                asked[place] = np.where(inside < 0, -1, asked[place] * size + inside)
                known = (classes[place] >= 0) & (values >= 0)
                classes[place] = np.where(known, classes[place] * size + values, -1)
        for place, numbers in asked.items():
            distinct, renumbered = np.unique(np.append(classes[place], -1), return_inverse=True)
            classes[place] = renumbered.reshape(-1)[:-1] - 1  # −1 is the first of the distinct ones, and stays
            asked[place] = np.searchsorted(distinct, numbers) - 1
            possible &= np.append(distinct, -2)[asked[place] + 1] == numbers
        return {place: numbers[possible] for place, numbers in asked.items()}, classes, possible

    def _reader(self, views: Views, template: Template) -> Read:
        """For items of spans: how many values each has, and the number of that of each terminal, −1 for none."""
        column = Column(np.arange(len(self.words), dtype=np.int32), self.words)

        def read(item: Item) -> tuple[int, np.ndarray]:
            size = len(views.vocabularies[item.view])
            if item.function not in ("signature", "word"):
                return size, views.codes(item.view, column).astype(np.int64)
            inside, begin = views.codes_by_position(item.view, column)
            if (inside != begin).any():
                raise _refusal(template, "sees whether a word begins its sentence")
            return size, inside.astype(np.int64)

        return read


def _refusal(template: Template, reason: str) -> LoglinError:
    return LoglinError(
        f"{template.text!r} {reason}, which the base model has no sums for; leave it out, or take another criterion"
    )
