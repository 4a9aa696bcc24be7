"""Templates under like=…: as many features as the tool has, and its objective.

Figures of CRF++ and Wapiti were recorded from the programs, run on the files that ``text`` writes:

    CRF++ 0.59      crf_learn -p 1 -e 0.0000001 -c 2 [-f N] template data model
    Wapiti 1.5.0    wapiti train -a l-bfgs -1 0 -2 0.5 -t 1 -e 0.0000001 -w 100000 -p template data model

python-crfsuite is called where it is installed.
"""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.corpus.columns import first_tokens, from_sentences
from loglin.features import bytewise
from loglin.features.extract import TemplateExtractor
from loglin.features.template import parse_templates
from support.corpora import corpus_folder
from support.shell import run

WORDS = [
    "the", "The", "a", "1/2", "3", "1", "2/3", "and/or", "Élan", "élan", "ÉLAN", "naïve", "x-y", "_B-1", "_x-1", "_x+2",
    "B-52", "don't", "I.B.M.", ",", ".", "#", "é", "#", "ü¿", "A",
]  # fmt: skip
TAGS = ["D", "N", "V", "/", "P"]


def sentences() -> list[list[tuple[str, str, str]]]:
    """Words, tags and labels, some of them chosen to look like boundaries, separators or classes of other tools."""
    draw = random.Random(4)
    found = []
    for _ in range(80):
        sentence, last = [], "O"
        for _ in range(draw.choice([1, 1, 2, 3, 5, 7, 9])):
            word, tag = draw.choice(WORDS), draw.choice(TAGS)
            last = "B" if tag in "DN" and draw.random() < 0.7 else "I" if last in "BI" and draw.random() < 0.6 else "O"
            sentence.append((word, tag, last))
        found.append(sentence)
    return found


def text() -> str:
    return "\n".join("".join(f"{w} {t} {y}\n" for w, t, y in s) for s in sentences())


# Features and objective on the first 200 sentences of CoNLL-2000 with PLAIN and PATTERNS.
CONLL = {"crf++": (225_573, 499.64612), "wapiti": (221_578, 462.75)}


def fitted(template: str, like: str, **more) -> Tagger:
    X = [[(w, t) for w, t, _ in s] for s in sentences()]
    y = [[label for *_, label in s] for s in sentences()]
    return Tagger(template=template, like=like, tol=1e-9, dtype="float64", **more).fit(X, y)


def figures(tagger: Tagger) -> tuple[int, float]:
    return tagger.model_.record["n_features"], tagger.model_.record["objective"]


# ---------------------------------------------------------------------- CRF++

PLAIN = """\
# words, pairs of words and label pairs
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[-1,0]/%x[0,0]
U05:%x[0,0]/%x[1,0]/%x[1,1]
U06:%x[0,1]

B
"""
SHARED = """\
U:%x[-1,0]
U:%x[0,0]
U:%x[1,0]
U:%x[1,0]
U%x[0,1]%x[1,1]
U7:%x[-3,1]/%x[0,0]
U
B
B2
B3:%x[0,1]
B3:%x[-1,1]
B
"""


@pytest.mark.parametrize(
    ("template", "least", "features", "objective"),
    [(PLAIN, 1, 1647, 55.60749), (PLAIN, 2, 594, 69.51727), (SHARED, 1, 657, 70.39383), (SHARED, 2, 474, 75.12310)],
)
def test_crfpp(template, least, features, objective):
    # its -f is min_count, its -c C is l2 = 1 / C
    ours = figures(fitted(template, "crf++", l2=0.5, min_count=least))
    assert ours == (features, pytest.approx(objective, rel=1e-6))


def test_crfpp_on_conll2000(tmp_path):
    data = first_sentences(corpus_folder("conll2000") / "train.txt", 200, tmp_path)
    (tmp_path / "template").write_text(PLAIN)
    found = trained(tmp_path, data, "crf++", 0.5)
    features, objective = CONLL["crf++"]
    assert (found["n_features"], found["objective"]) == (features, pytest.approx(objective, rel=2e-4))


# ---------------------------------------------------------------------- Wapiti

