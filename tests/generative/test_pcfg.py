"""Sums over derivations against hand-worked answers, plain iteration, enumeration and sampled trees."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.grammars import files
from loglin.grammars.normal_form import restored
from support.grammars import ENGLISH, FINITE, as_node, doubling, listing


def rule_counts(pcfg):
    """Expected uses by the names in rules, words included."""
    rules, entries = pcfg.expected_rules()
    lexicon = pcfg.lexicon
    rows = np.repeat(np.arange(len(lexicon.terminals)), np.diff(lexicon.ptr)).tolist()
    tags = [pcfg.grammar.symbols[t] for t in lexicon.tags[lexicon.columns].tolist()]
    words = {(tag, lexicon.text(row)): n for tag, row, n in zip(tags, rows, entries.tolist(), strict=True)}
    return dict(zip(pcfg.grammar.rules, rules.tolist(), strict=True)) | words


def by_name(pcfg, values):
    return dict(zip(pcfg.grammar.symbols, values.tolist(), strict=True))


# no recursion, so that all trees can be listed; unary rules, and a symbol both with rules and with words


# ---------------------------------------------------------------------- i and o


def test_answers_of_the_note():
    tight, loose = doubling(0.25), doubling(0.75)
    assert (tight.inside.tolist(), tight.outside.tolist()) == ([1.0], [pytest.approx(2)])
    assert tight.expected_length() == pytest.approx(1.5)
    assert (loose.inside.tolist(), loose.outside.tolist()) == ([pytest.approx(1 / 3)], [pytest.approx(2)])
    assert loose.expected_length() == pytest.approx(0.5)  # 1/3 · 1.5: given that it ends, p and 1 − p change places
    assert loose.total == pytest.approx(1 / 3)


@st.composite
def random_grammars(draw):
    """Up to 5 symbols with random binary and unary rules, some symbols without any words."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    names = [f"A{n}" for n in range(draw(st.integers(1, 5)))]
    rules = {}
    for n, parent in enumerate(names):
        some = [(parent, "xyz"[k]) for k in range(3) if rng.random() < 0.6]
        some += [(parent, *rng.choice(names, 2).tolist()) for _ in range(rng.integers(0, 4))]
        some += [(parent, child) for child in names[n + 1 :] if rng.random() < 0.3]
        some = list(dict.fromkeys(some)) or [(parent, "x")]
        total = 1.0 if rng.random() < 0.8 else 0.9
        p = rng.dirichlet(np.full(len(some), 0.5)) + 0.05
        rules |= dict(zip(some, (total * p / p.sum()).tolist(), strict=True))
    return rules


def plain_inside(rules, rounds):
    """The weight of the trees of growing depth, by name."""
    parents = {rule[0] for rule in rules}
    i = dict.fromkeys(parents, 0.0)
    for _ in range(rounds):
        following = dict.fromkeys(parents, 0.0)
        for rule, p in rules.items():
            following[rule[0]] += p * math.prod(i.get(symbol, 1.0) for symbol in rule[1:])
        i = following
    return i


@given(random_grammars())
@settings(deadline=None, max_examples=100)
def test_inside_against_plain_iteration(rules):
    pcfg = PCFG.of(rules, "A0")
    i = by_name(pcfg, pcfg.inside)
    plain = plain_inside(rules, 1000)
    slack = 5e-3  # of a critical grammar, whose plain iteration gains 1/n in n rounds
    for symbol, value in plain.items():
        assert value - 1e-9 <= i[symbol] <= value + slack
    np.testing.assert_allclose(pcfg.partition("newton"), pcfg.inside, atol=1e-7)
    for rule in rules:
        i[rule[0]] -= rules[rule] * math.prod(by_name(pcfg, pcfg.inside).get(s, 1.0) for s in rule[1:])
    assert list(i.values()) == pytest.approx([0] * len(i), abs=1e-12)  # a solution, and near the least


@given(random_grammars())
@settings(deadline=None, max_examples=40)
def test_newton_equals_stolcke(rules):
    pcfg = PCFG.of(rules, "A0")
    try:
        stolcke = pcfg.partition("stolcke")
    except LoglinError as error:
        assert "method='newton'" in str(error)  # noqa: PT017  a critical grammar is possible
        return
    np.testing.assert_allclose(pcfg.partition("newton"), stolcke, atol=1e-6)
    np.testing.assert_allclose(pcfg.inside, stolcke, atol=1e-6)


