"""M-estimation on trees (Smith, Vail and Lafferty 2007, §4.1.2): a PCFG as base, against its own scores and a CRF-CFG.

treebank splits × PCFG, M-estimation and CRF-CFG with three feature sets, MECFG ──► labelled precision, recall, F1,
seconds, features. The penalty of each is chosen on the last fifth of the training trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from loglin.estimators.parser import Parser
from loglin.optimize.record import COUNTED
from loglin.reproduce.table import Progress, Row, Table
from loglin.reproduce.treebank_parsing import Scores, Split, judged, splits

LONGEST, SEEDS = 10, range(10)
MEAN_GRID = (0.02, 0.04, 0.1, 0.2, 0.5)  # of l2, for a loss that is a mean over trees
SUM_GRID = (0.3, 1.0, 3.0)  # for losses that are sums
OWN = "U01:%x[0,0]\n"  # rules and roots have features anyway
FEATURES = {"PCFG features": OWN, "first and last words": "paper", "all features": "spans"}
BASE, M_ESTIMATION = "PCFG", "M-estimation"
# sentences of at most so many words, and seeds of the splits
LONGER = ((15, range(5)), (40, range(1)))
REMARKS = [
    "Penn Treebank sample, sentences of 2 to {longest} words: {training} for training and {test} for the test in each "
    "of {splits} splits. The paper works out the expectations of a PCFG but has no experiment with trees: there are no "
    "published numbers. Brackets without punctuation and preterminals; the root counts.",
    "All have the symbols and the lexicon of the counted PCFG: right binarization, horizontal order 2, vertical order "
    "1, words seen once as signatures. M-estimation and CRF-CFG learn on top of its scores. PCFG features are rules, "
    "roots and words with tags; first and last words of a span, with its length if below 3, are added with each rule; "
    "all features are those of the template spans: words outside the span and at its split, shapes, length, spelling. "
    "In M-estimation they see rare words as the PCFG writes them, as signatures. MECFG has the first and last words.",
    "l2 is one of {means} for M-estimation, whose loss is a mean, and one of {sums} for the others, whose losses are "
    "sums; it has the best F1 on the last fifth of the training trees, and weights are then learnt from all. Training "
    "seconds are of this last step; they depend on what else the machine does. Expectation seconds are the part of it "
    "that sums over all trees of the PCFG, once and exactly.",
    "Longer sentences: l2 is the default, 0.06 for M-estimation.",
]


class Kind(NamedTuple):
    """A way of training that has a row group."""

    criterion: str
    template: str | None = None
    grid: Sequence[float] = ()


KINDS = {
    BASE: Kind("pcfg"),
    **{f"{M_ESTIMATION}, {name}": Kind("m-estimation", text, MEAN_GRID) for name, text in FEATURES.items()},
    **{f"CRF-CFG, {name}": Kind("crf", text, SUM_GRID) for name, text in FEATURES.items()},
    "MECFG": Kind("mecfg", "paper", SUM_GRID),
}


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    data = splits(LONGEST, SEEDS[:2] if quick else SEEDS, most=200 if quick else None)
    return make_table(data, () if quick else LONGER, progress, threads, 8 if quick else 200)


def make_table(
    data: Sequence[Split],
    longer: Sequence[tuple[int, Sequence[int]]],
    progress: Progress,
    threads: int | None,
    max_iter: int,
) -> Table:
    found: dict[str, Scores] = {name: Scores() for name in KINDS}
    for number, split in enumerate(data):
        for name, kind in KINDS.items():
            how: dict[str, Any] = {"template": kind.template, "threads": threads, "max_iter": max_iter}
            l2 = _penalty(kind, split, how)
            judged(Parser(kind.criterion, l2=l2, **how), split, found[name])
            progress(f"split {number + 1} of {len(data)}: {name}: {100 * found[name].reports[-1].f1:.2f}")
    rows = [row for name, scores in found.items() for row in rows_of(name, scores)]
    for words, seeds in longer:
        rows += _longer(words, seeds, progress, threads)
    sizes = {"longest": LONGEST, "training": len(data[0].training), "test": len(data[0].test), "splits": len(data)}
    grids = {"means": ", ".join(map(str, MEAN_GRID)), "sums": ", ".join(map(str, SUM_GRID))}
    remarks = [*_compared(found), *(remark.format(**sizes, **grids) for remark in REMARKS[: 4 if longer else 3])]
    title = "M-estimation on trees: a PCFG and features beyond it, without parsing the training sentences"
    return Table("mestimation-trees", title, rows, remarks)


def _penalty(kind: Kind, split: Split, how: dict[str, Any]) -> float | None:
    """The l2 of the grid whose parser is best on held-out trees; of equal ones the largest."""
    if not kind.grid:
        return None
    cut = len(split.training) * 4 // 5
    train, held = split.training[:cut], split.training[cut:]
    scores = {l2: Parser(kind.criterion, l2=l2, **how).fit(train).score(held) for l2 in kind.grid}
    return max(scores, key=lambda l2: (scores[l2], l2))


def rows_of(name: str, scores: Scores) -> list[Row]:
    records = scores.records
    rows = [
        Row(name, "precision", None, scores.mean("precision")),
        Row(name, "recall", None, scores.mean("recall")),
        Row(name, "F1", None, scores.mean("f1"), scores.spread("f1")),
        Row(name, "features", None, scores.of_record("features"), digits=0),
        Row(name, "training seconds", None, scores.of_record("seconds"), _course(records)),
    ]
    if "expectation_seconds" in records[0]:
        rows.append(Row(name, "expectation seconds", None, scores.of_record("expectation_seconds")))
    return rows


def _course(records: list[dict[str, Any]]) -> str:
    """How training went, as a note."""
    if records[0]["stop"] == COUNTED:
        return "counted"
    penalties = sorted({record["l2"] for record in records})
    shown = f"{penalties[0]:g}" if len(penalties) == 1 else f"{penalties[0]:g} to {penalties[-1]:g}"
    rounds = sum(record["iterations"] for record in records) / len(records)
    return f"{rounds:.0f} iterations, l2 = {shown}"


def _longer(words: int, seeds: Sequence[int], progress: Progress, threads: int | None) -> list[Row]:
    """The PCFG and M-estimation with its default template and penalty on longer sentences."""
    found = {f"{name}, ≤ {words} words": Scores() for name in (BASE, M_ESTIMATION)}
    for split in splits(words, seeds):
        for (name, scores), criterion in zip(found.items(), ("pcfg", "m-estimation"), strict=True):
            judged(Parser(criterion, threads=threads), split, scores)
            progress(f"{name}: {100 * scores.reports[-1].f1:.2f}")
    return [row for name, scores in found.items() for row in rows_of(name, scores)]


def _compared(found: dict[str, Scores]) -> list[str]:
    """In how many splits the features beyond the PCFG help."""
    base = [report.f1 for report in found[BASE].reports]
    lines = []
    for name, scores in found.items():
        if name != BASE:
            gains = [report.f1 - before for report, before in zip(scores.reports, base, strict=True)]
            better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
            lines.append(f"{name} {100 * sum(gains) / len(gains):+.2f} ({better} better, {worse} worse)")
    return [f"F1 against the PCFG's, by splits: {'; '.join(lines)}."]
