"""Expected rules with words in and beside their spans, against enumeration and samples."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

import oracle
from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.generative.tree_expectations import PLACES, Spans
from support.grammars import ENGLISH, FINITE, as_node, doubling, listing

EDGE = -1


def words_around(tree):
    """(rule, length, words by place) of every use of a rule that is not a word's, by the listed tree."""
    words = oracle.tree_yield(tree)
    for rule, ends in oracle.tree_uses(tree):
        if len(rule) == 2 and rule[1] == words[ends[0]]:
            continue
        i, j = ends[0], ends[-1]
        at = {"first": i, "last": j - 1, "before": i - 1, "after": j}
        if len(ends) == 3:
            at |= {"split-left": ends[1] - 1, "split-right": ends[1]}
        yield rule, j - i, {place: words[t] if 0 <= t < len(words) else EDGE for place, t in at.items()}


def uses(tree):
    """(rule, length, place, word) of every use."""
    for rule, length, words in words_around(tree):
        for place, word in words.items():
            yield rule, length, place, word


def expected(trees):
    counts = Counter()
    for tree, p in trees:
        for use in uses(tree):
            counts[use] += p
    return counts


def all_pairs(pcfg, place):
    """Rule and word numbers of every pair, with names."""
    words = [*range(len(pcfg.lexicon.terminals)), *([EDGE] if place in ("before", "after") else [])]
    pairs = [(r, w) for r in range(pcfg.grammar.n_rules) for w in words]
    names = [(pcfg.grammar.rules[r], EDGE if w == EDGE else pcfg.lexicon.text(w)) for r, w in pairs]
    return *np.array(pairs).T, names


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("shortest", "longest"), [(1, None), (2, 2), (1, 2), (3, None), (1, 4), (3, 5), (2, 1)])
def test_against_enumeration(place, shortest, longest):
    pcfg, counts = PCFG.of(FINITE), expected(listing(FINITE))
    rules, words, names = all_pairs(pcfg, place)
    found = Spans(pcfg).expected(rules, {place: words}, shortest, longest)
    wanted = Counter()
    for (rule, length, at, word), n in counts.items():
        if at == place and shortest <= length <= (longest or 99):
            wanted[rule, word] += n
    assert sum(wanted.values()) > 0 or shortest > (longest or 99)
    np.testing.assert_allclose(found, [wanted[name] for name in names], atol=1e-14)


TOGETHER = [("first", "last"), ("before", "first"), ("last", "after"), ("split-left", "split-right")]
TOGETHER += [("before", "last"), ("first", "after", "split-right"), ("before", "split-left", "last")]


@pytest.mark.parametrize("places", TOGETHER, ids="+".join)
@pytest.mark.parametrize(("shortest", "longest"), [(1, None), (2, 2), (3, None), (2, 3)])
def test_several_words_against_enumeration(places, shortest, longest):
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        for rule, length, words in words_around(tree):
            if len(rule) == 3 and shortest <= length <= (longest or 99):
                wanted[rule, *(words[place] for place in places)] += p
    words = [[*range(len(pcfg.lexicon.terminals)), *([EDGE] if p in ("before", "after") else [])] for p in places]
    rows = list(product(range(len(pcfg.grammar.binary)), *words))
    rules, *numbers = np.array(rows).T
    found = Spans(pcfg).expected(rules, dict(zip(places, numbers, strict=True)), shortest, longest)
    names = [(pcfg.grammar.rules[r], *(w if w == EDGE else pcfg.lexicon.text(w) for w in ws)) for r, *ws in rows]
    assert len(wanted) > 5
    np.testing.assert_allclose(found, [wanted[name] for name in names], atol=1e-14)


def test_lengths_alone_against_enumeration():
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        for rule, length, _ in words_around(tree):
            wanted[rule, length] += p
    rules, spans = np.arange(pcfg.grammar.n_rules), Spans(pcfg)
    for m in range(1, 7):
        found = spans.expected(rules, None, m, m)
        np.testing.assert_allclose(found, [wanted[rule, m] for rule in pcfg.grammar.rules], atol=1e-14)
    np.testing.assert_allclose(spans.expected(rules), pcfg.expected_rules()[0])


def test_words_and_lengths_below_a_symbol():
    pcfg, trees = PCFG.of(FINITE), listing(FINITE)
    spans = Spans(pcfg)
    for symbol in ("S", "A", "B", "C", "S1"):
        number = pcfg.grammar.number[symbol]
        below = listing(FINITE, symbol)
        for w in range(len(pcfg.lexicon.terminals)):
            for at, table in ((0, spans.first), (-1, spans.last)):
                wanted = math.fsum(p for t, p in below if oracle.tree_yield(t)[at] == pcfg.lexicon.text(w))
                assert table[number, w] == pytest.approx(wanted)
        lengths = Counter()
        for tree, p in below:
            lengths[len(oracle.tree_yield(tree))] += p
        np.testing.assert_allclose(spans.lengths(8)[:, number], [lengths[m] for m in range(9)], atol=1e-15)
    assert math.fsum(p for _, p in trees) == pytest.approx(spans.lengths(8)[:, 0].sum())


