"""What notebooks show: well-formed, complete, escaped, and in colors that both themes can read."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger, show
from loglin.corpus import schemes
from loglin.corpus.shown import Shown
from loglin.corpus.trees import Tree
from loglin.drawing.html import FRAME, Html, bar, element, table
from loglin.drawing.lattices import LatticeDrawing
from loglin.drawing.pages import page_of
from loglin.drawing.records import TrainingRecord
from loglin.errors import LoglinError
from loglin.evaluation.sequences import evaluate_labels
from loglin.evaluation.significance import compare
from loglin.evaluation.trees import evaluate_trees
from loglin.neighborhoods.named import neighborhood

EVIL = "<script>alert('&\"')</script>"
SENTENCES = [["two", EVIL, "flour"], ["3", "eggs"], ["1", EVIL, "salt"]]
LABELS = [["B-QTY", f"B-{EVIL}", "B-NAME"], ["B-QTY", "B-NAME"], ["B-QTY", f"B-{EVIL}", "B-NAME"]]
TREES = [f"(S (NP (DT the) (NN {EVIL.replace('(', '[').replace(')', ']')})) (VP (VBZ sleeps)))"] * 2
WORDS = ["the", "cat", "sat"]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(l2=0.1, threads=1, dev=(SENTENCES, LABELS)).fit(SENTENCES, LABELS)


@pytest.fixture(scope="module")
def shown(tagger):
    """An object of every kind that has a page."""
    classifier = MaxEnt().fit([{"word": [EVIL, "goal"]}, {"word": "law"}], [EVIL, "law"])
    sets = MaxEnt(multi_label=True).fit([[EVIL], ["law"], []], [{EVIL}, {EVIL, "b"}, set()])
    parser = Parser().fit(TREES)
    trees = [Tree.parse(text) for text in TREES]
    lattices = neighborhood("trans1").lattices([[0, 1, 2]], 3, WORDS)
    others = [["O"] * len(y) for y in LABELS]
    language = LanguageModel().fit(["the crow sat", "a crow sat"])
    return {
        "explanation": tagger.explain(SENTENCES[0], 1),
        "votes": classifier.explain({"word": EVIL}),
        "word": language.explain("the crow", EVIL),
        "votes for a set": sets.explain([EVIL]),
        "span": parser.explain(trees[0].words(), (0, 2)),
        "tagged": tagger.show(SENTENCES, others),
        "evaluation": tagger.evaluate(SENTENCES, LABELS),
        "induced": tagger.evaluate_unsupervised(SENTENCES, LABELS, "many-to-one"),
        "trees compared": evaluate_trees(trees, trees),
        "comparison": compare(LABELS, tagger.predict(SENTENCES), others, names=("a", EVIL)),
        "tree": trees[0],
        "parse": parser.parse_nbest([trees[0].words()], 1)[0][0],
        "lattice": LatticeDrawing.of(lattices, 0, [EVIL, "cat", "sat"]),
        "lattices": lattices,
        "tagger": tagger,
        "model": tagger.model_,
        "classifier": classifier,
        "counted": NaiveBayes().fit([[EVIL], ["law"]], [EVIL, "law"]),
        "parser": parser,
        "parser's model": parser.model_,
        "language model": language,
        "record": TrainingRecord({"stopped": EVIL}),
        "unfitted": Tagger(template=f"U:%x[0,0]{EVIL}"),
    }


def read(html: str) -> ElementTree.Element:
    """The page as XML, which it is: every element is closed, every letter escaped."""
    return ElementTree.fromstring(f"<body>{html}</body>")


def cells(html: str, number: int = 0) -> list[list[str]]:
    """The texts of the cells of a table."""
    found = list(read(html).iter("table"))[number]
    return [["".join(cell.itertext()) for cell in row] for row in found]


def names(page: ElementTree.Element) -> set[str]:
    return {part.tag.rpartition("}")[2] for part in page.iter()}


def test_every_page_is_escaped_and_needs_no_script(shown):
    with_evil = set()
    for name, value in shown.items():
        html = value._repr_html_()
        page = read(html)
        frames = list(page)
        assert {part.get("style") for part in frames} == {FRAME}, name
        assert not names(page) & {"script", "style", "link"}, name
        assert not [key for part in page.iter() for key in part.attrib if key.startswith("on")], name
        texts = "".join(page.itertext()) + "".join(v for part in page.iter() for v in part.attrib.values())
        with_evil |= {name} if "<script>alert" in texts else set()
    harmless = {"span", "induced", "trees compared", "lattices", "parser", "parser's model"}
    assert with_evil >= shown.keys() - harmless - {"language model"}


def test_colors_are_those_of_the_theme_around(shown):
    """Ground and ink change together; everything else is translucent, or in between light and dark."""
    for name, value in shown.items():
        html = value._repr_html_()
        solid = set(re.findall(r"#[0-9a-f]{6}|[:\"](?:black|white)\b(?!-)", html)) - {"#d32f45", "#777777"}
        assert not solid, name
    assert "color-scheme:light dark" in FRAME
    assert re.findall(r"background:(var\(.*?Canvas\)\));color:(var\(.*?CanvasText\)\))", FRAME)


def test_all_that_is_shown_has_a_page_of_its_own():
    usual, kinds = page_of.dispatch(object), [Shown]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert len(kinds) > 12
    known = [kind for kind in kinds[1:] if getattr(sys.modules[kind.__module__], kind.__name__) is kind]
    assert [kind.__name__ for kind in known if page_of.dispatch(kind) is usual] == []


def test_an_explanation_has_all_its_numbers(tagger):
    why = tagger.explain(["two", "cups", "flour"], 1)
    head, chances, *rows = cells(why._repr_html_())
    assert head[0] == ""
    assert chances == ["probability", *(f"{100 * why.probabilities[y]:.2f} %" for y in head[1:])]
    votes = {vote.feature: [f"{vote.votes.get(y, 0.0):+.3f}" for y in head[1:]] for vote in why.votes}
    assert {row[0]: row[1:] for row in rows[2:]} == votes
    assert rows[0] == ["labels before", *(f"{why.transitions.get(y, 0.0):+.3f}" for y in head[1:])]


def test_votes_for_a_word_add_up_to_its_probability():
    model = LanguageModel().fit(["the crow sat", "a crow sat", "the crow flew"])
    votes = model.explain("the crow", "sat")
    assert votes.probability == pytest.approx(model.probability("the crow", "sat"), rel=1e-12)
    rows = [[v.feature, f"{v.weight:+.4f}"] for v in votes]
    assert cells(votes._repr_html_())[1:] == rows
    assert str(votes).split("\n")[0] == f"'sat' with probability {votes.probability:.4g}"


def test_an_evaluation_has_all_its_types():
    found = [["B-A", "O", "B-B"], ["O", "B-A"]]
    scores = evaluate_labels([["B-A", "O", "B-A"], ["O", "B-A"]], found)
    rows = {row[0]: row[1:] for row in cells(scores._repr_html_())}
    assert rows["all"] == ["66.67 %", "66.67 %", "66.67 %", "3", "3"]
    assert rows["A"] == ["80.00 %", "100.00 %", "66.67 %", "3", "2"]
    assert rows["B"] == ["0.00 %", "0.00 %", "0.00 %", "0", "1"]


TOKENS = st.text(st.characters(codec="utf-8"), max_size=5)
TAGGED = st.lists(st.tuples(TOKENS, st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"])), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(TAGGED)
def test_tagged_sentences_keep_every_token_and_entity(tagged):
    words, labels = map(list, zip(*tagged, strict=True))
    page = read(show(words, labels)._repr_html_())
    tokens = [part for part in page.iter("span") if part.get("title") is not None]
    assert [part.get("title") for part in tokens] == labels
    boxes = [part for part in page.iter("span") if "border" in (part.get("style") or "")]
    expected = [] if set(labels) == {"O"} else schemes.entities(labels)
    found = [(len(box) - 1, box[-1].text) for box in boxes]
    assert found == [(stop - start, name) for name, start, stop in expected] or set(labels) == {"O"}


def test_wrong_labels_are_underlined_and_said(tagger):
    text = show([["a", "b"], ["c"]], [["X", "Y"], ["X"]], right=[["X", "X"], ["X"]])
    page = read(text._repr_html_())
    wrong = [part for part in page.iter("span") if "wavy" in (part.get("style") or "")]
    assert [(part.text, part.get("title")) for part in wrong] == [("b", "Y; right: X")]
    assert str(text) == "a  X\nb  Y  not X\n\nc  X"
    lines = str(tagger.show(SENTENCES[1:2])).split("\n")
    chances = tagger.predict_proba(SENTENCES[1:2])[0].max(axis=1)
    assert [line.split() for line in lines] == [
        ["3", "B-QTY", f"{chances[0]:.4f}"],
        ["eggs", "B-NAME", f"{chances[1]:.4f}"],
    ]


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(LoglinError, match="sentence 0 has 2 tokens but 1 labels"):
        show(["a", "b"], ["X"])
    with pytest.raises(LoglinError, match="1 sentences but labels of 2"):
        show([["a"]], [["X"], ["Y"]])


def test_a_record_of_a_foreign_file_may_hold_anything():
    for history in (None, 3, [1, {}, {"value": "x"}, {"value": float("nan")}], [{"number": 1, "value": 1.0}] * 3):
        read(TrainingRecord({"history": history, "options": 3, "stopped": EVIL})._repr_html_())
    record = TrainingRecord({"history": [{"number": 2, "value": 3.0, "score": None}, {"number": 4, "value": 1.0}]})
    assert record.curve("value") == [(2, 3.0), (4, 1.0)]
    assert record.curve("score") == []


def test_large_trees_and_lattices_are_text():
    deep = Tree("NN", (), "a")
    for _ in range(600):
        deep = Tree("X", (deep,))
    assert "svg" not in names(read(deep._repr_html_()))
    lattices = neighborhood("trans1").lattices([list(range(200))], 200, [str(i) for i in range(200)])
    assert "svg" not in names(read(lattices._repr_html_()))


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_elements_escape_content_and_attributes(text, more):
    part = read(element("p", text, Html("<b>x</b>"), title=more))[0]
    printable = "".join(c if c.isprintable() or c in "\u200c\u200d" else "\N{REPLACEMENT CHARACTER}" for c in text)
    assert part.text or not printable
    assert (part.text or "") == printable
    assert [child.tag for child in part] == ["b"]
    assert len(part.attrib) == 1
    assert cells(table([text], [[bar(0.5, "half")]])) == [[printable], ["half"]]
