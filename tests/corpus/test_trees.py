"""Bracketed trees: small strings and the Penn Treebank sample, read, walked and written, and what is refused."""

from __future__ import annotations

import copy
import gzip
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from loglin.cli.main import cli
from loglin.corpus import datasets, trees
from loglin.corpus.trees import Tree, parse_trees
from loglin.errors import LoglinError
from support.corpora import corpus_folder

CAT = "( (S (NP-SBJ (DT The) (NN cat) )\n  (VP (VBD sat) (NP (-NONE- *T*-1) )) (. .) ))\n"


def leaves(text: str):
    return list(trees.sentences(text, "file"))


def test_leaves_without_traces():
    assert leaves(CAT) == [[("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")]]


def test_forms_of_brackets():
    assert leaves("(NN cat)(NN dog)") == [[("cat", "NN")], [("dog", "NN")]]
    assert leaves("(S(NN a)\r\n\t(-LRB- -LRB-))") == [[("a", "NN"), ("-LRB-", "-LRB-")]]
    assert leaves("((NN a) (NN b))") == [[("a", "NN"), ("b", "NN")]]
    assert leaves("(S (NP (-NONE- *)))" + CAT) == leaves(CAT)  # a tree of traces alone
    assert leaves(" \n") == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (CAT + "(S\n(NN a)", ["file, line 3", "1 of the brackets", "never closed"]),
        ("((S (NN a)\n", ["file, line 1", "2 of the brackets"]),
        (CAT + ")", ["file, line 3", "closing bracket too many"]),
        ("(S (NN a)))\n", ["file, line 1", "closing bracket too many"]),
        (CAT + "word (NN a)", ["file, line 3", "'word'", "outside all brackets"]),
        ("(S\n(NN a b))", ["file, line 2", "(NN a b)", "(TAG word)"]),
        ("(S\n(NN ))", ["file, line 2", "(NN)", "(TAG word)"]),
        ("(S a b c)", ["(S a b c)", "(TAG word)"]),
        ("()", ["file, line 1", "()"]),
        ("(S\n(NN a)\n())", ["file, line 3", "()", "(TAG word)"]),
        ("(S\n((NN a)))", ["file, line 2", "no label", "outermost"]),
        ("(\n(S (NN a)", ["file, line 1", "2 of the brackets"]),
    ],
)
def test_refusals(text, parts):
    with pytest.raises(LoglinError) as caught:
        leaves(text)
    for part in parts:
        assert part in str(caught.value)
    assert ";" in str(caught.value)


def phrases(children):
    return st.builds(lambda label, below: Tree(label, tuple(below)), NAMES, st.lists(children, min_size=1, max_size=4))


# all that a bracketed tree can hold: no ASCII white space, no brackets, nothing empty
NAMES = st.text(st.characters(exclude_characters="() \t\n\r\f\v", codec="utf-8"), min_size=1, max_size=4)
LEAVES = st.builds(lambda label, word: Tree(label, (), word), NAMES, NAMES)
NODES = st.recursive(LEAVES, phrases, max_leaves=12)


@given(NODES, st.booleans())
def test_what_is_written_is_read_back(tree, rooted):
    tree = Tree("", (tree,)) if rooted else tree
    assert Tree.parse(str(tree)) == tree
    assert "\n" not in str(tree)
    copies = pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)
    for other in (*copies, Tree.parse(str(tree))):
        assert other == tree
        assert hash(other) == hash(tree)


@given(NODES, NODES)
def test_equality_is_that_of_the_brackets(a, b):
    assert (a == b) == (str(a) == str(b))
    assert a != str(a)


@given(NODES)
def test_spans_stand_over_their_words(tree):
    def walk(node, begin):  # the oracle
        if node.word is not None:
            return begin + 1
        mine = len(found)
        found.append(None)
        end = begin
        for child in node.children:
            end = walk(child, end)
        found[mine] = (node.label, begin, end)
        return end

    found: list = []
    assert walk(tree, 0) == len(tree.words()) == len(tree.tags())
    assert tree.spans() == found


