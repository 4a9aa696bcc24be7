"""Templates and attributes against a reference that builds a string per token, and the index against brute force."""

import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin.corpus import conll
from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.corpus.sections import Section
from loglin.features.attributes import AttributeExtractor, attributes_of
from loglin.features.design import Incidence
from loglin.features.extract import TemplateExtractor
from loglin.features.functions import FUNCTIONS, evaluate
from loglin.features.index import build_index
from loglin.features.matrix import MatrixExtractor
from loglin.features.read import DEFAULT, read_templates
from loglin.features.template import Item, parse_templates
from loglin.features.transfer import transferred_weights
from loglin.models.chain import Model
from support.errors import refused

quick = settings(max_examples=40, deadline=None, derandomize=True)


# ---------------------------------------------------------------------- the template's syntax


def only(text):
    (template,) = parse_templates(text).templates
    return template


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("U01:%x[0,0]", ["unigram"]),
        ("u01:%x[0,0]", ["unigram"]),
        ("B01:%x[0,0]", ["bigram"]),
        ("b01:%x[0,0]", ["bigram"]),
        ("*01:%x[0,0]", ["unigram", "bigram"]),
        ("U", ["unigram"]),
        ("B", ["bigram"]),
        ("b", ["bigram"]),
        ("*", ["unigram", "bigram"]),
        ("T", ["trigram"]),
        ("t", ["trigram"]),
    ],
)
def test_kinds(line, kinds):
    templates = parse_templates(f"# a comment\n\n  {line}  \n").templates
    assert [t.kind for t in templates] == kinds
    assert all(t.text == line and t.name == line.split(":")[0] for t in templates)
    assert all(len(t.items) == ("%" in line) for t in templates)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("%x[0,0]", Item(0, 0)),
        ("%x[-2,3]", Item(-2, 3)),
        ("%x[ 1 , 0 ]", Item(1, 0)),
        ("%x[+1,0]", Item(1, 0)),
        ("%X[0,1]", Item(0, 1, "lower")),
        ("%lower[0,1]", Item(0, 1, "lower")),
        ("%suffix[-1,0,3]", Item(-1, 0, "suffix", (3,))),
        ("%short-shape[0,0]", Item(0, 0, "short-shape")),
        ("%ngrams[0,0,2,4]", Item(0, 0, "ngrams", (2, 4))),
        (r'%t[0,0,"^\u"]', Item(0, 0, "t", (r"^\u",))),
        (r'%m[-1,2,"[a-z],\"]"]', Item(-1, 2, "m", (r"[a-z],\"]",))),
        (r'%M[0,0,"\d+"]', Item(0, 0, "M", (r"\d+",))),
        ("%edge[-1,0]", Item(-1, 0, "edge")),
    ],
)
def test_items(text, item):
    template = only(f"U01:{text}")
    assert template.items == (item,)
    assert template.literals == ("U01:", "")
    assert template.describe(["value"]) == "U01:value"


def test_literals_between_items():
    template = only("U01:a%x[0,0]/%x[1,0]z")
    assert template.literals == ("U01:a", "/", "z")
    assert template.describe(["v", "w"]) == "U01:av/wz"


def test_options():
    templates = parse_templates(
        "#! min_count=2 U01\nU00:%x[0,0]\nU01:%x[1,0]\nB\n#! variance=0.5 U00 B\n#! variance=2 B min_count=3\n"
    )
    assert [(t.name, t.min_count, t.variance) for t in templates.templates] == [
        ("U00", 1, 0.5),
        ("U01", 2, None),
        ("B", 3, 2.0),
    ]
    everywhere = parse_templates("U00:%x[0,0]\n#! min_count=4\nU01:%x[1,0]").templates
    assert [t.min_count for t in everywhere] == [4, 4]


def test_boundary_option_columns_and_reach():
    text = "U00:%x[-1,0]\nU01:%x[3,2]\nB"
    assert (parse_templates(text).boundary, parse_templates(text).reach) == ("side", 1)
    far = parse_templates(text + "\n#! boundary=distance")
    assert (far.boundary, far.reach, far.columns) == ("distance", 3, 3)
    assert parse_templates("B").columns == 0
    assert parse_templates("B").oov == "none"
    assert parse_templates("B\n#! oov=first boundary=distance\n#! min_count=2").oov == "first"
    assert [t.name for t in far.templates if t.kind == "bigram"] == ["B"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("X01:%x[0,0]", ["'X01:%x[0,0]'", "'X'", "U, B, * or T"]),
        ("U01:%x[0]", ["'%x[0]'", "row and a column"]),
        ("U01:%x[]", ["'%x[]'"]),
        ("U01:%x[a,0]", ["'%x[a,0]'", "whole numbers"]),
        ("U01:%x[0,-1]", ["'%x[0,-1]'", "at least 0"]),
        ("U01:%x[0.5,0]", ["'%x[0.5,0]'"]),
        ("U01:%x[-101,0]", ["'%x[-101,0]'", "101 tokens away"]),
        ("U01:%x[0,0", ["'U01:%x[0,0'", "%x[row,column]"]),
        ("U01:%x", ["'U01:%x'"]),
        ("U01:%x[0,0]/100%", ["'U01:%x[0,0]/100%'"]),
        ("U01:%t[0,0]", ["'%t[0,0]'", "quoted pattern"]),
        ("U01:%m[0,0,abc]", ["'%m[0,0,abc]'", "quoted pattern"]),
        ('U01:%m[0,0,"("]', ["'('", "regular expression"]),
        ("U01:%frobnicate[0,0]", ["'frobnicate'", "suffix", "ngrams"]),
        ("U01:%suffix[0,0]", ["'%suffix[0,0]'", "1 whole number of"]),
        ("U01:%suffix[0,0,0]", ["'%suffix[0,0,0]'", "at least 1"]),
        ("U01:%suffix[0,0,1,2]", ["'%suffix[0,0,1,2]'"]),
        ("U01:%ngrams[0,0,2]", ["'%ngrams[0,0,2]'", "2 whole numbers"]),
        ("U01:%x[0,0,1]", ["'%x[0,0,1]'", "0 whole numbers"]),
        ("U01:%X[0,0,1]", ["'%X[0,0,1]'", "0 whole numbers"]),
        ("U01:%edge[0,0]", ["'%edge[0,0]'", "never", "%edge[-1,0]"]),
        ("U01:%edge[1,0,2]", ["'%edge[1,0,2]'", "0 whole numbers"]),
        ("U01:%ngrams[0,0,1,2]/%x[0,0]", ["'U01:%ngrams[0,0,1,2]/%x[0,0]'", "alone"]),
        ("B01:%ngrams[0,0,1,2]", ["'B01:%ngrams[0,0,1,2]'", "bigram"]),
        ("*01:%ngrams[0,0,1,2]", ["'*01:%ngrams[0,0,1,2]'", "bigram"]),
        ("T01:%x[0,0]", ["'T01:%x[0,0]'", "trigrams"]),
        ("U01: ", ["'U01:'", "nothing behind its colon"]),
        ("#! min_count=0", ["'min_count=0'"]),
        ("#! min_count=two", ["'min_count=two'"]),
        ("#! min_count", ["'min_count'"]),
        ("#! variance=-1", ["'variance=-1'"]),
        ("#! variance=nan", ["'variance=nan'"]),
        ("#! color=red", ["'color=red'"]),
        ("#! boundary=both", ["'boundary=both'"]),
        ("#! oov=last", ["'oov=last'", "oov=first"]),
        ("#! min_count=2 U99", ["'U99'", "B, U00"]),
    ],
)
def test_mistakes_name_line_and_text(line, parts):
    refused(lambda: parse_templates(f"U00:%x[0,0]\n\n{line}\nB\n", "my.tpl"), "my.tpl, line 3", *parts)


