"""The parser as an estimator: every criterion, what it finds, what it writes to files, and what it refuses."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import oracle
from loglin import LoglinError, Parser, load
from loglin.corpus.trees import Tree
from loglin.criteria import CRFTrees
from loglin.criteria.trees import likelihood_of_trees
from loglin.decoding.trees import TreeDecoder
from loglin.generative.pcfg import PCFG
from loglin.problems.trees import TreeOptions
from loglin.structures.tree_scores import Base, scores_with
from support.corpora import corpus_folder
from support.grammars import SENTENCE, TREES
from support.trees import sampled_trees, tree_likelihood

TEMPLATE = "R01:%first[0]\nR02:%last[0]/%length[3]\nL01:%first[-1]\nS01:%split[0]\nU01:%x[0,0]\nU02:%suffix[0,0,1]\n"
FULL = ("pcfg", "mecfg", "piecewise", "crf", "perceptron", "m-estimation")


@pytest.fixture(scope="module")
def parsers() -> dict[str, Parser]:
    return {criterion: Parser(criterion, threads=1, max_iter=8).fit(TREES) for criterion in FULL}


@pytest.mark.parametrize("criterion", FULL)
def test_every_criterion_parses(parsers, criterion):
    parser = parsers[criterion]
    for parse, words in zip(parser.parse([SENTENCE, ["Kim"]]), (SENTENCE, ["Kim"]), strict=True):
        assert parse.complete
        assert parse.tree.words() == words
        assert "@" not in str(parse)
        assert "+" not in str(parse)
    assert parser.score(TREES) > 0.9


@pytest.mark.parametrize("criterion", FULL)
def test_a_saved_parser_parses_alike(parsers, criterion, tmp_path):
    parser = parsers[criterion]
    parser.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, Parser)
    assert again.criterion == criterion
    ours, theirs = parser.parse_nbest([SENTENCE], 3)[0], again.parse_nbest([SENTENCE], 3)[0]
    assert [(str(a), a.score, a.probability) for a in ours] == [(str(b), b.score, b.probability) for b in theirs]
    assert parser.marginals(SENTENCE) == again.marginals(SENTENCE)


@pytest.mark.parametrize("criterion", ["mecfg", "piecewise", "crf"])
def test_same_weights_for_any_number_of_threads(criterion):
    one, two = (Parser(criterion, threads=n, max_iter=5).fit(TREES) for n in (1, 2))
    assert np.array_equal(one.model_.weights, two.model_.weights)


def test_trees_of_nltk(parsers):
    nltk = pytest.importorskip("nltk")
    theirs = [nltk.Tree.fromstring(tree) for tree in TREES]
    parser = Parser("pcfg").fit(theirs)
    assert parser.parse([SENTENCE])[0].score == parsers["pcfg"].parse([SENTENCE])[0].score
    assert parser.score(theirs) == parsers["pcfg"].score(TREES)


# ---------------------------------------------------------------- the criterion


@pytest.mark.parametrize("trees", [[Tree.parse(t) for t in TREES], sampled_trees(0)], ids=["given", "sampled"])
@pytest.mark.parametrize("base", ["pcfg", "lexicon"])
def test_likelihood_is_that_of_enumerated_trees(base, trees):
    problem = CRFTrees().problem(trees, TreeOptions(template=TEMPLATE, threads=1))
    rng = np.random.default_rng(0)
    weights, fixed = rng.normal(size=problem.index.n_features), problem.base(base)
    value, _ = likelihood_of_trees(problem, fixed)(weights)
    expected = tree_likelihood(problem, fixed, weights)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("base", ["pcfg", "lexicon"])
def test_gradient_of_the_likelihood(base):
    problem = CRFTrees().problem([Tree.parse(t) for t in TREES], TreeOptions(template=TEMPLATE, threads=1))
    criterion, rng = likelihood_of_trees(problem, problem.base(base)), np.random.default_rng(1)
    weights = rng.normal(size=problem.index.n_features)
    _, gradient = criterion(weights)
    for _ in range(20):
        direction = rng.normal(size=len(weights)) * (rng.random(len(weights)) < 0.2)
        up, down = (criterion(weights + h * direction)[0] for h in (1e-5, -1e-5))
        assert float(gradient @ direction) == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


def test_likelihood_falls_and_ends_at_a_stationary_point():
    parser = Parser("crf", template=TEMPLATE, threads=1, tol=1e-9, l2=0.5).fit(TREES)
    problem = CRFTrees().problem([Tree.parse(t) for t in TREES], TreeOptions(template=TEMPLATE, threads=1))
    _, gradient = likelihood_of_trees(problem, problem.base("pcfg"))(parser.model_.weights)
    assert np.abs(gradient + 0.5 * parser.model_.weights).max() < 1e-3
    assert parser.model_.record["converged"]


def test_none_of_the_above_comes_from_mistaken_edges(parsers):
    record = parsers["piecewise"].model_.record
    assert record["nota_instances"] > record["distinct_instances"] > 0
    fewer = Parser("piecewise", settings={"threshold": 1.0}, threads=1, max_iter=8).fit(TREES)
    assert fewer.model_.record["nota_instances"] < record["nota_instances"]


# ---------------------------------------------------------------- trees, lists, probabilities


def test_a_pcfg_finds_the_best_of_the_enumeration(parsers):
    pcfg = parsers["pcfg"].pcfg_
    g = pcfg.grammar
    rules = dict(zip(g.rules, pcfg.rules.tolist(), strict=True))
    leaves = pcfg.lexicon.scores(SENTENCE)
    for t, row in enumerate(leaves):
        rules |= {(g.symbols[pcfg.lexicon.tags[k]], f"w{t}"): p for k, p in enumerate(row) if p > -math.inf}
    roots = {g.symbols[a]: p for a, p in enumerate(pcfg.roots.tolist()) if p > -math.inf}
    listed = sorted((s for _, s in oracle.trees(rules, [f"w{t}" for t in range(len(SENTENCE))], roots)), reverse=True)
    parse = parsers["pcfg"].parse([SENTENCE])[0]
    assert parse.score == pytest.approx(listed[0])
    total = oracle.log_partition([((), s) for s in listed])
    best = parsers["pcfg"].parse_nbest([SENTENCE], len(listed) + 5)[0]
    assert sum(p.probability for p in best) == pytest.approx(1.0)
    assert best[0].probability >= math.exp(listed[0] - total) - 1e-12


def test_marginals_agree_with_all_trees(parsers):
    parser = parsers["crf"]
    listed = parser.parse_nbest([SENTENCE], 10_000)[0]
    assert sum(p.probability for p in listed) == pytest.approx(1.0)
    expected: dict[tuple, float] = {}
    for parse in listed:
        spans = parse.tree.spans() + [(leaf, i, i + 1) for i, leaf in enumerate(parse.tree.tags())]
        for span in spans:
            expected[span] = expected.get(span, 0.0) + parse.probability
    found = {(label, i, j): p for label, i, j, p in parser.marginals(SENTENCE, least=1e-9)}
    assert found.keys() == {span for span, p in expected.items() if p >= 1e-9}
    for span, p in found.items():
        assert p == pytest.approx(expected[span], rel=1e-6, abs=1e-9)


def test_samples_follow_the_probabilities(parsers):
    listed = {str(p): p.probability for p in parsers["pcfg"].parse_nbest([SENTENCE], 100)[0]}
    drawn = [str(tree) for tree in parsers["pcfg"].sample(SENTENCE, 4000, seed=1)]
    for tree, p in listed.items():
        share = drawn.count(tree) / len(drawn)
        assert share == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / len(drawn)) + 1e-3)


def test_max_recall_finds_a_whole_tree(parsers):
    for parser in parsers.values():
        parse = parser.parse([SENTENCE], decode="max-recall")[0]
        assert parse.complete
        assert parse.tree.words() == SENTENCE
    by_hand = Parser.from_grammar(
        PCFG.of(
            {("S", "NP", "VP"): 1.0, ("NP", "PRP"): 0.8, ("NP", "Kim"): 0.2, ("PRP", "she"): 1.0, ("VP", "ran"): 1.0}
        )
    )
    assert str(by_hand.parse([["she", "ran"]], decode="max-recall")[0]) == "(S (NP (PRP she)) (VP ran))"
    assert str(by_hand.parse([["Kim", "ran"]], decode="max-recall")[0]) == "(S (NP Kim) (VP ran))"
    with pytest.raises(LoglinError, match="max-recall"):
        parsers["pcfg"].parse([SENTENCE], decode="greedy")


def test_votes_sum_to_the_score_of_the_rule():
    parser = Parser("crf", template=TEMPLATE.replace("S01:%split[0]\n", ""), threads=1, max_iter=8).fit(TREES)
    found = parser.decoder_.explain(SENTENCE, 0, len(SENTENCE), most=100)
    model = parser.model_
    scores = scores_with(model.index, model.base, model.design([SENTENCE]), model.weights)
    row = np.array(scores.rules)
    n = len(SENTENCE)
    for a in scores.attributes[n * (n - 1) // 2]:
        for p in range(scores.ptr[a], scores.ptr[a + 1]) if a >= 0 else ():
            target = scores.targets[p]
            rules = [target] if target < len(row) else np.flatnonzero(model.grammar.parents == target - len(row))
            row[rules] += scores.weights[p]
    number = {f"{p} → {' '.join(c)}": r for r, (p, *c) in enumerate(model.grammar.rules)}
    assert sum(vote.weight for vote in found.votes) == pytest.approx(row[number[found.rule]])
    assert found.label == "S"
    assert found.rule in str(found)
    word = parser.explain(SENTENCE, (1, 2))
    assert word.rule == "NN → man"
    with pytest.raises(LoglinError, match="3-99"):
        parser.explain(SENTENCE, (3, 99))


# ---------------------------------------------------------------- what does not go smoothly


def test_a_sentence_without_a_tree_is_covered_and_flagged():
    parser = Parser.from_grammar(
        PCFG.of({("S", "NP", "VP"): 1.0, ("NP", "Kim"): 0.5, ("NP", "dogs"): 0.5, ("VP", "sleep"): 1.0})
    )
    good, bad, unknown = parser.parse([["Kim", "sleep"], ["Kim", "dogs", "sleep"], ["Kim", "zzz"]])
    assert good.complete
    assert not bad.complete
    assert str(bad) == "(S (NP Kim) (S (NP dogs) (VP sleep)))"
    assert "2 subtrees" in bad.note
    assert not unknown.complete
    assert "'zzz'" in unknown.note
    assert unknown.tree.words() == ["Kim", "zzz"]
    assert not parser.parse_nbest([["Kim", "dogs", "sleep"]], 3)[0][0].complete
    with pytest.raises(LoglinError, match="no tree"):
        parser.marginals(["sleep", "Kim"])


def test_tags_that_the_lexicon_leaves_out_are_tried_before_a_cover(parsers):
    parse = parsers["pcfg"].parse([["saw", "the", "man", "dog"]])[0]
    assert parse.complete or "subtrees" in parse.note


def test_a_sentence_that_is_too_long_is_flagged(parsers):
    small = TreeDecoder(parsers["pcfg"].model_, memory=50_000)
    assert 5 < small.longest < 60
    first, second = small.best([["Kim"] * (small.longest + 1), SENTENCE])
    assert not first.complete
    assert "MiB" in first.note
    assert first.tree.words() == ["Kim"] * (small.longest + 1)
    assert second.complete
    with pytest.raises(LoglinError, match="memory"):
        small.marginals(["Kim"] * (small.longest + 1))


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["the dog"], "sentence 0 is the string 'the dog'"),
        ([["Kim"], []], "sentence 1 has no words"),
        ([["Kim", ""]], "the word ''"),
        ([["Kim", 3]], "the word 3"),
    ],
)
def test_bad_sentences(parsers, sentences, message):
    with pytest.raises(LoglinError, match=message):
        parsers["pcfg"].parse(sentences)


@pytest.mark.parametrize(
    ("parameters", "trees", "message"),
    [
        ({"criterion": "magic"}, TREES, "no criterion is called 'magic'"),
        ({"criterion": "pcfg", "template": "paper"}, TREES, "leave the template out"),
        ({"criterion": "crf", "settings": {"treshold": 3}}, TREES, "no setting 'treshold'"),
        ({"criterion": "piecewise", "settings": {"threshold": -1}}, TREES, "threshold is -1"),
        ({"criterion": "mecfg", "template": "S01:%split[0]\nR01:%first[0]\n"}, TREES, "templates of S"),
        ({"criterion": "mecfg", "template": "U01:%x[0,0]\n"}, TREES, "looks at spans"),
        ({"criterion": "crf", "template": "B\nR01:%first[0]\n"}, TREES, "no label bigrams"),
        ({"criterion": "crf", "neighborhood": "trans1"}, TREES, "no neighborhood"),
        ({"criterion": "crf", "l2": -1}, TREES, "l2 is -1"),
        ({"criterion": "crf", "max_length": 0}, TREES, "max_length is 0"),
        ({"criterion": "crf"}, [], "no sentence"),
        ({"criterion": "crf", "max_length": 1}, TREES[:3], "at most 1 words"),
        ({"criterion": "crf"}, ["(S (NP"], "never closed"),
        ({"criterion": "crf"}, [3], "tree 0 is 3"),
        ({"criterion": "crf", "vertical": 0}, TREES, "vertical"),
        ({"criterion": "crf", "annotations": ["moon"]}, TREES, "moon"),
    ],
)
def test_bad_training(parameters, trees, message):
    with pytest.raises(LoglinError, match=message):
        Parser(**parameters).fit(trees)


def test_files_that_are_cut_or_changed_are_refused(parsers, tmp_path):
    path = tmp_path / "model"
    parsers["crf"].save(path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for size in (0, 5, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(LoglinError):
            load(path)
    length = 8 + int.from_bytes(content[:8], "little")
    for _ in range(60):  # what is changed is refused, or harmless
        changed = bytearray(content)
        for place in rng.integers(length, len(content), 3):
            changed[place] = rng.integers(256)
        path.write_bytes(bytes(changed))
        with contextlib.suppress(LoglinError):
            load(path).parse([SENTENCE])
    path.write_bytes(content.replace(b"parse", b"purse", 1))
    with pytest.raises(LoglinError):
        load(path)


def test_the_base_alone_is_the_pcfg(parsers):
    """A strong prior leaves a CRF at its base."""
    parser = Parser("crf", template=TEMPLATE, l2=1e9, threads=1).fit(TREES)
    assert np.abs(parser.model_.weights).max() < 1e-6
    ours, theirs = (p.parse([SENTENCE])[0] for p in (parser, parsers["pcfg"]))
    assert str(ours) == str(theirs)
    assert ours.score == pytest.approx(theirs.score, abs=1e-6)
    assert isinstance(parser.model_.base, Base)


def test_real_trees():
    """One split of sentences of at most 15 words: see docs/results/piecewise-table2.md for five."""
    corpus_folder("treebank")
    from loglin.reproduce.treebank_parsing import Scores, judged, splits

    split = splits(15, [0])[0]
    generative, local = Scores(), Scores()
    parser = Parser("pcfg")
    judged(parser, split, generative)
    judged(Parser("mecfg"), split, local)
    assert (parser.model_.grammar.n_symbols, parser.model_.grammar.n_rules) == (393, 1309)
    assert generative.mean("f1") == pytest.approx(75.5, abs=1)
    assert local.mean("f1") > generative.mean("f1") + 0.5
    assert not any(report.incomplete for report in generative.reports)
