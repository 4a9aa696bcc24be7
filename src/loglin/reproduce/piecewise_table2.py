"""Table 2 of Sutton and McCallum (2005): a discriminative parser trained in pieces.

treebank splits × generative, MECFG, PT-CFG at several thresholds, CRF-CFG ──► labelled precision, recall, F1
"""

from __future__ import annotations

from typing import Any

from loglin.estimators.parser import Parser
from loglin.reproduce.table import Progress, Row, Table
from loglin.reproduce.treebank_parsing import Scores, Split, judged, splits

SEEDS = (0, 1, 2, 3, 4)
LONGEST, LONGER = 15, 40
THRESHOLDS = (5.0, 10.0, 15.0, 20.0)
PRIOR = 1.0  # variance, as in the notes of the prototype; the paper does not tell its own
PUBLISHED = {"generative": (81.7, 83.1), "MECFG": (81.4, 82.7), "PT-CFG, δ = 15": (81.7, 83.2)}
PUBLISHED_NOTA = 1_564_827
LONG_ITERATIONS = 12  # of CRF-CFG on longer sentences, of which an iteration takes minutes
REMARKS = [
    "Penn Treebank sample, sentences of 2 to {longest} words: {training} for training and {test} for the test in each "
    "of {splits} splits; the paper trains on 9,753 sentences of the whole treebank and tests on 421, with the symbols "
    "of Klein and Manning's unlexicalized grammar. Compare orders and gaps, not scores.",
    "All grammars: right binarization, horizontal order 2, vertical order 1, unary chains as symbols, words seen once "
    "as signatures, words scored by the counted lexicon. Features are the paper's: first and last word of the span, "
    "with its length if below 3. Brackets without punctuation and preterminals; the root counts. NOTA instances are "
    "counted before equal ones are merged. CRF-CFG learns on top of the PCFG's scores; “all features” adds words "
    "outside the span and at its split, shapes, length and spelling (template spans).",
]


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    seeds, thresholds = (SEEDS[:1], (15.0,)) if quick else (SEEDS, THRESHOLDS)
    data = splits(LONGEST, seeds, most=400 if quick else None)
    found: dict[str, Scores] = {}
    for number, split in enumerate(data):
        for name, parser in parsers(thresholds, threads, quick).items():
            progress(f"split {number + 1} of {len(data)}: {name}")
            judged(parser, split, found.setdefault(name, Scores()))
    rows = [row for name, scores in found.items() for row in rows_of(name, scores)]
    if not quick:
        rows += longer(progress, threads)
    sizes = {"longest": LONGEST, "training": len(data[0].training), "test": len(data[0].test), "splits": len(data)}
    remarks = [remark.format(**sizes) for remark in REMARKS]
    title = "Parsing sentences of up to 15 words: generative, locally normalized, in pieces, globally normalized"
    return Table("piecewise-table2", title, rows, remarks)


def parsers(thresholds: tuple[float, ...], threads: int | None, quick: bool = False) -> dict[str, Parser]:
    how: dict[str, Any] = {"threads": threads, "l2": 1 / PRIOR, "max_iter": 10 if quick else 200}
    found = {"generative": Parser("pcfg", threads=threads), "MECFG": Parser("mecfg", **how)}
    for delta in thresholds:
        found[f"PT-CFG, δ = {delta:g}"] = Parser("piecewise", settings={"threshold": delta}, **how)
    found["PT-CFG, δ = 15, NOTA kept"] = Parser("piecewise", settings={"decoding": "nota"}, **how)
    found["CRF-CFG"] = Parser("crf", template="paper", **how)
    if not quick:
        found["CRF-CFG, all features"] = Parser("crf", **how)
    return found


def rows_of(name: str, scores: Scores, where: str = "") -> list[Row]:
    published = PUBLISHED.get(name, (None, None)) if not where else (None, None)
    rows = [
        Row(name + where, "precision", published[0], scores.mean("precision"), scores.spread("precision")),
        Row(name + where, "recall", published[1], scores.mean("recall"), scores.spread("recall")),
        Row(name + where, "F1", None, scores.mean("f1"), scores.spread("f1")),
        Row(name + where, "exact match", None, scores.mean("exact")),
    ]
    if "nota_instances" in scores.records[0]:
        theirs = PUBLISHED_NOTA if name in PUBLISHED and not where else None
        merged = f"{scores.of_record('distinct_instances'):,.0f} different instances"
        rows.append(Row(name + where, "NOTA instances", theirs, scores.of_record("nota_instances"), merged))
    note = f"{scores.of_record('iterations'):.0f} iterations"
    if not all(record["converged"] for record in scores.records):
        note += ", not converged"
    return [*rows, Row(name + where, "training seconds", None, scores.of_record("seconds"), note)]


def longer(progress: Progress, threads: int | None) -> list[Row]:
    """One split of sentences of up to 40 words."""
    split: Split = splits(LONGER, SEEDS[:1])[0]
    how: dict[str, Any] = {"threads": threads, "l2": 1 / PRIOR}
    where, rows = f", ≤ {LONGER} words", []
    chosen = {
        "generative": Parser("pcfg", threads=threads),
        "MECFG": Parser("mecfg", **how),
        "PT-CFG, δ = 5": Parser("piecewise", settings={"threshold": 5.0}, **how),
        "CRF-CFG": Parser("crf", template="paper", max_iter=LONG_ITERATIONS, threads=threads, l2=1 / PRIOR),
    }
    for name, parser in chosen.items():
        progress(f"{name}{where}: {len(split.training):,} sentences for training, {len(split.test)} for the test")
        scores = Scores()
        judged(parser, split, scores)
        rows += rows_of(name, scores, where)
        rows.append(Row(name + where, "parsing seconds", None, scores.parsing_seconds, f"{len(split.test)} sentences"))
    return rows