@pytest.mark.parametrize("text", ["", "\n# only a comment\n", "#! min_count=2\n"])
def test_no_template(text):
    refused(lambda: parse_templates(text, "my.tpl"), "my.tpl", "no template")


def test_reading_templates(tmp_path):
    path = tmp_path / "a.tpl"
    path.write_bytes("U01:é%x[0,0]\r\nB\r\n".encode())
    assert [t.text for t in read_templates(path).templates] == ["U01:é%x[0,0]", "B"]
    assert read_templates(str(path)).source == str(path)
    path.write_bytes("\ufeffU01:%x[0,0]\n".encode())  # as some Windows editors write it
    assert [t.text for t in read_templates(path).templates] == ["U01:%x[0,0]"]
    path.write_bytes("B\nU01:é%x[0,0]\n".encode("latin-1"))
    refused(lambda: read_templates(path), f"{path}, line 2", "0xe9")
    refused(lambda: read_templates(tmp_path / "none"), tmp_path / "none", "No such file")
    refused(lambda: read_templates(tmp_path), tmp_path, "directory")
    given = read_templates("U01:%x[0,0]")
    assert read_templates(given) is given
    assert len(read_templates(None).templates) == len(DEFAULT.split())


# ---------------------------------------------------------------------- functions of a word

EXAMPLES = [
    ("x", (), "McDonald", "McDonald"),
    ("lower", (), "ÉCOLE-1", "école-1"),
    ("if", ("\\d",), "a1", "true"),
    ("if", ("\\d",), "ab", ""),
    ("prefix", (3,), "walking", "wal"),
    ("prefix", (9,), "été", "été"),
    ("suffix", (3,), "walking", "ing"),
    ("suffix", (3,), "é", "é"),
    ("shape", (), "McDonald-1.5", "XxXxxxxx-d.d"),
    ("shape", (), "Éa東٣", "Xxxd"),
    ("shape", (), "", ""),
    ("short-shape", (), "McDonald-1.5", "XxXx-d.d"),
    ("short-shape", (), "AAA--11", "X-d"),
    ("is-title", (), "Title", "true"),
    ("is-title", (), "TitleCase", "false"),
    ("is-title", (), "A", "true"),
    ("is-title", (), "lower", "false"),
    ("is-title", (), "", "false"),
    ("is-upper", (), "NATO", "true"),
    ("is-upper", (), "NATo", "false"),
    ("is-upper", (), "12", "false"),
    ("has-upper", (), "iPod", "true"),
    ("has-upper", (), "ipod", "false"),
    ("has-digit", (), "mp3", "true"),
    ("has-digit", (), "mp", "false"),
    ("has-hyphen", (), "up-to", "true"),
    ("has-hyphen", (), "upto", "false"),
    ("is-punctuation", (), "...", "true"),
    ("is-punctuation", (), "$€", "true"),
    ("is-punctuation", (), ".a", "false"),
    ("is-punctuation", (), "", "false"),
    ("length-class", (), "", "0"),
    ("length-class", (), "four", "4"),
    ("length-class", (), "fives", "5-6"),
    ("length-class", (), "sixsix", "5-6"),
    ("length-class", (), "sevenss", "7-9"),
    ("length-class", (), "ninenines", "7-9"),
    ("length-class", (), "tenletters", "10+"),
    ("ngrams", (2, 3), "ab", ["<a", "ab", "b>", "<ab", "ab>"]),
    ("ngrams", (1, 1), "aa", ["<", "a", ">"]),
    ("ngrams", (9, 9), "ab", []),
    ("edge", (), "ab", []),
    ("rare", (5,), "ab", []),
    ("t", (r"^\u",), "Abc", "true"),
    ("t", (r"^\u",), "abc", "false"),
    ("t", (r"\p",), "a_b", "true"),
    ("t", (r"\p",), "a,b", "true"),
    ("t", (r"^\w+$",), "a_b", "false"),
    ("t", (r"^\w+$",), "aé9", "true"),
    ("t", (r"^\a+$",), "aé", "true"),
    ("t", (r"^\a+$",), "a9", "false"),
    ("t", (r"^\l\l$",), "ab", "true"),
    ("t", (r"^\l$",), "B", "false"),
    ("t", (r"^\\u$",), "\\u", "true"),  # an escaped backslash is a backslash
    ("m", (r"\d+",), "abc123d4", "123"),
    ("m", (r"\d+",), "abc", ""),
    ("M", (r"\u+",), "abCDe", "cd"),
    ("M", (r"\d",), "ab", ""),
]


@pytest.mark.parametrize(("name", "arguments", "word", "expected"), EXAMPLES)
def test_word_functions(name, arguments, word, expected):
    assert evaluate(name, arguments, word) == expected


def test_every_function_has_an_example():
    assert {name for name, *_ in EXAMPLES} >= set(FUNCTIONS)


# ---------------------------------------------------------------------- templates on a corpus: the reference