PATTERNS = """\
# a comment
*
U:word=%x[0,0]    # the word itself
u:low-1=%X[-1,0]
u:low=%X[0,0]
*:tag+1=%x[1,1]
*:caps=%t[-1,0,"\\u"]/%t[1,0,"^\\u*$"]
*:punct=%t[-1,0,"\\p"]
*:digit=%t[1,0,"\\d"]
u:pre=%m[0,0,"^.?.?"]
*:suf=%M[0,0,".?.?$"]
u:low-run=%m[1,0,"\\l*\\L"]
u:rest=%m[0,0,"[-/]*$"]
u:not=%t[0,0,"^\\A"]
u:far=%x[-6,0]|%x[5,1]
"""
ALIKE = """\
u:%x[-1,0]
U:%x[0,0]
U:%X[0,0]
u:%m[0,0,"é?."]
*:%x[1,1]%x[0,1]
b:%t[-1,0,"x"]
b
*
b
"""


@pytest.mark.parametrize(("template", "features", "objective"), [(PATTERNS, 936, 94.95), (ALIKE, 498, 85.74)])
def test_wapiti(template, features, objective):
    # its -2 is l2, its -1 is l1; it prints two decimals
    assert figures(fitted(template, "wapiti", l2=0.5)) == (features, pytest.approx(objective, abs=0.006))


def test_wapiti_on_conll2000(tmp_path):
    data = first_sentences(corpus_folder("conll2000") / "train.txt", 200, tmp_path)
    (tmp_path / "template").write_text(PATTERNS)
    found = trained(tmp_path, data, "wapiti", 0.5)
    features, objective = CONLL["wapiti"]
    assert (found["n_features"], found["objective"]) == (features, pytest.approx(objective, rel=2e-4))


@pytest.mark.parametrize(
    ("pattern", "word", "found"),
    [
        ("^.?.?", "abc", "ab"),
        ("^.?.?.?", "éa", "éa"),
        ("^.?.?.?", "éé", "é\\xc3"),  # three bytes
        (".*b", "abb", "ab"),  # a star takes as little as it can
        ("b*$", "abb", "bb"),
        ("a+", "a+", "a+"),
        ("[ab]", "a", None),
        ("a$b", "a$b", "a$b"),
        ("x^", "x^", "x^"),
        ("\\$", "a$", "$"),
        ("\\u", "É", None),
        ("\\U", "A", None),
        ("\\U", "É", "\\xc3"),
        ("\\p", "a_b", "_"),
        ("\\W\\W", "–", "\\xe2\\x80"),
        ('\\"', 'a"', '"'),
        ("", "abc", ""),
        (".?b", "bcd", "bc"),  # Wapiti counts the b it tried behind the optional part as well: two bytes
        ("a?ab", "abcd", "abc"),
    ],
)
def test_patterns_of_wapiti(pattern, word, found):
    assert bytewise.match(pattern, word) == (found or "")
    assert bytewise.test(pattern, word) == str(found is not None).lower()


@pytest.mark.parametrize("pattern", ["*", "^?", "a**", "a?*", "ab??"])
def test_patterns_that_wapiti_refuses(pattern):
    with pytest.raises(LoglinError, match="repeats nothing"):
        bytewise.compile_bytes(pattern)


def test_lower_case_of_ascii_alone():
    assert bytewise.ascii_lower("AÉz") == "aÉz"


# ---------------------------------------------------------------------- CRFsuite


