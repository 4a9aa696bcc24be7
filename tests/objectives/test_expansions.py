"""MECFG and PT-CFG against sums written out by hand, gradients against differences, merging and mistaken edges."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.datasets import load_trees
from loglin.errors import LoglinError
from loglin.features.read import read_grammar_templates
from loglin.features.span_index import SpanIndex, build_span_index
from loglin.features.spans import Constituents, SpanDesign, SpanExtractor
from loglin.grammars.grammar import Grammar
from loglin.grammars.transforms import TreeCoder
from loglin.grammars.uses import tree_uses
from loglin.objectives.expansions import ExpansionCriterion, Expansions, nota_instances
from loglin.threads import Threads
from support.corpora import corpus_folder
from support.solving import fit_weights

quick = settings(max_examples=80, deadline=None, derandomize=True)
SYMBOLS = ["A", "B", "C", "t", "u"]


def index_of(grammar, lists, splits=()):
    """Lists of targets, one an attribute."""
    ptr = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    targets = np.array([t for x in lists for t in sorted(x)], np.int32)
    split_ptr = np.array([0, len(splits)], np.int64)
    return SpanIndex(grammar.n_rules, grammar.n_symbols, ptr, targets, split_ptr, np.array(splits, np.int32))


def expansions(rows, templates):
    symbols, attributes, rules, counts = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Expansions(
        np.array(symbols, np.int32),
        np.array(attributes, np.int32).reshape(len(rows), templates),
        np.array(rules, np.int32),
        np.array(counts, np.float64),
    )


def one_symbol(n_rules):
    grammar = Grammar.of([("A", "t", f"u{r}") for r in range(n_rules)])
    return grammar, grammar.number["A"]


@st.composite
def problems(draw):
    """A grammar, an index over its rules and symbols, instances, and whether none of the above is an outcome."""
    sides = st.tuples(st.sampled_from("ABC"), st.sampled_from(SYMBOLS), st.sampled_from(SYMBOLS))
    grammar = Grammar.of(draw(st.sets(sides, min_size=1, max_size=12)), SYMBOLS)
    n_templates, n_attributes = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    targets = st.sets(st.integers(0, grammar.n_rules + grammar.n_symbols - 1), max_size=8)
    lists = [draw(targets) for _ in range(n_attributes)]
    nota = draw(st.booleans())
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        if nota and draw(st.booleans()):
            rule, symbol = -1, draw(st.integers(0, grammar.n_symbols - 1))
        else:
            rule = draw(st.integers(0, grammar.n_rules - 1))
            symbol = int(grammar.parents[rule])
        # a template has attributes of its own: t, t + T, t + 2T, …
        own = [[-1, *range(t, n_attributes, n_templates)] for t in range(n_templates)]
        attributes = [draw(st.sampled_from(choices)) for choices in own]
        rows.append((symbol, attributes, rule, draw(st.sampled_from([1.0, 2.0, 0.5, 0.0]))))
    seed = draw(st.integers(0, 1000))
    return SimpleNamespace(grammar=grammar, lists=lists, rows=rows, nota=nota, T=n_templates, seed=seed)


def criterion_of(p, threads=1):
    index = index_of(p.grammar, p.lists)
    instances = expansions(p.rows, p.T)
    return index, ExpansionCriterion(p.grammar, index, instances, p.nota, index.n_features + 2, Threads(threads))


def expected_loss(p, index, weights):
    rules_of = [np.flatnonzero(p.grammar.parents == A).tolist() for A in range(p.grammar.n_symbols)]
    pairs, at = {}, index.n_rules + index.n_symbols
    for a, targets in enumerate(p.lists):
        for t in sorted(targets):
            pairs[a, t] = weights[at]
            at += 1
    rows = [(A, [a for a in attributes if a >= 0], None if r < 0 else r, c) for A, attributes, r, c in p.rows]
    return oracle.expansion_loss(rules_of, weights, pairs, rows, p.nota)


@pytest.mark.without_jit
@quick
@given(problems(), st.sampled_from([0.0, 1.0, 8.0, 300.0]))
def test_value_by_hand(p, scale):
    index, criterion = criterion_of(p)
    weights = scale * np.random.default_rng(p.seed).normal(size=criterion.n_features)
    value, gradient = criterion(weights)
    assert value == pytest.approx(expected_loss(p, index, weights), rel=1e-12, abs=1e-12)
    assert gradient.dtype == np.float64
    assert len(gradient) == index.n_features + 2


@quick
@given(problems())
def test_gradient_and_curvature_by_differences(p):
    index, criterion = criterion_of(p)
    weights = np.random.default_rng(p.seed).normal(size=criterion.n_features)
    _, gradient = criterion(weights)
    diagonal, step = criterion.curvature(weights), 1e-5
    for f in range(criterion.n_features):
        nudge = step * (np.arange(criterion.n_features) == f)
        (up, above), (down, below) = criterion(weights + nudge), criterion(weights - nudge)
        assert gradient[f] == pytest.approx((up - down) / (2 * step), abs=1e-7)
        assert diagonal[f] == pytest.approx((above[f] - below[f]) / (2 * step), abs=1e-7)
    takes_part = np.zeros(criterion.n_features, bool)
    takes_part[: len(p.grammar.binary)] = True
    takes_part[index.n_rules + index.n_symbols + np.flatnonzero(index.targets < index.n_rules)] = True
    assert not gradient[~takes_part].any()


@quick
@given(problems(), st.integers(0, 1000))
def test_forbidden_rules(p, seed):
    """Rules of weight -inf have no probability; where one was used, the loss is infinite and nothing is NaN."""
    index, criterion = criterion_of(p)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=criterion.n_features)
    weights[: index.n_rules][rng.random(index.n_rules) < 0.3] = -np.inf
    value, gradient = criterion(weights)
    assert value == pytest.approx(expected_loss(p, index, weights), rel=1e-12, abs=1e-12)
    assert np.isfinite(gradient).all()


@quick
@given(problems())
def test_any_number_of_threads_gives_the_same_bits(p):
    p.rows = p.rows * 3 + [(A, [-1] * p.T, r, c) for A, _, r, c in p.rows]
    weights = np.random.default_rng(p.seed).normal(size=criterion_of(p)[1].n_features)
    results = [criterion_of(p, threads)[1](weights) for threads in (1, 2, 3)]
    for value, gradient in results[1:]:
        assert value == results[0][0]
        assert np.array_equal(gradient, results[0][1])


# ---------------------------------------------------------------------- known answers


def loss_of(scores, rule, nota):
    grammar, A = one_symbol(len(scores))
    index = index_of(grammar, [])
    weights = np.concatenate([scores, np.zeros(index.n_features - len(scores))])
    return ExpansionCriterion(grammar, index, expansions([(A, [], rule, 1.0)], 0), nota)(weights)[0]


def test_the_answers_of_the_notes():
    assert -loss_of([0.3, -0.2], 0, False) == pytest.approx(-0.474077, abs=5e-7)
    assert -loss_of([0.3, -0.2], 0, True) == pytest.approx(-0.853287, abs=5e-7)
    assert -loss_of([0.7, -0.2], -1, True) == pytest.approx(-1.343513, abs=5e-7)


def test_a_symbol_with_one_rule_is_certain():
    assert loss_of([-3.0], 0, False) == 0
    assert loss_of([0.0], 0, True) == pytest.approx(math.log(2))


def test_the_optimum_is_the_relative_frequency():
    """Without attributes and prior, MECFG is the counted grammar."""
    grammar, A = one_symbol(3)
    rows = [(A, [], 0, 5.0), (A, [], 1, 3.0), (A, [], 2, 2.0)]
    index = index_of(grammar, [])

    def make(dtype):
        return ExpansionCriterion(grammar, index, expansions(rows, 0))

    weak = np.full(index.n_features, 1e-9)
    result = fit_weights(make, l1=0 * weak, l2=weak, tol=1e-10, dtype="float64")
    w = result.weights[:3]
    assert np.exp(w) / np.exp(w).sum() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert result.converged


# ---------------------------------------------------------------------- merging


@quick
@given(problems())
def test_merging_changes_no_value(p):
    index = index_of(p.grammar, p.lists)
    rows = p.rows * 2
    merged = expansions(rows, p.T).merged(index, p.grammar)
    seen = {}
    for A, attributes, rule, count in rows:
        own = set(np.flatnonzero(p.grammar.parents == A).tolist())
        kept = tuple(a if a >= 0 and p.lists[a] & own else -1 for a in attributes)
        seen[A, kept, rule] = seen.get((A, kept, rule), 0.0) + count
    columns = merged.symbols, merged.attributes, merged.rules, merged.counts
    found = {(A, tuple(a), r): c for A, a, r, c in zip(*(x.tolist() for x in columns), strict=True)}
    assert found == pytest.approx(seen)
    assert len(merged.symbols) == len(seen)


def test_merging_counts_what_is_alike():
    grammar, A = one_symbol(2)
    index = index_of(grammar, [{0}, {2}])  # the second attribute is of a symbol, which cancels
    rows = [(A, [0, 1], 0, 1.0), (A, [0, -1], 0, 2.0), (A, [0, -1], 1, 1.0), (A, [-1, 1], 0, 1.0)]
    criterion = ExpansionCriterion(grammar, index, expansions(rows, 2))
    assert criterion.n_instances == 3


# ---------------------------------------------------------------------- instances of trees and of charts


def test_instances_of_trees_and_edges():
    attributes = np.arange(18, dtype=np.int32).reshape(9, 2)  # cells of sentences of 2 and 3 words
    design = SpanDesign(
        np.array([0, 2, 5]), np.array([0, 3, 9]), attributes, np.empty((7, 0), np.int32), np.zeros(2, bool), 18, 0
    )
    gold = Constituents(*np.array([(0, 0, 2, 1, 4, 0), (1, 0, 3, 2, 5, 1), (1, 0, 2, 1, 4, 0)]).T)
    found = Expansions.of_trees(design, gold, np.array([1.0, 0.5]))
    assert found.symbols.tolist() == [0, 1, 0]
    assert found.attributes.tolist() == [[2, 3], [12, 13], [8, 9]]  # cells 1, 3 + 3 and 3 + 1
    assert found.rules.tolist() == [4, 5, 4]
    assert found.counts.tolist() == [1, 0.5, 0.5]
    wrong = Expansions.of_edges(design, 1, np.array([3]), np.array([4]))
    both = Expansions.joined([found, wrong])
    assert (both.symbols.tolist(), both.rules.tolist()) == ([0, 1, 0, 3], [4, 5, 4, -1])
    assert both.attributes[3].tolist() == [14, 15]


@pytest.mark.without_jit
@quick
@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 2.0, math.inf]))
def test_mistaken_edges(n, N, seed, delta):
    rng = np.random.default_rng(seed)
    chart = rng.integers(-4, 1, size=(n * (n + 1) // 2, N)).astype(float)
    chart[rng.random(chart.shape) < 0.3] = -np.inf
    edges = {(A, i, j): chart[j * (j - 1) // 2 + i, A] for j in range(1, n + 1) for i in range(j) for A in range(N)}
    gold = {edge for edge in edges if rng.random() < 0.3}
    given_gold = tuple(np.array([e[k] for e in sorted(gold)], np.int64) for k in range(3))
    symbols, cells = nota_instances(chart, n, given_gold, delta)
    number = {j * (j - 1) // 2 + i: (i, j) for j in range(1, n + 1) for i in range(j)}
    found = [(A, *number[c]) for A, c in zip(symbols.tolist(), cells.tolist(), strict=True)]
    assert set(found) == oracle.wrong_edges(edges, gold, delta)
    assert len(found) == len(set(found))


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("rules", "change", "parts"),
    [
        ([("A", "t", "u")], {"splits": [0]}, ["templates of S", "CRF"]),
        ([("A", "t", "u"), ("A", "B")], {}, ["1 unary rules", "TreeCoder"]),
        ([("A", "t", "u")], {"rule": -1}, ["none of the above", "set nota"]),
        ([("A", "t", "u"), ("B", "t", "u")], {"rule": 1}, ["B t u", "does not expand A"]),
        ([("A", "t", "u")], {"other": True}, ["index is of 2 rules"]),
    ],
)
def test_what_cannot_be_trained_is_refused(rules, change, parts):
    grammar = Grammar.of(rules)
    other = Grammar.of([*rules, ("A", "u", "u")]) if change.get("other") else grammar
    index = index_of(other, [], change.get("splits", ()))
    rows = [(grammar.number["A"], [], change.get("rule", 0), 1.0)]
    with pytest.raises(LoglinError) as caught:
        ExpansionCriterion(grammar, index, expansions(rows, 0))
    for part in parts:
        assert part in str(caught.value)


# ---------------------------------------------------------------------- the Treebank


def test_mecfg_on_the_treebank():
    """Sentences of 2 to 15 words, four fifths of them: instances, weights and optimum of an independent program."""
    corpus_folder("treebank")
    coder = TreeCoder()
    short = [t for t in map(coder.strip, load_trees("treebank")) if t is not None and 2 <= len(t.words()) <= 15]
    chosen = np.random.default_rng(0).permutation(len(short))[: int(0.8 * len(short))]
    trees = [coder.encode(short[n]) for n in chosen]
    nodes = [node for tree in trees for node in tree.nodes()]
    rules = [(node.label, *(child.label for child in node.children)) for node in nodes if node.children]
    grammar = Grammar.of(rules, sorted({node.label for node in nodes if node.word is not None}))
    tags = np.array(sorted(set(range(grammar.n_symbols)) - set(grammar.parents.tolist())))
    gold = tree_uses(trees, grammar, tags).nodes
    extractor = SpanExtractor(read_grammar_templates("paper").spans)
    words = [tree.words() for tree in trees]
    extractor.fit(words, gold)
    design = extractor.transform(words)
    index = build_span_index(design, gold, grammar.n_rules, grammar.n_symbols)
    assert (grammar.n_symbols, grammar.n_rules, len(gold.rules), len(index.targets)) == (393, 1309, 7206, 7142)
    criterion = ExpansionCriterion(grammar, index, Expansions.of_trees(design, gold))
    ones = np.ones(index.n_features)
    result = fit_weights(lambda dtype: criterion, l1=0 * ones, l2=ones, warm_start=False, tol=1e-6, dtype="float64")
    assert result.value == pytest.approx(11106.93, abs=0.02)