@given(random_grammars())
@settings(deadline=None, max_examples=60)
def test_tightness_against_eigenvalues(rules):
    """Among symbols that can be reached: all can end, sum to one, and M has no eigenvalue above 1."""
    pcfg = PCFG.of(rules, "A0")
    reached, ahead = {"A0"}, ["A0"]
    while ahead:
        symbol = ahead.pop()
        for rule in rules:
            if rule[0] == symbol and rules[rule] > 0:
                new = {s for s in rule[1:] if any(r[0] == s for r in rules)} - reached
                reached |= new
                ahead += new
    names = sorted(reached)
    M = np.zeros((len(names), len(names)))
    for rule, p in rules.items():
        for child in rule[1:]:
            if rule[0] in reached and child in reached:
                M[names.index(rule[0]), names.index(child)] += p
    radius = max(abs(np.linalg.eigvals(M)))
    proper = all(abs(sum(p for r, p in rules.items() if r[0] == s) - 1) < 1e-9 for s in names)
    ends = all(plain_inside(rules, 20)[s] > 0 for s in names)
    if abs(radius - 1) > 1e-6:
        assert pcfg.is_tight() == (proper and ends and radius < 1)


def test_outside_against_plain_iteration():
    rng = np.random.default_rng(3)
    names = [f"A{n}" for n in range(4)]
    for _ in range(5):
        rules = {}
        for parent in names:
            some = [*((parent, w) for w in "xyz"), *((parent, b, c) for b in names for c in names)]
            p = rng.dirichlet(np.full(len(some), 0.3)) + np.repeat([0.05, 0], [3, 16])
            rules |= dict(zip(some, (p / p.sum()).tolist(), strict=True))
        i = plain_inside(rules, 3000)
        o, level = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0) | {"A0": 1.0}
        for _ in range(3000):
            following = dict.fromkeys(names, 0.0)
            for symbol in names:
                o[symbol] += level[symbol]
            for rule, p in rules.items():
                if len(rule) == 3:
                    following[rule[1]] += level[rule[0]] * p * i[rule[2]]
                    following[rule[2]] += level[rule[0]] * p * i[rule[1]]
            level = following
        assert max(level.values()) < 1e-9
        pcfg = PCFG.of(rules, "A0")
        assert by_name(pcfg, pcfg.outside) == pytest.approx(o, rel=1e-5)
        uses = Counter()
        for rule, n in rule_counts(pcfg).items():
            uses[rule[0]] += n
        assert uses == pytest.approx({s: o[s] * i[s] for s in names}, rel=1e-5)  # every node is one use of a rule


def test_symbols_that_never_end():
    rules = {("S", "S", "T"): 0.5, ("S", "a"): 0.5, ("T", "T", "T"): 1.0, ("U", "U", "V"): 1.0, ("V", "b"): 1}
    pcfg = PCFG.of(rules)
    assert by_name(pcfg, pcfg.inside) == pytest.approx({"S": 0.5, "T": 0, "U": 0, "V": 1})
    assert by_name(pcfg, pcfg.outside) == pytest.approx({"S": 1, "T": 0, "U": 0, "V": 0})
    assert not pcfg.is_tight()
    assert not PCFG.of({("S", "S", "S"): 1.0}).inside.any()


def test_a_part_that_is_not_reached_does_not_matter():
    rules = {("S", "a"): 1.0, ("T", "T", "T"): 0.75, ("T", "b"): 0.25, ("C", "C", "C"): 0.5, ("C", "b"): 0.5}
    pcfg = PCFG.of(rules)
    assert pcfg.is_tight()
    assert by_name(pcfg, pcfg.inside) == pytest.approx({"S": 1, "T": 1 / 3, "C": 1})
    assert by_name(pcfg, pcfg.outside) == {"S": 1, "T": 0, "C": 0}