def test_of_recursive_and_loose_grammars():
    """S → S S | a | b: the first word is a with its own share, and lengths are Catalan numbers."""
    for p in (0.25, 0.75):
        pcfg = PCFG.of({("S", "S", "S"): p, ("S", "a"): 0.7 * (1 - p), ("S", "b"): 0.3 * (1 - p)})
        spans = Spans(pcfg)
        total = pcfg.inside[0]
        np.testing.assert_allclose(spans.first, [[0.7 * total, 0.3 * total]])
        np.testing.assert_allclose(spans.last, spans.first)
        q = 1 - p
        np.testing.assert_allclose(spans.lengths(4)[1:, 0], [q, p * q**2, 2 * p**2 * q**3, 5 * p**3 * q**4])
        uses = pcfg.expected_rules()[0][0]
        np.testing.assert_allclose(spans.expected([0, 0], {"first": [0, 1]}), [0.7 * uses, 0.3 * uses])
        over_two = pcfg.outside[0] * p * q * q
        np.testing.assert_allclose(spans.expected([0, 0], {"last": [0, 1]}, 2, 2), [0.7 * over_two, 0.3 * over_two])
        after = spans.expected([0] * 3, {"after": [0, 1, EDGE]})
        assert after.sum() == pytest.approx(uses)
        assert after[0] / after[1] == pytest.approx(7 / 3)


def test_places_add_up():
    """Summed over words every place gives the rule's own expectation, unary rules having no split."""
    pcfg = PCFG.of(ENGLISH)
    spans, whole = Spans(pcfg), pcfg.expected_rules()[0]
    for place in PLACES:
        rules, words, _ = all_pairs(pcfg, place)
        found = np.bincount(rules, spans.expected(rules, {place: words}), len(whole))
        np.testing.assert_allclose(found, whole)


def test_against_samples():
    pcfg, n = PCFG.of(ENGLISH), 3000
    by_tree = Counter()
    squares = Counter()
    for tree in pcfg.sample(n, np.random.default_rng(5)):
        node = as_node(tree)
        for use, k in Counter((rule, min(length, 3), place, word) for rule, length, place, word in uses(node)).items():
            by_tree[use] += k
            squares[use] += k * k
    spans = Spans(pcfg)
    checked = 0
    for place in PLACES:
        rules, words, names = all_pairs(pcfg, place)
        for shortest, longest in ((2, 2), (3, None)):
            found = spans.expected(rules, {place: words}, shortest, longest)
            for (rule, word), mean in zip(names, found.tolist(), strict=True):
                use = rule, shortest, place, word
                deviation = math.sqrt(max(squares[use] / n - (by_tree[use] / n) ** 2, mean) / n)
                assert by_tree[use] / n == pytest.approx(mean, abs=5 * deviation + 1e-12), use
                checked += by_tree[use] > 20
    assert checked > 50


def test_leaves_against_enumeration():
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        for rule, _ in oracle.tree_uses(tree):
            wanted[rule] += p
    lexicon = pcfg.lexicon
    words = np.repeat(np.arange(len(lexicon.terminals)), np.diff(lexicon.ptr)).tolist()
    tags = lexicon.tags[lexicon.columns].tolist()
    names = [(pcfg.grammar.symbols[s], lexicon.text(w)) for w, s in zip(words, tags, strict=True)]
    np.testing.assert_allclose(pcfg.expected_rules()[1], [wanted[name] for name in names])


def test_classes_of_words():
    pcfg = PCFG.of(FINITE)
    fine, coarse = Spans(pcfg), Spans(pcfg, np.array([0, 1, 0]))  # x and z together
    rules = np.arange(pcfg.grammar.n_rules)
    for place in PLACES:
        one, two = (fine.expected(rules, {place: np.full(len(rules), w)}) for w in (0, 2))
        np.testing.assert_allclose(coarse.expected(rules, {place: np.zeros(len(rules))}), one + two)
    left_out = Spans(pcfg, np.array([-1, 0, -1]))
    np.testing.assert_allclose(left_out.first[:, 0], fine.first[:, 1])
    both = Spans(pcfg, np.array([[0, 2], [1, 2], [0, -1]]))  # the classes of coarse, and one of x and y
    np.testing.assert_allclose(both.last, np.column_stack([coarse.last, fine.last[:, 0] + fine.last[:, 1]]))


def test_mistakes():
    spans = Spans(doubling(0.25))
    with pytest.raises(LoglinError, match="no place is called 'middle'; there are first, last"):
        spans.expected([0], {"middle": [0]})
    with pytest.raises(LoglinError, match="words are numbers up to 0; first cannot be -1"):
        spans.expected([0], {"first": [-1]})
    with pytest.raises(LoglinError, match="words are numbers up to 0"):
        spans.expected([0], {"after": [1]})
    for places in (("before", "after"), ("first", "split-left"), ("last", "split-right")):
        with pytest.raises(LoglinError, match=" and ".join(sorted(places)) + " depend on each other"):
            spans.expected([0], {place: [0] for place in places})
    finite = PCFG.of(FINITE)
    with pytest.raises(LoglinError, match="first and last depend on each other"):
        Spans(finite).expected([finite.grammar.rule_number["S", "A"]], {"first": [0], "last": [0]})
    with pytest.raises(LoglinError, match=r"classes have the shape \(3,\); give one for each of the 1 terminals"):
        Spans(doubling(0.25), np.zeros(3))
    with pytest.raises(LoglinError, match="no finite expected size"):
        Spans(doubling(0.5)).expected([0], {"first": [0]})
