"""Trees to and from binary normal form: round trips on random, hostile, deep and real trees, and cases by hand."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loglin.corpus import datasets
from loglin.corpus.trees import TRACE, Tree
from loglin.errors import LoglinError
from loglin.grammars.annotations import ANNOTATIONS
from loglin.grammars.stripping import restore, strip
from loglin.grammars.symbols import base_label, escape, intermediate, unescape
from loglin.grammars.transforms import TreeCoder
from support.corpora import corpus_folder

PLAIN = st.sampled_from(["S", "NP", "VP", "NP-SBJ-1", "NP-TMP", "NP=2", "ADVP|PRT", "-LRB-", "", "=2", TRACE])
TAGS = st.sampled_from(["IN", "DT", "NN", "VBZ", "CC", ",", "POS"])
HOSTILE = st.text(st.sampled_from("NP+^@|,~\\-=2bc \x00"), max_size=6)
LABELS = PLAIN | HOSTILE
LEAVES = st.builds(lambda label, word: Tree(label, (), word), LABELS | TAGS, st.sampled_from(["'s", "&", "%", ""]))
TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(
        lambda label, held: Tree(label, tuple(held)), LABELS, st.lists(below, min_size=1, max_size=5)
    ),
    max_leaves=15,
)
CODERS = st.builds(
    TreeCoder,
    horizontal=st.sampled_from([0, 1, 2, 3, None]),
    vertical=st.integers(1, 4),
    annotations=st.just("klein-manning") | st.sets(st.sampled_from(ANNOTATIONS)),
    functions=st.booleans(),
    binarize=st.sampled_from(["right", "left"]),
)


def stripped(tree: Tree, functions: bool) -> Tree | None:
    """The oracle: as the notes say it, by recursion."""
    if tree.word is not None:
        return None if tree.label == TRACE else tree
    children = [child for child in (stripped(child, functions) for child in tree.children) if child]
    if not children:
        return None
    whole = functions or tree.label.startswith(("-", "=", "|"))
    label = tree.label if whole else re.split("[-=|]", tree.label)[0]
    if len(children) == 1 and label == "":
        return children[0]
    if len(children) == 1 and children[0].word is None and children[0].label == label:
        return children[0]
    return Tree(label or "S", tuple(children))


def is_encoded(tree: Tree) -> bool:
    return all((node.word is not None) != (len(node.children) == 2) for node in tree.nodes())


# ---------------------------------------------------------------------------------------------------- stripping


@given(TREES, st.booleans())
def test_stripped_trees_are_restored(tree, functions):
    left, record = strip(tree, functions)
    assert left == stripped(tree, functions)
    assert restore(left, record) == tree
    if left is not None:
        assert strip(left, functions) == (left, ())
        assert left.words() == [leaf.word for leaf in tree.leaves() if leaf.label != TRACE]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("( (S (NP-SBJ (NN a)) (VP (VB b) (NP (-NONE- *))) (. .)) )", "(S (NP (NN a)) (VP (VB b)) (. .))"),
        ("( (NP (NN a)) (VP (VB b)) )", "(S (NP (NN a)) (VP (VB b)))"),
        ("(NP-TMP (NP (NN a)) (SBAR (-NONE- 0) (S (-NONE- *))))", "(NP (NN a))"),
        ("(PP=2 (IN|RP a))", "(PP (IN|RP a))"),
        ("(NN (NN a))", "(NN (NN a))"),  # the lower one is a tag
        ("(X (Y (X (NN a))))", "(X (Y (X (NN a))))"),
        ("(-LRB- (-LRB- -LRB-) (NN-1 a))", "(-LRB- (-LRB- -LRB-) (NN-1 a))"),
    ],
)
def test_stripping_by_hand(before, after):
    tree = Tree.parse(before)
    left, record = strip(tree)
    assert left == Tree.parse(after)
    assert restore(left, record) == tree


def test_a_record_is_small_and_of_one_tree():
    tree = Tree.parse("( (S (NP-SBJ (NN a)) (VP (VB b) (NP (-NONE- *))) (. .)) )")
    left, record = strip(tree)
    assert [(c.node, c.kept, c.label, c.n_children, c.word) for c in record] == [
        (0, False, "", 1, None),
        (2, True, "NP-SBJ", 1, None),
        (4, True, "VP", 2, None),
        (6, False, "NP", 1, None),
        (7, False, TRACE, 0, "*"),
    ]
    for other in (Tree("NN", (), "a"), None, Tree.parse("(S (NN a) (NN b) (NN c) (NN d) (NN e) (NN f) (NN g))")):
        with pytest.raises(LoglinError, match="the record is of another tree; "):
            restore(other, record)
    for wrong in (Tree("S"), Tree("S", (left,), "a")):
        with pytest.raises(LoglinError, match=r"the node 'S' of a tree has .*; "):
            strip(wrong)


def test_a_tree_of_traces_vanishes():
    tree = Tree.parse("( (S (NP (-NONE- *)) (VP (-NONE- *))) )")
    assert TreeCoder().strip(tree) is None
    assert TreeCoder().encode(tree) is None
    assert restore(*strip(tree)) == tree


# ---------------------------------------------------------------------------------------------------- encoding


@given(TREES, CODERS)
def test_decoding_gives_the_stripped_tree(tree, coder):
    encoded = coder.encode(tree)
    if encoded is None:
        assert coder.strip(tree) is None
        return
    assert is_encoded(encoded)
    assert coder.decode(encoded) == coder.strip(tree)


@given(LABELS)
def test_labels_are_escaped(label):
    written = escape(label)
    assert unescape(written) == label
    assert written
    assert not set(written) & set("+^@|~")
    assert base_label(written) == [label]


HISTORIES = st.lists(st.text(st.sampled_from("a,\\"), max_size=3), max_size=3)


@given(HISTORIES, HISTORIES)
@example(["a,a"], ["a", "a"])
@example([",,"], [",", ""])
def test_histories_have_names_of_their_own(one, other):
    names = [intermediate("NP", [escape(label) for label in history]) for history in (one, other)]
    assert (names[0] == names[1]) == (one == other)


SENTENCE = "( (S (NP-SBJ (NP (DT a) (JJ b) (, ,) (NN c)) (NP (-NONE- *))) (VP (VB d) (S (VP (VB e)))) (. .)) )"


@pytest.mark.parametrize(
    ("settings", "encoded"),
    [
        (
            {},
            "(S (NP (DT a) (@NP|DT (JJ b) (@NP|DT,JJ (, ,) (NN c)))) (@S|NP (VP (VB d) (S+VP+VB e)) (. .)))",
        ),
        (
            {"horizontal": 1, "vertical": 2},
            "(S^ROOT (NP^S (DT a) (@NP^S|DT (JJ b) (@NP^S|JJ (, ,) (NN c)))) "
            "(@S^ROOT|NP (VP^S (VB d) (S^VP+VP^S+VB e)) (. .)))",
        ),
        (
            {"horizontal": 0, "vertical": 3},
            "(S^ROOT (NP^S^ROOT (DT a) (@NP^S^ROOT| (JJ b) (@NP^S^ROOT| (, ,) (NN c)))) "
            "(@S^ROOT| (VP^S^ROOT (VB d) (S^VP^S+VP^S^VP+VB e)) (. .)))",
        ),
        (
            {"horizontal": None, "binarize": "left"},
            "(S (@S|. (NP (@NP|NN (@NP|NN,, (DT a) (JJ b)) (, ,)) (NN c)) (VP (VB d) (S+VP+VB e))) (. .))",
        ),
        (
            {"functions": True},
            "(S (NP-SBJ+NP (DT a) (@NP|DT (JJ b) (@NP|DT,JJ (, ,) (NN c)))) (@S|NP-SBJ (VP (VB d) (S+VP+VB e)) (. .)))",
        ),
    ],
)
def test_encoding_by_hand(settings, encoded):
    coder = TreeCoder(**settings)
    assert str(coder.encode(Tree.parse(SENTENCE))) == encoded
    assert coder.decode(Tree.parse(encoded)) == coder.strip(Tree.parse(SENTENCE))


def test_one_word():
    encoded = TreeCoder().encode(Tree.parse("( (NP (NNP a)) )"))
    assert encoded == Tree("NP+NNP", (), "a")


@pytest.mark.parametrize(
    ("symbol", "labels"),
    [
        ("NP^S+NNP", ["NP", "NNP"]),
        ("@NP|DT", []),
        ("NP~B^S^ROOT", ["NP"]),
        (",", [","]),
        ("\\", [""]),
        ("A\\2bB", ["A+B"]),
    ],
)
def test_base_labels(symbol, labels):
    assert base_label(symbol) == labels


@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [
        ("(@NP^S|DT (JJ a) (NN b))", "(NP (JJ a) (NN b))"),  # at the root
        ("(S (@NP|DT a) (@VP|NP (VB b) (NP+NN c)))", "(S (NP a) (VB b) (NP (NN c)))"),  # of another symbol, over a word
        ("(S (@A|B (@C|D (X a) (Y b)) (@E|F (X c) (Y d))) (Z e))", "(S (X a) (Y b) (X c) (Y d) (Z e))"),
        ("(@S| (NP+NN a) (VB b) (@VP| (NN c) (NN d)))", "(S (NP (NN a)) (VB b) (NN c) (NN d))"),  # of three children
        ("(S+S (NN a) (NN b))", "(S (S (NN a) (NN b)))"),
    ],
)
def test_decoding_what_no_treebank_holds(encoded, decoded):
    assert TreeCoder().decode(Tree.parse(encoded)) == Tree.parse(decoded)


SYMBOLS = st.lists(st.text(st.sampled_from("NP+^@|,~\\2b"), max_size=8), min_size=1, max_size=9)


@given(SYMBOLS, st.randoms(use_true_random=False))
def test_decoding_always_gives_a_proper_tree(symbols, random):
    made = [Tree(symbol, (), "w") for symbol in symbols]
    while len(made) > 1:
        at = random.randrange(len(made) - 1)
        made[at : at + 2] = [Tree(random.choice(symbols), tuple(made[at : at + 2]))]
    decoded = TreeCoder().decode(made[0])
    assert decoded.words() == ["w"] * len(symbols)
    assert all((node.word is None) == bool(node.children) for node in decoded.nodes())


@pytest.mark.parametrize("settings", [{}, {"vertical": 3, "horizontal": None, "binarize": "left"}])
def test_deep_and_wide_trees(settings):
    coder = TreeCoder(**settings)
    levels = 3000
    deep = Tree.parse("( " + "(S (NP-SBJ (DT a)) " * levels + "(NN b)" + ")" * levels + ")")
    chain = Tree.parse("(S (X " * levels + "(NN a)" + "))" * levels)
    wide = Tree("S", tuple(Tree("NN", (), "a") for _ in range(levels if settings.get("horizontal", 2) else 300)))
    for tree in (deep, chain, wide):
        encoded = coder.encode(tree)
        assert is_encoded(encoded)
        assert coder.decode(encoded) == coder.strip(tree)
        assert restore(*strip(tree)) == tree


# ---------------------------------------------------------------------------------------------------- annotations


@pytest.mark.parametrize(
    ("name", "tree", "symbols"),
    [
        ("unary-internal", "(S (NP (NN a)) (VP (VB b) (NN c)))", "S NP~U+NN VP VB NN"),
        ("unary-dt", "(S (NP (DT a)) (VP (NP (DT a) (NN b)) (ADVP (RB c))))", "S NP+DT~U VP NP DT NN ADVP+RB"),
        ("unary-rb", "(S (NP (DT a)) (VP (RB b) (ADVP (RB c))))", "S NP+DT VP RB ADVP+RB~U"),
        ("unary-dt", "(DT a)", "DT"),
        ("tag-parent", "(S (NP (PRP a)) (VP (VB b) (NN-X c)))", "S NP+PRP^NP VP VB^VP NN-X^VP"),
        ("tag-parent", "(NN a)", "NN^ROOT"),
        ("split-in", "(QP (IN a) (CD b))", "QP IN~Q CD"),
        ("split-in", "(NP (NN a) (PP-LOC (IN b) (NN c)))", "NP NN PP IN~N NN"),
        ("split-in", "(S (PP (IN a) (NN b)) (VP (VB c)))", "S PP IN~S NN VP+VB"),
        ("split-in", "(S-ADV (SBAR (IN a) (S (VB b))) (VP (VB c)))", "S SBAR IN~SC S+VB VP+VB"),
        ("split-in", "(VP (VB a) (SBAR (IN b) (S (VB c))))", "VP VB SBAR IN~C S+VB"),
        ("split-in", "(VP (VB a) (PP (IN b) (NN c)) (PRT (IN d)))", "VP VB @VP|VB PP IN NN PRT+IN"),
        ("split-in", "(SBAR (PP (IN a) (NN b)) (S (VB c)))", "SBAR PP IN NN S+VB"),
        ("split-aux", "(VP (VBZ Is) (VBN been) (VB go) (NN is))", "VP VBZ~BE @VP|VBZ VBN~BE @VP|VBZ,VBN VB NN"),
        ("split-aux", "(VP (VBP have) (VBD 'd) (MD 'd))", "VP VBP~HAVE @VP|VBP VBD~HAVE MD"),
        ("split-aux", "(VP (VBZ 's) (VP (VBN been) (JJ a)))", "VP VBZ~HAVE VP VBN~BE JJ"),
        ("split-aux", "(VP (NN 's) (VBZ 's))", "VP NN VBZ~BE"),
        ("split-cc", "(NP (CC But) (CC &) (CC and))", "NP CC~BUT @NP|CC CC~& CC"),
        ("split-percent", "(NP (NN %) (NN a))", "NP NN~% NN"),
        ("temporal-np", "(NP-TMP (JJ last) (NN week))", "NP~TMP JJ NN~TMP"),
        ("temporal-np", "(VP (NP-TMP-1 (NP (DT the) (NN day)) (PP (IN b) (NN c))) (NP (NN d)))",
            "VP NP~TMP NP~TMP DT NN~TMP PP IN NN NP+NN"),
        ("temporal-np", "(NP-TMP (NP (NN a)) (CD 3))", "NP~TMP NP~TMP+NN~TMP CD"),
        ("temporal-np", "(NP-TMP (DT a) (CD 3) (-NONE- *))", "NP~TMP DT CD~TMP"),
        ("temporal-np", "(S (NP-TMP (NP (CD 3)) (SBAR (-NONE- *))) (NN-TMP a))", "S NP~TMP+CD~TMP NN-TMP"),
        ("temporal-np", "(S (NP-TMP (-NONE- *)) (NN a) (ADVP-TMP (NN b)))", "S NN ADVP+NN"),
        ("gapped-s", "(VP (VB a) (S-1 (NP-SBJ-2 (-NONE- *)) (VP (VB b))))", "VP VB S~G+VP+VB"),
        ("gapped-s", "(S (NP-SBJ (NN a)) (VP (VB b) (NP (-NONE- *))))", "S NP+NN VP+VB"),
        ("possessive-np", "(NP (NP (NN a) (POS 's)) (NN b))", "NP NP~P NN POS NN"),
        ("split-vp", "(VP (MD a) (VP (TO b) (VP (VBG c) (RB d))))", "VP~VBF MD VP~TO TO VP~VBG VBG RB"),
        ("split-vp", "(VP (VP (VBN a) (NN b)) (CC c) (VP (VB d)))", "VP~VBN VP~VBN VBN NN @VP~VBN|VP CC VP~VB+VB"),
        ("split-vp", "(VP (NP (NN a)) (RB b))", "VP NP+NN RB"),
        ("base-np", "(NP (NP (DT a) (NN b)) (PP (IN c) (NP (NN d))))", "NP NP~B DT NN PP IN NP~B+NN"),
        ("dominates-v", "(S (NP (NN a)) (PP (IN b) (S (VP (VBG c)))))", "S~V NP+NN PP~V IN S~V+VP~V+VBG"),
        ("dominates-v", "(S (VP (MD a)) (NP (NP (NN V)) (NN V)))", "S~V VP~V+MD NP NP+NN NN"),
        ("right-recursive-np", "(NP (NP (NN a)) (PP (IN b) (NP (NN c))))", "NP~R NP+NN PP IN NP+NN"),
        ("right-recursive-np", "(NP (PP (IN b) (NP (NN c))) (NN a))", "NP PP IN NP+NN NN"),
    ],
)  # fmt: skip
def test_annotations_by_hand(name, tree, symbols):
    coder = TreeCoder(annotations=(name,))
    assert [node.label for node in coder.encode(Tree.parse(f"( {tree} )")).nodes()] == symbols.split()


def test_annotations_together():
    tree = Tree.parse("( (S (NP-SBJ (DT that)) (VP (VBZ is) (NP-TMP (NN day) (NN %)))) )")
    assert str(TreeCoder(vertical=2, annotations="klein-manning").encode(tree)) == (
        "(S~V^ROOT (NP~U~B^S+DT~U^NP that) (VP~VBF~V^S (VBZ~BE^VP is) (NP~TMP~B^VP (NN^NP day) (NN~%~TMP^NP %))))"
    )
    coder = TreeCoder(annotations=("base-np", "split-in", "base-np"))
    assert coder == TreeCoder(annotations=["split-in", "base-np"])
    assert coder.annotations == ("split-in", "base-np")
    assert TreeCoder(annotations="klein-manning").annotations == ANNOTATIONS
    assert hash(coder) == hash(TreeCoder(annotations=["split-in", "base-np"]))


def test_annotations_see_categories_where_functions_stay():
    tree = Tree.parse("(S (NP-SBJ (NN a)) (VP (VB b)))")
    coder = TreeCoder(annotations=("base-np", "gapped-s", "tag-parent"), functions=True)
    assert [node.label for node in coder.encode(tree).nodes()] == ["S", "NP-SBJ~B+NN^NP-SBJ", "VP+VB^VP"]


# ---------------------------------------------------------------------------------------------------- settings


@given(CODERS)
def test_settings_go_through_json(coder):
    assert TreeCoder.from_dict(json.loads(json.dumps(coder.to_dict()))) == coder


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"horizontal": -1}, "horizontal is -1"),
        ({"horizontal": True}, "horizontal is True"),
        ({"vertical": 0}, "vertical is 0"),
        ({"vertical": None}, "vertical is None"),
        ({"annotations": ["base-vp"]}, "called 'base-vp'.*base-np.*klein-manning"),
        ({"annotations": "base-vp"}, "called 'base-vp'"),
        ({"annotations": None}, "called None"),
        ({"annotations": [["base-np"]]}, "called \\['base-np'\\]"),
        ({"functions": 1}, "functions is 1"),
        ({"binarize": "head"}, "binarize is 'head'.*right, left"),
        ({"sideways": 1}, "no setting 'sideways'.*horizontal"),
    ],
)
def test_settings_refused(settings, part):
    with pytest.raises(LoglinError, match=f"{part}.*"):
        TreeCoder.from_dict(settings)


# ---------------------------------------------------------------------------------------------------- the Treebank


@pytest.fixture(scope="module")
def treebank():
    corpus_folder("treebank")
    return datasets.load_trees("treebank")


def test_the_treebank_is_restored(treebank):
    assert all(restore(*strip(tree)) == tree for tree in treebank)


def there_and_back(coder: TreeCoder, trees: list[Tree]):
    for tree in trees:
        encoded = coder.encode(tree)
        assert is_encoded(encoded)
        assert coder.decode(encoded) == coder.strip(tree)


@pytest.mark.parametrize("coder", [TreeCoder(), TreeCoder(vertical=2, annotations="klein-manning")])
def test_the_treebank_goes_there_and_back(treebank, coder):
    there_and_back(coder, treebank)


@pytest.mark.parametrize("annotations", ["klein-manning", ()])
@pytest.mark.parametrize("horizontal", [0, 1, 2, None])
@pytest.mark.parametrize("vertical", [1, 2, 3])
def test_every_order(treebank, horizontal, vertical, annotations):
    there_and_back(TreeCoder(horizontal, vertical, annotations), treebank[vertical::10])


def test_the_grammar_of_the_notes(treebank):
    """Sentences of 2 to 15 words, four fifths of them, horizontal order 2, vertical 1."""
    coder = TreeCoder()
    short = [tree for tree in map(coder.strip, treebank) if tree is not None and 2 <= len(tree.words()) <= 15]
    order = np.random.default_rng(0).permutation(len(short))[: int(0.8 * len(short))]
    nodes = [node for n in order for node in coder.encode(short[n]).nodes()]
    rules = {(node.label, *(child.label for child in node.children)) for node in nodes if node.children}
    assert (len(short), len(order)) == (921, 736)
    assert (len({node.label for node in nodes}), len(rules)) == (393, 1309)


@pytest.mark.parametrize("direction", ["right", "left"])
def test_binarization_has_the_brackets_of_nltk(treebank, direction):
    nltk = pytest.importorskip("nltk")
    coder = TreeCoder(binarize=direction)
    for tree in treebank[::20]:
        other = nltk.Tree.fromstring(str(coder.strip(tree)))
        other.collapse_unary(collapsePOS=True, collapseRoot=True)
        other.chomsky_normal_form(factor=direction)
        ours = [re.sub(r"^@.*", "@", node.label) for node in coder.encode(tree).nodes()]
        assert ours == [re.sub(r".*\|.*", "@", node.label()) for node in other.subtrees()]