def test_critical_grammars_are_tight_and_refused():
    two = {("S", "T", "T"): 0.5, ("S", "a"): 0.5, ("T", "S", "S"): 0.5, ("T", "b"): 0.5}
    for pcfg in (doubling(0.5), PCFG.of(two)):
        assert pcfg.is_tight()
        assert pcfg.inside.tolist() == [1.0] * pcfg.grammar.n_symbols
        with pytest.raises(LoglinError, match="no finite expected size"):
            pcfg.expected_length()
    for n in range(2, 14):  # where rounding decides on which side of 1 the spectral radius lies
        names = [f"A{k}" for k in range(n)]
        rules = {(a, b, c): 0.5 / n**2 for a in names for b in names for c in names} | {(a, "x"): 0.5 for a in names}
        assert PCFG.of(rules, "A0").is_tight()
    assert not doubling(0.50001).is_tight()
    assert doubling(0.49999).expected_length() == pytest.approx(0.50001 / (1 - 2 * 0.49999))


def test_thousands_of_symbols():
    """A chain of 3,000 symbols with recursion at every one, in one strongly connected part."""
    n = 3000
    rules = {}
    for k in range(n):
        rules[f"A{k}", f"A{(k + 1) % n}", "B"] = 0.3
        rules[f"A{k}", f"A{k}", f"A{(k * 7 + 1) % n}"] = 0.1
        rules[f"A{k}", "a"] = 0.6
    pcfg = PCFG.of(rules | {("B", "b"): 1.0}, "A0")
    assert pcfg.is_tight()
    # by symmetry the nodes x below any A are 1 + 0.3 (x + 1) + 0.1 · 2 x
    assert pcfg.outside.sum() == pytest.approx(1.3 / 0.5)
    other = {0.1: 0.5, 0.6: 0.2}
    loose = PCFG.of({rule: other.get(p, p) for rule, p in rules.items()} | {("B", "b"): 1.0}, "A0")
    assert not loose.is_tight()
    np.testing.assert_allclose(loose.inside[:-1], 0.4)  # i = .2 + .3 i + .5 i²
    assert loose.inside[-1] == 1


# ---------------------------------------------------------------------- expectations


def test_expectations_against_enumeration():
    pcfg, trees = PCFG.of(FINITE), listing(FINITE)
    assert math.fsum(p for _, p in trees) == pytest.approx(1)  # all are listed
    counts = Counter()
    for tree, p in trees:
        for rule, _ in oracle.tree_uses(tree):
            counts[rule] += p
    assert rule_counts(pcfg) == pytest.approx(counts)
    assert pcfg.expected_length() == pytest.approx(sum(p * len(oracle.tree_yield(tree)) for tree, p in trees))


def occurrences(node, piece):
    """How often a piece, nested tuples with open symbols as strings in angle brackets, occurs in a tree."""

    def fits(node, piece):
        if piece.__class__ is str:
            return piece == node if isinstance(node, str) else piece == f"<{node[0]}>"
        return (
            isinstance(node, tuple)
            and len(node) == len(piece)
            and node[0] == piece[0]
            and all(map(fits, node[1:], piece[1:]))
        )

    return fits(node, piece) + sum(occurrences(child, piece) for child in node[1:] if isinstance(child, tuple))


PIECES = {
    "S": "<S>",
    "C": "<C>",
    "(S A B)": ("S", "<A>", "<B>"),
    "(S (A C B) B)": ("S", ("A", "<C>", "<B>"), "<B>"),
    "(S A (B C (C 'z')))": ("S", "<A>", ("B", "<C>", ("C", "z"))),
    "(S1 (B 'x') B)": ("S1", ("B", "x"), "<B>"),
    "(S (A C))": ("S", ("A", "<C>")),
    '(A (C "y"))': ("A", ("C", "y")),
    "(C 'z')": ("C", "z"),
    "(S B A)": ("S", "<B>", "<A>"),
    "(B 'z')": ("B", "z"),
}


def test_pieces_against_enumeration():
    pcfg, trees = PCFG.of(FINITE), listing(FINITE)
    wanted = [math.fsum(p * occurrences(tree, piece) for tree, p in trees) for piece in PIECES.values()]
    assert wanted[:8] > [0] * 8
    assert wanted[-2:] == [0, 0]
    np.testing.assert_allclose([pcfg.expected_count(piece) for piece in PIECES], wanted, atol=1e-15)


