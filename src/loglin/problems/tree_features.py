"""Features of trees by name: what people read, and what an older model's weights are found again by."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.spans import SpanExtractor
from loglin.features.transfer import attribute_numbers, copy_weights
from loglin.grammars.transforms import TreeCoder
from loglin.structures.tree_scores import TreeIndex


def feature_name(index: TreeIndex, tokens: TemplateExtractor | None, spans: SpanExtractor | None, number: int) -> str:
    """A rule, a root symbol, or an attribute with the rule, symbol or tag that it has a weight for."""
    grammar, pairs = index.grammar, index.spans
    starts = np.concatenate([[0], np.cumsum(index.sizes)])
    kind = int(np.searchsorted(starts, number, side="right")) - 1
    place = number - int(starts[kind])

    def target(t: int) -> str:
        return rule_name(grammar.rules[t]) if t < grammar.n_rules else grammar.symbols[t - grammar.n_rules]

    if kind < 2:
        return target(number)
    ptr = (pairs.ptr, pairs.split_ptr, index.tokens.ptr)[kind - 2]
    attribute = int(np.searchsorted(ptr, place, side="right")) - 1
    if kind == 4:
        assert tokens is not None
        return f"{tokens.attribute_name(attribute)} for {grammar.symbols[index.tags[index.tokens.labels[place]]]}"
    assert spans is not None
    whose, chosen = ("span", pairs.targets[place]) if kind == 2 else ("split", pairs.split_rules[place])
    return f"{spans.attribute_name(attribute, whose)} for {target(int(chosen))}"


def rule_name(rule: tuple[str, ...]) -> str:
    """A rule as people write it."""
    return f"{rule[0]} → {' '.join(rule[1:])}"


def transferred_weights(
    old: Any, coder: TreeCoder, index: TreeIndex, tokens: TemplateExtractor | None, spans: SpanExtractor | None
) -> np.ndarray:
    """The weights of a parser's model for the features of another index; features that it lacks are zero."""
    if old.coder != coder:
        raise LoglinError(
            f"the model to start from encodes trees by {old.coder or 'a grammar of its own'}, and here it is {coder}; "
            "give the same horizontal, vertical and annotations, or leave the model out"
        )
    weights, new, past = np.zeros(index.n_features), index.grammar, old.index.grammar
    symbols = np.array([new.number.get(name, -1) for name in past.symbols], np.int64)
    rules = np.array([new.rule_number.get(rule, -1) for rule in past.rules], np.int64)
    targets = np.concatenate([rules, np.where(symbols < 0, -1, symbols + new.n_rules)])  # of a SpanIndex
    tag = {int(symbol): k for k, symbol in enumerate(index.tags)}
    tags = np.array([tag.get(int(symbols[t]), -1) for t in old.index.tags], np.int64)
    parts, olds = index.split(weights), old.index.split(np.asarray(old.weights, np.float64))
    for part, values, numbers in zip(parts, olds, (rules, symbols), strict=False):
        part[numbers[numbers >= 0]] = values[numbers >= 0]
    pairs, listed, n_targets = index.spans, old.index.spans, new.n_rules + new.n_symbols
    if spans is not None and old.spans is not None:
        found = old.spans.match(spans, "span")
        given = (found, listed.ptr, targets[listed.targets], olds[2])
        copy_weights(*given, pairs.ptr, pairs.targets, n_targets, parts[2])
        found = old.spans.match(spans, "split")
        given = (found, listed.split_ptr, rules[listed.split_rules], olds[3])
        copy_weights(*given, pairs.split_ptr, pairs.split_rules, n_targets, parts[3])
    if tokens is not None and old.tokens is not None:
        found = attribute_numbers(old.tokens, tokens, "unigram")
        given = (found, old.index.tokens.ptr, tags[old.index.tokens.labels], olds[4])
        copy_weights(*given, index.tokens.ptr, index.tokens.labels, len(index.tags), parts[4])
    return weights
