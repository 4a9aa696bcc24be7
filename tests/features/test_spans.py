"""Templates of spans against a reference that builds a string per span, and the index of pairs against brute force."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.columns import from_sentences
from loglin.corpus.sections import Section
from loglin.features.read import NAMED_GRAMMARS, read_grammar_templates
from loglin.features.signatures import signature
from loglin.features.span_index import SpanIndex, build_span_index
from loglin.features.span_templates import parse_grammar_templates, parse_span_templates
from loglin.features.spans import Constituents, SpanExtractor, cell_number
from support.errors import refused

quick = settings(max_examples=60, deadline=None, derandomize=True)


# ---------------------------------------------------------------------- the syntax


def items_of(line):
    (template,) = parse_span_templates(line).templates
    return [(i.anchor, i.offset, i.function, i.arguments) for i in template.items]


def test_items():
    assert items_of("R01:%first[-1]/%last[2]") == [("first", -1, "x", ()), ("last", 2, "x", ())]
    assert items_of("r1:%suffix[last,0,3] %length[4]") == [("last", 0, "suffix", (3,)), ("length", 0, "length", (4,))]
    assert items_of('S01:%if[split,-1,"a,b]"]') == [("split", -1, "if", ("a,b]",))]
    assert items_of("L01:%X[first,0]") == [("first", 0, "lower", ())]
    assert items_of("R:%word[first,0,2]/%signature[last,1]") == [
        ("first", 0, "word", (2,)),
        ("last", 1, "signature", ()),
    ]
    kinds = [t.kind for t in parse_span_templates("R1:%first[0]\nL1:%first[0]\nS1:%split[0]").templates]
    assert kinds == ["rule", "label", "split"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("R01:%middle[0]", ["'%middle[0]'", "first, last, split"]),
        ("R01:%suffix[0,0,3]", ["'%suffix[0,0,3]'", "anchor", "%suffix[first,0]"]),
        ("R01:%suffix[first]", ["offset", "%suffix[first,0]"]),
        ("R01:%suffix[first,x,3]", ["offset"]),
        ("R01:%suffix[first,0]", ["1 whole number"]),
        ("R01:%nothing[first,0]", ["'nothing'", "suffix"]),
        ("R01:%ngrams[first,0,2,3]", ["'ngrams'"]),
        ("R01:%first[0,0]", ["one offset", "%first[0]"]),
        ("R01:%first[101]", ["-100 to 100"]),
        ("R01:%x[last,-101]", ["-100 to 100"]),
        ("R01:%length[1]", ["2 to 1000", "%length[3]"]),
        ("R01:%length[99999999999999999999]", ["2 to 1000"]),
        ("R01:%length[]", ["%length[3]"]),
        ("R01:%first", ["cannot read", "%first[offset]"]),
        ("R01", ["no item", "R01:%first[0]"]),
        ("R01:", ["no item"]),
        ("S01:%first[0]", ["looks at the first", "%split items only"]),
        ("S01:%split[0]/%length[3]", ["looks at the length"]),
        ("R01:%split[0]", ["looks at the split", "start with S"]),
        ("L01:%edge[first,0]", ["never"]),
        ("S01:%edge[split,-1]", ["never"]),
        ('R01:%t[first,0,"("]', ["not a regular expression"]),
        ("R01:%t[first,0,x]", ["quoted pattern"]),
        ("X01:%first[0]", ["starts with 'X'", "R, L or S"]),
        ("B", ["starts with 'B'", "bigrams"]),
        ("U01:%first[0]", ["row and a column"]),
    ],
)
def test_mistakes_are_told_with_their_line(line, parts):
    refused(lambda: parse_grammar_templates(f"# spans\nR00:%first[0]\n{line}\n", "file"), "file, line 3: ", *parts)


def test_a_file_is_parted_into_words_and_spans():
    text = (
        "R01:%first[0]\nU01:%x[0,0]\n# both\n#! min_count=3\n#! min_count=2 R01\n#! variance=.5 U01 S01\nS01:%split[0]"
    )
    found = parse_grammar_templates(text + "\n#! oov=first labels=all\n", "file")
    assert [(t.name, t.min_count, t.variance) for t in found.spans.templates] == [("R01", 2, None), ("S01", 3, 0.5)]
    assert [(t.name, t.min_count, t.variance) for t in found.tokens.templates] == [("U01", 3, 0.5)]
    assert (found.tokens.oov, found.tokens.templates[0].labels) == ("first", "all")
    again = parse_span_templates("\n".join(found.spans.lines))
    assert again.templates == found.spans.templates


def test_a_file_may_have_one_part_only():
    assert parse_grammar_templates("R01:%first[0]").tokens is None
    assert parse_grammar_templates("U01:%x[0,0]").spans is None
    refused(lambda: parse_grammar_templates("# nothing\n", "file"), "file holds no template")


def test_options_of_spans():
    refused(lambda: parse_grammar_templates("R01:%first[0]\n#! min_count=2 R02", "f"), "f, line 2", "'R02'", "R01")
    refused(lambda: parse_grammar_templates("R01:%first[0]\n#! labels=all R01", "f"), "R01", "labels=all")
    refused(lambda: parse_grammar_templates("R01:%first[0]\n#! min_count=0 R01", "f"), "f, line 2", "min_count=0")


def test_templates_by_name(tmp_path):
    for name in NAMED_GRAMMARS:
        assert read_grammar_templates(name).spans.templates
    path = tmp_path / "mine"
    path.write_text("R01:%first[0]\n")
    found = read_grammar_templates(path)
    assert found.spans.source == str(path)
    assert read_grammar_templates(found) is found
    refused(lambda: read_grammar_templates("nosuch"), "nosuch", "paper, boundaries, spans")


# ---------------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("word", "first", "expected"),
    [
        ("1990s", False, "UNK-dig"),
        ("Mid-1990", True, "UNK-dig"),
        ("running", False, "UNK-ing"),
        ("Running", True, "UNK-C0-ing"),
        ("Anti-Soviet", False, "UNK-C-h"),
        ("ed", False, "UNK"),
        ("reed", False, "UNK-ed"),
        ("City", False, "UNK-C-y"),
        ("", True, "UNK"),
    ],
)
def test_signatures(word, first, expected):
    assert signature(word, first) == expected == oracle.signature(word, first)


# ---------------------------------------------------------------------- attributes

WORDS = ["a", "The", "-", "dogs", "Running", "7th", "b"]
TEMPLATES = [
    "R01:%first[0]",
    "R02:%last[0]/%length[3]",
    "L01:%first[-1]/%last[1]",
    "R03:%length[4]",
    "R04:%last[1]+%suffix[first,1,2]+%last[-1]",
    "L02:%word[first,0,2]",
    "R05:%rare[last,0,2]/%lower[last,0]",
    "R06:%length[2]/%signature[last,-1]/%length[3]",
    "S01:%split[-1]/%split[0]",
    "S02:%word[split,1,2]",
]


@st.composite
def treebanks(draw, least=1):
    """Sentences, and for each the spans of a random binary tree with a rule at each, sometimes a unary one."""
    sentences = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7), min_size=least, max_size=5))
    nodes = []
    for s, words in enumerate(sentences):
        ahead = [(0, len(words))]
        while ahead:
            i, j = ahead.pop()
            rule = draw(st.integers(0, 5))
            if draw(st.integers(0, 4)) == 0:
                nodes.append((s, i, j, -1, 6, 3))
            if j - i > 1:
                k = draw(st.integers(i + 1, j - 1))
                nodes.append((s, i, j, k, rule, rule // 2))
                ahead += [(i, k), (k, j)]
    return sentences, nodes


def constituents(nodes):
    return Constituents(*np.array(nodes, np.int64).reshape(-1, 6).T)


def expected_attributes(template, sentences, nodes, counts):
    """How often gold spans have each attribute of a template, by its name."""
    found = Counter()
    for s, i, j, k, *_ in nodes:
        if template[0] != "S" or k >= 0:
            found[oracle.span_attribute(template, sentences[s], i, j, k, counts)] += 1
    del found[None]
    return found


@quick
@given(treebanks(), treebanks(least=0), st.integers(1, 3), st.sets(st.sampled_from(TEMPLATES), min_size=1))
def test_every_cell_has_the_attributes_that_gold_spans_had(training, other, min_count, chosen):
    sentences, nodes = training
    templates = [t for t in TEMPLATES if t in chosen]
    extractor = SpanExtractor(parse_span_templates("\n".join([f"#! min_count={min_count}", *templates])))
    extractor.fit(sentences, constituents(nodes))
    counts = Counter(w for words in sentences for w in words)
    spans, splits = ([t for t in templates if (t[0] == "S") == which] for which in (False, True))
    known = {
        template: {n for n, c in expected_attributes(template, sentences, nodes, counts).items() if c >= min_count}
        for template in templates
    }
    assert extractor.n_attributes == sum(len(known[t]) for t in spans)
    assert extractor.n_split_attributes == sum(len(known[t]) for t in splits)
    for text in (sentences, other[0]):
        design = extractor.transform(text)
        assert len(design.ptr) == len(text) + 1
        assert design.by_label.tolist() == [t[0] == "L" for t in spans]
        for s, words in enumerate(text):
            n = len(words)
            assert design.ptr[s + 1] - design.ptr[s] == n * (n + 1) // 2
            for j in range(1, n + 1):
                for i in range(j):
                    row = design.attributes[design.ptr[s] + cell_number(i, j)]
                    for template, a in zip(spans, row.tolist(), strict=True):
                        name = oracle.span_attribute(template, words, i, j, -1, counts)
                        assert (extractor.attribute_name(a) if a >= 0 else None) == (
                            name if name in known[template] else None
                        )
            for k in range(n + 1):
                row = design.splits[design.offsets[s] + s + k]
                for template, a in zip(splits, row.tolist(), strict=True):
                    name = oracle.span_attribute(template, words, 0, n, k, counts) if 0 < k < n else None
                    found = extractor.attribute_name(a, "split") if a >= 0 else None
                    assert found == (name if name in known[template] else None)


@quick
@given(treebanks())
def test_attributes_have_distinct_names_and_know_their_template(training):
    sentences, nodes = training
    extractor = SpanExtractor(parse_span_templates("\n".join(TEMPLATES)))
    extractor.fit(from_sentences(sentences), constituents(nodes))
    for whose, size, lines in (
        ("span", extractor.n_attributes, [t for t in TEMPLATES if t[0] != "S"]),
        ("split", extractor.n_split_attributes, [t for t in TEMPLATES if t[0] == "S"]),
    ):
        names = [extractor.attribute_name(a, whose) for a in range(size)]
        assert len(set(names)) == size
        order = [line[:3] for line in lines]
        assert [order.index(name[:3]) for name in names] == sorted(order.index(name[:3]) for name in names)
        with pytest.raises(IndexError):
            extractor.attribute_name(size, whose)


def test_trees_of_other_sentences_are_refused():
    extractor = SpanExtractor(parse_span_templates("R01:%first[0]"))
    words = [["a", "b"], ["c"]]
    for node in [(1, 0, 2, 1), (0, 0, 3, 1), (0, -1, 2, 1), (0, 1, 1, -1), (0, 0, 2, 2), (0, 0, 2, 0), (2, 0, 1, -1)]:
        refused(
            lambda node=node: extractor.fit(words, constituents([(*node, 0, 0)])), f"sentence {node[0]}", "same order"
        )
    refused(lambda: extractor.fit([], constituents([])), "no words")


def test_too_many_combinations_are_refused():
    line = "R01:" + "/".join(f"%first[{k}]" for k in range(30))
    words = [[f"w{n}" for n in range(30)]]
    extractor = SpanExtractor(parse_span_templates(line, "file"))
    refused(lambda: extractor.fit(words, constituents([(0, 0, 2, 1, 0, 0)])), "file", "join fewer")


# ---------------------------------------------------------------------- the model file


@quick
@given(treebanks(), treebanks())
def test_what_a_file_holds_finds_the_same(training, other):
    sentences, nodes = training
    extractor = SpanExtractor(parse_span_templates("\n".join(TEMPLATES)))
    extractor.fit(sentences, constituents(nodes))
    section = extractor.to_section()
    assert all(array.ndim == 1 for array in section.arrays.values())
    again = SpanExtractor.from_section(section)
    for text in (sentences, other[0]):
        a, b = extractor.transform(text), again.transform(text)
        assert np.array_equal(a.attributes, b.attributes)
        assert np.array_equal(a.splits, b.splits)


def test_damaged_files_are_told():
    extractor = SpanExtractor(parse_span_templates("R01:%word[first,0,1]/%length[3]"))
    extractor.fit([["a", "b"]], constituents([(0, 0, 2, 1, 0, 0)]))
    section = extractor.to_section()
    for name, wrong in [
        ("keys.0", np.array([-1])),
        ("keys.0", np.array([1.5])),
        ("vocabulary.0.starts", np.array([0, 9])),
        ("common.0.starts", np.array([3])),
    ]:
        with pytest.raises(ValueError, match=name):
            SpanExtractor.from_section(Section(section.manifest, section.arrays | {name: wrong}))
    with pytest.raises(KeyError):
        SpanExtractor.from_section(Section(section.manifest, {}))
    with pytest.raises(TypeError):
        SpanExtractor.from_section(Section({"template": 3}, section.arrays))


# ---------------------------------------------------------------------- the index


@quick
@given(treebanks())
def test_pairs_are_those_of_gold_trees(training):
    sentences, nodes = training
    extractor = SpanExtractor(parse_span_templates("\n".join(TEMPLATES)))
    extractor.fit(sentences, constituents(nodes))
    index = build_span_index(extractor.transform(sentences), constituents(nodes), 7, 4)
    counts = Counter(w for words in sentences for w in words)
    spans, splits = set(), set()
    for template in TEMPLATES:
        for s, i, j, k, rule, symbol in nodes:
            name = oracle.span_attribute(template, sentences[s], i, j, k, counts)
            if name is not None and template[0] != "S":
                spans.add((name, 7 + symbol if template[0] == "L" else rule))
            elif name is not None and k >= 0:
                splits.add((name, rule))
    sizes = extractor.n_attributes, extractor.n_split_attributes
    assert SpanIndex.from_section(Section({}, index.to_arrays()), (7, 4), sizes).sizes == index.sizes
    assert index.sizes == (7, 4, len(spans), len(splits))
    assert index.n_features == 11 + len(spans) + len(splits)
    for whose, ptr, targets, expected in (
        ("span", index.ptr, index.targets, spans),
        ("split", index.split_ptr, index.split_rules, splits),
    ):
        owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        found = [(extractor.attribute_name(a, whose), t) for a, t in zip(owner.tolist(), targets.tolist(), strict=True)]
        assert set(found) == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize(
    "change",
    [
        {"ptr": np.array([0, 3])},
        {"ptr": np.array([1, 2])},
        {"ptr": np.array([0, 2], np.int32)},
        {"ptr": np.empty(0, np.int64)},
        {"targets": np.array([2, 0], np.int32)},
        {"targets": np.array([0, 0], np.int32)},
        {"targets": np.array([0, 3], np.int32)},
        {"targets": np.array([-1, 2], np.int32)},
        {"split_rules": np.array([2], np.int32)},
        {"split_ptr": np.array([0, 2, 1])},
    ],
)
def test_a_damaged_index_is_told(change):
    good = {"ptr": np.array([0, 2]), "targets": np.array([0, 2], np.int32)}
    good |= {"split_ptr": np.array([0, 1]), "split_rules": np.array([1], np.int32)}
    assert SpanIndex.from_section(Section({}, SpanIndex(2, 1, **good).to_arrays()), (2, 1), (1, 1)).n_features == 6
    with pytest.raises(ValueError, match=r"span|split"):
        SpanIndex.from_section(Section({}, SpanIndex(2, 1, **(good | change)).to_arrays()), (2, 1), (1, 1))
