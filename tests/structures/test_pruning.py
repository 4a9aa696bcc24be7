"""Coarse-to-fine pruning: its bound against enumeration, its certificate, and exactness after widening."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loglin.corpus.trees import read_trees
from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.grammars.grammar import Grammar
from loglin.grammars.transforms import TreeCoder
from loglin.neighborhoods import neighborhood
from loglin.structures import Forests
from loglin.structures.forest import scores_of
from loglin.structures.pruning import Projection, best_pruned, prune, without_context
from loglin.threads import Threads
from support.corpora import corpus_folder
from support.forests import INF, Attributed, Case, cells_of, lattice_paths

CLOSE = {"rel": 1e-9, "abs": 1e-8}
# no unary rules, with which merging can make circles
CASES = {
    "seed": st.integers(0, 10**6),
    "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "N": st.integers(1, 4),
    "B": st.integers(0, 6),
    "scale": st.sampled_from([0.0, 1.0, 30.0, 1e4]),
    "forbidden": st.sampled_from([0.0, 0.0, 0.2]),
    "templates": st.integers(0, 2),
    "splits": st.integers(0, 1),
    "local": st.integers(0, 2),
}
MARGINS = st.sampled_from([0.0, 0.5, 3.0, 50.0, INF])


def merging(grammar, n_classes, seed):
    """Symbols thrown into classes at random."""
    classes = np.random.default_rng(seed).integers(0, n_classes, grammar.n_symbols)
    return Projection.of(grammar, lambda symbol: f"C{classes[grammar.number[symbol]]}")


def check_bound(case, projection, margin, allowed=None, forests=None):
    """Nothing scores more than the bound, nothing left out more than the bound less the margin."""
    forests = forests or case.forests
    masked, bounds = prune(forests, case.scores(), projection, margin)
    layout = masked.layout
    assert len(layout.masks) <= forests.n_cells
    for f, listed in enumerate(case.listed(allowed)):
        kept = layout.masks[layout.mask_of[layout.cells[f] : layout.cells[f + 1]]]
        at = cells_of(listed.states)
        best = -INF
        for path, tree, score in listed.trees:
            slack = 1e-9 * max(1.0, abs(score), abs(bounds[f]))
            assert score <= bounds[f] + slack
            nodes = [(at[i, j], A) for _, A, i, j, *_ in listed.uses(path, tree)[1:]]
            if all(kept[node] for node in nodes):
                best = max(best, score)
            else:
                assert score <= bounds[f] - margin + slack
        found = masked.best(case.scores())[f]
        assert (found is None) == (best == -INF)
        assert found is None or found.score == pytest.approx(best, **CLOSE)
    return bounds


@settings(max_examples=100, deadline=None)
@given(**CASES, n_classes=st.integers(1, 3), margin=MARGINS)
@example(
    seed=0, lengths=[2], N=2, B=3, scale=1.0, forbidden=1.0, templates=0, splits=0, local=0, n_classes=1, margin=1.0
)
def test_the_bound_is_never_violated(n_classes, margin, **given):
    case = Attributed(**given, U=0)
    check_bound(case, merging(case.grammar, n_classes, given["seed"]), margin)


@settings(max_examples=60, deadline=None)
@given(**CASES, n_classes=st.integers(1, 3), margin=MARGINS)
def test_certificates_hold_and_widening_is_exact(n_classes, margin, **given):
    case = Attributed(**given, U=0)
    projection, forests, scores = merging(case.grammar, n_classes, given["seed"]), case.forests, case.scores()
    truth = forests.best(scores)
    for certified, best in zip(best_pruned(forests, scores, projection, margin), truth, strict=True):
        assert certified.lost == 0
        assert (certified.best is None) == (best is None)
        assert best is None or certified.best.score == pytest.approx(best.score, **CLOSE)
    for certified, best in zip(best_pruned(forests, scores, projection, margin, widen=False), truth, strict=True):
        found = -INF if certified.best is None else certified.best.score
        score = -INF if best is None else best.score
        slack = 1e-9 * max(1.0, abs(score)) if math.isfinite(score) else 0.0
        assert found <= score + slack
        if found > -INF:
            assert score <= found + certified.lost + slack
        else:  # nothing is left, so that nothing can be said unless the coarse grammar has no tree either
            assert certified.lost == INF or (certified.lost == 0 and best is None)


@pytest.mark.without_jit
def test_plain_merging_of_nothing_finds_the_best_at_once():
    """The bound of an unmerged grammar is its best tree, so margin 0 keeps that tree alone."""
    case = Attributed(3, [4, 3, 2], 3, 6, 0)
    projection = Projection.of(case.grammar, str)
    masked, bounds = prune(case.forests, case.scores(), projection, 0.0)
    truth = case.forests.best(case.scores())
    assert [d.score for d in truth] == pytest.approx(bounds)
    for certified, best in zip(
        best_pruned(case.forests, case.scores(), projection, 0.0, widen=False), truth, strict=True
    ):
        assert certified.lost == 0
        assert certified.best.nodes.tolist() == best.nodes.tolist()
    kept = masked.layout.masks[masked.layout.mask_of].sum()
    assert kept == sum(len(d.nodes) for d in truth)
    assert masked.totals(case.scores()).partitions[:, 1] == pytest.approx(bounds)


def test_what_is_lost_is_told():
    """The best coarse tree is no tree, and with no margin none is left: at most so much is lost, or nothing."""
    grammar = Grammar.of([("S", "A^1", "B^1"), ("S", "A^2", "B^2"), ("S", "A^1", "B^3")])
    leaves = np.full((2, grammar.n_symbols), -INF)
    for word, symbol, score in ((0, "A^1", -1), (0, "A^2", 0), (1, "B^1", 0), (1, "B^2", -3), (1, "B^3", -0.5)):
        leaves[word, grammar.number[symbol]] = score
    forests = Forests.of_sentences(grammar, np.arange(grammar.n_symbols), [2])
    scores = scores_of(leaves, np.zeros(grammar.n_symbols), np.array([0.0, -5.0, -0.25]))
    projection = Projection.of(grammar)
    assert projection.coarse.rules == [("S", "A", "B")]
    (found,) = best_pruned(forests, scores, projection, 0.0, widen=False)
    assert found.best.score == -1.0
    assert found.lost == 1.0  # the bound is 0
    (found,) = best_pruned(forests, scores, projection, 0.0)
    assert (found.best.score, found.lost) == (-1.0, 0.0)
    assert best_pruned(forests, scores, projection, 1.0, widen=False)[0].lost == 0.0


@settings(max_examples=40, deadline=None)
@given(**CASES, margin=MARGINS)
def test_forests_that_are_masked_already(margin, **given):
    case = Attributed(**given, U=0)
    masks = np.random.default_rng(given["seed"]).random((3, case.grammar.n_symbols)) < 0.7
    mask_of = np.random.default_rng(1).integers(-1, 3, case.forests.n_cells)
    allowed = np.where(mask_of[:, None] < 0, True, masks[mask_of])
    forests, projection = case.forests.masked(mask_of, masks), merging(case.grammar, 2, 0)
    check_bound(case, projection, margin, allowed, forests)
    truth = forests.best(case.scores())
    for certified, best in zip(best_pruned(forests, case.scores(), projection, margin), truth, strict=True):
        assert (certified.best is None) == (best is None)
        assert best is None or certified.best.score == pytest.approx(best.score, **CLOSE)


@pytest.mark.parametrize("margin", [0.0, 2.0, 50.0])
def test_unary_rules_that_stay_apart(margin):
    """Merging S1 … with their like keeps the order of unary rules."""
    grammar = Grammar.of(
        [("S^1", "A^1"), ("S^2", "A^2"), ("A^1", "B^2"), ("A^2", "B^1"), ("B^1", "S^2", "S^1"), ("A^1", "S^1", "B^2")]
    )
    projection = Projection.of(grammar)
    assert projection.coarse.rules == [("A", "S", "B"), ("B", "S", "S"), ("A", "B"), ("S", "A")]
    for seed in range(5):
        case = Attributed(seed, [4, 3, 1], 3, 5, 0)
        case.grammar, N = grammar, grammar.n_symbols
        rng = np.random.default_rng(seed)
        case.tags, case.roots, case.rules = np.arange(N), np.full(N, -INF), rng.normal(size=grammar.n_rules)
        case.roots[grammar.number["S^1"]] = 0.0  # so that over the whole sentence A and B stand below S only
        case.leaves = rng.normal(size=(8, N))
        case.spans[2] %= grammar.n_rules + N
        case.splits[2] %= len(grammar.binary)
        check_bound(case, projection, margin)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4), margin=MARGINS)
def test_scores_of_every_cell_and_split(seed, n, margin):
    case = Case(seed, n, 4, 8, 0, 3.0, per_cell=True, splits=True)
    forest = case.forest()
    forests, scores, projection = forest._forests, forest._scores, merging(case.grammar, 2, seed)
    masked, (bound,) = prune(forests, scores, projection, margin)
    truth = sorted((score for _, score in case.listed().listing), reverse=True)
    left_out = case.listed(allowed=~masked.layout.masks[masked.layout.mask_of]).listing  # every item of them is
    assert max(truth, default=-INF) <= bound + 1e-9
    assert max((score for _, score in left_out), default=-INF) <= bound - margin + 1e-9
    (found,) = best_pruned(forests, scores, projection, margin)
    assert (found.best.score if found.best else -INF) == pytest.approx(max(truth, default=-INF))


@pytest.mark.parametrize("name", ["del1word", "trans1"])
def test_lattices(name):
    words = neighborhood(name).lattices([[0, 1, 2, 0], [2, 1]], 3)
    for seed in range(5):
        case = Case(seed, 0, 4, 8, 0, rows=3, states=1)
        forests = Forests(case.grammar, np.arange(4), words, words.symbols)
        scores, projection = scores_of(case.leaves, case.roots, case.rules), merging(case.grammar, 2, seed)
        _, bounds = prune(forests, scores, projection, 1.0)
        found = best_pruned(forests, scores, projection, 1.0)
        for s in range(2):
            truth = [score for _, score in case.listed(lattice_paths(words, s)).listing]
            assert max(truth, default=-INF) <= bounds[s] + 1e-9
            assert found[s].best is not None or not truth
            assert found[s].best is None or found[s].best.score == pytest.approx(max(truth))


def test_threads_give_the_same_trees():
    case = Attributed(1, np.random.default_rng(0).integers(1, 8, 40).tolist(), 6, 25, 0)
    projection = merging(case.grammar, 3, 0)
    one, two = (best_pruned(case.forests, case.scores(), projection, 1.0, threads=Threads(n)) for n in (1, 2))
    assert len(case.forests.chunks) > 4
    for a, b in zip(one, two, strict=True):
        assert a.best.nodes.tolist() == b.best.nodes.tolist()
    masked = [prune(case.forests, case.scores(), projection, 1.0, Threads(n))[0].layout for n in (1, 2)]
    np.testing.assert_array_equal(*(layout.masks[layout.mask_of] for layout in masked))


@pytest.mark.parametrize(
    ("symbol", "coarse"),
    [
        ("NP", "NP"),
        ("NP~TMP^S", "NP"),
        ("S^ROOT+VP^S", "S+VP"),
        ("NP^S+NNP", "NP+NNP"),
        ("@NP~B^VP|DT,JJ", "@NP"),
        ("@S|NP,,", "@S"),
        (",", ","),
    ],
)
def test_symbols_without_context(symbol, coarse):
    assert without_context(symbol) == coarse


def test_what_is_refused():
    grammar = Grammar.of([("A^1", "A^2"), ("A^1", "A^1", "A^2")])
    with pytest.raises(LoglinError, match="cannot be merged like this: unary rules go in a circle, A → A"):
        Projection.of(grammar)
    case = Attributed(0, [2], 2, 2, 0)
    for margin, run in itertools.product((-1.0, math.nan), (prune, best_pruned)):
        with pytest.raises(LoglinError, match=f"margin is {margin}"):
            run(case.forests, case.scores(), Projection.of(case.grammar), margin)
    with pytest.raises(LoglinError, match="make it from this grammar"):
        prune(case.forests, case.scores(), Projection.of(Grammar.of([("A", "B", "C")])), 1.0)


def test_no_sentences_at_all():
    case = Attributed(0, [1], 2, 2, 0)
    forests, scores = Forests.of_sentences(case.grammar, case.tags, []), case.scores()
    masked, bounds = prune(forests, scores, Projection.of(case.grammar), 1.0)
    assert (masked.n_cells, len(bounds)) == (0, 0)
    assert best_pruned(forests, scores, Projection.of(case.grammar), 1.0) == []


# ---------------------------------------------------------------- a treebank's grammar


@pytest.fixture(scope="module")
def treebank():
    """A grammar with parents counted from the sentences of at most 15 words, and forests of every 20th of them."""
    trees = read_trees(corpus_folder("treebank"))
    encoded = [tree for tree in map(TreeCoder(vertical=2).encode, trees) if tree and len(tree.leaves()) <= 15]
    held_out = encoded[::20]
    model = PCFG.count([tree for n, tree in enumerate(encoded) if n % 20])
    words = [[str(leaf.word) for leaf in tree.leaves()] for tree in held_out]
    forests = Forests.of_sentences(model.grammar, model.lexicon.tags, [len(w) for w in words])
    return forests, scores_of(np.concatenate([*map(model.lexicon.scores, words)]), model.roots, model.rules)


def test_pruned_trees_of_a_treebank_grammar_are_exact(treebank):
    forests, scores = treebank
    projection, truth = Projection.of(forests.grammar), forests.best(scores)
    assert projection.coarse.n_symbols < forests.grammar.n_symbols / 3
    assert sum(best is not None for best in truth) > 40
    _, bounds = prune(forests, scores, projection, 0.0)
    for found, best, bound in zip(best_pruned(forests, scores, projection, 5.0), truth, bounds, strict=True):
        assert found.lost == 0
        assert (found.best is None) == (best is None)
        if best is not None:
            assert found.best.score == pytest.approx(best.score, rel=1e-12)
            assert best.score <= bound


def test_sums_of_a_treebank_grammar_add_up(treebank):
    """In every sentence each word has one tag, and a tree of n words n − 1 rules and one root."""
    forests, scores = treebank
    found = forests.totals(scores, np.tile([0.0, 1.0], (forests.n, 1)), spans=True)
    possible = found.partitions[:, 1] > -INF
    lengths = np.diff(forests.layout.states) - 1
    np.testing.assert_allclose(found.leaves.sum(axis=1), np.repeat(possible, lengths), rtol=1e-9)
    np.testing.assert_allclose(found.rules.sum(), (lengths[possible] - 1).sum(), rtol=1e-9)
    np.testing.assert_allclose(found.roots.sum(), possible.sum(), rtol=1e-9)
    np.testing.assert_allclose(found.spans.sum(), (2 * lengths[possible] - 1).sum(), rtol=1e-9)
    best = [-INF if d is None else d.score for d in forests.best(scores)]
    assert (found.partitions[:, 1] >= best).all()
