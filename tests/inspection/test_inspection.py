"""What the inspector's page is told: contents, confusion, mistakes; and the page on its own."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pytest

from loglin import MaxEnt, Tagger
from loglin.corpus import schemes
from loglin.demo.ingredients import generate
from loglin.inspection.comparison import ELSEWHERE, NOTHING, compared
from loglin.inspection.contents import contents
from loglin.inspection.page import FOLDER, bundled, page, report


def separated(lines):
    return [[word for word, _ in line] for line in lines], [[label for _, label in line] for line in lines]


TRAIN, TEST = separated(generate(80, seed=0)), separated(generate(60, seed=1, split="test"))


@pytest.fixture(scope="module")
def tagger():
    return Tagger(threads=1, tokenizer="words").fit(*TRAIN)


def test_contents_are_the_weights_of_the_model(tagger):
    found, model = contents(tagger.model_), tagger.model_
    table, labels = found["transitions"]["weights"], found["transitions"]["labels"]
    assert labels == model.labels
    exact = model.index.transitions(model.weights)
    for i, row in enumerate(table):
        for j, weight in enumerate(row):
            assert (weight or 0.0) == pytest.approx(exact[i, j], abs=1e-4)
    votes = {v.feature: v.votes for v in tagger.explain(["2", "cups", "flour"], 0).votes}
    strongest = {label: dict(sides["positive"]) for label, sides in found["weights"].items()}
    shared = [(name, y) for name, some in votes.items() for y in some if name in strongest[y]]
    assert shared
    assert all(strongest[y][name] == pytest.approx(votes[name][y]) for name, y in shared)
    assert [p["value"] for p in found["curve"]] == [p["value"] for p in model.record["history"]]
    json.dumps(found, allow_nan=False)


def test_confusion_counts_every_span_once(tagger):
    found = compared(tagger, *TEST, "test.txt")
    predicted = tagger.predict(TEST[0])
    pairs = Counter()
    for gold, said in zip(TEST[1], predicted, strict=True):
        right, told = ({(b, e): y for y, b, e in schemes.entities(labels)} for labels in (gold, said))
        for span in {*right, *told}:
            pairs[span in right, span in told, right.get(span) == told.get(span)] += 1
    table = found["confusion"]
    count = {
        (r, c): n
        for r, row in zip(table["rows"], table["counts"], strict=True)
        for c, n in zip(table["columns"], row, strict=True)
    }
    outside = (NOTHING, ELSEWHERE)
    assert sum(n for (r, c), n in count.items() if r == c) == pairs[True, True, True]
    assert sum(n for (r, c), n in count.items() if r in outside) == pairs[False, True, False]
    assert sum(n for (r, c), n in count.items() if c in outside) == pairs[True, False, False]
    scores = tagger.evaluate(*TEST)
    assert found["f1"] == scores.f1
    assert {t["type"]: t["f1"] for t in found["types"]} == pytest.approx(
        {y: s["f1"] for y, s in scores.by_type.items()}
    )


def test_mistakes_come_with_exact_probabilities_most_confident_first(tagger):
    """Those of short sentences against all label sequences, listed."""
    keep = [n for n, tokens in enumerate(TEST[0]) if len(tokens) <= 3]
    X, y = [TEST[0][n] for n in keep], [TEST[1][n] for n in keep]
    found = compared(tagger, X, y, "short")["mistakes"]
    assert found
    assert [one["confidence"] for one in found] == sorted((one["confidence"] for one in found), reverse=True)
    checked = 0
    for one in found:
        tokens = X[one["sentence"]]
        listed = tagger.predict_nbest([tokens], len(tagger.classes_) ** len(tokens))[0]
        type_ = one["right"] if one["said"] == NOTHING else one["said"]
        start = next(t for t in range(len(tokens)) if " ".join(tokens[t:]).startswith(one["text"]))
        span = (type_, start, start + len(one["text"].split()))
        # as the decoder counts: a phrase begins with B, and no I continues it
        share = sum(p for labels, p in listed if span in schemes.entities(labels) and labels[start].startswith("B-"))
        assert one["confidence"] == pytest.approx(1 - share if one["said"] == NOTHING else share, abs=1e-6)
        checked += 1
    assert checked == len(found)


def test_tokens_without_a_scheme_are_compared_too():
    X = [["a", "dog"], ["the", "cat"], ["a", "cat"]]
    tagger = Tagger(threads=1).fit(X, [["D", "N"], ["D", "N"], ["D", "N"]])
    found = compared(tagger, [["the", "dog"]], [["D", "V"]], "one")
    (one,) = found["mistakes"]
    assert (one["said"], one["right"], one["text"]) == ("N", "V", "dog")
    assert one["confidence"] == pytest.approx(tagger.predict_marginals([["the", "dog"]])[0][1]["N"])
    assert found["f1"] is None or found["unit"] != "phrase"


def test_a_page_holds_all_that_it_needs(tagger):
    html = page(report(tagger, "<b>.model", TEST[0], compared(tagger, *TEST, "</script>.txt"))).decode()
    assert '<link rel="stylesheet"' not in html
    assert not re.search(r"\b(?:src|href)=\"(?!data:|docs/)", html)
    assert not re.search(r"^(?:import|export) ", html, re.M)
    value = json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', html, re.S)[1])
    assert value["evaluation"]["file"] == "</script>.txt"
    for one in value["examples"]:
        assert one["labels"] == tagger.predict([one["tokens"]])[0]
        assert len(one["explanations"]) == len(one["tokens"])
    shown = [one for one in value["evaluation"]["mistakes"] if one["example"] is not None]
    assert shown
    assert all(one["text"] in value["examples"][one["example"]]["text"] for one in shown)


def test_modules_of_the_page_share_no_names():
    """They are put into one text, where a name that is declared twice would be an error."""
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", bundled(), re.M)
    assert len(names) == len(set(names)) > 20
    assert all((FOLDER / name).exists() for name in ("index.html", "annotator.html"))


def test_other_kinds_of_models_have_contents():
    found = contents(MaxEnt(threads=1).fit([["a"], ["b"]], ["x", "y"]).model_)
    assert set(found["weights"]) == {"x", "y"}
    assert found["transitions"] is None
    assert np.isfinite([p["value"] for p in found["curve"]]).all()
