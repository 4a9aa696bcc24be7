"""loglin parse-eval, parse and parse-train: what they print, write and refuse."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from loglin.cli.main import cli
from loglin.corpus.trees import Tree, parse_trees, read_trees, write_trees
from loglin.criteria.registry import criteria
from loglin.drawing.trees import draw
from loglin.estimators import Parser
from loglin.evaluation.trees import CONVENTIONS, compare_parsers, evaluate_trees
from loglin.generative.pcfg import PCFG
from support.shell import refused, run

GOLD = """\
(TOP (S (NP-SBJ (PRP it)) (VP (VBZ is) (NP (DT a) (NN pun))) (. .)))
(TOP (S (NP (NNS dogs))
        (VP (VBP bark) (PRT (RP on)))))
(TOP (NP (DT the) (JJ odd) (NN end)))
"""
FOUND = """\
(S (NP (PRP it)) (VP (VBZ is) (NP (DT a) (NN pun)) (. .)))
(S (NP (NNS dogs)) (VP (VBP bark)) (ADVP (RB on)))
(FRAG (DT the) (NP (JJ odd) (NN end)))
"""
OTHER = "(S (PRP it) (VBZ is) (DT a) (NN pun) (. .))\n\n(NP (DT the) (JJ odd) (NN end))\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("gold.mrg", GOLD), ("found.txt", FOUND), ("other.txt", OTHER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def trees(text: str) -> list[Tree | None]:
    return [Tree.parse(line) if line else None for line in text.splitlines()]


RIGHT = list(parse_trees(GOLD))


# ---------------------------------------------------------------------- parse-eval


def test_two_files(folder):
    expected = evaluate_trees(RIGHT, trees(FOUND))
    assert (expected.gold, expected.found, expected.correct) == (9, 10, 7)  # by hand: ADVP is PRT
    assert run("parse-eval", "gold.mrg", "found.txt") == expected.report() + "\n"
    both = expected.report(by_label=True, by_length=True) + "\n"
    assert run("parse-eval", "gold.mrg", "found.txt", "--by-label", "--by-length") == both
    assert json.loads(run("parse-eval", "gold.mrg", "found.txt", "--json")) == json.loads(
        json.dumps(expected.as_dict())
    )
    assert run("parse-eval", folder, "found.txt") == expected.report() + "\n"  # the folder's gold.mrg
    assert run("parse-eval", "gold.mrg", "-", given=FOUND) == expected.report() + "\n"


def test_other_conventions(folder):
    def f1(*options):
        return json.loads(run("parse-eval", "gold.mrg", "found.txt", "--json", *options))["f1"]

    assert f1("--conventions", "plain") == evaluate_trees(RIGHT, trees(FOUND), CONVENTIONS["plain"]).f1 == 12 / 22
    assert f1("--unlabeled") == 16 / 19
    assert f1("--max-length", 3) == evaluate_trees(RIGHT[1:], trees(FOUND)[1:]).f1
    assert f1("--resamples", 10, "--seed", 3) == f1()


def test_a_blank_line_is_a_sentence_without_a_parse(folder):
    value = json.loads(run("parse-eval", "gold.mrg", "other.txt", "--json"))
    assert (value["sentences"], value["compared"]) == (3, 2)
    assert value["errors"] == [[2, "there is no parse"]]
    plain = json.loads(run("parse-eval", "gold.mrg", "other.txt", "--json", "--conventions", "plain"))
    assert (plain["sentences"], plain["compared"]) == (3, 3)
    assert "left out: 1 of the sentences" in run("parse-eval", "gold.mrg", "other.txt")


def test_against_another_parser(folder):
    options = ("--against", "other.txt", "--resamples", 50, "--seed", 2)
    expected = compare_parsers(
        RIGHT, trees(FOUND), trees(OTHER), names=("found.txt", "other.txt"), resamples=50, seed=2
    )
    assert run("parse-eval", "gold.mrg", "found.txt", *options).endswith(f"\n\n{expected.report()}\n")
    value = json.loads(run("parse-eval", "gold.mrg", "found.txt", "--json", *options))
    assert value["comparison"] == json.loads(json.dumps(expected.as_dict()))
    assert value["comparison"]["sentences"] == 2


def test_what_parse_eval_refuses(folder):
    (folder / "short.txt").write_text("(S (PRP it))\n")
    (folder / "broken.txt").write_text("(S (PRP it)\n")
    (folder / "empty.txt").write_text("")
    (folder / "bare.txt").write_text("it is\n")
    for name, parts in {
        "short.txt": ("short.txt has 1 trees but gold.mrg has 3", "a tree for every sentence"),
        "broken.txt": ("broken.txt, line 1", "never closed"),
        "empty.txt": ("empty.txt has 0 trees",),
        "bare.txt": ("bare.txt, line 1", "'it' stands outside"),
        "nowhere.txt": ("nowhere.txt", "No such file"),
    }.items():
        refused(folder, ["parse-eval", "gold.mrg", name], *parts)
        refused(folder, ["parse-eval", "gold.mrg", "found.txt", "--against", name], *parts)
    refused(folder, ["parse-eval", "empty.txt", "found.txt"], "empty.txt", "no words in brackets")
    refused(folder, ["parse-eval", "gold.mrg", "found.txt", "--max-length", "0"], "--max-length")
    refused(folder, ["parse-eval", "gold.mrg", "found.txt", "--conventions", "mine"], "--conventions")
    refused(folder, ["parse-eval", "gold.mrg", "found.txt", "--encoding", "nonsense"], "'nonsense'")


# ---------------------------------------------------------------------- parse

# a telescope is seen with, rather than by the crow: 0.3 against 0.1
GRAMMAR = """
S -> NP VP [1.0]
NP -> DT NN [0.6] | PRP [0.3] | NP PP [0.1]
VP -> VBD NP [0.7] | VP PP [0.3]
PP -> IN NP [1.0]
DT -> 'a' [1.0]
NN -> 'crow' [0.5] | 'telescope' [0.25] | '-LRB-x-RRB-' [0.25]
PRP -> 'she' [1.0]
VBD -> 'saw' [1.0]
IN -> 'with' [1.0]
"""
SENTENCE = "she saw a crow with a telescope"
BEST = "(S (NP (PRP she)) (VP (VP (VBD saw) (NP (DT a) (NN crow))) (PP (IN with) (NP (DT a) (NN telescope)))))"
SECOND = "(S (NP (PRP she)) (VP (VBD saw) (NP (NP (DT a) (NN crow)) (PP (IN with) (NP (DT a) (NN telescope))))))"
SHORT = "(S (NP (PRP she)) (VP (VBD saw) (NP (PRP she))))"


@pytest.fixture
def grammar(folder):
    (folder / "toy.grammar").write_text(GRAMMAR)
    (folder / "raw.txt").write_text(f"{SENTENCE}\n\n#! topic=1\na zebra saw\nshe saw a (x)\n")
    return folder


def log_p(*factors):
    return math.fsum(map(math.log, factors))


SHORT_SCORE = log_p(0.3, 0.7, 0.3)


def test_parse_writes_a_tree_a_line(grammar):
    result = CliRunner().invoke(cli, ["parse", "toy.grammar", "raw.txt"])
    assert result.exit_code == 0
    first, blank, attributes, cover, last = result.stdout.splitlines()
    assert (first, blank, attributes) == (BEST, "", "#! topic=1")
    assert Tree.parse(cover).words() == ["a", "zebra", "saw"]
    assert last == "(S (NP (PRP she)) (VP (VBD saw) (NP (DT a) (NN -LRB-x-RRB-))))"
    assert result.stderr.startswith(
        "loglin: 1 of 3 sentences have no complete parse; the first is raw.txt, line 4: the grammar has no tree"
    )
    assert "'zebra'" in result.stderr
    assert run("parse", "toy.grammar", "-o", "out.txt", given="she saw she\n") == ""
    assert (grammar / "out.txt").read_text() == f"{SHORT}\n"
    (grammar / "gold.mrg").write_text(f"( {SECOND})\n(S (NP (PRP she) (-NONE- *)) (VP (VBD saw) (NP (PRP she))))")
    assert run("parse", "toy.grammar", "gold.mrg") == f"{BEST}\n{SHORT}\n"
    assert run("parse", "toy.grammar", given="she saw she\n") == f"{SHORT}\n"


def test_the_best_trees_with_their_probabilities(grammar):
    best, second, blank = run("parse", "toy.grammar", "--nbest", 5, given=f"{SENTENCE}\n").split("\n")[:3]
    assert [line.split("\t")[1] for line in (best, second)] == [BEST, SECOND]
    assert [float(line.split("\t")[0]) for line in (best, second)] == pytest.approx([0.75, 0.25], abs=1e-6)
    assert blank == ""


def test_probabilities_of_phrases(grammar):
    tree, *phrases = run("parse", "toy.grammar", "--probabilities", given=f"{SENTENCE}\n").rstrip("\n").split("\n")
    assert tree == BEST
    rows = [line.split() for line in phrases]
    assert [(label, span) for label, span, _ in rows] == [
        ("S", "0-7"), ("NP", "0-1"), ("VP", "1-7"), ("VP", "1-4"), ("NP", "2-4"), ("PP", "4-7"), ("NP", "5-7")
    ]  # fmt: skip
    assert [float(p) for *_, p in rows] == pytest.approx([1, 1, 1, 0.75, 1, 1, 1], abs=1e-6)


def test_drawings(grammar):
    text = run("parse", "toy.grammar", "--draw", "--width", 100, "--probabilities", given=f"{SENTENCE}\n")
    assert text.rstrip("\n").split("\n")[-1].split() == SENTENCE.split()
    assert "VP 0.75" in text
    assert (
        run("parse", "toy.grammar", "--draw", "--width", 100, given="she saw she\n") == f"{draw(Tree.parse(SHORT))}\n\n"
    )
    assert run("parse", "toy.grammar", "--draw", "--width", 1, given="she saw she\n").startswith("S\n├─ NP\n")
    several = run("parse", "toy.grammar", "--draw", "--width", 100, "--nbest", 2, given=f"{SENTENCE}\n")
    assert several.startswith("0.750000\n")
    assert "\n\n0.250000\n" in several


def test_parse_as_json(grammar):
    text = run("parse", "toy.grammar", "raw.txt", "--json", "--nbest", 2, "--probabilities")
    first, second, third = map(json.loads, text.splitlines())
    assert first["tokens"] == SENTENCE.split()
    assert (first["tree"], first["complete"], first["note"]) == (BEST, True, "")
    expected = log_p(0.3, 0.3, 0.7, 0.6, 0.5, 0.6, 0.25)
    assert first["score"] == pytest.approx(expected)
    assert [one["tree"] for one in first["nbest"]] == [BEST, SECOND]
    assert [one["score"] for one in first["nbest"]] == pytest.approx([expected, expected + log_p(0.1) - log_p(0.3)])
    assert [one["probability"] for one in first["nbest"]] == pytest.approx([0.75, 0.25])
    assert first["phrases"][3] == {"label": "VP", "begin": 1, "end": 4, "probability": pytest.approx(0.75)}
    assert (second["tokens"], second["complete"]) == (["a", "zebra", "saw"], False)
    assert second["score"] is None  # JSON has no infinity
    assert "zebra" in second["note"]
    assert "phrases" not in second
    assert third["tokens"] == ["she", "saw", "a", "(x)"]
    summary = json.loads(run("parse", "toy.grammar", "raw.txt", "--json", "-o", "out.jsonl"))
    assert (summary["sentences"], summary["incomplete"], summary["output"]) == (3, 1, "out.jsonl")
    assert len((grammar / "out.jsonl").read_text().splitlines()) == 3


def test_the_likeliest_spans(grammar):
    value = json.loads(run("parse", "toy.grammar", "--max-recall", "--json", given=f"a crow {SENTENCE[4:]}\n"))
    assert (value["tree"], value["score"]) == (BEST.replace("(PRP she)", "(DT a) (NN crow)"), None)
    refused(grammar, ["parse", "toy.grammar", "raw.txt", "--max-recall", "--nbest", "2"], "--max-recall", "--nbest")


def test_explanations(grammar):
    text = run("parse", "toy.grammar", "--explain", "1-4", given=f"{SENTENCE}\n")
    assert text.startswith(f"{BEST}\nVP over words 1-4: probability 0.7500\n")
    value = json.loads(run("parse", "toy.grammar", "--explain", "1-4", "--json", given=f"{SENTENCE}\n"))
    assert value["explanation"]["probability"] == pytest.approx(0.75)
    assert (value["explanation"]["begin"], value["explanation"]["end"]) == (1, 4)


def test_explanations_that_there_are_not(grammar):
    (grammar / "two.txt").write_text("she saw she\n\na crow saw she\n")
    refused(grammar, ["parse", "toy.grammar", "two.txt", "--explain", "0-2"], "two.txt, line 1", "no tree has")
    refused(grammar, ["parse", "toy.grammar", "two.txt", "--explain", "1-4"], "two.txt, line 1", "1-4", "3 words")
    refused(grammar, ["parse", "toy.grammar", "raw.txt", "--explain", "0-2"], "raw.txt, line 1", "no tree has")


def test_long_sentences_are_not_parsed(grammar):
    long = "she saw she" + " with she" * 200
    (grammar / "long.txt").write_text(f"she saw she\n{long}\n")
    result = CliRunner().invoke(cli, ["parse", "toy.grammar", "long.txt", "--memory", "1"])
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first == SHORT
    assert Tree.parse(second).words() == long.split()
    assert "1 of 2 sentences" in result.stderr
    assert "long.txt, line 2: 403 words need a chart of" in result.stderr


def test_parse_draws_a_picture(grammar):
    run("parse", "toy.grammar", "raw.txt", "--svg", "trees.svg", "--probabilities")
    root = ElementTree.parse(grammar / "trees.svg").getroot()
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert (texts.count("S"), texts.count("0.75"), texts.count("zebra")) == (3, 1, 1)
    (grammar / "many.txt").write_text("she saw she\n" * 101)
    refused(grammar, ["parse", "toy.grammar", "many.txt", "--svg", "many.svg"], "many.txt has more than 100 trees")
    refused(grammar, ["parse", "toy.grammar", "--svg", "many.svg"], "no sentence to draw")


def test_what_parse_refuses(grammar):
    (grammar / "bad.grammar").write_text("S -> NP VP [1.0]\n")
    (grammar / "loop.cfg").write_text("S -> A [1.0]\nA -> S [0.5] | 'a' [0.5]\n")
    one = ["parse", "toy.grammar", "raw.txt"]
    refused(grammar, [*one, "--explain", "2"], "'2'", "I-J")
    refused(grammar, [*one, "--explain", "2-2"], "'2-2'", "I-J")
    refused(grammar, [*one, "-o", "raw.txt"], "also an input")
    refused(grammar, [*one, "-o", "toy.grammar"], "also an input")
    refused(grammar, [*one, "--svg", "nowhere/a.svg"], "no folder")
    refused(grammar, ["parse", "toy.grammar", "nowhere.txt"], "nowhere.txt", "No such file")
    refused(grammar, ["parse", "nowhere.model", "raw.txt"], "nowhere.model", "No such file")
    refused(grammar, ["parse", "nowhere.grammar", "raw.txt"], "nowhere.grammar", "No such file")
    refused(grammar, ["parse", "raw.txt", "raw.txt"], "raw.txt is no loglin model")
    refused(grammar, ["parse", "bad.grammar", "raw.txt"], "bad.grammar, line 1", "'NP' has no rules")
    refused(grammar, ["parse", "loop.cfg", "raw.txt"], "loop.cfg", "circle")


def test_parse_eval_of_a_grammar(grammar):
    (grammar / "test.mrg").write_text(f"( {SECOND})\n(TOP {SHORT})\n(S (-NONE- *))\n")
    expected = evaluate_trees([Tree.parse(SECOND), Tree.parse(SHORT)], [Tree.parse(BEST), Tree.parse(SHORT)])
    value = json.loads(run("parse-eval", "toy.grammar", "test.mrg", "--json", "--threads", 2))
    assert (value["sentences"], value["gold"], value["found"], value["correct"]) == (2, 11, 11, 10)
    assert (value["f1"], value["incomplete"]) == (expected.f1, 0)
    assert value["sentences_per_second"] > 0
    assert run("parse-eval", "toy.grammar", "test.mrg") == expected.report() + "\n"
    assert json.loads(run("parse-eval", "toy.grammar", "test.mrg", "--json", "--max-length", 3))["sentences"] == 1
    refused(grammar, ["parse-eval", "toy.grammar", "test.mrg", "--max-length", "2"], "no sentence is short enough")
    (grammar / "test.mrg").write_text("(S (NP (DT a) (NN zebra)) (VP (VBD saw)))")
    assert json.loads(run("parse-eval", "toy.grammar", "test.mrg", "--json"))["incomplete"] == 1


# ---------------------------------------------------------------------- parse-train


@pytest.fixture
def treebank(grammar):
    """Trees of the grammar, and sentences."""
    pcfg = PCFG.read(grammar / "toy.grammar")
    for name, n, seed in (("train.mrg", 80, 1), ("test.mrg", 40, 2)):
        write_trees(grammar / name, pcfg.sample(n, np.random.default_rng(seed), 15))
    return grammar


@pytest.mark.parametrize("criterion", ["pcfg", "mecfg", "piecewise", "crf", "perceptron"])
def test_training_by_every_criterion(treebank, criterion):
    text = run("parse-train", "train.mrg", "--criterion", criterion, "-o", "a.model", "--threads", 1, "--quiet")
    assert text.startswith("80 sentences, ")
    assert text.endswith("model written to a.model\n")
    value = json.loads(run("parse-eval", "a.model", "test.mrg", "--json"))
    assert (value["sentences"], value["incomplete"]) == (40, 0)
    assert value["f1"] > 0.75
    assert run("parse", "a.model", given="she saw she\n") == f"{SHORT}\n"
    refused(treebank, ["tag", "a.model", "raw.txt"], "a.model is a parser", "loglin parse")


def test_training_as_json_and_a_grammar_to_edit(treebank):
    options = ["--criterion", "pcfg", "-o", "a.model", "--save-grammar", "a.grammar", "--max-length", 9, "--json"]
    value = json.loads(run("parse-train", "train.mrg", *options, "--set", "smoothing=0.2", "--vertical", 2))
    assert (value["criterion"], value["data"], value["model"]) == ("pcfg", "train.mrg", "a.model")
    assert value["sentences"] < 80
    assert value["settings"]["smoothing"] == 0.2
    assert set(value["seconds"]) == {"read", "train", "total"}
    assert "NP^S" in (treebank / "a.grammar").read_text()
    trees = read_trees("test.mrg")
    sentences = "".join(" ".join(tree.words()) + "\n" for tree in trees)
    assert run("parse", "a.grammar", given=sentences).count("\n") == 40


def test_a_template_of_ones_own(treebank):
    (treebank / "spans.template").write_text("R01:%first[0]\nU01:%x[0,0]\n")
    run("parse-train", "train.mrg", "--template", "spans.template", "-o", "a.model", "--quiet", "--max-iter", 3)
    text = run("parse", "a.model", "--explain", "1-3", given="she saw she\n")
    assert "R01:saw" in text


def test_held_out_trees_optimizers_and_going_on(treebank):
    start = ["parse-train", "train.mrg", "-o", "a.model", "--threads", 1, "--tol", "1e-6"]
    first = json.loads(run(*start, "--json"))
    for optimizer in ("lbfgs", "gradient"):
        value = json.loads(run(*start, "--optimizer", optimizer, "--json"))
        assert value["objective"] == pytest.approx(first["objective"], rel=1e-3)
    run(*start, "--quiet")
    again = json.loads(run(*start, "-o", "b.model", "--continue", "a.model", "--json"))
    assert again["iterations"] < first["iterations"]
    assert again["objective"] == pytest.approx(first["objective"], rel=1e-4)
    value = json.loads(run(*start, "--dev", "test.mrg", "--json"))
    assert value["dev_score"] == json.loads(run("parse-eval", "a.model", "test.mrg", "--json"))["f1"]
    text = run(*start, "--dev", "test.mrg", "--quiet")
    assert f"\nbest score on the held-out data: {value['dev_score']:.4f}\n" in text
    refused(treebank, [*map(str, start), "--dev", "nowhere.mrg"], "nowhere.mrg", "No such file")
    refused(treebank, [*map(str, start), "--continue", "raw.txt"], "raw.txt is no loglin model")
    other = [*map(str, start), "-o", "b.model", "--continue", "a.model"]
    refused(treebank, [*other, "--vertical", "2"], "the same horizontal, vertical")
    refused(treebank, [*map(str, start), "--continue", "a.model"], "also an input")
    refused(treebank, [*map(str, start), "--optimizer", "newton"], "optimizer newton is for independent decisions")
    refused(treebank, ["parse-train", "train.mrg", "--dev", "test.mrg", "-o", "test.mrg"], "also an input")


def test_criteria_and_settings_are_listed():
    text = run("parse-train", "--settings")
    for name, kind in criteria("forest").items():
        assert f"{name}: {kind.line}\n" in text
        for setting in kind.settings():
            assert f"    {setting.name} = " in text


def test_what_parse_train_refuses(treebank):
    start = ["parse-train", "train.mrg", "-o", "a.model"]
    refused(treebank, [*start, "--criterion", "magic"], "no criterion is called 'magic'", "piecewise")
    refused(treebank, [*start, "--set", "threshold"], "'threshold'", "NAME=VALUE")
    refused(treebank, [*start, "--set", "treshold=5", "--criterion", "piecewise"], "treshold")
    refused(treebank, [*start, "--criterion", "crf", "--unlabeled", "raw.txt"], "--unlabeled", "mixture")
    refused(treebank, [*start, "--format", "text"], "learns from trees")
    refused(treebank, [*start, "--annotations", "nonsense"], "nonsense")
    refused(treebank, [*start, "--template", "nowhere.template"], "nowhere.template")
    refused(treebank, [*start, "--grammar", "nowhere.grammar"], "nowhere.grammar", "No such file")
    refused(treebank, ["parse-train", "raw.txt", "-o", "a.model"], "raw.txt, line 1", "outside all brackets")
    refused(treebank, ["parse-train", "nowhere.mrg", "-o", "a.model"], "nowhere.mrg", "No such file")
    refused(treebank, ["parse-train", "train.mrg", "-o", "train.mrg"], "also an input")
    refused(treebank, ["parse-train", "train.mrg", "-o", "nowhere/a.model"], "no folder")
    refused(treebank, [*start, "--max-length", "1"], "no sentence of at most 1 words")
    (treebank / "traces.mrg").write_text("(S (NP (-NONE- *)))")
    refused(treebank, ["parse-train", "traces.mrg", "-o", "a.model"], "no sentence to learn from")


# ---------------------------------------------------------------------- inspect


def test_what_is_in_a_parser(treebank):
    run("parse-train", "train.mrg", "-o", "a.model", "--quiet", "--max-iter", 5)
    parser = Parser.load("a.model")
    value = json.loads(run("inspect", "a.model", "--top", 1_000_000, "--json"))
    weights = dict(value["weights"])
    assert len(weights) == len(value["weights"]) == value["active_features"]  # every weight has a name of its own
    assert sorted(weights.values()) == sorted(w for w in parser.model_.weights.tolist() if w)
    for span in ((0, 7), (3, 5), (0, 2)):  # the names are those of explanations
        explanation = parser.explain(["a", "crow", "saw", "a", "crow", "with", "she"], span)
        parent = explanation.rule.split(" → ")[0]
        for vote in explanation.votes:
            if vote.feature.startswith(("R", "L")):
                assert (
                    weights[f"{vote.feature} for {explanation.rule if vote.feature[0] == 'R' else parent}"]
                    == vote.weight
                )
    leaf = parser.explain(["she", "saw", "she"], (1, 2))
    assert {weights[f"{v.feature} for {leaf.label}"] == v.weight for v in leaf.votes if v.feature[0] == "U"} == {True}
    assert {"NP", "VP", "PP"} < set(value["labels"])
    assert (value["symbols"], value["rules"]) == (parser.model_.grammar.n_symbols, parser.model_.grammar.n_rules)
    assert "R05:%length[6]" in value["templates"]


def test_the_rules_of_a_label(treebank):
    run("parse-train", "train.mrg", "-o", "a.model", "--criterion", "pcfg")
    text = run("inspect", "a.model", "--label", "VP")
    pcfg = Parser.load("a.model").pcfg_
    p = math.exp(pcfg.rules[pcfg.grammar.rule_number["VP", "VBD", "NP"]])
    assert f"  {p:8.6f}    +0.000  VP → VBD NP" in text
    assert "→ IN NP" not in text
    assert "criterion        pcfg" in text
    refused(treebank, ["inspect", "a.model", "--label", "QP"], "no label 'QP'", "VP")
    refused(treebank, ["inspect", "a.model", "--explain", "she saw she"], "loglin parse a.model --explain")


def test_a_grammar_that_is_not_tight_parses_with_a_warning(tmp_path):
    path = tmp_path / "loose.grammar"
    path.write_text("S -> S S [0.75] | 'a' [0.25]\n")
    result = CliRunner().invoke(cli, ["parse", str(path), "-"], input="a a\n", catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == "(S (S a) (S a))\n"
    assert "is not tight: with probability 0.667 a derivation never ends" in result.stderr
