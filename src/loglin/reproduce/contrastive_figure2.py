"""Figure 2 of Smith and Eisner (2005): criteria, sizes of the text and priors, with the full tagging dictionary.

sizes × criteria × priors ──► ambiguous words tagged correctly ──► selected and oracle; at the largest size, the curves
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from loglin.reproduce.table import Drawings, Progress, Row, Table
from loglin.reproduce.unlabeled_tagging import CRF, EM, HMM, MAX_ITER, Data, contrastive, curve, draw, load

DRAWS = True
SIZES = (12_000, 24_000, 48_000, 96_000)  # words; the sample has fewer than the last without the development text
QUICK = (6_000,)
TRANS1 = contrastive("trans1")
CRITERIA = (
    CRF,
    HMM,
    contrastive("length"),
    contrastive("delortrans1"),
    TRANS1,
    *EM,
    contrastive("del1word"),
    contrastive("del1subseq"),
)
QUICK_STRENGTHS = (0.1, 1.0, 10.0)
REMARKS = [
    "The paper's numbers stand in the picture of its Figure 2, not in its text, so none is published here. The text "
    "says that LENGTH, TRANS1 and DELORTRANS1 are the best throughout and far above EM, that DEL1WORD and DEL1SUBSEQ "
    "are poor, and that EM on 1.1 million words gets 66.6 %, 70.0 % with a better search.",
    "Text: the first {words} words of the treebank sample; the development text is its last {development:,} words, "
    "unlabelled. The paper's 96K words are more than the sample has. The dictionary has every tag that a word has in "
    "the sample, which at 24K words leaves 1.7 tags a token, the paper's 2.3: compare orders and gaps, not scores.",
    "Accuracy is that of the best tag sequence on the training text, in % of the words with several tags. Selected: "
    "the prior under which the criterion is best on the development text; of supervised models, which are only for "
    "comparison, the most accurate one there. Oracle: the most accurate on the training text itself.",
    "EM starts at uniform transitions, and emissions of 1 / (words of the tag) or of 1 / (all words). It ends when the "
    "likelihood, not the likelihood with the prior, changes by less than 0.0001 of itself; without smoothing it "
    "cannot be selected, since words of the development text have probability 0. Weights of contrastive models start "
    "at 0. Without a prior (σ² = ∞), neighborhoods that delete words have no optimum: such runs end after "
    "{max_iter} iterations at the latest.",
]


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    data = [load(size, coarse=False) for size in (QUICK if quick else SIZES)]
    return make_table(data, QUICK_STRENGTHS if quick else None, progress, threads)


def make_table(
    sizes: Sequence[Data], strengths: Sequence[float] | None, progress: Progress, threads: int | None
) -> Table:
    """``strengths`` of all priors, or the grids of the paper."""
    rows: list[Row] = []
    for data in sizes:
        size = f"{data.training.n_words // 1000}K"
        curves = {c.name: curve(c, data, strengths, size, progress, threads) for c in CRITERIA}
        for name, found in curves.items():
            rows += found.rows(f"{name}, {size}", ambiguous=True)
        report = found.runs[0].report
        rows.append(found.random(size, True))
        rows.append(Row(f"text, {size}", "ambiguous words", None, report.ambiguous, f"of {report.tokens:,}"))
    words = ", ".join(f"{data.training.n_words:,}" for data in sizes)
    errors = " ".join(f"{name}, {curves[name].errors()}." for name in (TRANS1.name, *(c.name for c in EM)))
    remarks = [f"Most frequent errors of the selected models at {size}, each with its tokens. {errors}"]
    remarks += [
        remark.format(words=words, development=sizes[-1].development.n_words, max_iter=MAX_ITER) for remark in REMARKS
    ]
    title = f"Ambiguous words tagged correctly, {size} words of text"
    drawings: Drawings = {"priors": partial(draw, title=title, curves=curves)}
    heading = "Tagging without labels: contrastive estimation and EM by size of the text"
    return Table("contrastive-figure2", heading, rows, remarks, drawings)
