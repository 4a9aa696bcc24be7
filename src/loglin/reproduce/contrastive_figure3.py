"""Figure 3 of Smith and Eisner (2005): the runs of Table 3 on ambiguous words, a plot of the priors a dictionary."""

from __future__ import annotations

from functools import partial

from loglin.reproduce.contrastive_table3 import SETTING, Curves, remarks_of, runs
from loglin.reproduce.table import Drawings, Progress, Row, Table
from loglin.reproduce.unlabeled_tagging import Data, draw, file_word

DRAWS = True
REMARKS = [
    "The runs are those of contrastive-table3, measured in % of the words to which the dictionary leaves a choice. "
    "Those differ from dictionary to dictionary, so that plots must not be compared with one another. In them the "
    "models selected without labels are circled. The paper gives Figure 3 as a picture without numbers.",
    SETTING,
]


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    return make_table(*runs(quick, progress, threads))


def make_table(data: Data, curves: Curves) -> Table:
    rows: list[Row] = []
    drawings: Drawings = {}
    for how, found in curves.items():
        for name, curve in found.items():
            rows += curve.rows(f"{name}, {how}", ambiguous=True)
        rows.append(curve.random(how, True, note=f"{curve.runs[0].report.ambiguous:,} words"))
        drawings[file_word(how)] = partial(draw, title=how.capitalize(), curves=found)
    title = "Tagging without labels: diluted dictionaries and spelling features, ambiguous words"
    return Table("contrastive-figure3", title, rows, remarks_of(data, REMARKS), drawings)
