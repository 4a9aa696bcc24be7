"""Models of every kind, served."""

from __future__ import annotations

from pathlib import Path

import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from loglin.serve.limits import Limits

SENTENCES = [["2", "cups", "flour"], ["1", "pinch", "of", "salt"], ["3", "large", "eggs"]]
LABELS = [["B-QTY", "B-UNIT", "B-NAME"], ["B-QTY", "B-UNIT", "O", "B-NAME"], ["B-QTY", "B-NAME", "I-NAME"]]
LIMITS = Limits(body=100_000, tokens=200, batch=600, seconds=0.3, waiting=50)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Model files of every kind."""
    found = tmp_path_factory.mktemp("served")
    Tagger(l2=0.1, threads=1, tokenizer="words").fit(SENTENCES, LABELS).save(found / "kitchen.model")
    pairs = [[(word, "X") for word in sentence] for sentence in SENTENCES]
    Tagger(l2=0.1, threads=1).fit(pairs, LABELS).save(found / "columns.model")
    dicts = [[{"w": word} for word in sentence] for sentence in SENTENCES]
    Tagger(l2=0.1, threads=1).fit(dicts, LABELS).save(found / "attributes.model")
    MaxEnt(threads=1).fit(["a goal", "a court"], ["sport", "law"]).save(found / "topics.model")
    MaxEnt(multi_label=True, threads=1).fit(
        ["goal", "court", "goal court"], [{"sport"}, {"law"}, {"sport", "law"}]
    ).save(found / "sets.model")
    LanguageModel(features=("bigram",), vocabulary=50, max_iter=5, threads=1).fit(
        ["the crow sat", "the crow ate"]
    ).save(found / "words.model")
    Parser("pcfg", threads=1).fit(["(S (NP (D the) (N crow)) (V sat))", "(S (NP (N mice)) (V ate))"]).save(
        found / "trees.model"
    )
    return found


@pytest.fixture(scope="session")
def served(folder):
    """All of them, served."""
    pytest.importorskip("fastapi", reason="serving needs loglin[serve]")
    from loglin.serve.worker import Served

    found = [Served(path.stem, str(path), LIMITS) for path in sorted(folder.glob("*.model"))]
    yield found
    for one in found:
        one.close()


@pytest.fixture(scope="session")
def app(served):
    from loglin.serve.app import application, with_page

    return with_page(application(served, LIMITS))


@pytest.fixture(scope="session")
def tagger(folder) -> Tagger:
    return Tagger.load(folder / "kitchen.model")
