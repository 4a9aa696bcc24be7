"""M-estimation on trees: expectations against enumeration and samples, the optimum, files, and what is refused."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin import LoglinError, Parser, load
from loglin.corpus.datasets import load_trees
from loglin.corpus.trees import Tree
from loglin.criteria import MEstimationTrees
from loglin.features.span_index import build_span_index
from loglin.features.span_templates import parse_grammar_templates
from loglin.features.spans import Constituents, SpanExtractor
from loglin.generative.pcfg import PCFG
from loglin.generative.tree_feature_expectations import expected_features
from loglin.grammars.transforms import TreeCoder
from loglin.grammars.uses import tree_uses
from loglin.models.parser import token_index
from loglin.objectives.exponential import ExponentialLoss
from loglin.problems.trees import TreeOptions, TreeProblem
from loglin.structures.tree_scores import TreeIndex, features_of
from support.corpora import corpus_folder
from support.grammars import FINITE, SENTENCE, TREES, listing
from support.losses import loss_of, solved

# no unary rules, so that a span's first and last word may stand together
BINARY = {rule: p for rule, p in FINITE.items() if rule not in {("S", "A"), ("A", "C")}}
BINARY |= {("S", "A", "B"): 0.7, ("A", "C", "B"): 0.5}
LISTED = {"unary": listing(FINITE), "binary": listing(BINARY)}  # all trees with their probabilities
RARE = [*TREES, "(S (NP (NNP Ann)) (VP (VBD sneezed)))", "(S (NP (NNP Bob)) (VP (VBD coughed)))"]
SINGLE = [
    *("R:%first[0]", "R:%last[0]", "R:%first[-1]", "R:%last[1]", "L:%first[0]", "L:%last[1]", "S:%split[-1]"),
    *("S:%split[0]", "R:%length[2]", "L:%length[4]", "R:%first[0]/%length[3]", "L:%length[3]/%last[0]/%length[2]"),
    *("R:%word[first,0,2]", "R:%lower[last,0]/%suffix[last,0,1]", "L:%first[-1]/%suffix[first,-1,1]"),
    *("R:%first[-1]/%first[0]", "L:%last[0]/%last[1]/%length[3]", "R:%first[0]/%last[1]", "S:%split[-1]/%split[0]"),
]
JOINT = ["R:%first[0]/%last[0]", "L:%first[0]/%last[0]/%length[4]", "R:%first[-1]/%first[0]/%last[0]"]


# ---------------------------------------------------------------------- all trees of small grammars


def named_features(tree, template: str, counts: dict[str, int]) -> Counter:
    """The features of a listed tree by hand: rules, root, and what the template says with a rule, symbol or tag."""
    words, kind = oracle.tree_yield(tree), template[0]
    found = Counter({("root", tree[0]): 1})
    for rule, ends in oracle.tree_uses(tree):
        i, j, split = ends[0], ends[-1], ends[1] if len(ends) == 3 else -1
        if len(rule) == 2 and rule[1] == words[i]:
            continue
        found["rule", rule] += 1
        if kind == "S" and split < 0:
            continue
        attribute = oracle.span_attribute(template, words, i, j, split, counts)
        found[attribute, rule[0] if kind == "L" else rule] += 1
    return found


def fitted(rules, trees, template: str, **spelled: str) -> tuple[PCFG, TreeIndex, SpanExtractor, dict[str, int]]:
    """A grammar, and the features of a template that listed trees have, with some words spelled otherwise."""
    pcfg = PCFG.of(rules)
    number, rows = pcfg.grammar.number, []
    sentences = [[spelled.get(word, word) for word in oracle.tree_yield(tree)] for tree in trees]
    for s, tree in enumerate(trees):
        for rule, ends in oracle.tree_uses(tree):
            if rule in pcfg.grammar.rule_number:
                split = ends[1] if len(ends) == 3 else -1
                rows.append((s, ends[0], ends[-1], split, pcfg.grammar.rule_number[rule], number[rule[0]]))
    nodes, spans = Constituents(*np.array(rows).T), SpanExtractor(parse_grammar_templates(template).spans)
    spans.fit(sentences, nodes)
    index = build_span_index(spans.transform(sentences), nodes, pcfg.grammar.n_rules, pcfg.grammar.n_symbols)
    counts = Counter(word for sentence in sentences for word in sentence)
    no_tokens = token_index(len(pcfg.lexicon.tags))
    return pcfg, TreeIndex(pcfg.grammar, pcfg.lexicon.tags, index, no_tokens), spans, counts


def names_of(index: TreeIndex, spans: SpanExtractor) -> list:
    """What every feature is of, in the order of the weights."""
    grammar, of = index.grammar, index.spans
    targets = [*grammar.rules, *grammar.symbols]
    names = [("rule", rule) for rule in grammar.rules] + [("root", symbol) for symbol in grammar.symbols]
    for whose, ptr, listed in (("span", of.ptr, of.targets), ("split", of.split_ptr, of.split_rules)):
        owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)).tolist()
        names += [(spans.attribute_name(a, whose), targets[t]) for a, t in zip(owner, listed.tolist(), strict=True)]
    return names


def check_expectations(rules, trees, template: str, atol: float = 1e-13) -> None:
    pcfg, index, spans, counts = fitted(rules, [tree for tree, _ in trees], template)
    wanted = Counter()
    for tree, p in trees:
        for name, n in named_features(tree, template, counts).items():
            wanted[name] += n * p
    names = names_of(index, spans)
    found = dict(zip(names, expected_features(pcfg, index, None, spans).tolist(), strict=True))
    assert len(found) == len(names)
    assert {name for name in wanted if name not in found} == set()
    assert len(found) > pcfg.grammar.n_rules + pcfg.grammar.n_symbols + 1  # the template has features
    for name, value in found.items():
        assert value == pytest.approx(wanted[name], abs=atol), name


@pytest.mark.parametrize("template", SINGLE)
def test_expectations_are_those_of_all_trees(template):
    check_expectations(FINITE, LISTED["unary"], template)


@pytest.mark.parametrize("template", [*SINGLE[:4], *JOINT])
def test_expectations_without_unary_rules(template):
    check_expectations(BINARY, LISTED["binary"], template)


def test_words_that_the_grammar_does_not_write():
    trees = [tree for tree, _ in LISTED["binary"]]
    (pcfg, *known, _), (_, *foreign, _) = (fitted(BINARY, trees, "R:%first[0]/%last[0]", **x) for x in ({}, {"x": "q"}))
    usual, found = ((names_of(*x), expected_features(pcfg, x[0], None, x[1]).tolist()) for x in (known, foreign))
    wanted = dict(zip(*usual, strict=True))
    assert any("q" in name for name, _ in found[0])
    for (name, target), value in zip(*found, strict=True):
        assert value == (0 if "q" in name else pytest.approx(wanted[name, target])), name


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_expectations_of_any_probabilities(data):
    """Recursive, with a tail that falls fast: trees of up to five words leave out less than 1e-6."""
    p = data.draw(st.floats(0.005, 0.02))
    q = data.draw(st.floats(0.1, 0.9))
    rules = {("S", "S", "A"): p, ("S", "A", "S"): p, ("S", "a"): 1 - 2 * p, ("A", "a"): q, ("A", "b"): 1 - q}
    trees = listing(rules, longest=5)
    assert 1 - math.fsum(weight for _, weight in trees) < 1e-6
    check_expectations(rules, trees, data.draw(st.sampled_from([*SINGLE, *JOINT])), atol=1e-5)


def test_words_with_tags():
    """An attribute of words is expected with a tag as often as the tag writes words that have it."""
    template = "U1:%x[0,0]\nU2:%suffix[0,0,1]\nU3:%ngrams[0,0,2,2]\n"
    problem = problem_of(template, RARE)
    pcfg, tokens, index = problem.pcfg, problem.tokens, problem.index
    found = index.split(expected_features(pcfg, index, tokens, None))[4]
    _, entries = pcfg.expected_rules()
    lexicon, wanted = pcfg.lexicon, Counter()
    for row in range(len(lexicon.terminals)):
        word = lexicon.text(row)
        marked = f"<{word}>"
        names = {f"U1:{word}", f"U2:{word[-1]}", *(f"U3:{marked[i : i + 2]}" for i in range(len(word) + 1))}
        for entry in range(lexicon.ptr[row], lexicon.ptr[row + 1]):
            for name in names:
                wanted[name, lexicon.columns[entry]] += entries[entry]
    owner = np.repeat(np.arange(tokens.n_attributes), np.diff(index.tokens.ptr)).tolist()
    pairs = [(tokens.attribute_name(a), k) for a, k in zip(owner, index.tokens.labels.tolist(), strict=True)]
    assert any("<UNK" in name for name, _ in pairs)
    np.testing.assert_allclose(found, [wanted[pair] for pair in pairs], rtol=1e-12)


# ---------------------------------------------------------------------- the criterion


def problem_of(template: str | None = None, trees=TREES, **options) -> TreeProblem:
    return MEstimationTrees().problem([Tree.parse(t) for t in trees], TreeOptions(template=template, **options))


def loss_of_trees(problem: TreeProblem) -> ExponentialLoss:
    F = problem.features
    expected = expected_features(problem.pcfg, problem.index, problem.tokens, problem.spans)
    return ExponentialLoss((F.indptr.astype(np.int64), F.indices.astype(np.uint32), F.data), expected, None, np.float64)


def test_value_and_gradient():
    """The loss by its definition, and central differences of it."""
    loss, F = loss_of_trees(problem_of()), problem_of().features.toarray()
    weights, step = np.random.default_rng(3).normal(scale=0.05, size=loss.n_features), 1e-5

    def value(w):
        return np.exp(-F @ w).mean() + loss.expected @ w

    found, gradient = loss(weights)
    assert found == pytest.approx(value(weights))
    chosen = np.random.default_rng(4).choice(loss.n_features, 60, replace=False)
    for j in chosen.tolist():
        unit = np.zeros(loss.n_features)
        unit[j] = step
        slope = (value(weights + unit) - value(weights - unit)) / (2 * step)
        assert gradient[j] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("l2", [0.02, 0.5])
def test_weights_at_the_optimum(l2):
    """w = c·(Fᵀ e^{−Fw} / n − E)."""
    parser = Parser("m-estimation", l2=l2, tol=1e-12, max_iter=2000).fit(TREES)
    loss, weights = loss_of_trees(problem_of()), parser.model_.weights
    F = problem_of().features
    wanted = (F.T @ np.exp(-F @ weights) / F.shape[0] - loss.expected) / l2
    assert np.abs(weights).max() > 0.1
    np.testing.assert_allclose(weights, wanted, atol=2e-4)


@pytest.mark.parametrize(("c", "w"), [(1, 0.278470354), (10, 0.944455779)])
def test_one_feature(c, w):
    """p·e^−w = E + w / c, for the word a that every second tree has and the grammar writes in one of ten."""
    trees = [Tree.parse(f"(S {word})") for word in "abba"]
    options = TreeOptions(template='U1:%if[0,0,"a"]')
    problem = MEstimationTrees().problem(trees, options, pcfg=PCFG.of({("S", "a"): 0.1, ("S", "b"): 0.9}))
    column = problem.features.toarray()[:, [-1]]
    expected = expected_features(problem.pcfg, problem.index, problem.tokens, problem.spans)
    assert problem.index.sizes == (0, 1, 0, 0, 1)
    assert expected == pytest.approx([1.0, 0.1])
    weights, _ = solved(loss_of(column, expected[-1:]), "lbfgs", 1 / c)
    assert weights == pytest.approx([w], abs=1e-8)


def test_a_counted_grammar_needs_no_weights_of_its_rules():
    """Rules and roots are expected as often as they were counted, so that the optimum is at zero, even unpenalized."""
    problem = problem_of('U1:%if[0,0,"never"]')
    expected = expected_features(problem.pcfg, problem.index, problem.tokens, problem.spans)
    np.testing.assert_allclose(expected, np.asarray(problem.features.mean(axis=0)).ravel(), atol=1e-12)
    parser = Parser("m-estimation", template='U1:%if[0,0,"never"]', l2=0.0).fit(TREES)
    np.testing.assert_allclose(parser.model_.weights, 0, atol=1e-9)
    check_like_the_grammar(parser, 1e-9)


def test_a_strong_penalty_leaves_the_grammar():
    check_like_the_grammar(Parser("m-estimation", template="U1:%x[0,0]", l2=1e6).fit(TREES), 1e-4)
    check_like_the_grammar(Parser("m-estimation", l2=1e6).fit(TREES), 1e-3)


def check_like_the_grammar(parser: Parser, atol: float) -> None:
    base = Parser("pcfg").fit(TREES)
    for words in (SENTENCE, ["Kim"], ["the", "old", "man", "slept"]):
        ours, theirs = parser.parse_nbest([words], 3)[0], base.parse_nbest([words], 3)[0]
        assert [str(parse) for parse in ours] == [str(parse) for parse in theirs]
        np.testing.assert_allclose([p.score for p in ours], [p.score for p in theirs], atol=atol)


def test_without_the_base():
    """The same weights; what remains of the base are its words, and which symbols may be roots."""
    with_base, without = (Parser("m-estimation", settings={"keep_base": keep}).fit(TREES) for keep in (True, False))
    assert np.array_equal(with_base.model_.weights, without.model_.weights)
    base = with_base.model_.base
    assert (without.model_.base.rules == 0).all()
    assert np.array_equal(without.model_.base.roots, np.where(base.roots > -math.inf, 0, -math.inf))
    ours, theirs = (parser.parse([["Kim", "slept"]])[0] for parser in (with_base, without))
    assert str(ours) == str(theirs)
    rules, roots = with_base.model_.grammar.rule_number, with_base.model_.grammar.number
    dropped = base.rules[rules["S", "NP+NNP", "VP+VBD"]] + base.roots[roots["S"]]
    assert ours.score - theirs.score == pytest.approx(dropped)


def test_no_penalty_is_refused_where_there_is_no_minimum():
    with pytest.raises(LoglinError, match=r"without a penalty M-estimation .* no minimum here.*set l2 above 0"):
        Parser("m-estimation", l2=0.0).fit(TREES)
    assert Parser("m-estimation", l2=0.0, l1=10.0).fit(TREES).model_.record["converged"]


# ---------------------------------------------------------------------- words as the grammar writes them


def test_rare_words_are_their_signatures():
    parser = Parser("m-estimation", template="R1:%first[0]\nR2:%suffix[last,0,3]\nU1:%x[0,0]\n").fit(RARE)
    names = {parser.model_.spans.attribute_name(a) for a in range(parser.model_.spans.n_attributes)}
    assert {"R1:Kim", "R1:<UNK-C0>"} <= names
    assert not {"R1:Ann", "R1:Bob"} & names
    seen, unseen = parser.parse([["Ann", "coughed"], ["Zoe", "walked"]])
    assert seen.score == pytest.approx(unseen.score)
    assert seen.tree.words() == ["Ann", "coughed"]
    votes = [vote.feature for vote in parser.explain(["Zoe", "walked"], (0, 2)).votes]
    assert "R1:<UNK-C0>" in votes


def test_a_saved_parser(tmp_path):
    parser = Parser("m-estimation").fit(TREES)
    parser.save(tmp_path / "model")
    again = load(tmp_path / "model")
    words = [["the", "zebra", "slept"], SENTENCE]
    assert again.model_.as_terminals
    assert [(str(p), p.score) for p in again.parse(words)] == [(str(p), p.score) for p in parser.parse(words)]
    assert parser.model_.record["expectation_seconds"] > 0


def test_other_criteria_see_words_as_they_are():
    assert not Parser("crf", max_iter=1).fit(TREES).model_.as_terminals


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("R1:%first[-1]/%last[1]", r"'R1:%first\[-1\]/%last\[1\]' looks at words that depend on each other"),
        ("R1:%first[0]\nR2:%first[1]", r"'R2:%first\[1\]' looks at a word further away"),
        ("R1:%last[-1]", "a word further away"),
        ("S1:%split[1]", "a word further away"),
        ("U1:%x[0,0]\nU2:%x[-1,0]", r"'U2:%x\[-1,0\]' looks at the neighbors of a word.*leave it out"),
        ("U1:%edge[1,0]", "looks at the neighbors of a word"),
        ("#! oov=first\nU1:%x[0,0]", "oov=first reads a word's first token otherwise"),
        ("R1:%signature[first,0]", r"'R1:%signature\[first,0\]' tells words that begin a sentence from others"),
        ("R1:%word[last,0,9]", "tells words that begin a sentence from others.*setting rare"),
    ],
)
def test_templates_that_have_no_expectation(template, message):
    with pytest.raises(LoglinError, match=message) as caught:
        Parser("m-estimation", template=template).fit(TREES)
    assert "\n" not in str(caught.value)


def test_first_and_last_words_with_unary_rules():
    pcfg, index, spans, _ = fitted(FINITE, [tree for tree, _ in LISTED["unary"]], JOINT[0])
    with pytest.raises(LoglinError, match="looks at words that depend on each other"):
        expected_features(pcfg, index, None, spans)


@pytest.mark.parametrize(
    ("p", "message"),
    [(0.75, "the grammar is not tight: with probability 0.667 a derivation never ends"), (0.5, "no finite expected")],
)
def test_grammars_that_do_not_end(p, message, tmp_path):
    path = tmp_path / "loose.grammar"
    PCFG.of({("S", "S", "S"): p, ("S", "a"): 1 - p}).write(path)
    with pytest.raises(LoglinError, match=message):
        Parser("m-estimation", grammar=path).fit(["(S (S a) (S a))"])


def test_trees_that_a_grammar_file_holds_impossible(tmp_path):
    path = tmp_path / "small.grammar"
    PCFG.of({("S", "A", "A"): 1.0, ("A", "a"): 0.9, ("A", "b"): 0.1}).write(path)
    trees = ["(S (A a) (A b))", "(S (A a) (A c))"]
    with pytest.raises(LoglinError, match=r"tree 1 .* has probability zero in the grammar"):
        Parser("m-estimation", grammar=path).fit(trees)
    parser = Parser("m-estimation", grammar=path, template="R1:%first[0]").fit(trees[:1])
    assert str(parser.predict([["a", "b"]])[0]) == trees[0]


# ---------------------------------------------------------------------- the Treebank


@pytest.fixture(scope="module")
def treebank():
    corpus_folder("treebank")
    coder = TreeCoder()
    pairs = [(tree, coder.strip(tree)) for tree in load_trees("treebank")]
    return [bare for _, bare in pairs if bare is not None and 2 <= len(bare.words()) <= 15]


def test_expectations_against_samples(treebank):
    """z-scores of 20,000 sampled trees' features are those of a normal distribution."""
    problem = MEstimationTrees().problem(treebank[:400], TreeOptions(template="spans"))
    expected = expected_features(problem.pcfg, problem.index, problem.tokens, problem.spans)
    n = 20_000
    trees = problem.pcfg.sample(n, np.random.default_rng(7))
    model = problem.model(np.zeros(problem.index.n_features), problem.base("pcfg"))
    F = features_of(
        problem.index,
        model.design([tree.words() for tree in trees]),
        tree_uses(trees, problem.pcfg.grammar, problem.index.tags),
    )
    mean, squares = (np.asarray(X.mean(axis=0)).ravel() for X in (F, F.multiply(F)))
    often = expected * n > 20
    z = ((mean - expected) / np.sqrt(np.maximum(squares - mean**2, 1e-12) / n))[often]
    for part in problem.index.split(often):
        assert part.sum() > 5
    assert often.sum() > 3000
    assert abs(z.mean()) < 0.3
    assert 0.9 < z.std() < 1.1
    assert np.abs(z).max() < 5.5


def test_m_estimation_beats_its_base(treebank):
    order = np.random.default_rng(0).permutation(len(treebank)).tolist()
    training, test = [treebank[i] for i in order[:600]], [treebank[i] for i in order[600:720]]
    base, ours = (Parser(criterion).fit(training).score(test) for criterion in ("pcfg", "m-estimation"))
    assert base > 0.70
    assert ours > base + 0.005