def test_a_small_tree():
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .))")
    assert tree.words() == ["the", "cat", "sat", "."]
    assert tree.tags() == ["DT", "NN", "VBD", "."]
    assert tree.spans() == [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 3)]
    assert [node.label for node in tree.nodes()] == ["S", "NP", "DT", "NN", "VP", "VBD", "."]
    assert str(tree) == "(S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .))"
    assert repr(tree) == f"Tree.parse({str(tree)!r})"
    assert Tree.parse("( (S (NN a)) )") == Tree("", (Tree("S", (Tree("NN", (), "a"),)),))
    assert Tree.parse("(NN a\xa0b)").words() == ["a\xa0b"]  # white space is ASCII's


@pytest.mark.parametrize("text", ["", "(NN a) (NN b)"])
def test_one_tree_is_parsed(text):
    with pytest.raises(LoglinError, match=r"holds [02] trees, not one; "):
        Tree.parse(text)


@pytest.mark.parametrize("levels", [20_000])
def test_deep_trees(levels):
    text = "(X " * levels + "(NN a)" + ")" * levels
    tree = Tree.parse(text)
    assert str(tree) == text
    assert tree == Tree.parse(text)
    assert hash(tree) == hash(Tree.parse(text))
    assert tree.spans() == [("X", 0, 1)] * levels
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert Tree.parse(str(tree.children[0].children[0])) == tree.children[0].children[0]
    with pytest.raises(LoglinError, match="20000 of the brackets"):
        Tree.parse("(X " * levels)


@pytest.mark.parametrize(
    ("tree", "part"),
    [
        (Tree("NN", (), "a b"), "the word 'a b' holds"),
        (Tree("NN", (), "("), r"the word '\(' holds"),
        (Tree("N\nN", (), "a"), r"the label 'N\\nN' holds"),
        (Tree("NN", (), ""), "an empty word"),
        (Tree("", (), "a"), "no label"),
        (Tree("S", (Tree("", (Tree("NN", (), "a"),)),)), "no label"),
        (Tree("S"), "neither a word nor children"),
        (Tree("S", (Tree("NN", (), "a"),), "b"), "both a word and children"),
    ],
)
def test_trees_that_cannot_be_written(tree, part, tmp_path):
    with pytest.raises(LoglinError, match=f"{part}.*; "):
        str(tree)
    assert repr(tree).startswith("Tree.parse(")
    with pytest.raises(LoglinError, match=f"trees.mrg, tree 2: .*{part}"):
        trees.write_trees(tmp_path / "trees.mrg", [Tree("NN", (), "a"), tree])
    assert not list(tmp_path.iterdir())


def test_preorder_that_is_no_tree():
    assert Tree.from_preorder(["S", "NN"], [1, 0], [None, "a"]) == Tree.parse("(S (NN a))")
    for counts in ([2, 0], [0, 0], [0, 1]):
        with pytest.raises(LoglinError, match="make no tree; "):
            Tree.from_preorder(["S", "NN"], counts, [None, "a"])


def test_files_of_trees(tmp_path):
    found = [Tree.parse(CAT), Tree.parse("(NN naïve)")]
    trees.write_trees(tmp_path / "a.mrg", found)
    assert (tmp_path / "a.mrg").read_text(encoding="utf-8").count("\n") == 2
    assert trees.read_trees(tmp_path / "a.mrg") == trees.read_trees(tmp_path) == found
    (tmp_path / "b.mrg.gz").write_bytes(gzip.compress("(NN naïve)".encode("latin-1")))
    assert trees.read_trees(tmp_path / "b.mrg.gz", "latin-1") == found[1:]
    (tmp_path / "c.mrg").write_text("(NN a)\n(S")
    with pytest.raises(LoglinError, match=r"c\.mrg, line 2: 1 of the brackets"):
        trees.read_trees(tmp_path)


def test_files_and_folders(tmp_path: Path):
    (tmp_path / "b.mrg").write_text("(NN second)")
    (tmp_path / "a.mrg").write_text("(NN first)")
    (tmp_path / "readme").write_text("no tree")
    assert trees.read(tmp_path).sentences() == [[("first", "NN")], [("second", "NN")]]
    assert trees.read(tmp_path / "b.mrg").sentences() == [[("second", "NN")]]
    (tmp_path / "c.mrg").write_bytes(b"(NN a)\n(NN \xe9)")
    with pytest.raises(LoglinError, match=r"c\.mrg, line 2: byte 0xe9"):
        trees.read(tmp_path)
    assert trees.read(tmp_path / "c.mrg", "latin-1").n_tokens == 2


