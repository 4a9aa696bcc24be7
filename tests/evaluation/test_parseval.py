"""Brackets compared: counts by hand, evalb's sample behaviour, evalb's procedure as an oracle, what is refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from loglin.corpus.trees import Tree, read_trees
from loglin.errors import LoglinError
from loglin.evaluation.trees import (
    CONVENTIONS,
    PUNCTUATION,
    Conventions,
    compare_parsers,
    crossing_brackets,
    evaluate_trees,
    score_sentence,
)
from support.corpora import corpus_folder

EVALB, PLAIN = CONVENTIONS["evalb"], CONVENTIONS["plain"]
DELETED = ("TOP", "ROOT", "S1", "", "-NONE-", *PUNCTUATION)
GOLD = "(S (NP (PRP it)) (VP (VBZ is) (NP (DT a) (NN pun))))"


def counts(gold: str, found: str, conventions: Conventions = EVALB):
    s = score_sentence(Tree.parse(gold), Tree.parse(found), conventions)
    assert not s.error, s.error
    return s.correct.total(), s.gold.total(), s.found.total(), s.crossing, s.words, s.tags


@pytest.mark.parametrize(
    ("found", "expected"),  # matched, gold, test, crossing, words, tags: as evalb's own sample has them
    [
        (GOLD, (4, 4, 4, 0, 4, 4)),
        ("(S (NP (PRP it)) (VP (VBZ is) (XP (DT a) (NN pun))))", (3, 4, 4, 0, 4, 4)),  # another label
        ("(S (NP (PRP it)) (VP (VBZ is) (NP (DT a) (VB pun))))", (4, 4, 4, 0, 4, 3)),  # another tag
        ("(S (NP (PRP it)) (VP (VBZ is) (DT a) (NP (NN pun))))", (3, 4, 4, 0, 4, 4)),  # another span
        ("(S (NP (PRP it) (VBZ is)) (NP (DT a) (NN pun)))", (2, 4, 3, 1, 4, 4)),  # a crossing one
        ("(S (PRP it) (VBZ is) (DT a) (NN pun))", (1, 4, 1, 0, 4, 4)),  # flat
        ("(S (NP (PRP it)) (VP (VBZ is) (NP (NP (DT a) (NN pun)))))", (4, 4, 5, 0, 4, 4)),  # one twice
        ("(S (NP (PRP it)) (VP (VBZ is) (NP (NP (NP (NP (NP (DT a) (NN pun))))))))", (4, 4, 8, 0, 4, 4)),
        (f"(TOP {GOLD})", (4, 4, 4, 0, 4, 4)),
        (f"( {GOLD})", (4, 4, 4, 0, 4, 4)),
        ("(S (NP-SBJ-1 (PRP it)) (VP=2 (VBZ is) (NP (DT a) (NN pun))))", (4, 4, 4, 0, 4, 4)),
        ("(S (NP (PRP it)) (VP (VBZ is) (NP (DT a) (NN pun))) (-NONE- *))", (4, 4, 4, 0, 4, 4)),
        ("(S (NP (PRP it)) (VP (VBZ is) (SBAR (-NONE- 0)) (NP (DT a) (NN pun))) (: *))", (4, 4, 4, 0, 4, 4)),
    ],
)
def test_one_sentence_by_hand(found, expected):
    assert counts(GOLD, found) == expected
    matched, gold, guessed, _, words, tags = expected  # the same the other way round, but for what crosses
    assert counts(found, GOLD)[:3] == (matched, guessed, gold)
    assert counts(found, GOLD)[4:] == (words, tags)


def test_of_equal_brackets_as_many_agree_as_both_have():
    twice, thrice = "(S (NP (NP (NN a))))", "(S (NP (NP (NP (NN a)))))"
    assert counts(twice, thrice)[:3] == (3, 3, 4)
    assert counts(thrice, twice)[:3] == (3, 4, 3)
    between = "(S (NP (VP (NP (NN a)))))"  # the order in a chain does not matter
    assert counts(between, "(S (VP (NP (NP (NN a)))))")[:3] == (4, 4, 4)


def test_punctuation_is_no_word():
    gold = "(S (NP (NN a) (, ,)) (VP (VB b)) (. .))"
    assert counts(gold, "(S (NP (NN a)) (, ,) (VP (VB b) (. .)))")[:5] == (3, 3, 3, 0, 2)
    strict = Conventions(punctuation=())
    assert counts(gold, "(S (NP (NN a)) (, ,) (VP (VB b) (. .)))", strict)[:5] == (1, 3, 3, 0, 4)
    assert counts("(S (NN a) (PRN (: --)))", "(S (NN a) (: --))")[:3] == (1, 1, 1)  # nothing is left of PRN


def test_whose_tags_tell_punctuation():
    gold, found = "(S (NP (NN a) (, ,)) (VP (VB b)))", "(S (NP (NN a)) (VP (NN ,) (VB b)))"
    score = score_sentence(Tree.parse(gold), Tree.parse(found), EVALB)
    assert score.error == "the gold tree has 2 words that count, the other 3"
    assert counts(gold, found, PLAIN) == (3, 3, 3, 0, 2, 2)
    both = "(S (-NONE- 0) (NP (NN a) (-NONE- *)) (, ,) (VP (VB b)))"
    assert counts(gold, both, PLAIN) == counts(both, gold, PLAIN) == (3, 3, 3, 0, 2, 2)


def test_labels_that_are_the_same():
    gold, found = "(S (ADVP (RB up)) (VB b))", "(S (PRT (RB up)) (VB b))"
    assert counts(gold, found)[:3] == (2, 2, 2)
    assert counts(gold, found, PLAIN)[:3] == (1, 2, 2)
    assert counts(gold, found, Conventions(equal_labels=(("X", "PRT", "ADVP"),)))[0] == 2
    tags = Conventions(equal_labels=(("NN", "NNS"),))
    assert counts("(S (NN a))", "(S (NNS a))", tags)[5] == 1
    assert counts("(S (NN a))", "(S (NNS a))")[5] == 0
    assert counts("(S (NP-SBJ (NN a)))", "(S (NP (NN a)))", Conventions(function_tags=True))[:3] == (1, 2, 2)
    assert counts("(S (A|B (NN a)))", "(S (A (NN a)))")[:3] == (1, 2, 2)  # evalb cuts at - and = alone
    assert counts("(S (-X (NN a)))", "(S (-Y (NN a)))")[:3] == (1, 2, 2)


def test_without_labels():
    unlabeled = Conventions(labeled=False)
    assert counts(GOLD, "(X (A (PRP it)) (B (VBZ is) (C (DT a) (NN pun))))", unlabeled)[:3] == (4, 4, 4)
    assert counts(GOLD, "(X (A (PRP it)) (B (VBZ is) (C (DT a) (NN pun))))")[:3] == (0, 4, 4)
    assert counts(GOLD, f"(TOP {GOLD})", unlabeled)[:3] == (4, 4, 4)  # TOP is none even then


def test_root_labels():
    assert counts(f"(ROOT {GOLD})", GOLD)[:3] == (4, 4, 4)
    assert counts(f"(ROOT {GOLD})", GOLD, PLAIN)[:3] == (4, 5, 4)
    assert counts(f"( {GOLD})", GOLD, PLAIN)[:3] == (4, 4, 4)


def test_crossing_is_counted_once_a_found_bracket():
    gold = [("S", 0, 6), ("A", 0, 2), ("B", 2, 4), ("C", 4, 6)]
    found = [("S", 0, 6), ("X", 1, 5), ("X", 1, 5), ("Y", 2, 6), ("Z", 3, 4)]
    assert crossing_brackets(gold, found) == 2
    assert crossing_brackets(found, gold) == 2  # A and C cross X; neither crosses Y


# ---------------------------------------------------------------------- against evalb's procedure

LABELS = ["S", "NP", "NP-SBJ", "VP=1", "ADVP", "PRT", "TOP", "-X-"]
TAGS = ["NN", "VB", ",", ".", "``", "-NONE-", "-LRB-"]


@st.composite
def trees_of(draw, words: list[str], tags: list[str]) -> str:
    """A random tree over these words."""
    parts = [f"({tag} {word})" for word, tag in zip(words, tags, strict=True)]
    for _ in range(draw(st.integers(0, 8))):
        i = draw(st.integers(0, len(parts) - 1))
        j = draw(st.integers(i + 1, len(parts)))
        parts[i:j] = [f"({draw(st.sampled_from(LABELS))} {' '.join(parts[i:j])})"]
    return f"({draw(st.sampled_from(['S', 'TOP', 'ROOT', '']))} {' '.join(parts)})"


@st.composite
def pairs(draw) -> tuple[str, str]:
    words = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
    tags = [draw(st.sampled_from(TAGS)) for _ in words]
    others = [draw(st.sampled_from(["NN", "VB"])) if tag in ("NN", "VB") else tag for tag in tags]
    if draw(st.integers(0, 9)) == 0:
        others[0] = draw(st.sampled_from(TAGS))
    return draw(trees_of(words, tags)), draw(trees_of(words, others))


@given(pairs(), st.booleans())
def test_counts_are_those_of_evalb(pair, labeled):
    gold, found = pair
    expected = oracle.evalb(gold, found, DELETED, {("ADVP", "PRT")}, labeled)
    score = score_sentence(Tree.parse(gold), Tree.parse(found), Conventions(labeled=labeled))
    if expected is None:
        assert score.error
        assert (score.found.total(), score.correct.total(), score.tags) == (0, 0, 0)
        return
    got = {name: getattr(score, name).total() for name in ("gold", "found", "correct")}
    assert got | {name: getattr(score, name) for name in ("crossing", "words", "tags", "length")} == expected
    assert score.exact == (expected["gold"] == expected["found"] == expected["correct"])


def mutated(tree: Tree, rng: random.Random) -> Tree:
    """Some nodes spliced out, some labels changed."""
    children: list[Tree] = []
    for child in tree.children:
        new = mutated(child, rng)
        children += new.children if new.children and rng.random() < 0.15 else [new]
    label = rng.choice(["NP", "VP", "PRT"]) if tree.children and rng.random() < 0.1 else tree.label
    return Tree(label, tuple(children), tree.word)


def test_totals_on_a_treebank():
    gold = read_trees(corpus_folder("treebank"))[:400]
    rng = random.Random(1)
    found = [mutated(tree, rng) for tree in gold]
    rows = [oracle.evalb(str(g), str(f), DELETED, {("ADVP", "PRT")}) for g, f in zip(gold, found, strict=True)]
    assert None not in rows
    for most in (None, 15):
        kept = [r for r in rows if most is None or r["length"] <= most]
        report = evaluate_trees(gold, found, max_length=most)
        total = {name: sum(r[name] for r in kept) for name in ("gold", "found", "correct", "crossing", "words", "tags")}
        assert (report.gold, report.found, report.correct) == (total["gold"], total["found"], total["correct"])
        assert report.precision == pytest.approx(total["correct"] / total["found"])
        assert report.recall == pytest.approx(total["correct"] / total["gold"])
        assert report.crossing == pytest.approx(total["crossing"] / len(kept))
        assert report.no_crossing == pytest.approx(np.mean([r["crossing"] == 0 for r in kept]))
        assert report.few_crossing == pytest.approx(np.mean([r["crossing"] <= 2 for r in kept]))
        assert report.tagging == 1.0
        assert 0.5 < report.interval[0] < report.f1 < report.interval[1] < 0.99
        exact = [r["gold"] == r["found"] == r["correct"] for r in kept]
        assert report.exact == pytest.approx(np.mean(exact))
    perfect = evaluate_trees(gold, gold)
    assert (perfect.f1, perfect.exact, perfect.sentence_f1, perfect.interval) == (1, 1, 1, (1, 1))


# ---------------------------------------------------------------------- reports

FOUND = [
    GOLD,
    "(S (NP (PRP it) (VBZ is)) (NP (DT a) (NN pun)))",
    "(S (NP (PRP it)) (VP (VBZ is) (NP (DT a) (NN joke))))",
    "(S (NP (PRP it)) (VP (VBZ was)))",
]


def report(conventions=EVALB, **options):
    found = [Tree.parse(text) for text in FOUND] + [None]
    return evaluate_trees([Tree.parse(GOLD)] * 5, found, conventions, **options)


def test_a_report_by_hand():
    r = report(complete=[True, False, True, True, True])
    assert (r.sentences, r.compared, r.incomplete) == (5, 2, 1)
    assert (r.gold, r.found, r.correct) == (8, 7, 6)
    assert (r.precision, r.recall, r.f1) == pytest.approx((6 / 7, 6 / 8, 12 / 15))
    assert r.sentence_f1 == pytest.approx((1 + 4 / 7) / 2)
    assert (r.exact, r.crossing, r.no_crossing, r.few_crossing) == (0.5, 0.5, 0.5, 1.0)
    assert r.errors == [
        (3, "word 4 is 'pun' in the gold tree but 'joke' in the other"),
        (4, "the gold tree has 4 words that count, the other 2"),
        (5, "there is no parse"),
    ]
    assert r.by_label["NP"] == {
        "precision": 3 / 4,
        "recall": 3 / 4,
        "f1": 3 / 4,
        "support": 4,
        "found": 4,
        "correct": 3,
    }
    assert list(r.by_label) == ["NP", "S", "VP"]
    assert r.up_to["all"] == r.up_to["≤ 10"]
    assert r.up_to["all"]["sentences"] == 2


def test_what_cannot_be_compared_may_count():
    r = report(PLAIN)
    assert (r.sentences, r.compared) == (5, 5)
    assert (r.gold, r.found, r.correct) == (20, 7, 6)
    assert (r.exact, r.no_crossing, r.few_crossing) == (0.2, 0.2, 0.4)
    assert r.sentence_f1 == pytest.approx((1 + 4 / 7) / 5)
    assert r.tagging == 8 / 20
    assert [number for number, _ in r.errors] == [3, 4, 5]


def test_text_and_json():
    r = report(complete=[True, False, True, True, True])
    text = r.report(by_label=True, by_length=True)
    assert "processed 5 sentences with 8 brackets; found: 7; correct: 6." in text
    assert "precision: 85.71%; recall: 75.00%; F1: 80.00 (95 % interval" in text
    assert "exact match: 50.00%; tagging accuracy: 100.00% of 8 words" in text
    assert "crossing brackets: 0.50 a sentence; none: 50.00%; at most 2: 100.00%" in text
    assert "incomplete parses: 1" in text
    assert "left out: 3 of the sentences; the first is sentence 3: word 4 is 'pun'" in text
    assert "NP         75.00      75.00      75.00          4          4" in text
    assert "1–10       85.71      75.00      80.00          2      50.00" in text
    value = json.loads(json.dumps(r.as_dict(), allow_nan=False))
    assert (value["f1"], value["errors"][2]) == (r.f1, [5, "there is no parse"])
    assert value["conventions"]["punctuation"] == list(PUNCTUATION)
    assert "scores" not in value
    assert "counted as having no brackets: 3" in report(PLAIN).report()


def test_lengths():
    trees = [Tree.parse(f"(S {' '.join(['(NN w)'] * n)} (. .))") for n in (9, 10, 19, 44)]
    r = evaluate_trees(trees, trees)
    assert {name: row["sentences"] for name, row in r.up_to.items()} == {"≤ 10": 1, "≤ 15": 2, "≤ 40": 3, "all": 4}
    assert {name: row["sentences"] for name, row in r.by_length.items()} == {"1–10": 1, "11–20": 2, "41–50": 1}
    assert evaluate_trees(trees, trees, max_length=11).sentences == 2
    assert list(evaluate_trees(trees, trees, lengths=(20,)).up_to) == ["≤ 20", "all"]


def test_nothing_to_compare():
    for trees in ([], [Tree.parse("(S (. .))")]):  # no brackets at all
        r = evaluate_trees(trees, trees)
        assert (r.precision, r.recall, r.f1, r.interval) == (0, 0, 0, (0, 0))
        assert (r.exact, r.sentence_f1) == ((1.0, 1.0) if trees else (0.0, 0.0))
        json.dumps(r.as_dict(), allow_nan=False)
        assert "nan" not in r.report(by_label=True, by_length=True)


def test_the_interval_is_that_of_drawn_sentences():
    gold = [Tree.parse(GOLD)] * 30
    found = [Tree.parse(FOUND[k % 2]) for k in range(30)]
    rng, drawn = np.random.default_rng(7), []
    for _ in range(200):
        chosen = rng.integers(0, 30, 30)
        drawn.append(evaluate_trees(gold, [found[k] for k in chosen], resamples=1).f1)
    r = evaluate_trees(gold, found, resamples=200, seed=7)
    assert r.interval == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_two_parsers():
    gold = [Tree.parse(GOLD)] * 40
    good = [Tree.parse(FOUND[0 if k % 10 else 1]) for k in range(40)]
    bad = [Tree.parse(FOUND[k % 2]) for k in range(40)]
    result = compare_parsers(gold, good, bad, resamples=300, names=("good", "bad"))
    assert (result.first, result.second) == pytest.approx(tuple(evaluate_trees(gold, t).f1 for t in (good, bad)))
    assert (result.mcnemar.only_first, result.mcnemar.only_second) == (20, 4)
    assert result.t_test.mean == pytest.approx((16 - 0) * 3 / 40)  # two gold brackets missed and one wrong a sentence
    assert result.verdict().startswith("good is better")
    assert "F1 of brackets" in result.report()
    assert "wrong brackets a sentence fewer in the first" in result.report()
    # a sentence that one of them lets nobody compare is left out of both
    missing = compare_parsers(gold, good, [None, *bad[1:]], resamples=20)
    assert missing.sentences == 39
    assert compare_parsers(gold, good, [None, *bad[1:]], PLAIN, resamples=20).sentences == 40
    assert compare_parsers([*gold, Tree.parse("(S (NN a))")], [*good, None], [*bad, None], resamples=9).sentences == 40


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: evaluate_trees([Tree.parse(GOLD)], []), ["1 gold trees", "0 others"]),
        (lambda: evaluate_trees([], [], complete=[True]), ["0 gold trees"]),
        (lambda: compare_parsers([Tree.parse(GOLD)], [None], [None]), ["no sentence", "same words"]),
        (lambda: compare_parsers([Tree.parse(GOLD)], [], [None]), ["1 gold trees"]),
        (lambda: Conventions(punctuation_of="both"), ["'both'", "'each' or 'gold'"]),
        (lambda: Conventions(punctuation=".,"), ["punctuation", "'.,'", "tuple"]),
    ],
)
def test_refusals(call, parts):
    with pytest.raises(LoglinError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