def test_pieces_of_long_rules(tmp_path):
    text = "S -> A 'and' A [0.5] | A A A A [0.5]\nA -> 'x' [0.6] | 'not' A [0.4]\n"
    (tmp_path / "g").write_text(text)
    pcfg = PCFG.read(tmp_path / "g")
    assert pcfg.expected_count("(S A 'and' A)") == pytest.approx(0.5)
    assert pcfg.expected_count("(S A 'and' (A 'not' A))") == pytest.approx(0.2)
    assert pcfg.expected_count("(S A A (A 'x') A)") == pytest.approx(0.3)
    assert pcfg.expected_count("(A 'not' A)") == pytest.approx(3 / 0.6 * 0.4)  # 3 expected A, then 1/0.6 each
    assert pcfg.expected_count("(S A 'and' A A)") == 0


def test_expected_rules_against_samples():
    pcfg = PCFG.of(ENGLISH)
    np.testing.assert_array_equal(pcfg.inside, 1)
    n = 4000
    trees = pcfg.sample(n, np.random.default_rng(0))
    uses, lengths = {rule: np.zeros(n) for rule in ENGLISH}, np.zeros(n)
    for k, tree in enumerate(trees):
        assert tree.label == "S"
        lengths[k] = len(tree.words())
        ahead = [tree]
        while ahead:
            node = ahead.pop()
            uses[node.label, *([node.word] if node.word else [c.label for c in node.children])][k] += 1
            ahead += node.children
    for rule, expected in rule_counts(pcfg).items():
        counts = uses[rule]
        assert expected == pytest.approx(counts.mean(), abs=4 * counts.std() / np.sqrt(n) + 1e-9), rule
    assert pcfg.expected_length() == pytest.approx(lengths.mean(), abs=4 * lengths.std() / np.sqrt(n))
    assert pcfg.expected_length() == pytest.approx(1 + pcfg.expected_rules()[0].sum())  # n words, n − 1 binary rules


def test_given_that_a_tree_ends():
    pcfg = doubling(0.75).conditioned()
    assert pcfg.is_tight()
    assert pcfg.expected_length() == pytest.approx(1.5)
    np.testing.assert_allclose(np.exp(pcfg.rules), 0.25)
    never = PCFG.of({("S", "S", "T"): 0.5, ("S", "a"): 0.5, ("T", "T", "T"): 1.0}).conditioned()
    assert never.is_tight()
    assert never.expected_length() == pytest.approx(1)
    tight = PCFG.of(ENGLISH)
    np.testing.assert_allclose(tight.conditioned().rules, tight.rules)
    with pytest.raises(LoglinError, match="no derivation of the grammar ends"):
        PCFG.of({("S", "S", "S"): 1.0}).conditioned()


def test_probability_of_a_tree():
    pcfg = PCFG.of(FINITE)
    listed = {tree: p for tree, p in listing(FINITE)}
    trees = pcfg.sample(300, np.random.default_rng(1))
    assert len({as_node(tree) for tree in trees}) > 30
    for tree in trees:
        assert pcfg.log_probability(tree) == pytest.approx(math.log(listed[as_node(tree)]))
    impossible = [
        Tree("A", word="x"),  # not a root
        Tree("S", (Tree("B", word="x"), Tree("A", word="x"))),
        Tree("S", (Tree("A", word="x"), Tree("B", word="q"))),
        Tree("S", (Tree("A", word="x"), Tree("Q", word="x"))),
        Tree("Q", word="x"),
    ]
    for tree in impossible:
        assert pcfg.log_probability(tree) == -math.inf


# ---------------------------------------------------------------------- samples


def test_samples_are_distributed_as_trees_are():
    pcfg, n = PCFG.of(FINITE), 20_000
    drawn = Counter(as_node(tree) for tree in pcfg.sample(n, np.random.default_rng(7)))
    for tree, p in listing(FINITE):
        assert drawn[tree] / n == pytest.approx(p, abs=5 * math.sqrt(p / n) + 1e-12)