def naive_value(name, arguments, word):
    numbers = [int(a) for a in arguments if a.isdigit()]
    if name == "x":
        return word
    if name in ("X", "lower"):
        return word.lower()
    if name == "prefix":
        return "".join(c for i, c in enumerate(word) if i < numbers[0])
    if name == "suffix":
        return "".join(c for i, c in enumerate(word) if i >= len(word) - numbers[0])
    if name == "has-digit":
        return "true" if set(word) & set("0123456789") else "false"
    if name == "m":  # the one pattern that these tests use
        assert arguments == [r'"\d+"']
        rest = itertools.dropwhile(lambda c: not c.isdigit(), word)
        return "".join(itertools.takewhile(str.isdigit, rest))
    raise AssertionError(name)


@dataclass
class Reference:
    """Attributes as strings: for every token a list of names, of both kinds."""

    unigram: list[list[str]]
    bigram: list[list[str]]


def reference(text: str, sentences: list[list[tuple]]) -> Reference:
    found, distance = Reference([], []), "boundary=distance" in text
    lines = [line for line in text.split("\n") if line and line[0] in "UB*"]
    for sentence in sentences:
        for t in range(len(sentence)):
            unigram, bigram = [], []
            for line in lines:
                names = naive_names(line, sentence, t, distance)
                if line[0] in "U*":
                    unigram += names
                if line[0] in "B*" and "%" in line:
                    bigram += names
            found.unigram.append(unigram)
            found.bigram.append(bigram)
    return found


NOWHERE = "\0"  # the value of an item that is not there, and with it the attribute


def naive_names(line, sentence, t, distance):
    if "%ngrams" in line:
        place, shortest, longest = re.search(r"\[(-?\d+),0,(\d+),(\d+)\]", line).groups()
        p = t + int(place)
        if not 0 <= p < len(sentence):
            return []
        marked = "<" + sentence[p][0] + ">"
        grams = {
            marked[i:j]
            for i, j in itertools.combinations(range(len(marked) + 1), 2)
            if int(shortest) <= j - i <= int(longest)
        }
        return [re.sub(r"%.*\]", lambda _, gram=gram: gram, line) for gram in grams]

    def value(match):
        name, (row, column, *arguments) = match[1], match[2].split(",")
        p = t + int(row)
        if p < 0:
            return f"_B-{-p if distance else 1}"
        if p >= len(sentence):
            return f"_B+{p - len(sentence) + 1 if distance else 1}"
        return NOWHERE if name == "edge" else naive_value(name, arguments, sentence[p][int(column)])

    name = re.sub(r"%([A-Za-z-]+)\[([^\]]*)\]", value, line)
    return [] if NOWHERE in name else [name]


def names_of(extractor, design, kind="unigram"):
    """The names of every token's attributes, those of its heads included."""
    incidence = design.tokens if kind == "unigram" else design.bigrams
    # transform writes -1 where an attribute was never seen in training
    found = [[a for a in incidence.ids[b:e].tolist() if a >= 0] for b, e in itertools.pairwise(incidence.ptr)]
    if kind == "unigram" and design.heads is not None:
        lists = design.heads.attributes
        for t, heads in enumerate(design.heads.of_token):
            for h in heads:
                found[t] += lists.ids[lists.ptr[h] : lists.ptr[h + 1]].tolist()
    return [[extractor.attribute_name(a, kind) for a in attributes] for attributes in found]


def check_design(extractor, design, expected: Reference, known: dict[str, set]):
    assert design.tokens.n_lists == design.bigrams.n_lists == design.n_tokens == len(expected.unigram)
    assert design.tokens.ids.dtype == design.bigrams.ids.dtype == np.int32
    for kind in ("unigram", "bigram"):
        found = names_of(extractor, design, kind)
        for mine, theirs in zip(found, getattr(expected, kind), strict=True):
            assert Counter(mine) == Counter(n for n in theirs if n in known[kind])


def check_extractor(text, training, other, min_count=1, fold=False, template_counts=None):
    """fit and transform against the reference; returns the extractor and the training design."""
    extractor = TemplateExtractor(parse_templates(text))
    design = extractor.fit(from_sentences(training), min_count, fold)
    expected = reference(text, training)
    known = {}
    for kind, size in (("unigram", extractor.n_attributes), ("bigram", extractor.n_bigram_attributes)):
        counts = Counter(n for names in getattr(expected, kind) for n in names)
        least = {n: (template_counts or {}).get(n.split(":")[0], 1) for n in counts}
        known[kind] = {n for n, count in counts.items() if count >= max(min_count, least[n])}
        assert Counter(extractor.attribute_name(a, kind) for a in range(size)) == Counter(known[kind])
        with pytest.raises(IndexError):
            extractor.attribute_name(size, kind)
    check_design(extractor, design, expected, known)
    check_design(extractor, extractor.transform(from_sentences(training)), expected, known)
    if other:
        applied = extractor.transform(from_sentences(other))
        assert applied.heads is None
        check_design(extractor, applied, reference(text, other), known)
    return extractor, design


TEMPLATE = r"""
# everything that gives one value a token, and n-grams
U00:%x[0,0]
U01:%x[-1,0]/%x[0,1]
U02:%x[-2,0]
U03:%X[1,0]
U04:%suffix[0,0,2]|%prefix[2,0,1]
U05:%has-digit[0,0]%x[0,1]
U06:%m[0,0,"\d+"]
U07
U08:%ngrams[0,0,2,3]
U09:%ngrams[-1,0,1,1]
U10:%x[-2,1]/%x[-1,1]/%x[0,1]/%x[1,1]/%x[2,1]
B
B01:%x[0,1]
*02:%x[0,1]/%x[1,1]
"""
token = st.tuples(st.text("aB1", min_size=1, max_size=3), st.sampled_from("XY"))
corpus = st.lists(st.lists(token, min_size=1, max_size=5), min_size=1, max_size=5)
DISTANCE = TEMPLATE + "#! boundary=distance\n"


@quick
@given(corpus, corpus, st.integers(1, 3), st.sampled_from([TEMPLATE, DISTANCE]), st.booleans())
def test_extractor_against_the_reference(training, other, min_count, text, fold):
    check_extractor(text, training, other, min_count, fold)


def draw_corpus(seed, sentences=60, words=("a", "B", "c1", "a1"), tags="XYZ", longest=6):
    rng = np.random.default_rng(seed)
    return [
        [(str(rng.choice(words)), str(rng.choice(list(tags)))) for _ in range(rng.integers(1, longest))]
        for _ in range(sentences)
    ]


