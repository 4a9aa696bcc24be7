"""Grammars from sentences without trees: criteria against enumeration, starts, what is learnt, and what goes wrong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.columns import from_sentences
from loglin.corpus.trees import Tree
from loglin.criteria import ContrastiveTrees, MixtureTrees
from loglin.estimators import Parser, Tagger
from loglin.features.read import read_grammar_templates
from loglin.generative.pcfg import PCFG
from loglin.grammars import files
from loglin.neighborhoods import neighborhood
from loglin.optimize.record import StopTraining
from loglin.problems.hidden import unlabeled_value
from loglin.problems.hidden_trees import HiddenText, brackets_of, hidden_text
from loglin.problems.trees import TreeOptions
from loglin.problems.word_types import problem_of_text
from support.errors import refused

# binary and unary rules, a symbol with words and rules, two roots; z is no S and no A
TEXT = """
%start TOP
TOP -> S [0.7] | A [0.3]
S -> A S [0.3] | S B [0.2] | A B [0.2] | B [0.1] | 'x' [0.2]
A -> B [0.3] | A A [0.2] | 'x' [0.4] | 'y' [0.1]
B -> S A [0.3] | 'y' [0.5] | 'z' [0.2]
"""
SENTENCES = [s.split() for s in ("x y z", "x x", "y", "z y x", "x y x y")]
TEMPLATE = "U00:%x[0,0]\nU01:%prefix[0,0,1]"
TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (DT a) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))))",
    "(S (NP (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))",
]


def all_of(x: tuple, words) -> set[tuple]:
    return set(itertools.product(words, repeat=len(x)))


NEIGHBORS = {  # sentence, all sentences → neighbors
    "del1word": lambda x, every: oracle.del1word(x),
    "trans1": lambda x, every: oracle.exchanged(x, 1),
    "trans2+del1word": lambda x, every: oracle.exchanged(x, 2) | oracle.del1word(x),
    "delortrans1": lambda x, every: oracle.del1word(x) | oracle.exchanged(x, 1),
    "length": lambda x, every: all_of(x, sorted({w for s in every for w in s})),
    "observed": lambda x, every: set(map(tuple, every)),
}


@pytest.fixture
def grammar_file(tmp_path):
    path = tmp_path / "grammar.txt"
    path.write_text(TEXT)
    return path


def scored_rules(index, base, lexicon, extractor, weights, words):
    """Rules and roots with their scores, as the oracle takes them; words by the attributes of the templates."""
    rule_weights, root_weights, _, _, pairs = index.split(weights)
    rules = {rule: float(s) for rule, s in zip(index.grammar.rules, base.rules + rule_weights, strict=True)}
    roots = {a: float(s) for a, s in zip(index.grammar.symbols, base.roots + root_weights, strict=True)}
    weight = {}
    for a in range(len(index.tokens.ptr) - 1):
        for place in range(index.tokens.ptr[a], index.tokens.ptr[a + 1]):
            tag = index.grammar.symbols[index.tags[index.tokens.labels[place]]]
            weight[extractor.attribute_name(a), tag] = pairs[place]
    for word in words:
        for k, score in enumerate(lexicon.scores([word], [False])[0]):
            tag = index.grammar.symbols[index.tags[k]]
            names = [f"U00:{word}", f"U01:{word[0]}"]
            if score > -math.inf:
                rules[tag, word] = float(score) + sum(weight.get((name, tag), 0.0) for name in names)
    return rules, {a: s for a, s in roots.items() if s > -math.inf}


def log_z(rules, roots, strings) -> float:
    return oracle.log_sum([score for words in strings for _, score in oracle.trees(rules, words, roots)])


def contrast_by_listing(rules, roots, sentences, name) -> float:
    total = 0.0
    for sentence in sentences:
        around = NEIGHBORS[name](tuple(sentence), sentences)
        total += log_z(rules, roots, around) - log_z(rules, roots, [sentence])
    return total


def contrastive_case(name, sentences=SENTENCES, text=TEXT, template=TEMPLATE):
    pcfg, criterion = PCFG.of_productions(*files.parse(text).rooted()), ContrastiveTrees(neighborhood=name)
    templates = read_grammar_templates(template)
    problem = problem_of_text(HiddenText(pcfg, sentences, [], 0), TreeOptions(threads=1), templates)
    return problem.pcfg, problem.text, criterion.objective(problem)


# ---------------------------------------------------------------------- criteria against enumeration


@pytest.mark.parametrize("name", NEIGHBORS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 1.0, 20.0]), n=st.integers(1, len(SENTENCES)))
def test_contrastive_value_and_gradient(name, seed, scale, n):
    sentences = SENTENCES[:n]
    pcfg, types, criterion = contrastive_case(name, sentences)
    weights = scale * np.random.default_rng(seed).standard_normal(criterion.n_features)
    rules, roots = scored_rules(criterion.index, criterion.base, pcfg.lexicon, types.extractor, weights, "xyz")
    value, gradient = criterion(weights)
    assert value == pytest.approx(contrast_by_listing(rules, roots, sentences, name), rel=1e-9, abs=1e-9)
    numeric = oracle.numeric_gradient(lambda w: criterion(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5 * max(1.0, scale))


def test_conditional_neighborhoods_of_words_are_refused_and_functions_work():
    """A function may give any sentences of known words."""
    _, _, criterion = contrastive_case(lambda sentence: [sentence[::-1]])
    mirrored = contrastive_case("trans1", [["x", "y"], ["x", "x"]])[2]
    reversed_ = contrastive_case(lambda sentence: [sentence[::-1]], [["x", "y"], ["x", "x"]])[2]
    weights = np.random.default_rng(0).standard_normal(mirrored.n_features)
    assert reversed_(weights)[0] == pytest.approx(mirrored(weights)[0])  # of two words
    assert criterion(np.zeros(criterion.n_features))[0] > 0


@pytest.mark.parametrize("base", ["pcfg", "lexicon"])
@pytest.mark.parametrize("name", ["trans1", "length"])
def test_mixture_value_and_gradient(name, base):
    sentences = [s.split() for s in ("the cat barks", "dog sees the zebra", "a dog barks")]
    mixture = MixtureTrees(weight=0.3, base=base, rare=0, neighborhood=name)
    problem = mixture.problem([Tree.parse(t) for t in TREES], TreeOptions(template=TEMPLATE, threads=1), sentences)
    assert problem.left_out == 0
    criterion, types = mixture.objective(problem), problem.text
    weights = np.random.default_rng(1).standard_normal(criterion.n_features)
    words = sorted({w for s in sentences for w in s} | {w for t in problem.trees for w in t.words()})
    rules, roots = scored_rules(criterion.index, criterion.base, problem.pcfg.lexicon, types.extractor, weights, words)
    total = 0.0
    for tree in problem.trees:
        listed = oracle.trees(rules, tree.words(), roots)
        total += oracle.log_partition(listed) - dict(listed)[as_tuple(tree)]
    for sentence in sentences:
        around = oracle.exchanged(tuple(sentence), 1) if name == "trans1" else all_of(tuple(sentence), words)
        total += 0.3 * (log_z(rules, roots, around) - log_z(rules, roots, [sentence]))
    value, gradient = criterion(weights)
    assert value == pytest.approx(total, rel=1e-9)
    numeric = oracle.numeric_gradient(lambda w: criterion(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def as_tuple(tree: Tree) -> tuple:
    return (tree.label, tree.word) if tree.word is not None else (tree.label, *map(as_tuple, tree.children))


@pytest.mark.parametrize("name", ["trans1", "del1word", "length"])
def test_a_right_linear_grammar_is_a_tagger(name):
    """Q_a → T_a Q_b for labels a, b one behind the other: the same log p(x | N(x)) as of a Tagger with its weights."""
    sentences = [s.split() for s in ("x y z y", "y x", "z z x", "y")]
    tagger = Tagger(
        "contrastive", template="U00:%x[0,0]\nB", neighborhood=name, l2=0.5, settings={"labels": 2}, order=1, max_iter=3
    ).fit(sentences)
    model = tagger.model_
    text = "%start TOP\nTOP -> Q0 [0.5] | Q1 [0.5]\n"
    text += "".join(f"Q{a} -> T{a} Q0 [0.4] | T{a} Q1 [0.3] | T{a} [0.3]\n" for a in (0, 1))
    text += "".join(f"T{a} -> 'x' [0.3] | 'y' [0.3] | 'z' [0.4]\n" for a in (0, 1))
    _, types, criterion = contrastive_case(name, sentences, text, "U00:%x[0,0]")
    index, weights = criterion.index, np.zeros(criterion.n_features)
    rules, _, _, _, pairs = index.split(weights)
    steps, entries = model.index.transitions(model.weights), model.index.split(model.weights)[0]
    for a, b in itertools.product((0, 1), repeat=2):
        rules[index.grammar.rule_number[f"Q{a}", f"T{a}", f"Q{b}"]] = steps[a, b]
    place = {
        (model.extractor.attribute_name(a), int(model.index.labels[f])): entries[f]
        for a in range(model.extractor.n_attributes)
        for f in range(model.index.ptr[a], model.index.ptr[a + 1])
    }
    for a in range(types.extractor.n_attributes):
        for f in range(index.tokens.ptr[a], index.tokens.ptr[a + 1]):
            tag = int(index.grammar.symbols[index.tags[index.tokens.labels[f]]][1:])
            pairs[f] = place[types.extractor.attribute_name(a), tag]
    assert np.abs(weights).max() > 0.01
    assert -criterion(weights)[0] == pytest.approx(unlabeled_value(model, from_sentences(sentences)), rel=1e-5)


def test_arcs_of_pools():
    """Lattices that read pools hold the same sentences when every symbol has an arc of its own."""
    around = neighborhood("conditional:1")
    tokens = [("a", "1"), ("b", "1"), ("c", "2"), ("d", "2"), ("e", "3")]
    pooled = around.lattices([[0, 2, 4], [3, 1], [2, 0, 4]], 5, tokens)
    plain = pooled.unpooled()
    assert pooled.pools
    assert not plain.pools
    assert [set(plain.strings(n)) for n in range(3)] == [set(pooled.strings(n)) for n in range(3)]
    assert set(plain.strings(0)) == {(a, b, 4) for a in (0, 1) for b in (2, 3)}
    assert plain.unpooled() is plain


# ---------------------------------------------------------------------- expectation maximization


def test_em_climbs_to_a_tight_grammar(tmp_path):
    """S → S S at .75 loses half of its trees; after EM derivations end, and no step made the text less likely."""
    path = tmp_path / "g.txt"
    path.write_text("S -> S S [0.75] | 'a' [0.25]\n")
    assert not PCFG.read(path).is_tight()
    values: list[float] = []
    parser = Parser(
        "em", grammar=path, settings={"smoothing": 0}, tol=1e-6, callbacks=[lambda i: values.append(i.value)], threads=1
    ).fit([["a"], ["a", "a"], ["a", "a", "a", "a"], ["a"]])
    assert parser.pcfg_.is_tight()
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < values[0] - 1
    rules = dict(zip(parser.pcfg_.grammar.rules, np.exp(parser.pcfg_.rules), strict=True))
    assert rules["S", "S", "S"] == pytest.approx(4 / 12)  # 4 inner nodes to 8 words
    assert parser.model_.record["log_likelihood"] == pytest.approx(-values[-1])
    assert parser.model_.record["criterion"] == "em"


def test_em_from_symbols_and_several_starts():
    parser = Parser("em", settings={"symbols": 3, "starts": 3}, max_iter=20, threads=1).fit(SENTENCES)
    record = parser.model_.record
    assert len(set(np.round(record["starts"], 6))) > 1
    assert record["log_likelihood"] == max(record["starts"])
    assert parser.model_.grammar.symbols == ["X1", "X2", "X3"]
    assert (record["sentences"], record["tokens"]) == (5, 13)
    assert parser.parse([["x", "never", "y"]])[0].complete  # smoothing lets symbols write words that are not known
    again = Parser("em", settings={"symbols": 3, "starts": 3}, max_iter=20, threads=2).fit(SENTENCES)
    assert again.model_.record["starts"] == record["starts"]


def test_trees_are_brackets():
    """Labels that the grammar has restrict, others do not: _, X, or any from elsewhere."""
    grammar = PCFG.of_productions(*files.parse(TEXT).rooted()).grammar
    tree = Tree.parse("(S (_ (X x) (B y)) (QP (A x)))")
    assert brackets_of(tree, grammar) == [(0, 3, "S"), (0, 2), (2, 3), (0, 1), (1, 2, "B"), (2, 3, "A")]
    counted = PCFG.count([Tree.parse("(S^ROOT (NP+NN x) (@S|NP (V y) (ADV z)))")]).grammar
    tree = Tree.parse("(S (NP (NN x)) (V y) (ADV z))")
    assert brackets_of(tree, counted) == [(0, 3, "S"), (0, 1, "NP"), (0, 1, "NN"), (1, 2, "V"), (2, 3, "ADV")]


def test_em_keeps_to_brackets(grammar_file):
    """The likelihood is that of the trees that have the constituents; sentences may stand among the trees."""
    pcfg = PCFG.read(grammar_file)
    rules, roots = {}, {}
    for rule, p in pcfg.productions().rules.items():
        names = tuple(s.text if isinstance(s, files.Word) else s for s in rule)
        (roots if rule[0] == "TOP" else rules)[names if rule[0] != "TOP" else names[1]] = math.log(p)
    listed = oracle.trees(rules, ["x", "y", "x", "y"], roots)
    kept = []
    for tree, score in listed:
        spans = {(rule[0], ends[0], ends[-1]) for rule, ends in oracle.tree_uses(tree)}
        if any((i, j) == (1, 3) for _, i, j in spans):
            kept.append(score)
    free = oracle.log_partition(listed)
    seen: list[float] = []
    options = {"grammar": grammar_file, "max_iter": 1, "callbacks": [lambda i: seen.append(-i.value)], "threads": 1}
    Parser("em", **options).fit(["(X (_ x) (X (_ y) (_ x)) (_ y))", ["x", "y", "x", "y"]])
    assert seen == pytest.approx([oracle.log_sum(kept) + free])
    assert oracle.log_sum(kept) < free - 0.1


def test_em_from_trees_and_more_sentences():
    """The grammar is counted from the trees; sentences that it cannot derive are left out and counted."""
    sentences = [s.split() for s in ("the cat sees a dog", "dog sees the cat", "barks sees the")]
    parser = Parser("em", threads=1).fit(TREES, unlabeled=sentences)
    assert parser.model_.record["left_out"] == 1
    assert parser.model_.record["sentences"] == 5
    tree = "(S (NP (DT the) (NN cat)) (VP (VBZ barks)))"
    assert str(parser.predict([["the", "cat", "barks"]])[0]) == tree
    assert parser.score([tree]) == 1.0
    trained = Parser("em", settings={"smoothing": 0, "rare": 0}, threads=1).fit(TREES)
    counted = Parser("pcfg", settings={"smoothing": 0, "rare": 0}).fit(TREES)
    np.testing.assert_allclose(trained.pcfg_.rules, counted.pcfg_.rules, atol=1e-9)  # as every tree is known


# ---------------------------------------------------------------------- what is learnt


def test_contrast_finds_the_tags(tmp_path):
    """a and b stand before c and d: one exchange tells which tag each word has."""
    path = tmp_path / "g.txt"
    words = " | ".join(f"'{w}' [0.25]" for w in "abcd")
    path.write_text(f"S -> A B [1]\nA -> {words}\nB -> {words}\n")
    parser = Parser("contrastive", grammar=path, l2=0.1, threads=1).fit([["a", "c"], ["a", "d"], ["b", "c"]] * 5)
    marked = {w: parser.explain([w, "a"], (0, 1)).votes[0].weight - parser.explain(["a", w], (1, 2)).votes[0].weight
              for w in "abcd"}  # fmt: skip
    assert min(marked["a"], marked["b"]) > 0.5
    assert max(marked["c"], marked["d"]) < -0.5


def test_contrast_finds_the_phrase_that_is_shared(tmp_path):
    """d n is a phrase of both kinds of sentences; other rules explain each of them as well, but not both at once.

    All other orders of words have one tree, of words M that may be anything.
    """
    path = tmp_path / "g.txt"
    path.write_text(
        "S -> NP V [0.2] | D X [0.2] | V NP [0.2] | Y N [0.2] | M M M [0.2]\nNP -> D N [1]\nX -> N V [1]\n"
        "Y -> V D [1]\nD -> 'd' [1]\nN -> 'n' [1]\nV -> 'v' [1]\nM -> 'd' [0.3] | 'n' [0.3] | 'v' [0.4]\n"
    )
    sentences = [["d", "n", "v"], ["v", "d", "n"]] * 5
    parser = Parser("contrastive", grammar=path, threads=1, l2=0.1).fit(sentences)
    assert [str(t) for t in parser.predict(sentences[:2])] == [
        "(S (NP (D d) (N n)) (V v))",
        "(S (V v) (NP (D d) (N n)))",
    ]


def test_contrast_breaks_the_symmetry_of_symbols():
    """Symbols without names start at random, differently for every seed, and the best start is kept."""
    sentences = [list(s) for s in ("ac", "bd", "acac", "bdac", "acbd")] * 3
    parser = Parser("contrastive", settings={"symbols": 3, "starts": 3}, l2=0.1, threads=1).fit(sentences)
    record = parser.model_.record
    assert "the best of 3 starts" in record["stopped"]
    assert record["neighborhood"] == "trans1"
    rules = parser.model_.index.split(parser.model_.weights)[0]
    assert rules.std() > 0.1
    one = Parser("contrastive", settings={"symbols": 3}, l2=0.1, threads=1).fit(sentences).model_.record["objective"]
    assert record["objective"] <= one + 1e-9
    two = Parser("contrastive", settings={"symbols": 3, "starts": 3}, l2=0.1, threads=2).fit(sentences)
    assert two.model_.weights.tobytes() == parser.model_.weights.tobytes()
    assert parser.parse([["a", "never"]])[0].complete


def test_a_mixture_learns_from_both():
    """Which of two attachments is right only trees say; which words are verbs the other sentences."""
    sentences = [s.split() for s in ("the cat sleeps", "a cat sleeps", "the dog sees a cat", "a dog sees the cat")]
    parser = Parser("mixture", neighborhood="trans1", l2=0.1, threads=1).fit(TREES, unlabeled=sentences * 3)
    assert parser.score(TREES) == 1.0
    assert parser.model_.record["trees"] == 3
    assert parser.model_.record["sentences"] == 3 + 12
    assert parser.explain(["the", "dog", "sleeps"], (2, 3)).votes
    assert str(parser.predict([["a", "dog", "sleeps"]])[0]) == "(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))"


def test_a_mixture_of_no_weight_is_the_likelihood():
    """Its optimum is that of the trees alone, whatever the sentences."""
    trees = ["(S (A x) (S (A x) (B y)))", "(S (S (A x) (S y)) (B y))", "(S (A x) (S (S x) (B y)))"]
    options = {"l2": 0.5, "tol": 1e-6, "threads": 1}
    texts = ([["x", "y", "y", "y"]], [["x", "x"], ["x", "y", "x", "y"]])
    found = [
        Parser("mixture", settings={"weight": 0}, **options).fit(trees, unlabeled=text).model_.record["objective"]
        for text in texts
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] > 0.1
    heavy = Parser("mixture", settings={"weight": 2}, **options).fit(trees, unlabeled=texts[0])
    assert heavy.model_.record["objective"] > found[0] + 0.01


@pytest.mark.parametrize("criterion", ["em", "contrastive", "mixture"])
def test_saved_parsers_are_the_same(tmp_path, criterion):
    parser = Parser(criterion, threads=1).fit(TREES, unlabeled=[["the", "cat", "barks"]])
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    sentences = [["the", "cat", "sees", "a", "bird"], ["a", "dog", "barks"]]
    assert [p.score for p in loaded.parse(sentences)] == [p.score for p in parser.parse(sentences)]
    assert loaded.predict(sentences) == parser.predict(sentences)
    assert loaded.criterion == criterion


# ---------------------------------------------------------------------- what goes wrong


def test_without_a_prior_weights_diverge():
    sentences = [list("ab"), list("abab"), list("aab")] * 2
    found = Parser(
        "contrastive", neighborhood="del1word", settings={"symbols": 2}, l2=0.0, max_iter=300, tol=0.0, threads=1
    ).fit(sentences)
    record = found.model_.record
    assert not record["converged"]
    assert "without a prior weights grow without end" in record["stopped"]


def test_a_strong_prior_leaves_symbols_alike():
    """Then zero is where all starts end up, and the record says so."""
    sentences = [list(s) for s in ("ac", "bd", "acac", "bdac", "acbd")] * 3
    for l2, alike in ((100.0, True), (0.1, False)):
        record = Parser("contrastive", settings={"symbols": 3}, l2=l2, threads=1).fit(sentences).model_.record
        assert ("all rules ended alike" in record["stopped"]) == alike


def test_a_callback_ends_all_starts():
    numbers = []

    def stop(iteration):
        numbers.append(iteration.number)
        if len(numbers) == 2:
            raise StopTraining("enough")

    for criterion in ("em", "contrastive"):
        numbers.clear()
        found = Parser(criterion, settings={"symbols": 2, "starts": 3}, callbacks=[stop], threads=1).fit(SENTENCES)
        assert len(numbers) == 2
        assert "enough" in found.model_.record["stopped"]


def not_fitted(*parts, given=SENTENCES, unlabeled=None, criterion="contrastive", **options):
    refused(lambda: Parser(criterion, threads=1, **options).fit(given, unlabeled), *parts)


SOME = {"symbols": 2}


def test_what_is_refused(grammar_file, tmp_path):
    for criterion in ("em", "contrastive"):
        not_fitted("no grammar to start from", "setting symbols, such as 10", criterion=criterion)
        not_fitted("sentence 1 (z q)", "'q', which no rule writes", "<UNK>", criterion=criterion, grammar=grammar_file,
                given=[["x"], ["z", "q"]])  # fmt: skip
        not_fitted("grammar.txt and", "setting symbols, 2", criterion=criterion, grammar=grammar_file, settings=SOME)
        not_fitted("starts is 0", criterion=criterion, settings={"starts": 0})
        not_fitted("sentence 1 has no words", criterion=criterion, settings=SOME, given=[["x"], []])
        not_fitted("sentence 0 has the word ''", criterion=criterion, settings=SOME, given=[[""]])
        not_fitted("sentence 0 is 7", criterion=criterion, settings=SOME, given=[7])
        not_fitted("sentence 1 is the string 'x y'", criterion=criterion, settings=SOME, given=[["x"], "x y"])
        not_fitted("never closed", criterion=criterion, settings=SOME, given=["(S (A x)"])
        not_fitted("0 sentences hold none to learn from", criterion=criterion, settings=SOME, given=[])
        not_fitted("5 sentences hold none of at most 1", criterion=criterion, settings=SOME, max_length=1,
                given=[["x", "y"]] * 5)  # fmt: skip
    not_fitted("sentence 5 is the string 'x y'", settings=SOME, unlabeled=["x y"])
    not_fitted("has no setting 'smoothing'", settings={"smoothing": 1})
    not_fitted("has no setting 'deviation'", criterion="em", settings={"deviation": 1})
    not_fitted("annealing is 0.0", criterion="em", settings=SOME | {"annealing": 0})
    not_fitted("counts rules and words alone", criterion="em", settings=SOME, template="U00:%x[0,0]")
    not_fitted("compares with no neighborhood", criterion="em", settings=SOME, neighborhood="trans1")
    circle = tmp_path / "circle.txt"
    circle.write_text("S -> A [0.5] | 'x' [0.5]\nA -> S [1]\n")
    not_fitted("unary rules go in a circle, A → S → A", grammar=circle)


def test_neighborhoods_and_templates_that_are_refused(tmp_path):
    not_fitted("everything", "take another, such as trans1", settings=SOME, neighborhood="everything")
    not_fitted("keeps all columns", settings=SOME, neighborhood="conditional:0")
    not_fitted("looks at spans", "U00:%x[0,0]", settings=SOME, template="R01:%first[0]")
    not_fitted("'U01:%x[-1,0]' looks at other words", settings=SOME, template="U00:%x[0,0]\nU01:%x[-1,0]")
    long = [[str(n) for n in range(700)]]
    not_fitted("trans1 has a lattice of", "states", "give a smaller max_length", given=long, settings={"symbols": 20})


def test_mixtures_that_are_refused(grammar_file):
    not_fitted("learns from trees alone, and 1 sentences", criterion="crf", given=TREES, unlabeled=[["x"]])
    not_fitted("none of 0 sentences without trees", criterion="mixture", given=TREES)
    not_fitted("none of 1 sentences without trees", criterion="mixture", given=TREES, unlabeled=[["barks", "the"]])
    not_fitted("0 trees hold no sentence", criterion="mixture", given=[], unlabeled=[["x"]])
    not_fitted("tree 0 is ['x']", criterion="mixture", given=[["x"]], unlabeled=[["x"]])
    not_fitted("has no setting 'symbols'", criterion="mixture", given=TREES, settings=SOME)


def test_longer_sentences_are_left_out():
    options = TreeOptions(max_length=2)
    text = hidden_text([Tree.parse(TREES[0]), Tree.parse("(S (A a) (B b))")], SENTENCES, options, "em", **SOME)
    assert text.words == [["a", "b"], ["x", "x"], ["y"]]
    assert len(text.trees) == 1
