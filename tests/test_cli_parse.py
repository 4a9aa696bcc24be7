"""loglin parse-eval, parse and parse-train: what they print, write and refuse."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from loglin.cli.main import cli
from loglin.corpus.trees import Tree, parse_trees
from loglin.grammars.drawing import draw
from loglin.parseval import CONVENTIONS, compare_parsers, evaluate_trees
from test_bad_input import refused

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


def run(*arguments, **options):
    result = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


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
    assert run("parse-eval", "gold.mrg", "-", input=FOUND) == expected.report() + "\n"


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


# ---------------------------------------------------------------------- parse, with a stand-in for the parser


@dataclass
class Parse:
    tree: Tree
    score: float
    complete: bool = True
    note: str = ""


class Explained:
    def __str__(self):
        return "because"

    def as_dict(self):
        return {"why": "because"}


class StandIn:
    """Every sentence is an S of words W; words with a digit have no parse."""

    loaded: ClassVar[list] = []

    @classmethod
    def load(cls, path):
        cls.loaded.append(path)
        return cls()

    def set_params(self, threads):
        self.threads = threads
        return self

    def parse(self, sentences, max_recall=False):
        return [self._parse(s, "M" if max_recall else "S") for s in sentences]

    def parse_nbest(self, sentences, n):
        return [[self._parse(s, f"S{k}", -k) for k in range(n)] for s in sentences]

    def _parse(self, sentence, label, score=-1.5):
        whole = not any(c.isdigit() for w in sentence for c in w)
        return Parse(Tree(label, tuple(Tree("W", (), w) for w in sentence)), score, whole, "" if whole else "digits")

    def marginals(self, sentence):
        return [("S", 0, len(sentence), 0.25)]

    def explain(self, sentence, span):
        return Explained()


@pytest.fixture
def parser(folder, monkeypatch):
    monkeypatch.setattr("loglin.estimators.Parser", StandIn, raising=False)
    (folder / "raw.txt").write_text("a b\n\n#! topic=1\nf(x) 2\nc\n")
    return folder


def test_parse_writes_a_tree_a_line(parser):
    result = CliRunner().invoke(cli, ["parse", "model", "raw.txt"])
    assert result.exit_code == 0
    expected = "(S (W a) (W b))\n\n#! topic=1\n(S (W f-LRB-x-RRB-) (W 2))\n(S (W c))\n"
    assert result.stdout == expected
    assert result.stderr == ("loglin: 1 of 3 sentences have no complete parse; the first is raw.txt, line 4: digits\n")
    assert run("parse", "model", "-o", "out.txt", input="a b\n") == ""
    assert (parser / "out.txt").read_text() == "(S (W a) (W b))\n"
    assert run("parse", "model", "gold.mrg").startswith("(S (W it) (W is) (W a) (W pun) (W .))\n")
    assert run("parse", "model", "gold.mrg", "--format", "text", "--max-recall").startswith("(M (W -LRB-TOP)")


def test_parse_says_more(parser):
    assert (
        run("parse", "model", "--nbest", 2, input="a b\n")
        == "0.000000\t(S0 (W a) (W b))\n-1.000000\t(S1 (W a) (W b))\n\n"
    )
    assert run("parse", "model", "--probabilities", input="a\n") == "(S (W a))\n  S 0-1 0.250000\n\n"
    assert run("parse", "model", "--explain", "0-1", input="a b\n") == "(S (W a) (W b))\nbecause\n\n"
    drawing = draw(Tree.parse("(S (W a) (W b))"), marks={("S", 0, 2): 0.25})
    assert run("parse", "model", "--draw", "--probabilities", input="a b\n") == f"{drawing}\n\n"
    assert run("parse", "model", "--draw", "--width", 1, input="a b\n") == "S\n├─ W a\n└─ W b\n\n"


def test_parse_as_json(parser):
    text = run("parse", "model", "raw.txt", "--json", "--nbest", 2, "--probabilities", "--explain", "0-1")
    first, second, third = map(json.loads, text.splitlines())
    assert first == {
        "tokens": ["a", "b"],
        "tree": "(S0 (W a) (W b))",
        "score": 0,
        "complete": True,
        "note": "",
        "nbest": [{"tree": "(S0 (W a) (W b))", "score": 0}, {"tree": "(S1 (W a) (W b))", "score": -1}],
        "phrases": [{"label": "S0", "begin": 0, "end": 2, "probability": 0.0}],
        "explanation": {"why": "because"},
    }
    assert (second["tokens"], second["complete"], second["note"]) == (["f(x)", "2"], False, "digits")
    assert third["tokens"] == ["c"]
    summary = json.loads(run("parse", "model", "raw.txt", "--json", "-o", "out.jsonl"))
    assert (summary["sentences"], summary["incomplete"], summary["output"]) == (3, 1, "out.jsonl")
    assert len((parser / "out.jsonl").read_text().splitlines()) == 3


def test_parse_draws_a_picture(parser):
    run("parse", "model", "raw.txt", "--svg", "trees.svg", "--probabilities")
    root = ElementTree.parse(parser / "trees.svg").getroot()
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("S") == texts.count("0.25") == 3
    (parser / "many.txt").write_text("a\n" * 101)
    refused(parser, ["parse", "model", "many.txt", "--svg", "many.svg"], "many.txt has more than 100 trees")
    refused(parser, ["parse", "model", "--svg", "many.svg"], "no sentence to draw")


def test_what_parse_refuses(parser):
    refused(parser, ["parse", "model", "raw.txt", "--explain", "2"], "'2'", "I-J")
    refused(parser, ["parse", "model", "raw.txt", "--explain", "2-2"], "'2-2'", "I-J")
    refused(parser, ["parse", "model", "raw.txt", "--explain", "1-3"], "1-3", "'a b' has 2 words")
    refused(parser, ["parse", "model", "raw.txt", "-o", "raw.txt"], "also an input")
    refused(parser, ["parse", "model", "raw.txt", "--svg", "nowhere/a.svg"], "no folder")
    refused(parser, ["parse", "model", "nowhere.txt"], "nowhere.txt", "No such file")


def test_parse_eval_of_a_model(parser):
    (parser / "model").write_bytes((64).to_bytes(8, "little") + b"{}")
    value = json.loads(run("parse-eval", "model", "gold.mrg", "--json", "--threads", 2))
    assert StandIn.loaded[-1] == "model"
    assert (value["sentences"], value["gold"], value["found"], value["correct"]) == (3, 5, 2, 1)
    assert value["errors"] == [[1, "the gold tree has 4 words that count, the other 5"]]  # W is no punctuation
    assert value["sentences_per_second"] > 0
    assert json.loads(run("parse-eval", "model", "gold.mrg", "--json", "--max-length", 3))["sentences"] == 2
    refused(parser, ["parse-eval", "model", "gold.mrg", "--max-length", "2"], "no sentence is short enough")