FOLDING = """
U00:%x[0,0]
U01:%x[-1,1]
U02:%x[0,1]
U03:%x[1,1]
U04:%x[-1,1]/%x[0,1]
U05:%x[0,1]/%x[1,1]
U06:%lower[0,0]/%x[0,1]
U07:%x[-2,0]/%x[-1,0]/%x[0,0]
U08:%ngrams[0,0,2,2]
B01:%x[0,1]
"""


@pytest.mark.parametrize("boundary", ["side", "distance"])
@pytest.mark.parametrize("min_count", [1, 9])
@pytest.mark.parametrize("seed", [0, 1])
def test_folding_changes_nothing_but_the_form(seed, min_count, boundary):
    text = FOLDING + f"#! boundary={boundary}\n"
    training, other = draw_corpus(seed), draw_corpus(seed + 10, words=("a", "new"), tags="XQ")
    folded, design = check_extractor(text, training, other, min_count, fold=True)
    plain, flat = check_extractor(text, training, other, min_count, fold=False)
    assert flat.heads is None
    assert design.heads is not None
    assert len(design.tokens.ids) < 0.7 * len(flat.tokens.ids)
    names = [e.attribute_name(a) for e in (folded, plain) for a in range(e.n_attributes)]
    assert names[: len(names) // 2] == names[len(names) // 2 :]
    n_heads = design.heads.attributes.n_lists
    assert set(design.heads.of_token.ravel().tolist()) == set(range(n_heads))


def test_min_count_of_single_templates():
    text = TEMPLATE + "#! min_count=3 U00 B01\n#! min_count=2 U08\n"
    training = draw_corpus(5, 12, words=[a + b for a in "abcdefB1" for b in "ab1"], tags="XYZW")
    counts = {"U00": 3, "B01": 3, "U08": 2}
    cut, _ = check_extractor(text, training, draw_corpus(6, 5), template_counts=counts)
    whole, _ = check_extractor(TEMPLATE, training, draw_corpus(6, 5))
    assert cut.n_attributes < whole.n_attributes
    check_extractor(text, training, None, min_count=2, template_counts=counts)


def test_boundary_symbols():
    text = "U:%x[-2,0]|%x[2,0]"
    corpus = from_sentences([["a", "b"]])
    for option, expected in [
        ("", [["U:_B-1|_B+1"], ["U:_B-1|_B+1"]]),
        ("\n#! boundary=distance", [["U:_B-2|_B+1"], ["U:_B-1|_B+2"]]),
    ]:
        extractor = TemplateExtractor(parse_templates(text + option))
        assert names_of(extractor, extractor.fit(corpus)) == expected
    assert extractor.n_attributes == 2


# ---------------------------------------------------------------------- ends of the sentence

EDGES = """
U00:%x[0,0]
U01:%x[0,1]
U02:%x[-1,1]/%x[0,1]
U07:%edge[-1,0]
U08:%edge[-1,0]/%x[0,0]
U09:%edge[-1,0]/%edge[1,0]
U10:%x[0,1]/%edge[2,1]
U11:%edge[-9,0]/%x[1,0]
B05:%edge[-2,0]
B06:%edge[1,0]
*12:%edge[-1,0]/%edge[-2,0]/%x[2,1]
"""


@quick
@given(corpus, corpus, st.integers(1, 3), st.sampled_from(["", "#! boundary=distance\n"]), st.booleans())
def test_edges_against_the_reference(training, other, min_count, option, fold):
    check_extractor(EDGES + option, training, other, min_count, fold)


def test_edges_are_there_at_the_ends_only():
    extractor = TemplateExtractor(
        parse_templates("U:%edge[-1,0]\nU9:%edge[-1,0]/%edge[1,0]\nB:%edge[-2,0]\n*:%edge[1,0]")
    )
    design = extractor.fit(from_sentences([["a", "b", "c"], ["a"]]))
    assert names_of(extractor, design) == [["U:_B-1"], [], ["*:_B+1"], ["U:_B-1", "U9:_B-1/_B+1", "*:_B+1"]]
    assert names_of(extractor, design, "bigram") == [["B:_B-1"], ["B:_B-1"], ["*:_B+1"], ["B:_B-1", "*:_B+1"]]


def test_edges_are_never_folded():
    training = draw_corpus(0, 80)
    extractor, design = check_extractor(EDGES, training, None, fold=True)
    assert design.heads is not None
    folded = {extractor.attribute_name(a) for a in design.heads.attributes.ids.tolist()}
    assert {name[:3] for name in folded} >= {"U01", "U02"}
    assert not any("_B" in name and name[:3] != "U02" for name in folded)


def test_a_template_without_any_attribute():
    """No sentence is so short that both ends are seen from one token."""
    training = [[("a", "X"), ("b", "Y")]] * 3
    extractor, _ = check_extractor(
        "U00:%edge[-1,0]/%edge[1,0]\nB01:%edge[-1,0]/%edge[1,0]\n", training, [training[0][:1]]
    )
    assert (extractor.n_attributes, extractor.n_bigram_attributes) == (0, 0)
    check_extractor("U00:%edge[-1,0]/%edge[1,0]\nU01:%x[0,0]\n", training, [training[0][:1]])


# ---------------------------------------------------------------------- first occurrences as <oov>


def naive_oov(training, other):
    """Both corpora with <oov> for first occurrences in training, and for what training then lacks."""
    seen, replaced = [set(), set()], []
    for sentence in training:
        replaced.append([])
        for token in sentence:
            replaced[-1].append(tuple(v if v in seen[c] else "<oov>" for c, v in enumerate(token)))
            for c, v in enumerate(token):
                seen[c].add(v)
    kept = [{token[c] for sentence in replaced for token in sentence} for c in range(2)]
    others = [[tuple(v if v in kept[c] else "<oov>" for c, v in enumerate(token)) for token in s] for s in other]
    return replaced, others


def check_oov(text, training, other):
    mine = TemplateExtractor(parse_templates(text + "#! oov=first\n"))
    theirs = TemplateExtractor(parse_templates(text))
    replaced, others = naive_oov(training, other)
    designs = [mine.fit(from_sentences(training)), mine.transform(from_sentences(other))]
    expected = [theirs.fit(from_sentences(replaced)), theirs.transform(from_sentences(others))]
    section = mine.to_section()
    again = TemplateExtractor.from_section(Section(json.loads(json.dumps(section.manifest)), section.arrays))
    assert again.templates.oov == "first"
    designs.append(again.transform(from_sentences(other)))
    expected.append(expected[1])
    smaller = mine.select(np.ones(mine.n_attributes, bool), np.ones(mine.n_bigram_attributes, bool))
    designs.append(smaller.transform(from_sentences(other)))
    expected.append(expected[1])
    for kind in ("unigram", "bigram"):
        for e, d, wanted in zip((mine, mine, again, smaller), designs, expected, strict=True):
            assert [Counter(n) for n in names_of(e, d, kind)] == [Counter(n) for n in names_of(theirs, wanted, kind)]
    return mine


@quick
@given(corpus, corpus, st.sampled_from([TEMPLATE, EDGES, "U00:%suffix[0,0,2]\nU01:%edge[-1,1]\n", "U0:%x[1,1]\n"]))
def test_first_occurrences_are_oov(training, other, text):
    check_oov(text, training, other)


def test_oov_keeps_columns_that_no_template_reads_as_they_are():
    training = [[("ab", "X"), ("ab", "X"), ("cd", "Y"), ("<oov>", "<oov>"), ("<oov>", "X")]]
    extractor = check_oov("U00:%suffix[0,0,1]\nU01:%x[0,1]\nU02:%edge[1,0]\n", training, training)
    assert sorted(extractor.known) == [0, 1]
    assert extractor.known[0].strings == ["<oov>", "ab"]
    assert {extractor.attribute_name(a) for a in range(extractor.n_attributes)} == {
        *("U00:>", "U00:b", "U01:<oov>", "U01:X", "U02:_B+1")
    }
    only_edges = TemplateExtractor(parse_templates("U00:%edge[1,0]\n#! oov=first\n"))
    only_edges.fit(from_sentences(training))
    assert only_edges.known == {}


def test_a_file_without_the_oov_symbol_is_damaged():
    extractor = check_oov("U00:%suffix[0,0,1]\n", [[("a", "X")] * 3], [])
    section = extractor.to_section()
    section.arrays["known.0.blob"] = section.arrays["known.0.blob"][::-1].copy()
    with pytest.raises(ValueError, match=r"known\.0 has no <oov>"):
        TemplateExtractor.from_section(section)
    del section.arrays["known.0.starts"]
    with pytest.raises(KeyError):
        TemplateExtractor.from_section(section)


def test_oov_vocabulary_of_the_paper(conll2000):
    """Smith et al. report 9,014 words and 46 tags; a prototype on these files 9,063 and 45."""
    training = conll.read(conll2000 / "train.txt")
    training = training.select(np.arange(training.n_sentences - 900))
    extractor = TemplateExtractor(parse_templates("U0:%x[0,0]\nU1:%x[0,1]\n#! oov=first\n"))
    extractor.fit(training)
    assert [len(table.keys) for table in extractor.tables] == [9063, 45]


def test_edges_and_oov_through_a_model_file(tmp_path):
    data = make_training(0, EDGES + "#! oov=first\n", words=[a + b for a in "abcB1" for b in "ab1"])
    index = build_index(data.design, data.gold, False, True, 2)
    weights = np.random.default_rng(0).normal(size=index.n_features)
    Model("tag", data.labels, data.extractor, index, weights, 2).save(tmp_path / "a.model")
    again = Model.load(tmp_path / "a.model").extractor
    other = from_sentences(draw_corpus(3, words=("ab", "zz")))
    assert names_of(again, again.transform(other)) == names_of(data.extractor, data.extractor.transform(other))


def test_a_word_that_looks_like_a_boundary_is_none():
    extractor = TemplateExtractor(parse_templates("U:%x[-1,0]\n"))
    design = extractor.fit(from_sentences([["_B-1", "x", "y"]]))
    assert extractor.n_attributes == 3
    assert len(set(design.tokens.ids.tolist())) == 3


def test_items_outside_match_no_word_but_other_items_do():
    """Unknown values at transform: every attribute that holds one is left out, the others stay."""
    extractor = TemplateExtractor(parse_templates("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%suffix[0,0,1]\nB0:%x[0,0]"))
    extractor.fit(from_sentences([["ab", "cd"], ["cd", "ab"]]))
    design = extractor.transform(from_sentences([["ab", "zb", "cd"], ["zz"]]))
    assert names_of(extractor, design) == [
        ["U0:ab", "U1:_B-1/ab", "U2:b"],
        ["U2:b"],
        ["U0:cd", "U2:d"],
        [],
    ]
    assert names_of(extractor, design, "bigram") == [["B0:ab"], [], ["B0:cd"], []]


def test_fitting_again_forgets():
    extractor = TemplateExtractor(parse_templates(TEMPLATE))
    extractor.fit(from_sentences([[("a", "X"), ("b", "Y"), ("c", "Z")]] * 3))
    training = draw_corpus(7, 10)
    design, fresh = extractor.fit(from_sentences(training)), TemplateExtractor(parse_templates(TEMPLATE))
    fresh.fit(from_sentences(training))
    assert extractor.n_attributes == fresh.n_attributes
    names = names_of(extractor, design)
    assert [Counter(n) for n in names] == [Counter(n) for n in reference(TEMPLATE, training).unigram]


def test_sentences_without_tokens():
    sentences = [[], [("a", "X"), ("B", "Y")], [], [("a", "X")], []]
    check_extractor(TEMPLATE, sentences, sentences)


def test_template_numbers_of_attributes():
    extractor, _ = check_extractor(TEMPLATE, draw_corpus(3, 5), None)
    lines = [l for l in TEMPLATE.split("\n") if l and l[0] in "UB*" and l != "B"]
    observed = [l.split(":")[0] for l in lines for _ in range(1 + (l[0] == "*"))]
    for kind, size in (("unigram", extractor.n_attributes), ("bigram", extractor.n_bigram_attributes)):
        numbers = extractor.template_of(kind)
        assert len(numbers) == size
        assert all(
            extractor.attribute_name(a, kind).split(":")[0] == observed[n] for a, n in enumerate(numbers.tolist())
        )


def test_columns_that_are_missing():
    extractor = TemplateExtractor(parse_templates("U00:%x[0,0]\nU01:%x[0,3]", "my.tpl"))
    corpus = from_sentences([[("a", "b")]], "data.txt")
    for call in (extractor.fit, extractor.transform):
        refused(lambda call=call: call(corpus), "my.tpl", "'U01:%x[0,3]'", "column 3", "data.txt has 2")


def test_too_many_combinations():
    text = "U00:" + "".join(f"%x[{i},0]" for i in range(-4, 4))
    corpus = from_sentences([[f"w{i}" for i in range(300)]])
    refused(lambda: TemplateExtractor(parse_templates(text, "my.tpl")).fit(corpus), "my.tpl", text, "join fewer")


def test_many_values_outgrow_the_first_tables():
    rng = np.random.default_rng(0)
    training = [[(str(w), "XY"[w % 2]) for w in rng.integers(0, 3000, 100)] for _ in range(40)]
    other = [[(str(w), "X") for w in rng.integers(0, 4000, 100)] for _ in range(5)]
    check_extractor("U00:%x[0,0]\nU01:%x[0,0]/%x[1,0]\nU02:%x[-1,1]\n", training, other)


def test_round_trip_through_arrays():
    training, other = draw_corpus(1, 20), draw_corpus(2, 10, words=("a", "zz"))
    extractor, _ = check_extractor(DISTANCE + "#! min_count=2 U00\n", training, None, template_counts={"U00": 2})
    section = extractor.to_section()
    manifest = json.loads(json.dumps(section.manifest))
    copies = {name: array.copy() for name, array in section.arrays.items()}
    again = TemplateExtractor.from_section(Section(manifest, copies))
    assert again.templates.templates == extractor.templates.templates
    assert (again.n_attributes, again.n_bigram_attributes) == (extractor.n_attributes, extractor.n_bigram_attributes)
    mine, theirs = (e.transform(from_sentences(other)) for e in (extractor, again))
    for part in ("tokens", "bigrams"):
        np.testing.assert_array_equal(getattr(mine, part).ptr, getattr(theirs, part).ptr)
        np.testing.assert_array_equal(getattr(mine, part).ids, getattr(theirs, part).ids)
    for kind, n in (("unigram", again.n_attributes), ("bigram", again.n_bigram_attributes)):
        assert [again.attribute_name(a, kind) for a in range(n)] == [
            extractor.attribute_name(a, kind) for a in range(n)
        ]
    section.arrays["keys.0"] = -1 - section.arrays["keys.0"]
    with pytest.raises(ValueError, match=r"keys\.0 has numbers outside 0"):
        TemplateExtractor.from_section(section)


def test_select_keeps_some_attributes():
    training, other = draw_corpus(1, 20), draw_corpus(2, 10, words=("a", "zz"))
    extractor, _ = check_extractor(TEMPLATE, training, None)
    rng = np.random.default_rng(0)
    keep = {
        "unigram": rng.random(extractor.n_attributes) < 0.5,
        "bigram": rng.random(extractor.n_bigram_attributes) < 0.5,
    }
    smaller = extractor.select(keep["unigram"], keep["bigram"])
    designs = [e.transform(from_sentences(other)) for e in (extractor, smaller)]
    for kind, size in (("unigram", smaller.n_attributes), ("bigram", smaller.n_bigram_attributes)):
        kept = [extractor.attribute_name(a, kind) for a in np.flatnonzero(keep[kind])]
        assert [smaller.attribute_name(a, kind) for a in range(size)] == kept
        before, after = names_of(extractor, designs[0], kind), names_of(smaller, designs[1], kind)
        assert [Counter(n for n in names if n in set(kept)) for names in before] == [Counter(n) for n in after]


# ---------------------------------------------------------------------- attributes given as such


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("w=the", [("w=the", 1.0)]),
        (["w=the", "title"], [("w=the", 1.0), ("title", 1.0)]),
        (("a", "a"), [("a", 1.0), ("a", 1.0)]),
        ({"w": "the", "title": True, "len": 3.5}, [("w:the", 1.0), ("title", 1.0), ("len", 3.5)]),
        ({"no": False, "none": None, "zero": 0}, [("zero", 0.0)]),
        ({"yes": np.True_, "n": np.int64(2), "f": np.float32(0.5)}, [("yes", 1.0), ("n", 2.0), ("f", 0.5)]),
        ({"ctx": {"prev": "a", "deep": {"x": 2}}}, [("ctx:prev:a", 1.0), ("ctx:deep:x", 2.0)]),
        ({"in": ["x", "y"]}, [("in:x", 1.0), ("in:y", 1.0)]),
        ({"in": [{"a": 2}, "y"]}, [("in:a", 2.0), ("in:y", 1.0)]),
        ({}, []),
        ([], []),
    ],
)
def test_forms_of_attributes(token, expected):
    assert list(attributes_of(token)) == expected


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ({"ok": 1, "bad": float("nan")}, ["'bad'", "nan", "finite"]),
        ({"ctx": {"bad": float("inf")}}, ["'ctx:bad'", "inf"]),
        ({"bad": np.float32("-inf")}, ["'bad'"]),
        (3, ["3 is neither"]),
        (None, ["None is neither"]),
        (["a", 2.5], ["2.5 is neither"]),
    ],
)
def test_attributes_that_are_none(token, parts):
    sentences = [[["fine"]], [["fine"], token]]
    refused(lambda: AttributeExtractor().fit(sentences), "sentence 1, token 1", *parts)


