"""Expected rules with words in and beside their spans, against enumeration and samples."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import oracle
from loglin.errors import LoglinError
from loglin.models.pcfg import PCFG
from loglin.models.tree_expectations import PLACES, Spans
from test_pcfg import ENGLISH, FINITE, doubling, listing

EDGE = -1


def uses(tree):
    """(rule, length, place, word) of every use of a rule that is not a word's, by the listed tree."""
    return (use for use in each_use(tree) if use[3] is not None)


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


def as_node(tree):
    return (tree.label, tree.word) if tree.word is not None else (tree.label, *map(as_node, tree.children))


def test_leaves_against_enumeration():
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        for rule, _ in oracle.tree_uses(tree):
            wanted[rule] += p
    pairs = [(w, s) for w in range(3) for s in range(pcfg.grammar.n_symbols)]
    words, tags = np.array(pairs).T
    found = Spans(pcfg).expected_leaves(tags, {"first": words})
    names = [(pcfg.grammar.symbols[s], pcfg.lexicon.text(w)) for w, s in pairs]
    np.testing.assert_allclose(found, [wanted[name] for name in names])


@pytest.mark.parametrize(
    "places",
    [
        *(
            ("first", "last"),
            ("before", "first"),
            ("before", "last"),
            ("before", "after"),
            ("split-left", "split-right"),
        ),
        *(("first", "split-right"), ("before", "first", "last", "after"), ("before", "split-left", "after"), ()),
    ],
)
@pytest.mark.parametrize(("shortest", "longest"), [(1, None), (2, 2), (3, None), (1, 4)])
def test_several_words_against_enumeration(places, shortest, longest):
    """Of binary rules, and of unary ones too where these have no two words from one child."""
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        by_rule = {}
        for number, (rule, length, place, word) in enumerate(each_use(tree)):
            by_rule.setdefault((rule, length, number // len(PLACES)), {})[place] = word
        for (rule, length, _), at in by_rule.items():
            if shortest <= length <= (longest or 99):
                wanted[(rule, *(at[place] for place in places))] += p
    binary = [r for r in range(pcfg.grammar.n_rules) if len(pcfg.grammar.rules[r]) == 3]
    alone = not {"first", "last"} <= set(places) and not any(place.startswith("split") for place in places)
    rules = range(pcfg.grammar.n_rules) if alone else binary
    values = [[*range(3), *([EDGE] if place in ("before", "after") else [])] for place in places]
    asked = [(rule, *words) for rule in rules for words in itertools.product(*values)]
    numbers = np.array(asked).T
    found = Spans(pcfg).expected(numbers[0], dict(zip(places, numbers[1:], strict=True)), shortest, longest)
    text = [pcfg.lexicon.text(w) for w in range(3)] + [EDGE]
    names = [(pcfg.grammar.rules[rule], *(text[w] for w in words)) for rule, *words in asked]
    np.testing.assert_allclose(found, [wanted[name] for name in names], atol=1e-14)
    assert np.count_nonzero(found) >= 3


def each_use(tree):
    """As uses, with every place of every rule: None where it has none."""
    words = oracle.tree_yield(tree)
    for rule, ends in oracle.tree_uses(tree):
        if len(rule) == 2 and rule[1] == words[ends[0]]:
            continue
        i, j = ends[0], ends[-1]
        split = ends[1] if len(ends) == 3 else None
        at = {"first": i, "last": j - 1, "before": i - 1, "after": j}
        at |= {"split-left": None if split is None else split - 1, "split-right": split}
        for place, t in at.items():
            yield rule, j - i, place, None if t is None else words[t] if 0 <= t < len(words) else EDGE


@pytest.mark.parametrize("places", [("before",), ("first", "after"), ("before", "first", "after"), ("before", "after")])
def test_leaves_and_their_neighbors(places):
    pcfg, wanted = PCFG.of(FINITE), Counter()
    for tree, p in listing(FINITE):
        words = oracle.tree_yield(tree)
        for rule, ends in oracle.tree_uses(tree):
            t = ends[0]
            if len(rule) == 2 and rule[1] == words[t]:
                around = {"before": words[t - 1] if t else EDGE, "first": words[t]}
                around["after"] = words[t + 1] if t + 1 < len(words) else EDGE
                wanted[(rule[0], *(around[place] for place in places))] += p
    values = [range(3) if place == "first" else [*range(3), EDGE] for place in places]
    asked = [(tag, *words) for tag in range(pcfg.grammar.n_symbols) for words in itertools.product(*values)]
    numbers = np.array(asked).T
    found = Spans(pcfg).expected_leaves(numbers[0], dict(zip(places, numbers[1:], strict=True)))
    text = [pcfg.lexicon.text(w) for w in range(3)] + [EDGE]
    names = [(pcfg.grammar.symbols[tag], *(text[w] for w in words)) for tag, *words in asked]
    np.testing.assert_allclose(found, [wanted[name] for name in names], atol=1e-14)


def test_classes_of_words():
    pcfg = PCFG.of(FINITE)
    spans, rules = Spans(pcfg), np.arange(pcfg.grammar.n_rules)
    nothing = np.zeros(len(rules), int)
    coarse, left_out = np.array([0, 1, 0]), np.array([-1, 0, -1])  # x and z together; y alone
    for place in PLACES:
        by_word = [spans.expected(rules, {place: nothing + w}) for w in range(3)]
        found = spans.expected(rules, {place: nothing}, classes={place: coarse})
        np.testing.assert_allclose(found, by_word[0] + by_word[2])
        found = spans.expected(rules, {place: nothing}, classes={place: left_out})
        np.testing.assert_allclose(found, by_word[1])
    # classes of one place and words of another; the ends of the sentence stay what they are
    binary = rules[: len(pcfg.grammar.binary)]
    for x in (0, EDGE):
        fine = [spans.expected(binary, {"before": binary * 0 + x, "after": binary * 0 + w}) for w in (0, 2)]
        words, classes = {"before": binary * 0 + x, "after": binary * 0}, {"after": coarse}
        np.testing.assert_allclose(spans.expected(binary, words, classes=classes), fine[0] + fine[1])


def test_mistakes():
    spans = Spans(doubling(0.25))
    with pytest.raises(LoglinError, match="no place is called 'middle'; there are first, last"):
        spans.expected([0], {"middle": [0]})
    with pytest.raises(LoglinError, match="the words at first are numbered -1 to -1, but there are 1"):
        spans.expected([0], {"first": [-1]})
    with pytest.raises(LoglinError, match="the words at after are numbered 1 to 1"):
        spans.expected([0], {"after": [1]})
    with pytest.raises(LoglinError, match="first and split-left are words of one child"):
        spans.expected([0], {"first": [0], "split-left": [0]})
    with pytest.raises(LoglinError, match=r"classes have the shape \(3,\); give one for each of the 1 terminals"):
        spans.expected([0], {"first": [0]}, classes={"first": np.zeros(3)})
    with pytest.raises(LoglinError, match="no finite expected size"):
        Spans(doubling(0.5)).expected([0], {"first": [0]})
    unary = PCFG.of({("S", "A"): 0.5, ("S", "A", "A"): 0.5, ("A", "a"): 1.0})
    with pytest.raises(LoglinError, match="unary rules have their first and last words from one child"):
        Spans(unary).expected([0, 1], {"first": [0, 0], "last": [0, 0]})
