"""Grammars from sentences: every step against enumeration, brackets against filtered trees, and what goes wrong."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.grammars import files
from loglin.optimize.record import StopTraining
from loglin.optimize.reporter import Reporter
from loglin.problems.hidden_trees import HiddenTrees, complete_grammar, inside_outside
from loglin.threads import Threads

# binary and unary rules, a symbol with both words and rules, two possible roots
TEXT = """
%start TOP
TOP -> S [0.7] | A [0.3]
S -> A S [0.3] | S B [0.2] | A B [0.2] | B [0.1] | 'x' [0.2]
A -> B [0.3] | A A [0.2] | 'x' [0.4] | 'y' [0.1]
B -> S A [0.3] | 'y' [0.5] | 'z' [0.2]
"""
SENTENCES = [s.split() for s in ("x y z", "x x", "y", "z y x x", "x y x y")]


def grammar(text=TEXT) -> PCFG:
    return PCFG.of_productions(*files.parse(text).rooted())


def as_rules(pcfg: PCFG):
    """Scores of rules as the oracle takes them, and of roots."""
    rules, roots = {}, {}
    for rule, p in pcfg.productions().rules.items():
        if p > 0 and rule[0] == "TOP":
            roots[rule[1]] = math.log(p)
        elif p > 0:
            rules[tuple(s.text if isinstance(s, files.Word) else s for s in rule)] = math.log(p)
    return rules, roots or {pcfg.productions().start: 0.0}


def em_step(rules, roots, sentences, smoothing=0.0, keeps=lambda s, tree: True, weight=None, beta=1.0):
    """log-likelihood, and rules and roots after one step, by listing all trees."""
    counts, tops = Counter(dict.fromkeys(rules, smoothing)), Counter(dict.fromkeys(roots, smoothing))
    total = 0.0
    for s, words in enumerate(sentences):
        w = 1.0 if weight is None else weight[s]
        listed = [(tree, beta * score) for tree, score in oracle.trees(rules, words, roots) if keeps(s, tree)]
        total += w * oracle.log_partition(listed)
        for (tree, _), p in zip(listed, oracle.probabilities(listed), strict=True):
            tops[tree[0]] += w * p
            for rule, _ in oracle.tree_uses(tree):
                counts[rule] += w * p
    whole = Counter()
    for rule, n in counts.items():
        whole[rule[0]] += n
    after = {rule: n / whole[rule[0]] for rule, n in counts.items() if whole[rule[0]]}
    return total, after, {symbol: n / sum(tops.values()) for symbol, n in tops.items()}


def step(pcfg, *args, **options):
    """The same by the package: two iterations, of which the first tells the likelihood of the start."""
    models = []
    found = inside_outside(pcfg, *args, max_iter=2, tol=0, reporter=Reporter(lambda _, m: models.append(m)), **options)
    return -found.iterations[0].value, models[1]


def compare(model: PCFG, rules, roots):
    found, tops = as_rules(model)
    assert {r: math.exp(s) for r, s in found.items()} == pytest.approx({r: p for r, p in rules.items() if p > 1e-50})
    assert {s: math.exp(p) for s, p in tops.items()} == pytest.approx({s: p for s, p in roots.items() if p > 0})


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("weight", [None, np.array([1, 2.5, 0, 0.5, 1])])
def test_a_step_against_enumeration(smoothing, weight):
    pcfg = grammar()
    before, rules, roots = em_step(*as_rules(pcfg), SENTENCES, smoothing, weight=weight)
    likelihood, model = step(pcfg, SENTENCES, smoothing=smoothing, weight=weight)
    assert likelihood == pytest.approx(before)
    compare(model, rules, roots)


def test_annealed_steps_against_enumeration():
    pcfg = grammar()
    _, rules, roots = em_step(*as_rules(pcfg), SENTENCES, beta=0.4)
    likelihood, model = step(pcfg, SENTENCES, annealing=0.4)
    assert likelihood == pytest.approx(em_step(*as_rules(pcfg), SENTENCES)[0])
    compare(model, rules, roots)


def test_annealing_ends_at_a_maximum():
    found = inside_outside(grammar(), SENTENCES, annealing=0.3, tol=1e-6, max_iter=1000)
    assert found.converged
    assert len(found.iterations) > 10
    after, _ = step(found.model, SENTENCES)
    assert after == pytest.approx(found.log_likelihood)
    assert found.iterations[-1].gradient_norm < 0.1
    assert found.map_values[-1] == max(found.map_values)


def spans(tree):
    return {(rule[0], ends[0], ends[-1]) for rule, ends in oracle.tree_uses(tree)}


def keeps_to(brackets):
    """No constituent crosses a bracket; one with a label has it, alone or in a chain of unary rules."""

    def keeps(s, tree):
        for i, j, *label in brackets[s]:
            for _, a, b in spans(tree):
                if a < i < b < j or i < a < j < b:
                    return False
            here = {symbol for symbol, a, b in spans(tree) if (a, b) == (i, j)}
            if not here or (label and label[0] not in here):
                return False
        return True

    return keeps


# without unary rules, where a label leaves exactly one symbol
BINARY = """
%start TOP
TOP -> S [0.7] | A [0.3]
S -> A S [0.3] | S B [0.2] | A B [0.3] | 'x' [0.2]
A -> A A [0.3] | S S [0.2] | 'x' [0.4] | 'y' [0.1]
B -> S A [0.3] | 'y' [0.5] | 'z' [0.2]
"""


@pytest.mark.parametrize(("text", "labels"), [(TEXT, False), (BINARY, False), (BINARY, True)])
def test_brackets_against_enumeration(text, labels):
    """Some constituents of one tree of each sentence are given."""
    pcfg, rng = grammar(text), np.random.default_rng(0)
    rules, roots = as_rules(pcfg)
    sentences = [s.split() for s in ("x y x y", "x x", "x x y z y", "y x x", "x y x z x y")]
    brackets = []
    for words in sentences:
        listed = oracle.trees(rules, words, roots)
        chosen = sorted(spans(listed[len(listed) // 2][0]))
        chosen = [chosen[n] for n in rng.permutation(len(chosen))[:3] if labels or chosen[n][2] > chosen[n][1] + 1]
        brackets.append([(i, j, symbol) if labels else (i, j) for symbol, i, j in chosen])
    free = em_step(rules, roots, sentences)[0]
    before, after, tops = em_step(rules, roots, sentences, keeps=keeps_to(brackets))
    assert before < free - 1  # they exclude something
    likelihood, model = step(pcfg, sentences, brackets)
    assert likelihood == pytest.approx(before)
    compare(model, after, tops)


def test_labels_with_unary_rules():
    """Over the same words as a labelled bracket stands what unary rules connect with it, and nothing else."""
    pcfg = grammar()
    hidden = HiddenTrees(pcfg, [["x", "y", "z"]], [[(1, 3, "B")]], 0.0, None, None)
    row = hidden.forests.layout.masks[hidden.forests.layout.mask_of[3 * 2 // 2 + 1]]
    allowed = {pcfg.grammar.symbols[n] for n in np.flatnonzero(row)}
    assert allowed == {"B", "S", "A"}  # S → B and A → B
    hidden = HiddenTrees(pcfg, [["x", "y", "z"]], [[(1, 3, "A")]], 0.0, None, None)
    row = hidden.forests.layout.masks[hidden.forests.layout.mask_of[3 * 2 // 2 + 1]]
    assert {pcfg.grammar.symbols[n] for n in np.flatnonzero(row)} == {"B", "A"}


def test_brackets_are_constituents_of_long_rules():
    """Of S → A A A and S → A X the bracket around the last two words leaves the second: no rest of a rule is one."""
    pcfg = grammar("S -> A A A [0.5] | A X [0.5]\nX -> A A [1]\nA -> 'a' [1]")
    words = ["a", "a", "a"]
    assert step(pcfg, [words])[0] == pytest.approx(0)
    assert step(pcfg, [words], [[(1, 3)]])[0] == pytest.approx(math.log(0.5))
    assert step(pcfg, [words], [[(1, 3, "X"), (1, 3)]])[0] == pytest.approx(math.log(0.5))
    assert step(pcfg, [words], [[(0, 3, "S")]])[0] == pytest.approx(0)


def test_labels_of_composite_and_annotated_symbols():
    pcfg = grammar("S -> NP^S VP+V [0.5] | X VP+V [0.5]\nNP^S -> 'a' [1]\nX -> 'a' [1]\nVP+V -> 'b' [1]")
    for label in ("NP", "NP^S"):
        assert step(pcfg, [["a", "b"]], [[(0, 1, label)]])[0] == pytest.approx(math.log(0.5))
    for label in ("VP", "V", "VP+V"):
        assert step(pcfg, [["a", "b"]], [[(1, 2, label)]])[0] == pytest.approx(0)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.booleans())
@settings(deadline=None, max_examples=15)
def test_no_step_loses(seed, smoothing, with_brackets):
    """log-likelihood + λ Σ log p never falls, from random starts of a complete grammar."""
    rng = np.random.default_rng(seed)
    sentences = [rng.choice(list("abc"), rng.integers(1, 7)).tolist() for _ in range(6)]
    brackets = None
    if with_brackets:
        brackets = [[(0, len(s) - 1)] if len(s) > 2 and rng.random() < 0.5 else [] for s in sentences]
    start = complete_grammar(["A", "B", "C"], sentences)
    found = inside_outside(
        start, sentences, brackets, random=True, seed=seed, smoothing=smoothing, max_iter=15, tol=0, starts=2
    )
    for part in (found.map_values[:15], found.map_values[15:]):
        assert len(part) == 15
        assert (np.diff(part) >= -1e-9 * abs(part[0])).all()
        assert part[-1] > part[0]
    assert found.log_likelihood == max(found.starts)
    totals = Counter()
    for rule, p in found.model.productions().rules.items():
        totals[rule[0]] += p
    assert totals == pytest.approx(dict.fromkeys(totals, 1.0))


def test_convergence_to_what_was_counted():
    """With full labelled brackets there is one tree a sentence, and one step counts it."""
    truth = grammar(BINARY)
    trees = truth.conditioned().sample(60, np.random.default_rng(0), 12)
    sentences = [tree.words() for tree in trees]
    brackets = []
    for tree in trees:
        leaves = [(t, t + 1, leaf.label) for t, leaf in enumerate(tree.leaves())]
        brackets.append([(i, j, label) for label, i, j in tree.spans()] + leaves)
    found = inside_outside(truth, sentences, brackets, tol=1e-12)
    assert found.converged
    assert len(found.iterations) == 3
    counts, whole = Counter(), Counter()
    for tree in trees:
        for node in tree.nodes():
            rule = (node.label, node.word) if node.word else (node.label, *(c.label for c in node.children))
            counts[rule] += 1
            whole[rule[0]] += 1
    rules, _ = as_rules(found.model)
    assert {r: math.exp(s) for r, s in rules.items()} == pytest.approx({r: n / whole[r[0]] for r, n in counts.items()})
    assert found.log_likelihood == pytest.approx(sum(found.model.log_probability(tree) for tree in trees))


def test_the_same_bits_with_one_thread_and_two():
    rng = np.random.default_rng(4)
    sentences = [rng.choice(list("abcd"), rng.integers(2, 9)).tolist() for _ in range(40)]
    start = complete_grammar(["A", "B"], sentences)
    one, two = (
        inside_outside(start, sentences, random=True, seed=3, max_iter=5, threads=Threads(n)).model for n in (1, 2)
    )
    assert one.rules.tobytes() == two.rules.tobytes()
    assert one.lexicon.log_p.tobytes() == two.lexicon.log_p.tobytes()


def test_starts_and_seeds():
    start = complete_grammar(["A", "B"], SENTENCES)
    found = inside_outside(start, SENTENCES, random=True, starts=3, seed=1, max_iter=40)
    assert len(set(np.round(found.starts, 9))) > 1
    assert "the best of 3 starts is kept" in found.stopped
    again = inside_outside(start, SENTENCES, random=True, starts=3, seed=1, max_iter=40)
    assert again.starts == found.starts
    assert inside_outside(start, SENTENCES, random=True, starts=3, seed=2, max_iter=40).starts != found.starts
    # alike symbols stay alike without randomness
    rules, _ = as_rules(inside_outside(start, SENTENCES, max_iter=5).model)
    assert rules["A", "A", "B"] == pytest.approx(rules["B", "A", "B"])


def test_symbols_that_no_tree_uses_keep_their_rules():
    pcfg = grammar("S -> A A [0.5] | B B [0.5]\nA -> 'a' [1]\nB -> 'b' [0.25] | 'c' [0.75]")
    rules, _ = as_rules(inside_outside(pcfg, [["a", "a"]], max_iter=3).model)
    assert {r: math.exp(s) for r, s in rules.items()} == pytest.approx(
        {("S", "A", "A"): 1, ("A", "a"): 1, ("B", "b"): 0.25, ("B", "c"): 0.75}
    )


def test_unknown_words_are_their_signatures():
    pcfg = grammar("S -> S S [0.3] | 'a' [0.5] | <UNK> [0.2]")
    likelihood, model = step(pcfg, [["a", "walking"]])
    assert likelihood == pytest.approx(math.log(0.3 * 0.5 * 0.2))
    rules, _ = as_rules(model)
    assert math.exp(rules["S", "UNK"]) == pytest.approx(1 / 3)


def test_stopping():
    seen = []

    def stop(iteration, model):
        seen.append(iteration.number)
        if iteration.number == 3:
            raise StopTraining("enough")

    found = inside_outside(grammar(), SENTENCES, reporter=Reporter(stop), starts=2, tol=0)
    assert seen == [1, 2, 3]
    assert (found.stopped, found.converged) == ("enough", False)
    assert found.log_likelihood == -found.iterations[2].value
    found = inside_outside(grammar(), SENTENCES, tol=1e-3)
    assert found.converged
    assert "tol = 0.001" in found.stopped
    assert "max_iter = 2 iterations" in inside_outside(grammar(), SENTENCES, max_iter=2, tol=0).stopped


def test_mistakes():
    def refused(*parts, text=TEXT, sentences=SENTENCES, **options):
        with pytest.raises(LoglinError) as caught:
            inside_outside(grammar(text), sentences, **options)
        assert all(part in str(caught.value) for part in parts), str(caught.value)

    refused("sentence 1 (x q)", "the word 'q'", "<UNK>", sentences=[["x"], ["x", "q"]])
    refused(
        "sentence 1 (z x y)",
        "has no tree that keeps to its brackets",
        sentences=[["x"], ["z", "x", "y"]],
        brackets=[[], [(0, 1, "S"), (1, 3, "S"), (0, 3, "A")]],
    )
    refused("nothing to learn from", sentences=[[]])
    refused("bracket 0 of sentence 0, (1, 9), lies outside its 3 words", brackets=[[(1, 9)], [], [], [], []])
    refused("bracket 1 of sentence 0, (1, 3), crosses", brackets=[[(0, 2), (1, 3)], [], [], [], []])
    refused("the label 'Q', which no symbol", brackets=[[(0, 2, "Q")], [], [], [], []])
    refused("brackets for 2 of 5 sentences", brackets=[[], []])
    refused("starts is 0", starts=0)
    refused("annealing 2", annealing=2)
    refused("give 5 numbers", weight=np.ones(3))
    refused("sentence 1 (z)", "has no tree under the first grammar", text=BINARY, sentences=[["x"], ["z"]])
    with pytest.raises(LoglinError, match="there are 0 symbols and 1 words"):
        complete_grammar([], [["a"]])


def test_brackets_help():
    """Palindromes over a and b: with brackets every start finds a grammar whose trees are nested, without them not."""
    rng = np.random.default_rng(0)
    halves = [rng.choice(["a", "b"], rng.integers(1, 4)).tolist() for _ in range(100)]
    sentences = [half + half[::-1] for half in halves]
    brackets = [[(k, len(s) - k) for k in range(len(s) // 2)] for s in sentences]

    def nested(pcfg):
        """The share of constituents that cross no bracket."""
        fine = []
        for sentence, known in zip(sentences, brackets, strict=True):
            for _, a, b, _ in pcfg.forest(sentence).best().nodes.tolist():
                if b - a > 1:
                    fine.append(not any(a < i < b < j or i < a < j < b for i, j in known))
        return np.mean(fine)

    start = complete_grammar(list("SABCD"), sentences)
    found = [[], []]
    for seed in range(3):
        for kind, known in enumerate((brackets, None)):
            model = inside_outside(start, sentences, known, random=True, seed=seed, max_iter=60).model
            found[kind].append(nested(model))
    assert min(found[0]) == 1
    assert min(found[1]) < 0.9