def test_samples_have_at_most_max_length_words():
    pcfg = doubling(0.45)
    lengths = [len(tree.words()) for tree in pcfg.sample(3000, np.random.default_rng(0), max_length=3)]
    # of the trees with at most 3 words: 1 with one, 1 with two, 2 with three
    shares = np.array([0.55, 0.45 * 0.55**2, 2 * 0.45**2 * 0.55**3])
    np.testing.assert_allclose(np.bincount(lengths)[1:] / 3000, shares / shares.sum(), atol=0.03)
    with pytest.raises(LoglinError, match="1000 draws in a row had more than max_length = 1 words; raise"):
        PCFG.of(ENGLISH).sample(1, np.random.default_rng(0), max_length=1)
    with pytest.raises(LoglinError, match="max_length is 0"):
        pcfg.sample(1, np.random.default_rng(0), max_length=0)
    assert len(doubling(0.5).sample(200, np.random.default_rng(0))) == 200  # critical, but cut
    with pytest.raises(LoglinError, match=r"not tight: with probability 0\.667 a derivation never ends; sample from"):
        doubling(0.75).sample(1, np.random.default_rng(0))
    deep = PCFG.of({("S", "T", "S"): 0.999, ("S", "a"): 0.001, ("T", "b"): 1.0})
    assert max(len(tree.words()) for tree in deep.sample(20, np.random.default_rng(0), 10_000)) > 2000


# ---------------------------------------------------------------------- counting and files


def encoded_trees():
    def leaf(text):
        tag, word = text.split("/")
        return Tree(tag, word=word)

    def node(label, *children):
        return Tree(label, tuple(leaf(c) if isinstance(c, str) else c for c in children))

    return [
        node("S", node("NP", "DT/the", "NN/dog"), "VP+VB/barks"),
        node("S", node("NP", "DT/the", "NN/cat"), node("VP", "VB/sees", node("NP", "DT/a", "NN/dog"))),
        node("FRAG", "NP/nothing", "NN/dog"),
        Tree("UH", word="yes"),
    ]


def test_counting():
    pcfg = PCFG.count(encoded_trees())
    p = dict(zip(pcfg.grammar.rules, np.exp(pcfg.rules).tolist(), strict=True))
    assert p == pytest.approx(
        {
            ("S", "NP", "VP+VB"): 0.5,
            ("S", "NP", "VP"): 0.5,
            ("NP", "DT", "NN"): 0.75,  # NP once has a word
            ("VP", "VB", "NP"): 1,
            ("FRAG", "NP", "NN"): 1,
        }
    )
    roots = {s: p for s, p in by_name(pcfg, np.exp(pcfg.roots)).items() if p}
    assert roots == pytest.approx({"S": 0.5, "FRAG": 0.25, "UH": 0.25})
    mass = dict(zip((pcfg.grammar.symbols[t] for t in pcfg.lexicon.tags), pcfg.lexicon.mass.tolist(), strict=True))
    assert mass == pytest.approx({"DT": 1, "NN": 1, "VB": 1, "VP+VB": 1, "NP": 0.25, "UH": 1})
    assert pcfg.is_tight()
    assert all(pcfg.log_probability(tree) > -math.inf for tree in encoded_trees())
    # counted, then expected: rules that a tree of the sample has on average
    expected = rule_counts(pcfg)
    assert expected["S", "NP", "VP"] == pytest.approx(1 / 4)
    assert expected["NP", "DT", "NN"] == pytest.approx(3 / 4)


def test_counting_refuses():
    with pytest.raises(LoglinError, match="there are no trees"):
        PCFG.count([])
    a = Tree("A", word="a")
    with pytest.raises(LoglinError, match="binarize"):
        PCFG.count([Tree("S", (a, a, a))])
    with pytest.raises(LoglinError, match="go in a circle"):
        PCFG.count([Tree("S", (Tree("S", (a,)),))])


def same(a: PCFG, b: PCFG):
    one, two = a.productions(), b.productions()
    assert one.start == two.start
    assert one.rules == pytest.approx(two.rules, rel=1e-12)


def test_files(tmp_path):
    counted = [PCFG.count(encoded_trees(), signatures=kind) for kind in ("notes", "spelling")]
    for pcfg in (PCFG.of(FINITE), PCFG.of(ENGLISH), *counted):
        pcfg.write(tmp_path / "g")
        again = PCFG.read(tmp_path / "g")
        same(pcfg, again)
        assert by_name(again, again.roots) == pytest.approx(by_name(pcfg, pcfg.roots))
        assert again.expected_length() == pytest.approx(pcfg.expected_length())
        assert again.lexicon.signatures == pcfg.lexicon.signatures
        for tree in pcfg.sample(20, np.random.default_rng(0)):
            assert again.log_probability(tree) == pytest.approx(pcfg.log_probability(tree))