def crfsuite(X, y, path, **parameters) -> tuple[int, float, object]:
    """Features and objective of python-crfsuite, and its tagger."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)
    trainer.set_params({"c1": 0, "c2": 0.25, "epsilon": 1e-9, "delta": 1e-9, "max_iterations": 5000, **parameters})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return trainer.logparser.featgen_num_features, float(trainer.logparser.last_iteration["loss"]), tagger


def attributes(sentence) -> list[list[str]]:
    """What people give CRFsuite for the template CONTEXT: nothing for places outside the sentence."""
    rows = []
    for t, (word, _, _) in enumerate(sentence):
        row = [f"U0:{word}", f"U1:{word[-2:]}"]
        row += [f"U2:{sentence[t + d][0]}" for d in (-1, 1) if 0 <= t + d < len(sentence)]
        row += [f"U3:{sentence[t - 1][1]}/{sentence[t][1]}"] if t else ["U4"]
        rows.append(row)
    return rows


CONTEXT = """\
U0:%x[0,0]
U1:%suffix[0,0,2]
U2:%x[-1,0]
U2:%x[1,0]
U3:%x[-1,1]/%x[0,1]
U4:%edge[-1,0]
"""


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({}, {}),
        ({"feature.possible_transitions": 1}, {"all_pairs": True}),
        ({"feature.possible_states": 1, "feature.possible_transitions": 1}, {"all_features": True}),
        ({"feature.minfreq": 3}, {"cutoff": 3}),
    ],
)
def test_crfsuite(tmp_path, theirs, ours):
    y = [[label for *_, label in s] for s in sentences()]
    n, objective, peer = crfsuite([attributes(s) for s in sentences()], y, tmp_path / "model", **theirs)
    tagger = fitted(CONTEXT, "crfsuite", l2=0.5, **ours)  # its c2 is half of l2
    assert figures(tagger) == (n, pytest.approx(objective, rel=1e-6))
    other = sentences()[::-1]
    want = [peer.tag(attributes(s)) for s in other]
    assert tagger.predict([[(w, t) for w, t, _ in s] for s in other]) == want
    given = Tagger(like="crfsuite", l2=0.5, tol=1e-9, dtype="float64", **ours)
    assert figures(given.fit([attributes(s) for s in sentences()], y)) == (n, pytest.approx(objective, rel=1e-6))


@pytest.mark.parametrize("least", [1, 2])
def test_crfsuite_counts_features_by_their_values(tmp_path, least):
    draw = random.Random(1)
    X = [[{w: round(draw.uniform(-1, 2), 1), t: 1.0} for w, t, _ in s] for s in sentences()]
    y = [[label for *_, label in s] for s in sentences()]
    theirs = crfsuite(X, y, tmp_path / "model", **({} if least == 1 else {"feature.minfreq": least}))
    ours = Tagger(like="crfsuite", l2=0.5, tol=1e-9, dtype="float64", cutoff=least).fit(X, y)
    assert figures(ours) == (theirs[0], pytest.approx(theirs[1], rel=1e-6))
    if least == 1:
        assert figures(Tagger(l2=0.5).fit(X, y))[0] > theirs[0]  # it leaves out features whose values sum below 0


# ---------------------------------------------------------------------- in all of them


@pytest.mark.parametrize(
    ("template", "like"), [(SHARED, "crf++"), (PATTERNS, "wapiti"), (ALIKE, "wapiti"), (CONTEXT, "crfsuite")]
)
def test_a_model_file_keeps_what_tagging_needs(tmp_path, template, like):
    tagger = fitted(template, like)
    X = [[(w, t) for w, t, _ in s] for s in sentences()]
    new = [*X, [("unseen", "N")], [("_B-1", "Q"), ("ÉLAN", "N")] * 4]
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.like == like
    assert loaded.predict(new) == tagger.predict(new)
    again = loaded.fit(X, [[label for *_, label in s] for s in sentences()])
    assert again.model_.record["n_features"] == tagger.model_.record["n_features"]
    corpus = from_sentences(X)
    trained = TemplateExtractor(parse_templates(template, like=like)).fit(corpus, fold=False)
    found = tagger.model_.extractor.transform(corpus)
    assert attribute_lists(trained.tokens) == attribute_lists(found.tokens)
    steps = np.flatnonzero(~first_tokens(corpus.offsets))
    pairs = zip(attribute_lists(trained.bigrams), attribute_lists(found.bigrams), strict=True)
    assert all(a == b for t, (a, b) in enumerate(pairs) if t in steps)


def attribute_lists(incidence) -> list[list[int]]:
    cuts = incidence.ptr.tolist()
    return [sorted(a for a in incidence.ids[b:e].tolist() if a >= 0) for b, e in itertools.pairwise(cuts)]


def test_names_and_selection_where_templates_share_attributes():
    extractor = TemplateExtractor(parse_templates("U:%x[-1,0]\nU:%x[0,0]\nU2:%x[0,0]\nB", like="crf++"))
    design = extractor.fit(from_sentences([["a", "b"], ["b"]]))
    names = [extractor.attribute_name(a) for a in range(extractor.n_attributes)]
    assert names == ["U:_B-1", "U:a", "U:b", "U2:a", "U2:b"]
    assert extractor.template_of("unigram").tolist() == [0, 0, 1, 2, 2]
    assert attribute_lists(design.unfolded()) == [[0, 1, 3], [1, 2, 4], [0, 2, 4]]
    some = extractor.select(np.array([True, False, True, False, True]), np.empty(0, bool))
    assert [some.attribute_name(a) for a in range(some.n_attributes)] == ["U:_B-1", "U:b", "U2:b"]
    assert attribute_lists(some.transform(from_sentences([["a", "b"], ["b"]])).tokens) == [[0], [1, 2], [0, 1, 2]]
    numbers = np.full(extractor.n_attributes, -1)
    extractor.match(some, "unigram", numbers)
    assert numbers.tolist() == [0, -1, 1, -1, 2]


def test_weights_of_a_model_that_shares_attributes_go_on(tmp_path):
    first = fitted(SHARED, "crf++", l2=0.5)
    more = fitted(SHARED, "crf++", l2=0.5, max_iter=1, warm_start=True)
    X, y = [[(w, t) for w, t, _ in s] for s in sentences()], [[label for *_, label in s] for s in sentences()]
    more.fit(X, y, start=first.model_)
    assert more.model_.record["objective"] == pytest.approx(first.model_.record["objective"], rel=1e-6)


def test_options_come_on_top():
    assert parse_templates("U0:%x[-2,0]\nB\n#! labels=seen B\n", like="crf++").templates[1].labels == "seen"
    assert parse_templates("U0:%x[-2,0]\nB\n#! boundary=side", like="crf++").boundary == "side"
    said = parse_templates("#! like=wapiti\nU0:%x[0,0]", like="wapiti")
    assert (said.like, said.lines) == ("wapiti", ("#! like=wapiti", "U0:%x[0,0]"))
    assert parse_templates("U0:%x[0,0]", like="wapiti").lines == said.lines[::-1]


@pytest.mark.parametrize(
    ("template", "like", "parts"),
    [
        ("U0:%x[0,0]\nT", "crf++", ["line 2", "'T'", "U or B"]),
        ("*:%x[0,0]", "crf++", ["'*'", "U or B"]),
        ("U0:%suffix[0,0,2]", "crf++", ["crf++ has no '%suffix[0,0,2]'", "%x"]),
        ("U0:%x[-9,0]", "crf++", ["9 tokens", "goes to 8"]),
        ("U0:%x[0,0]\nT", "wapiti", ["'T'", "U, B or *"]),
        ('U0:%if[0,0,"a"]', "wapiti", ["%x, %X, %t, %T, %m, %M"]),
        ('U0:%t[0,0,"*"]', "wapiti", ["repeats nothing"]),
        ("U0:%t[0,0]", "wapiti", ["quoted pattern"]),
        ("U0:%X[0,0,1]", "wapiti", ["too many"]),
        ("B0:%x[0,0]", "crfsuite", ["crosses label pairs", "write B"]),
        ("#! like=crf++\nU0:%x[0,0]", "wapiti", ["crf++ and like wapiti", "choose one"]),
        ("#! like=none\nU0:%x[0,0]", "wapiti", ["choose one"]),
        ("#! like=mallet\nU0:%x[0,0]", None, ["like=mallet", "no option"]),
        ("U0:%x[0,0]", "mallet", ["'mallet'", "crf++, wapiti, crfsuite"]),
    ],
)
def test_what_a_tool_cannot_read(template, like, parts):
    with pytest.raises(LoglinError) as refused:
        Tagger(template=template, like=like).fit([["a", "b"]], [["X", "Y"]])
    for part in parts:
        assert part in str(refused.value)


def test_where_like_makes_no_sense():
    with pytest.raises(LoglinError, match="takes templates"):
        Tagger(like="crf++").fit([[["a"]]], [["X"]])
    with pytest.raises(LoglinError, match="hidden labels"):
        Tagger("contrastive", like="crf++", template=PLAIN).fit([["a"]])
    counted = Tagger("m-estimation", settings={"base": "hmm"}, like="crf++", template="U0:%x[0,0]\nB")
    with pytest.raises(LoglinError, match="base model"):
        counted.fit([["a", "b"]], [["X", "Y"]])


def first_sentences(path, n, folder):
    """The first sentences of a corpus as a file."""
    content = path.read_text().split("\n\n")[:n]
    (folder / "data").write_text("\n\n".join(content) + "\n\n")
    return folder / "data"


def trained(folder, data, like, l2) -> dict:
    words = ["train", data, "--template", folder / "template", "--like", like, "--l2", l2, "--tol", 1e-6]
    return json.loads(run(*words, "--dtype", "float64", "--json", "-o", folder / "model"))