def listed(extractor, design):
    """(name, value) pairs of every token."""
    tokens = design.tokens
    values = tokens.values if tokens.values.size else np.ones(len(tokens.ids))
    return [
        [(extractor.attribute_name(a), v) for a, v in zip(tokens.ids[b:e].tolist(), values[b:e].tolist(), strict=True)]
        for b, e in itertools.pairwise(tokens.ptr)
    ]


def test_attribute_extractor():
    training = [[{"w": "a", "n": 2}, ["w:a", "x"]], [], [{"w": "b", "n": 0.5}]]
    extractor = AttributeExtractor()
    design = extractor.fit(training)
    assert design.offsets.tolist() == [0, 2, 2, 3]
    assert listed(extractor, design) == [[("w:a", 1), ("n", 2)], [("w:a", 1), ("x", 1)], [("w:b", 1), ("n", 0.5)]]
    assert extractor.n_attributes == design.n_attributes == 4
    other = extractor.transform([[{"w": "b", "new": 1}, {"w": "c"}, {"n": -3, "new": 2}]])
    assert listed(extractor, other) == [[("w:b", 1)], [], [("n", -3)]]


def test_attribute_extractor_min_count_and_arrays():
    training = [[["a", "b"], ["a", "c"], {"b": 2.5}]]
    extractor = AttributeExtractor()
    design = extractor.fit(training, min_count=2)
    assert listed(extractor, design) == [[("a", 1), ("b", 1)], [("a", 1)], [("b", 2.5)]]
    assert extractor.n_attributes == 2
    section = extractor.to_section()
    again = AttributeExtractor.from_section(Section(json.loads(json.dumps(section.manifest)), section.arrays))
    assert listed(again, again.transform(training)) == listed(extractor, design)


