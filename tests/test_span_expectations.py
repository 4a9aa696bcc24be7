"""Expected features of templates against the same features counted in every tree of a finite grammar."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
from loglin.corpus.columns import from_sentences
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.span_index import build_span_index
from loglin.features.span_templates import parse_span_templates
from loglin.features.spans import Constituents, SpanExtractor
from loglin.features.template import parse_templates
from loglin.models.pcfg import PCFG
from loglin.models.span_expectations import TreeBase
from test_pcfg import FINITE, doubling

# as FINITE without unary rules, with words whose spelling tells something
BINARY = {
    ("S", "A", "B"): 0.6,
    ("S", "S1", "A"): 0.4,
    ("S1", "B", "B"): 1.0,
    ("A", "C", "B"): 0.25,
    ("A", "Dog"): 0.75,
    ("B", "Dog"): 0.25,
    ("B", "dogs"): 0.35,
    ("B", "C", "C"): 0.4,
    ("C", "dogs"): 0.6,
    ("C", "cats"): 0.4,
}


def listing(rules):
    scores = {rule: math.log(p) for rule, p in rules.items()}
    return [(tree, math.exp(score)) for tree, score in oracle.language(scores, "S", 9)]


def constituents(trees, pcfg):
    """The inner nodes of listed trees, one sentence each."""
    rows = []
    for s, tree in enumerate(trees):
        words = oracle.tree_yield(tree)
        for rule, ends in oracle.tree_uses(tree):
            if len(rule) == 2 and rule[1] == words[ends[0]]:
                continue
            split = ends[1] if len(ends) == 3 else -1
            rows.append((s, ends[0], ends[-1], split, pcfg.grammar.rule_number[rule], pcfg.grammar.number[rule[0]]))
    return Constituents(*np.array(rows).T)


SPAN_TEMPLATES = [
    "R1:%first[0]",
    "R1:%last[0]/%length[3]",
    "R1:%first[0]/%length[2]\nR2:%length[4]",
    "R1:%first[-1]/%last[1]",
    "R1:%first[-1]/%first[0]/%last[1]/%length[3]",
    "R1:%suffix[first,0,1]/%lower[last,1]",
    "R1:%suffix[first,0,1]/%shape[first,0]/%suffix[first,-1,2]/%x[first,-1]",
    "R1:%edge[first,-1]\nR2:%edge[last,1]",
    "R1:%word[last,0,1]",
    "L1:%first[0]/%last[1]\nL2:%length[3]",
    "S1:%split[-1]/%split[0]\nS2:%suffix[split,0,1]",
    "R1:%length[3]/%length[5]/%first[0]",
]


@pytest.mark.parametrize("rules", [BINARY, FINITE], ids=["binary", "unary"])
@pytest.mark.parametrize("text", SPAN_TEMPLATES)
def test_spans_against_enumeration(rules, text):
    listed, pcfg = listing(rules), PCFG.of(rules)
    trees, p = [tree for tree, _ in listed], np.array([p for _, p in listed])
    sentences, nodes = [oracle.tree_yield(tree) for tree in trees], constituents(trees, pcfg)
    extractor = SpanExtractor(parse_span_templates(text))
    extractor.fit(sentences, nodes)
    design = extractor.transform(sentences)
    index = build_span_index(design, nodes, pcfg.grammar.n_rules, pcfg.grammar.n_symbols)
    spans, splits = np.zeros(len(index.targets)), np.zeros(len(index.split_rules))
    place = {
        (a, int(index.targets[k])): k for a in range(design.n_attributes) for k in range(index.ptr[a], index.ptr[a + 1])
    }
    split_place = {
        (a, int(index.split_rules[k])): k
        for a in range(design.n_split_attributes)
        for k in range(index.split_ptr[a], index.split_ptr[a + 1])
    }
    for n, (row, rule, symbol) in enumerate(zip(design.cells(nodes), nodes.rules, nodes.symbols, strict=True)):
        weight = p[nodes.sentences[n]]
        for attribute, by_label in zip(design.attributes[row].tolist(), design.by_label, strict=True):
            target = pcfg.grammar.n_rules + symbol if by_label else rule
            # a symbol's weight is for its binary rules
            if attribute >= 0 and (not by_label or nodes.splits[n] >= 0):
                spans[place[attribute, target]] += weight
        if nodes.splits[n] >= 0:
            for attribute in design.splits[design.states(nodes)[n]].tolist():
                splits[split_place[attribute, rule]] += weight
    found = TreeBase(pcfg).of_spans(extractor, index)
    np.testing.assert_allclose(found[0], spans, atol=1e-14)
    np.testing.assert_allclose(found[1], splits, atol=1e-14)
    assert (spans.sum() if text[0] != "S" else splits.sum()) > 0.5


TOKEN_TEMPLATES = [
    "U1:%x[0,0]",
    "U1:%x[-1,0]/%x[0,0]\nU2:%suffix[0,0,1]",
    "U1:%x[-1,0]/%x[1,0]/%shape[0,0]\nU2\nU3:%edge[1,0]",
    "U1:%x[-1,0]/%suffix[-1,0,1]/%x[1,0]\n#! boundary=distance",
]


@pytest.mark.parametrize("rules", [BINARY, FINITE], ids=["binary", "unary"])
@pytest.mark.parametrize("text", TOKEN_TEMPLATES)
def test_tokens_against_enumeration(rules, text):
    listed, pcfg = listing(rules), PCFG.of(rules)
    sentences = [oracle.tree_yield(tree) for tree, _ in listed]
    extractor = TemplateExtractor(parse_templates(text))
    lists = extractor.fit(from_sentences([[(w,) for w in s] for s in sentences])).unfolded()
    K, n = len(pcfg.lexicon.tags), extractor.n_attributes
    ptr, labels = np.arange(n + 1) * K, np.tile(np.arange(K), n).astype(np.uint16)  # every attribute with every tag
    none = np.empty(0, np.int32)
    index = FeatureIndex(K, ptr, labels, np.zeros(1, np.int64), none, none, np.empty(0, np.int64))
    wanted, token = np.zeros(n * K), 0
    column = {pcfg.grammar.symbols[s]: k for k, s in enumerate(pcfg.lexicon.tags.tolist())}
    for (tree, p), words in zip(listed, sentences, strict=True):
        leaves = [rule[0] for rule, e in oracle.tree_uses(tree) if len(rule) == 2 and rule[1] == words[e[0]]]
        for tag in leaves:
            for attribute in lists.ids[lists.ptr[token] : lists.ptr[token + 1]].tolist():
                wanted[attribute * K + column[tag]] += p
            token += 1
    np.testing.assert_allclose(TreeBase(pcfg).of_tokens(extractor, index), wanted, atol=1e-14)
    assert wanted.sum() > 1


def test_rules_and_roots():
    pcfg = PCFG.count([Tree.parse("(S (A a) (B b))"), Tree.parse("(S (A a) (B c))"), Tree.parse("(A a)")])
    base = TreeBase(pcfg)
    np.testing.assert_allclose(base.of_rules(), [2 / 3])
    assert dict(zip(pcfg.grammar.symbols, base.of_roots().tolist(), strict=True)) == pytest.approx(
        {"S": 2 / 3, "A": 1 / 3, "B": 0}
    )


def test_sentences_as_the_lexicon_reads_them():
    """With unknown words as signatures what is observed has expectations, so that no rare word's feature is lost."""
    trees = [Tree.parse(text) for text in ("(S (A a) (B cats))", "(S (A a) (B dogs))", "(S (A a) (B (A a) (B x)))")]
    pcfg = PCFG.count(trees)
    sentences = [pcfg.lexicon.as_terminals(tree.words()) for tree in trees]
    assert sentences == [["a", "<UNK-s>"], ["a", "<UNK-s>"], ["a", "a", "<UNK>"]]
    extractor = SpanExtractor(parse_span_templates("R1:%last[0]"))
    rows = [(0, 0, 2, 1, 0), (1, 0, 2, 1, 0), (2, 0, 3, 1, 0), (2, 1, 3, 2, 1)]
    names = [pcfg.grammar.rule_number[rule] for rule in (("S", "A", "B"), ("B", "A", "B"))]
    rows = [(s, i, j, k, names[r], pcfg.grammar.parents[names[r]]) for s, i, j, k, r in rows]
    nodes = Constituents(*np.array(rows).T)
    extractor.fit(sentences, nodes)
    index = build_span_index(extractor.transform(sentences), nodes, pcfg.grammar.n_rules, pcfg.grammar.n_symbols)
    found, _ = TreeBase(pcfg).of_spans(extractor, index)
    # S → A B ends as B does: with a word of its own, or after B → A B, p = 1/4, as the B in it does
    column = pcfg.lexicon.tags.tolist().index(pcfg.grammar.number["B"])
    ends = np.exp(pcfg.lexicon.scores(["<UNK-s>", "<UNK>"])[:, column]) / (1 - 1 / 4)
    by_pair = {}
    for a in range(extractor.n_attributes):
        for k in range(index.ptr[a], index.ptr[a + 1]):
            by_pair[extractor.attribute_name(a), pcfg.grammar.rules[index.targets[k]]] = found[k]
    assert by_pair == pytest.approx(
        {
            ("R1:<UNK-s>", ("S", "A", "B")): ends[0],
            ("R1:<UNK>", ("S", "A", "B")): ends[1],
            ("R1:<UNK>", ("B", "A", "B")): ends[1] / 3,  # which is there 1/3 times
        }
    )


