"""What notebooks show of an object: one function, which looks at the class."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from loglin.corpus.trees import Tree
from loglin.decoding.reasons import Explanation
from loglin.decoding.trees import Parse, SpanExplanation
from loglin.drawing import lattice_svg, models, records, scores, tagged, tree_svg, trees, votes
from loglin.drawing.html import GROUND, Html, element, frame, remark
from loglin.drawing.lattices import LatticeDrawing
from loglin.evaluation.induced import TaggingReport
from loglin.evaluation.sequences import Evaluation
from loglin.evaluation.significance import Comparison
from loglin.evaluation.trees import ParseReport
from loglin.generative.predictor import Votes
from loglin.models.chain import Model
from loglin.models.language import PredictorModel
from loglin.models.parser import ParserModel
from loglin.structures.lattice import Lattice
from loglin.structures.word_lattices import WordLattices

NODES = 500  # of a tree that is a picture; larger ones are text
LATTICES = 3  # of many


@singledispatch
def page_of(shown: Any) -> str:
    """The HTML of an object; of one that has no picture, its text."""
    return frame(element("pre", shown))


@page_of.register
def _(tree: Tree) -> str:
    return frame(_tree(tree))


@page_of.register
def _(parse: Parse) -> str:
    known = [f"score {parse.score:.4f}"]
    if parse.probability is not None:
        known.append(f"probability {parse.probability:.4f}")
    if not parse.complete:
        known.append(f"incomplete: {parse.note}")
    return frame(_tree(parse.tree), remark(", ".join(known)))


def _tree(tree: Tree) -> Html:
    if len(tree.nodes()) > NODES:
        return element("pre", trees.draw(tree))
    return Html(tree_svg.svg([tree], " ".join(tree.words()), ground="none"))


@page_of.register
def _(drawing: LatticeDrawing) -> str:
    return frame(_lattice(drawing))


def _lattice(drawing: LatticeDrawing) -> Html:
    if len(drawing.arcs) > lattice_svg.MOST:
        return element("pre", drawing.text())
    return Html(lattice_svg.svg(drawing, f"a lattice of {len(drawing.final)} states", GROUND))


@page_of.register
def _(lattices: WordLattices) -> str:
    n_lattices = len(lattices.states) - 1
    numbers = range(lattices.n_symbols)
    shown = [_lattice(LatticeDrawing.of(lattices, i, numbers)) for i in range(min(n_lattices, LATTICES))]
    what = f"{n_lattices:,} lattice{'s' * (n_lattices != 1)}; arcs are numbers of symbols, LatticeDrawing.of names them"
    return frame(*(element("div", one) for one in shown), remark(what))


@page_of.register
def _(lattice: Lattice) -> str:
    return page_of(lattice.words)


for kind, page in (
    (Explanation, votes.explanation_page),
    (SpanExplanation, votes.span_page),
    (Votes, votes.word_page),
    (Evaluation, scores.evaluation_page),
    (TaggingReport, scores.tagging_page),
    (ParseReport, scores.parse_page),
    (Comparison, scores.comparison_page),
    (tagged.TaggedText, tagged.tagged_page),
    (records.TrainingRecord, records.record_page),
    (Model, models.chain_page),
    (ParserModel, models.parser_page),
    (PredictorModel, models.language_page),
):
    page_of.register(kind, page)