def test_nothing_to_read(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.mrg").write_text("\n")
    for name, part in (("empty", "no file"), ("blank.mrg", "no words"), ("nowhere", "cannot read")):
        with pytest.raises(LoglinError, match=part):
            trees.read(tmp_path / name)
        with pytest.raises(LoglinError, match=part):
            trees.read_trees(tmp_path / name)


def test_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGLIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "treebank").mkdir()
    with pytest.raises(LoglinError, match=r"treebank was not found.*\*\.mrg"):
        datasets.load("treebank")
    with pytest.raises(LoglinError, match=r"treebank was not found.*\*\.mrg"):
        datasets.load_trees("treebank")
    (tmp_path / "treebank" / "wsj_0001.mrg").write_text(CAT)
    assert [len(s) for s in datasets.load("treebank").sentences()] == [4]
    assert datasets.load_trees("treebank") == [Tree.parse(CAT)]
    (tmp_path / "ppattach").mkdir()
    (tmp_path / "ppattach" / "training").write_text("")
    with pytest.raises(LoglinError, match=r"ppattach has no trees; .*treebank"):
        datasets.load_trees("ppattach")


def test_the_treebank_sample():
    corpus_folder("treebank")
    corpus = datasets.load("treebank")
    assert (corpus.n_sentences, corpus.n_tokens) == (3914, 94084)
    words, tags = corpus.columns
    assert len(tags.vocabulary) == 45
    assert trees.TRACE not in tags.vocabulary.strings
    assert corpus.sentences()[0][:2] == [("Pierre", "NNP"), ("Vinken", "NNP")]
    assert words.strings()[-1] == "."


def test_the_treebank_sample_as_nltk_reads_it():
    nltk = pytest.importorskip("nltk")
    corpus_folder("treebank")
    found = datasets.load_trees("treebank")
    assert len(found) == 3914
    for tree in found[::10]:
        other = nltk.Tree.fromstring(str(tree))
        assert other.pos() == list(zip(tree.words(), tree.tags(), strict=True))
        assert other.leaves() == tree.words()
        ours = [(node.label, len(node.children or [0])) for node in tree.nodes()]
        assert ours == [(node.label(), len(node)) for node in other.subtrees()]


# ---------------------------------------------------------------------------------------------------- other treebanks

HEADED = """# sent_id = 1
# a comment (with a bracket
(S (NP o (N gato)) (V dorme) .)

  # another
(S (# #) (N a))
"""


def test_headers_and_words_beside_phrases():
    first, second = parse_trees(HEADED)
    assert str(first) == "(S (NP (NP o) (N gato)) (V dorme) (. .))"
    assert first.words() == ["o", "gato", "dorme", "."]
    assert str(second) == "(S (# #) (N a))"
    with pytest.raises(LoglinError, match="'#' stands outside all brackets"):
        list(parse_trees("(S (N a)) # b"))


BAD = """(S (N a))
(S (NN b c))
(S (N d)
(S (N e))
)
( (S (N f)))
(N g
"""


def test_trees_that_cannot_be_read_are_left_out(tmp_path):
    refused = []
    assert [tree.words() for tree in parse_trees(BAD, "file", refused)] == [["a"], ["d", "e"], ["f"]]
    assert [why.split(":")[0] for why in refused] == ["file, line 2", "file, line 7"]
    lost = []
    assert [tree.words() for tree in parse_trees("(S (N a)\n( (S (N b)))\n(S (N c)))\n(N d)", "file", lost)] == [
        ["b"],
        ["c"],
        ["d"],
    ]
    (tmp_path / "trees").write_text(BAD * 3)
    result = CliRunner().invoke(
        cli, ["parse-train", str(tmp_path / "trees"), "--criterion", "pcfg", "--skip-bad", "-o", str(tmp_path / "m")]
    )
    assert result.exit_code == 0, result.output
    assert "loglin: 6 trees are left out, the first because of" in result.stderr
    assert "trees, line 2" in result.stderr


def test_trees_of_nltk():
    nltk = pytest.importorskip("nltk")
    tree = Tree.parse("(S (NP (D the) (N dog)) (V barks))")
    assert tree.to_nltk() == nltk.Tree.fromstring(str(tree))
    deep = Tree.parse("(A " * 5000 + "(N a)" + ")" * 5000)
    assert deep.to_nltk().label() == "A"
