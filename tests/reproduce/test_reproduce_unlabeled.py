"""Tables of tagging without labels on tiny text, their choices by hand, and on the treebank what is known of it."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loglin.corpus import datasets
from loglin.corpus.columns import from_sentences
from loglin.demo.ingredients import generate
from loglin.problems.hidden import unlabeled_value
from loglin.reproduce import (
    contrastive_figure2,
    contrastive_figure3,
    contrastive_table3,
    figures,
    semi_supervised,
    unlabeled_tagging,
)
from loglin.reproduce.unlabeled_tagging import (
    COARSE,
    DICTIONARIES,
    EM,
    FULL,
    TO_COARSE,
    Criterion,
    Curve,
    Data,
    Run,
    TaggedText,
    contrastive,
    full_dictionary,
)
from support.corpora import corpus_folder

PAPER = "contrastive_estimation.txt"


def a_text(n: int, seed: int) -> TaggedText:
    lines = generate(n, seed, "train")
    return TaggedText([[word for word, _ in line] for line in lines], [[tag for _, tag in line] for line in lines])


@pytest.fixture
def tiny() -> Data:
    parts = [a_text(n, seed) for seed, n in enumerate((40, 20, 15))]
    whole = TaggedText([s for part in parts for s in part.words], [s for part in parts for s in part.tags])
    return Data(*parts, full_dictionary(whole))


def checked(table, folder) -> dict[str, float]:
    """Our numbers by name and metric, after a look at the form of the table and at its files."""
    value = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    found = {f"{row['name']}: {row['metric']}": row["ours"] for row in value["rows"]}
    assert len(found) == len(value["rows"])
    assert None not in found.values()
    assert not any(re.search(r"[{}]", remark) for remark in value["remarks"])
    assert all(path.stat().st_size > 500 for path in table.save(folder))
    return found


# ---------------------------------------------------------------------- choices, by hand


def a_run(tiny: Data, strength: float, held: float, ambiguous: float, everything: float) -> Run:
    report = unlabeled_tagging.run_once(contrastive("trans1"), tiny, 1.0, 1)[0].report
    return Run(strength, held, replace(report, ambiguous_accuracy=ambiguous, accuracy=everything))


def test_selected_and_oracle(tiny):
    numbers = [(0.1, math.nan, 0.1, 0.9), (1.0, -5.0, 0.2, 0.3), (2.0, -5.0, 0.4, 0.2), (math.inf, -math.inf, 0.3, 0.5)]
    curve = Curve(contrastive("trans1"), [a_run(tiny, *line) for line in numbers])
    assert curve.selected.strength == 1.0  # the better of what is a number, of equals the first
    assert curve.oracle(ambiguous=True).strength == 2.0
    assert curve.oracle(ambiguous=False).strength == 0.1
    rows = curve.rows("TRANS1", True, (84.0, 90.0))
    assert [row.metric for row in rows] == ["ambiguous, selected", "ambiguous, oracle"]
    assert [row.ours for row in rows] == pytest.approx([20.0, 40.0])
    assert [row.published for row in rows] == [84.0, 90.0]
    assert [row.note for row in rows] == ["σ² = 1", "σ² = 2"]
    assert [row.ours for row in curve.rows("TRANS1", False)] == pytest.approx([30.0, 90.0])
    assert curve.told(curve.runs[-1]) == "σ² = ∞"


def test_priors_of_criteria():
    assert contrastive("trans1").tagger(4.0).l2 == 0.25
    assert contrastive("trans1").tagger(math.inf).l2 == 0.0
    assert contrastive("length", spelling=True).tagger(1.0).template == "trigram-spelling"
    assert [c.tagger(3.0).settings for c in EM] == [
        {"start": "per-tag", "smoothing": 3.0},
        {"start": "uniform", "smoothing": 3.0},
    ]
    assert math.inf in contrastive("trans1").grid
    assert 0.0 in EM[0].grid


def test_curves_are_circled_where_selected(tiny, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr(figures, "_write", lambda path, figure: drawn.append(figure))
    runs = [a_run(tiny, strength, held, held, 0.5) for strength, held in ((0.0, 0.1), (1.0, 0.6), (10.0, 0.2))]
    contrastively = [replace(run, strength=run.strength or math.inf) for run in runs]
    curves = {"EM": Curve(EM[0], runs), "TRANS1": Curve(contrastive("trans1"), contrastively)}
    unlabeled_tagging.draw(tmp_path / "x.png", "T", curves)
    axes = drawn[0].axes[0]
    circles = [line for line in axes.lines if line.get_fillstyle() == "none"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in circles] == [(1.0, 60.0), (1.0, 60.0)]
    label = axes.xaxis.get_major_formatter()
    assert [label(x) for x in (1e-3, 0.1, 10.0, 100.0)] == ["0", "0.1", "10", "∞"]
    assert axes.lines[0].get_xdata()[0] == 1e-3
    assert axes.lines[2].get_xdata()[0] == 100.0


def test_no_half_knows_its_own_tags(tiny, monkeypatch):
    """Half by half, every one of the n sentences is judged once, by a model that has the tags of the other half."""
    asked = []

    class Judge:
        def __init__(self, tagged):
            self.tagged = tagged

        def evaluate_unsupervised(self, words, tags):
            begin = next(i for i, sentence in enumerate(tiny.training.words) if sentence is words[0])
            asked.append((list(self.tagged), list(range(begin, begin + len(words)))))
            return replace(report, accuracy=len(asked) / 10)

    report = unlabeled_tagging.run_once(contrastive("trans1"), tiny, 1.0, 1)[0].report
    monkeypatch.setattr(semi_supervised.Method, "fitted", lambda self, choice, data, tagged, threads: Judge(tagged))
    method = semi_supervised.Method("CRF", ())
    score = semi_supervised.half_by_half(method, (contrastive("trans1"), 1.0), tiny, 5, 1)
    assert asked == [([0, 1], [2, 3, 4]), ([2, 3, 4], [0, 1])]
    words = [tiny.training.part(2, 5).n_words, tiny.training.part(0, 2).n_words]
    assert score == pytest.approx((0.1 * words[0] + 0.2 * words[1]) / sum(words))


def test_who_learns_from_what(tiny, monkeypatch):
    """Mixtures and EM see all sentences, those not tagged without tags; the CRF sees the tagged ones alone."""
    seen = []

    class Recorder:
        def fit(self, words, tags):
            seen.append((words, tags))
            return self

    monkeypatch.setattr(Criterion, "tagger", lambda self, strength, **more: Recorder())
    text = tiny.training
    for alone in (False, True):
        method = semi_supervised.Method("", (), alone=alone)
        method.fitted((contrastive("trans1"), 1.0), tiny, range(2, 4), 1)
    assert seen[0] == (text.words, [None, None, *text.tags[2:4], *[None] * (len(text.words) - 4)])
    assert seen[1] == (text.words[2:4], text.tags[2:4])


# ---------------------------------------------------------------------- whole tables on tiny text


def test_figure2(tiny, tmp_path):
    pytest.importorskip("matplotlib")
    lines: list[str] = []
    table = contrastive_figure2.make_table([tiny], (0.5, 5.0), lines.append, 1)
    found = checked(table, tmp_path)
    assert len(lines) == 2 * len(contrastive_figure2.CRITERIA)
    assert all("iterations" in line for line in lines)
    size = f"{tiny.training.n_words // 1000}K"
    for criterion in contrastive_figure2.CRITERIA:
        selected, oracle = (found[f"{criterion.name}, {size}: ambiguous, {how}"] for how in ("selected", "oracle"))
        assert 0 < selected <= oracle
    assert found[f"supervised CRF, {size}: ambiguous, oracle"] > found[f"random, {size}: ambiguous"] + 20
    assert table.figures == ["contrastive-figure2-priors.png"]
    assert all(criterion.name in table.remarks[0] for criterion in (contrastive_figure2.TRANS1, *EM))


def test_table3_and_figure3(tiny, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(contrastive_table3, "load", lambda words, coarse: tiny)
    monkeypatch.setattr(contrastive_table3, "QUICK_STRENGTHS", (1.0,))
    data, curves = contrastive_table3.runs(True, lambda line: None, 1)
    assert list(curves) == [FULL, "count ≥ 3"]
    table = contrastive_table3.make_table(data, curves)
    found = checked(table, tmp_path)
    assert len(found) == 2 * (2 * len(contrastive_table3.CRITERIA) + 3)
    assert found["text, count ≥ 3: tags per token"] > found[f"text, {FULL}: tags per token"]
    assert found["text, count ≥ 3: ambiguous words"] > found[f"text, {FULL}: ambiguous words"]
    published = {f"{row.name}: {row.metric}": row.published for row in table.rows}
    assert published[f"LENGTH + spelling, {FULL}: all words, oracle"] == 91.9
    assert published["EM, uniform start, count ≥ 3: all words, selected"] == 66.5
    assert published["TRANS1, count ≥ 3: all words, selected"] == 71.7
    figure = contrastive_figure3.make_table(data, curves)
    plotted = checked(figure, tmp_path)
    assert figure.figures == ["contrastive-figure3-full-dictionary.png", "contrastive-figure3-count-3.png"]
    run = curves["count ≥ 3"]["TRANS1"].selected
    assert plotted["TRANS1, count ≥ 3: ambiguous, selected"] == 100 * run.report.ambiguous_accuracy
    assert found["TRANS1, count ≥ 3: all words, selected"] == 100 * run.report.accuracy


def test_semi_supervised(tiny, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(semi_supervised, "load", lambda words, coarse: tiny)
    fewer = {"neighborhoods": ("trans1",), "weights": (0.1,), "variances": (1.0,)}
    conditions = [replace(c, **fewer) for c in semi_supervised.CONDITIONS]
    table = semi_supervised.make_table(conditions, 0, 15, (0, 4), lambda line: None, 1)
    found = checked(table, tmp_path)
    for condition in conditions:
        for method, sizes in (("mixture with TRANS1", (0, 4)), ("CRF", (4, 40)), ("EM", (0, 4, 40))):
            for n in sizes:
                name = f"{method}, {condition.name}, {n} tagged"
                assert found[f"{name}: all words"] <= found[f"{name}: all words, oracle"]
        assert found[f"CRF, {condition.name}, 40 tagged: all words"] > found[f"random, {condition.name}: all words"]
    assert len(found) == 2 * (7 * 3 + 1)
    assert "4 tagged sentences, against the CRF: mixture with TRANS1" in table.remarks[0]
    assert table.figures == ["semi-supervised-full-dictionary.png", "semi-supervised-count-3.png"]


# ---------------------------------------------------------------------- the treebank and the paper


def test_published_numbers_are_the_papers():
    paper = Path(os.environ.get("LOGLIN_DATA", "")).parent / "papers" / PAPER
    if not paper.exists():
        pytest.skip("the paper is not beside the corpora")
    beginnings = (
        "all train & dev.",
        "1 st 500 sents.",
        r"$\operatorname{count} \geq 2$",
        r"$\operatorname{count} \geq 3$",
    )
    lines = [line for line in paper.read_text().splitlines() if line.startswith(beginnings)]
    assert len(lines) == len(DICTIONARIES)
    for line, how in zip(lines, DICTIONARIES, strict=True):
        cells = next(line[len(b) :] for b in beginnings if line.startswith(b))
        numbers = [float(cell.replace(",", "")) for cell in re.findall(r"\d[\d,]*\.?\d*", cells)]
        pairs = [number for pair in contrastive_table3.PUBLISHED[how] for number in pair]
        assert numbers == [*pairs, *contrastive_table3.PUBLISHED_TEXT[how]]


@pytest.fixture(scope="module")
def treebank():
    """The treebank sample, read once."""
    corpus_folder("treebank")
    whole = datasets.load("treebank")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unlabeled_tagging.datasets, "load", lambda name: whole)
        yield whole


def test_coarse_tags(treebank):
    tags = treebank.columns[1].vocabulary.strings
    assert len(tags) == 45
    assert set(TO_COARSE) == set(tags)
    assert sum(len(names.split()) for names in COARSE.values()) == 45  # none in two places
    assert len(COARSE) == 17
    data = unlabeled_tagging.load(24_000, coarse=True)
    assert data.dictionary[0] == sorted(COARSE)


def test_parts_of_the_text(treebank):
    sizes = {n: unlabeled_tagging.load(n, coarse=False).training for n in (12_000, 24_000, 48_000, 96_000)}
    data = unlabeled_tagging.load(24_000, coarse=False)
    assert (data.training.n_words, len(data.training.words)) == (24_020, 1_021)
    assert (data.development.n_words, len(data.development.words)) == (5_001, 207)
    parts = (data.training, data.between, data.development)
    assert sum(part.n_words for part in parts) == 94_084
    assert sizes[96_000].n_words == 94_084 - 5_001
    for n, text in sizes.items():
        assert text.words == sizes[96_000].words[: len(text.words)]
        assert text.n_words - len(text.words[-1]) < n  # no sentence too many


def test_dilution(treebank):
    """Random tagging of all words, in %, and tags a token, as a prototype counted them."""
    data = unlabeled_tagging.load(24_000, coarse=True)
    words = from_sentences(data.training.words).columns[0]
    found = {how: data.diluted(how).dictionary[1].allowed(words).sum(axis=1) for how in DICTIONARIES}
    chance = [round(100 * np.mean(1 / choices), 1) for choices in found.values()]
    assert chance == [79.7, 67.3, 68.4, 62.7]


KNOWN = {  # θ = 0, 24K words, 17 tags
    "trans1": -3109.4844,
    "del1word": -2947.9488,
    "delortrans1": -3710.4264,
    "del1subseq": -4182.3253,
    "length": -201462.8757,
}


def test_criteria_at_zero(treebank):
    data = unlabeled_tagging.load(24_000, coarse=True)
    corpus = from_sentences(data.training.words)
    for name, value in KNOWN.items():
        tagger = contrastive(name).tagger(1.0, dictionary=data.dictionary, max_iter=1, threads=1)
        model = tagger.fit(data.training.words).model_
        nothing = replace(model, weights=np.zeros_like(model.weights))
        assert unlabeled_value(nothing, corpus) == pytest.approx(value, abs=1e-3), name


def test_trans1_at_24_thousand_words(treebank):
    data = unlabeled_tagging.load(24_000, coarse=False)
    run, model = unlabeled_tagging.run_once(contrastive("trans1"), data, 2.0, None)
    assert model.record["objective"] == pytest.approx(2012.4, rel=2e-3)
    assert model.record["converged"]
    assert run.accuracy(ambiguous=True) == pytest.approx(84.5, abs=1)
    assert run.held == model.record["held_criterion"]
    assert run.report.random_ambiguous_accuracy == pytest.approx(0.384, abs=5e-4)