def test_values_are_kept_only_where_needed():
    assert AttributeExtractor().fit([[["a", "b"], {"c": True, "d": 1}]]).tokens.values.size == 0
    assert AttributeExtractor().fit([[["a", "b"], {"c": 2}]]).tokens.values.tolist() == [1, 1, 2]


incidences = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=5)


@quick
@given(incidences, st.data())
def test_incidence_lists(lists, data):
    def make(lists, values):
        flat = [i for l in lists for i in l]
        ptr = np.cumsum([0, *map(len, lists)])
        return Incidence(ptr, np.array(flat, np.int32), np.array(flat, np.float64) + 0.5 if values else np.empty(0))

    def read(incidence):
        values = incidence.values if incidence.values.size else np.ones(len(incidence.ids))
        pairs = list(zip(incidence.ids.tolist(), values.tolist(), strict=True))
        return [pairs[b:e] for b, e in itertools.pairwise(incidence.ptr)]

    def paired(lists, values):
        return [[(i, i + 0.5 if values else 1.0) for i in l] for l in lists]

    others = data.draw(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=len(lists), max_size=len(lists)))
    mine, theirs = data.draw(st.booleans()), data.draw(st.booleans())
    joined = make(lists, mine).joined(make(others, theirs))
    assert read(joined) == [a + b for a, b in zip(paired(lists, mine), paired(others, theirs), strict=True)]
    first = make(lists, mine)
    ids = np.where(first.ids % 2 == 0, -1, first.ids + 10).astype(np.int32)
    expected = [[(i + 10, v) for i, v in l if i % 2] for l in paired(lists, mine)]
    assert read(first.with_ids(ids)) == expected
    assert first.counts(6).tolist() == [sum(l.count(a) for l in lists) for a in range(6)]


