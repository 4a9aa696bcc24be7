"""Evaluations as tables: scores in percent, with bars where they are shares of 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loglin.drawing.html import Html, bar, frame, heading, remark, table
from loglin.evaluation.induced import TaggingReport
from loglin.evaluation.sequences import Evaluation
from loglin.evaluation.significance import Comparison
from loglin.evaluation.trees import ParseReport

ERRORS = 10  # of the most frequent ones


def evaluation_page(scores: Evaluation) -> Html:
    """Precision, recall and F1, in all and of every type; accuracy."""
    what = {"phrase": "phrases", "token": "tokens"}.get(scores.unit, "pairs of example and label")
    counts = f"{scores.phrases:,} {what}, {scores.found:,} found, {scores.correct:,} right"
    size = f"{scores.sentences:,} sentences, {scores.tokens:,} tokens"
    whole = f"all right in {_percent(scores.sentence_accuracy)} of the sentences"
    accuracy = f"accuracy of tokens {_percent(scores.accuracy)}, {whole}, macro F1 {_percent(scores.macro_f1)}"
    every = {"support": scores.phrases, "found": scores.found, "f1": scores.f1}
    total = {"all": every | {"precision": scores.precision, "recall": scores.recall}}
    return frame(
        heading(f"F1 {_percent(scores.f1)} of {what}"),
        remark(f"{size}; {counts}"),
        remark(accuracy),
        _by_type(total | scores.by_type),
    )


def _by_type(rows: Mapping[str, Mapping[str, Any]]) -> Html:
    head = ["", "F1", "precision", "recall", "support", "found"]
    lines = [
        [name, *(bar(row[k], _percent(row[k])) for k in ("f1", "precision", "recall")), row["support"], row["found"]]
        for name, row in rows.items()
    ]
    return table(head, lines)


def tagging_page(report: TaggingReport) -> Html:
    """The scores of a tagger learnt without labels."""
    given = {
        "all words": (report.accuracy, report.random_accuracy, report.expected_accuracy),
        "words with a choice": (
            report.ambiguous_accuracy,
            report.random_ambiguous_accuracy,
            report.expected_ambiguous_accuracy,
        ),
        "V-measure": (report.v_measure, None, None),
        "homogeneity": (report.homogeneity, None, None),
        "completeness": (report.completeness, None, None),
    }
    rows = [
        [name, *("–" if x is None else bar(x, _percent(x)) for x in scores)]
        for name, scores in given.items()
        if scores[0] is not None
    ]
    mapped = "" if report.mapping == "none" else f", labels mapped {report.mapping}"
    parts = [
        heading(f"{_percent(report.telling_accuracy)} of {report.tokens:,} tokens right{mapped}"),
        table(["", "accuracy", "blind choice", "expected"], rows),
    ]
    if report.errors:
        parts += [heading("Most frequent errors"), table(["word", "right", "found", "tokens"], report.errors[:ERRORS])]
    return frame(*parts)


def parse_page(report: ParseReport) -> Html:
    """The scores of a parser, of all brackets and of those with each label."""
    low, high = report.interval
    every = {"support": report.gold, "found": report.found, "f1": report.f1}
    total = {"all": every | {"precision": report.precision, "recall": report.recall}}
    lines = [
        f"{report.sentences:,} sentences, {report.words:,} words; F1 between {_percent(low)} and {_percent(high)} with "
        "95 % confidence",
        f"exact trees {_percent(report.exact)}, tags {_percent(report.tagging)}, crossing brackets "
        f"{report.crossing:.2f} a sentence",
    ]
    if report.incomplete:
        lines.append(f"{report.incomplete:,} incomplete parses")
    if report.errors:
        lines.append(f"{len(report.errors):,} sentences cannot be compared; the first is {report.errors[0][0]}")
    return frame(
        heading(f"F1 {_percent(report.f1)} of brackets"), *map(remark, lines), _by_type(total | report.by_label)
    )


def comparison_page(comparison: Comparison) -> Html:
    """Two outputs, and whether they differ by more than chance."""
    c = comparison
    tests = [("McNemar's test", c.mcnemar.p), ("paired t-test", c.t_test.p), ("paired bootstrap", c.bootstrap.p)]
    low, high = c.interval
    metric = f"F1 of {c.unit}s" if c.unit and c.metric == "f1" else "accuracy of tokens"
    scores = [[c.names[0], bar(c.first, _percent(c.first))], [c.names[1], bar(c.second, _percent(c.second))]]
    return frame(
        heading(c.verdict()),
        table([f"{c.sentences:,} sentences", metric], scores),
        remark(f"difference {100 * c.difference:+.2f}, 95 % interval {100 * low:+.2f} to {100 * high:+.2f}"),
        table(["test", "p"], [[name, f"{p:.4f}"] for name, p in tests]),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