def test_what_has_no_sums():
    pcfg = PCFG.of(BINARY)
    sentences = [["Dog", "dogs"]]
    nodes = Constituents(*np.array([(0, 0, 2, 1, pcfg.grammar.rule_number["S", "A", "B"], 0)]).T)

    def refused(text, said):
        extractor = SpanExtractor(parse_span_templates(text))
        extractor.fit(sentences, nodes)
        index = build_span_index(extractor.transform(sentences), nodes, pcfg.grammar.n_rules, pcfg.grammar.n_symbols)
        with pytest.raises(LoglinError, match=said):
            TreeBase(pcfg).of_spans(extractor, index)

    refused(
        "R1:%first[1]", "'R1:%first\\[1\\]' looks \\+1 words from a span's first, which the base model has no sums for"
    )
    refused("R1:%signature[first,0]", "sees whether a word begins its sentence")
    with pytest.raises(LoglinError, match=r"its trees end with probability 0\.333; take conditioned"):
        TreeBase(doubling(0.75))
    extractor = SpanExtractor(parse_span_templates("R1:%first[0]"))
    extractor.fit(sentences, nodes)
    index = build_span_index(extractor.transform(sentences), nodes, 99, 9)
    with pytest.raises(LoglinError, match="the features are of 99 rules and 9 symbols, but the base model has 5 and 5"):
        TreeBase(pcfg).of_spans(extractor, index)
    tokens = TemplateExtractor(parse_templates("U1:%ngrams[0,0,2,3]"))
    tokens.fit(from_sentences([[(w,) for w in s] for s in sentences]))
    none = np.empty(0, np.int32)
    empty = FeatureIndex(
        3, np.zeros(tokens.n_attributes + 1, np.int64), np.empty(0, np.uint16), np.zeros(1, np.int64), none, none, none
    )
    with pytest.raises(LoglinError, match="has many values at one word"):
        TreeBase(pcfg).of_tokens(tokens, empty)