# ---------------------------------------------------------------------- which features there are


def draw_labels(rng, sentences, labels, partial):
    """A label for each token; where ``partial``, some unknown and some sets."""
    drawn = []
    for sentence in sentences:
        row = [str(rng.choice(labels)) for _ in sentence]
        for t in range(len(row)):
            u = rng.random() if partial else 1
            if u < 0.1:
                row[t] = None
            elif u < 0.3:
                row[t] = {row[t], str(rng.choice(labels))}
        drawn.append(row)
    return drawn


def brute_force(extractor, design, sentences, drawn, labels):
    """Features by name: what stands together anywhere in the corpus."""
    unigram, bigram = names_of(extractor, design), names_of(extractor, design, "bigram")
    features = {"unigram": set(), "bigram": set(), "pairs": set(), "triples": set()}
    first = 0
    for sentence, row in zip(sentences, drawn, strict=True):
        options = [set(labels) if y is None else y if isinstance(y, set) else {y} for y in row]
        for t in range(len(sentence)):
            features["unigram"] |= set(itertools.product(unigram[first + t], options[t]))
            if t >= 1:
                pairs = set(itertools.product(options[t - 1], options[t]))
                features["pairs"] |= pairs
                features["bigram"] |= {(name, *pair) for name in bigram[first + t] for pair in pairs}
            if t >= 2:
                features["triples"] |= set(itertools.product(*options[t - 2 : t + 1]))
        first += len(sentence)
    return features


def features_of(extractor, index, labels):
    """The index's features by name, in the order of the weight vector."""
    L = len(labels)

    def owner(ptr, kind):
        numbers = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        return [extractor.attribute_name(a, kind) for a in numbers]

    def named(codes, n):
        return [tuple(labels[d] for d in np.unravel_index(int(c), (L,) * n)) for c in codes]

    return {
        "unigram": list(zip(owner(index.ptr, "unigram"), (labels[l] for l in index.labels), strict=True)),
        "bigram": [
            (name, *pair)
            for name, pair in zip(owner(index.bigram_ptr, "bigram"), named(index.bigram_pairs, 2), strict=True)
        ],
        "pairs": named(index.pairs, 2),
        "triples": named(index.triples, 3),
    }


def make_training(seed, text=FOLDING, n_labels=4, partial=False, fold=True, sentences=40, min_count=1, **options):
    rng = np.random.default_rng(seed)
    training = draw_corpus(seed, sentences, **options)
    training.insert(3, [])
    names = [f"L{i}" for i in range(n_labels)]
    drawn = draw_labels(rng, training, names, partial)
    labels, gold = gold_of_sequences(drawn, [len(s) for s in training])
    extractor = TemplateExtractor(parse_templates(text))
    design = extractor.fit(from_sentences(training), min_count, fold)
    return SimpleNamespace(
        sentences=training, drawn=drawn, labels=labels, gold=gold, extractor=extractor, design=design
    )


@pytest.mark.parametrize("n_labels", [2, 4, 9])
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("fold", [False, True])
def test_observed_features(n_labels, partial, fold):
    data = make_training(n_labels, n_labels=n_labels, partial=partial, fold=fold, sentences=70)
    assert (data.design.heads is not None) == fold
    index = build_index(data.design, data.gold, False, True, 2)
    found = features_of(data.extractor, index, data.labels)
    expected = brute_force(data.extractor, data.design, data.sentences, data.drawn, data.labels)
    for part, features in found.items():
        assert Counter(features) == Counter(expected[part]), part
    assert index.n_features == sum(index.sizes) == sum(map(len, expected.values()))
    L = len(data.labels)
    assert len(expected["unigram"]) < data.design.n_attributes * L  # or the test shows nothing


def test_parts_of_the_index_that_were_not_asked_for():
    data = make_training(0)
    index = build_index(data.design, data.gold, False, False, 1)
    assert index.sizes[2:] == (0, 0)
    assert index.sizes[0] > 0
    assert index.trigrams(np.zeros(index.n_features)) is None
    with_pairs = build_index(data.design, data.gold, False, True, 1)
    assert with_pairs.sizes[3] == 0
    assert with_pairs.sizes[2] > 0


@pytest.mark.parametrize("n_labels", [3, 8, 11])
@pytest.mark.parametrize("fold", [False, True])
def test_all_features(n_labels, fold):
    data = make_training(1, n_labels=n_labels, partial=True, fold=fold, sentences=70)
    index = build_index(data.design, data.gold, True, True, 2)
    found, labels, extractor = features_of(data.extractor, index, data.labels), data.labels, data.extractor
    unigram = [extractor.attribute_name(a) for a in range(extractor.n_attributes)]
    bigram = [extractor.attribute_name(a, "bigram") for a in range(extractor.n_bigram_attributes)]
    assert found["unigram"] == list(itertools.product(unigram, labels))
    assert found["bigram"] == list(itertools.product(bigram, labels, labels))
    assert found["pairs"] == list(itertools.product(labels, repeat=2))
    assert found["triples"] == list(itertools.product(labels, repeat=3))