def test_roots_in_files(tmp_path):
    def roots(text):
        (tmp_path / "g").write_text(text)
        pcfg = PCFG.read(tmp_path / "g")
        pcfg.write(tmp_path / "h")
        same(pcfg, PCFG.read(tmp_path / "h"))
        return {s: p for s, p in by_name(pcfg, np.exp(pcfg.roots)).items() if p}

    words = "\nA -> 'a' [1]\nB -> 'b' [1]"
    assert roots("X -> A [0.9] | B [0.1]" + words) == pytest.approx({"A": 0.9, "B": 0.1})
    assert roots("X -> A [1]" + words) == {"X": 1}
    assert roots("TOP -> A [1]" + words) == {"A": 1}
    assert roots("X -> A [0.5] | A B [0.5]" + words) == {"X": 1}
    assert roots("X -> A [0.5] | 'b' [0.5]" + words) == {"X": 1}
    assert roots("X -> A [0.5] | Y [0.5]\nY -> X B [0.1] | 'y' [0.9]" + words) == {"X": 1}
    # a root that would itself be read as a distribution of roots is put below TOP
    assert roots("TOP -> X [1]\nX -> A [0.5] | B [0.5]" + words) == {"X": 1}
    assert roots("X -> TOP [0.5] | A [0.5]\nTOP -> 'q' [1]" + words) == {"TOP": 0.5, "A": 0.5}


def test_few_digits_are_normalized(tmp_path):
    (tmp_path / "g").write_text("S -> 'a' [0.333] | 'b' [0.333] | S S [0.333]")
    assert PCFG.read(tmp_path / "g").is_tight()


def test_trees_of_long_rules_come_back(tmp_path):
    (tmp_path / "g").write_text("S -> A 'and' A [0.5] | A A A A [0.5]\nA -> 'x' [0.6] | 'not' A [0.4]\n")
    pcfg = PCFG.read(tmp_path / "g")
    names = {}
    for rule, p in files.read(tmp_path / "g").rules.items():
        names[tuple(f"'{s.text}'" if isinstance(s, files.Word) else s for s in rule)] = p
    for tree in pcfg.sample(50, np.random.default_rng(0)):
        whole, p, ahead = restored(tree), 1.0, [restored(tree)]
        while ahead:
            node = ahead.pop()
            if node.word is None or not node.label.startswith("'"):
                p *= names[node.label, *([f"'{node.word}'"] if node.word else [c.label for c in node.children])]
            ahead += node.children
        assert pcfg.log_probability(tree) == pytest.approx(math.log(p))
        assert pcfg.log_probability(whole) == pytest.approx(math.log(p))


def test_mistakes():
    def refused(call, *parts):
        with pytest.raises(LoglinError) as caught:
            call()
        assert all(part in str(caught.value) for part in parts), str(caught.value)

    refused(lambda: PCFG.of({("S", "NP", "VP"): 1.0}), "('S', 'NP', 'VP')", "normal form")
    refused(lambda: PCFG.of({("S",): 1.0}), "('S',)", "normal form")
    refused(lambda: PCFG.of({("S", "a"): 1.5}), "1.5")
    refused(lambda: PCFG.of({("S", "a"): 0.7, ("S", "b"): 0.7}), "'S'", "1.4", "normalize")
    refused(lambda: PCFG.of({("S", "a"): 1.0}).partition("gauss"), "'gauss'", "newton, stolcke")
    refused(lambda: doubling(0.25).expected_count("(S S T)"), "no symbol 'T'")
    refused(lambda: doubling(0.25).expected_count("(S 'b')"), "does not know the word 'b'")
    refused(lambda: doubling(0.25).expected_count("(S S"), "'(S S'", "not one pair of brackets")
    counted = PCFG.count(encoded_trees())
    refused(lambda: counted.expected_count("(NN 'cats')"), "'cats'", "<UNK")
    refused(lambda: doubling(0.5).partition("stolcke"), "20000 rounds", "newton")