def test_split_and_matrices():
    data = make_training(2)
    index = build_index(data.design, data.gold, False, True, 2)
    weights = np.arange(1.0, index.n_features + 1)
    parts = index.split(weights)
    assert [len(p) for p in parts] == list(index.sizes)
    assert np.concatenate(parts).tolist() == weights.tolist()
    parts[2][0] = -7  # views
    assert weights[sum(index.sizes[:2])] == -7
    matrix, cube, L = index.transitions(weights), index.trigrams(weights), len(data.labels)
    assert (matrix.shape, cube.shape) == ((L, L), (L, L, L))
    pairs = dict(zip(features_of(data.extractor, index, data.labels)["pairs"], parts[2], strict=True))
    triples = dict(zip(features_of(data.extractor, index, data.labels)["triples"], parts[3], strict=True))
    for a, b, c in itertools.product(range(L), repeat=3):
        x, y, z = (data.labels[l] for l in (a, b, c))
        assert matrix[a, b] == pairs.get((x, y), 0)
        assert cube[a, b, c] == triples.get((x, y, z), 0)


def test_index_without_attributes():
    data = make_training(0, text="B\n")
    index = build_index(data.design, data.gold, False, True, 1)
    assert index.sizes[:2] == (0, 0)
    assert index.ptr.tolist() == index.bigram_ptr.tolist() == [0]
    assert (
        set(features_of(data.extractor, index, data.labels)["pairs"])
        == brute_force(data.extractor, data.design, data.sentences, data.drawn, data.labels)["pairs"]
    )


# ---------------------------------------------------------------------- weights of an older model


def as_model(data, order=2, all_features=False, seed=0):
    index = build_index(data.design, data.gold, all_features, True, order)
    weights = np.random.default_rng(seed).normal(size=index.n_features)
    return SimpleNamespace(labels=data.labels, extractor=data.extractor, index=index, weights=weights, vectors=None)


def check_transfer(old, new, order=2):
    """Transferred weights equal those looked up by name; returns the share that is not zero."""
    index = build_index(new.design, new.gold, False, True, order)
    found = transferred_weights(old, new.extractor, new.labels, index)
    theirs = features_of(old.extractor, old.index, old.labels)
    known = {
        part: dict(zip(theirs[part], weights.tolist(), strict=True))
        for part, weights in zip(theirs, old.index.split(old.weights), strict=True)
    }
    mine = features_of(new.extractor, index, new.labels)
    expected = [known[part].get(feature, 0.0) for part in mine for feature in mine[part]]
    assert found.tolist() == expected
    return np.mean(found != 0)


@pytest.mark.parametrize("all_features", [False, True])
@pytest.mark.parametrize("text", [FOLDING, TEMPLATE, DISTANCE, FOLDING + EDGES.replace("U0", "U9")])
def test_transfer_is_looking_up_by_name(text, all_features):
    old = as_model(make_training(1, text, n_labels=5, words=("a", "B1", "c")), all_features=all_features)
    new = make_training(2, text, n_labels=6, words=("c", "new", "a"), tags="YXW", partial=True, min_count=2)
    assert old.labels != new.labels[:5]  # another order
    assert 0.1 < check_transfer(old, new) < 0.9


@pytest.mark.parametrize("orders", [(1, 2), (2, 1)])
def test_transfer_between_orders(orders):
    old, new = as_model(make_training(1), order=orders[0]), make_training(2)
    assert check_transfer(old, new, orders[1]) > 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("U00:%x[-1,0]\nU01:%x[0,0]\n", "U01:%x[0,0]\nU00:%x[-1,0]\nU05:%x[0,1]\nB01:%x[0,1]\n"),
        ("U00:%x[-1,0]\nU01:%x[1,0]/%x[0,0]\n", "U00:%x[-1,0]\nU01:%x[1,0]/%x[0,0]\nU02:%x[3,0]\n"),
        ("U00:%x[-1,0]\nU01:%x[1,0]/%x[0,0]\nU02:%x[-3,0]\n", "U00:%x[-1,0]\nU01:%x[1,0]/%x[0,0]\n"),
    ],
)
@pytest.mark.parametrize("boundary", ["", "#! boundary=distance\n"])
def test_transfer_to_other_templates(before, after, boundary):
    """A template that reaches further numbers the boundary symbols anew."""
    old = as_model(make_training(1, before + boundary))
    assert check_transfer(old, make_training(2, after + boundary)) > 0.2


def test_transfer_of_attributes():
    def fit(sentences, drawn):
        labels, gold = gold_of_sequences(drawn, [len(s) for s in sentences])
        extractor = AttributeExtractor()
        return SimpleNamespace(labels=labels, gold=gold, extractor=extractor, design=extractor.fit(sentences))

    old = as_model(fit([[["a", "b"], {"c": 2}]], [["X", "Y"]]))
    new = fit([[["c", "d"], ["b"]], [["b", "a"]]], [["Y", "X"], ["Z"]])
    assert check_transfer(old, new) > 0


def test_transfer_of_matrices():
    def fit(columns, names=None):
        extractor = MatrixExtractor(names=names)
        design = extractor.fit(np.random.default_rng(0).normal(size=(6, columns)))
        labels, gold = gold_of_sequences([[y] for y in "ABAABA"], [1] * 6)
        return SimpleNamespace(labels=labels, gold=gold, extractor=extractor, design=design)

    assert check_transfer(as_model(fit(3)), fit(3)) == 1
    assert check_transfer(as_model(fit(3)), fit(5)) > 0.5  # the intercept stays the intercept
    assert check_transfer(as_model(fit(3, ["p", "q", "r"])), fit(2, ["r", "p"])) == 1


def test_nothing_is_transferred_between_kinds():
    old = as_model(make_training(1, "U00:%x[0,0]\n"))
    extractor = MatrixExtractor()
    design = extractor.fit(np.ones((3, 2)))
    labels, gold = gold_of_sequences([["L0"], ["L1"], ["L0"]], [1, 1, 1])
    index = build_index(design, gold, False, False, 1)
    assert not transferred_weights(old, extractor, labels, index).any()
