"""The examples of docs/serving.md: every request gets the answer that the page shows.

LOGLIN_WRITE_DOCS=1 writes the answers into the page.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from loglin import MaxEnt, Tagger
from loglin.demo.ingredients import generate
from support.asgi import ask

pytest.importorskip("fastapi", reason="serving needs loglin[serve]")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
EXCHANGE = re.compile(r"```http\n(\w+) (\S+)\n(.*?)\n```\n\n```json\n(.*?)```", re.DOTALL)


def close(value):
    """A value whose numbers may differ as they do between machines."""
    if isinstance(value, dict):
        return {name: close(one) for name, one in value.items()}
    if isinstance(value, list):
        return [close(one) for one in value]
    return pytest.approx(value, abs=1e-4) if isinstance(value, float) else value


def rounded(value):
    """A value as the page shows it."""
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 4))


@pytest.fixture
def app(tmp_path):
    from loglin.serve.app import application
    from loglin.serve.limits import Limits
    from loglin.serve.worker import Served

    lines = generate(120, 1, "train")
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    Tagger(tokenizer="words", threads=1).fit(X, y).save(tmp_path / "kitchen.model")
    MaxEnt(threads=1).fit(["goal", "court"], ["sport", "law"]).save(tmp_path / "topics.model")
    served = [Served(name, str(tmp_path / f"{name}.model"), Limits()) for name in ("kitchen", "topics")]
    yield application(served, Limits())
    for one in served:
        one.close()


def test_answers_are_as_the_page_shows_them(app):
    text = PAGE.read_text()
    assert len(EXCHANGE.findall(text)) >= 3

    def written(match: re.Match) -> str:
        method, path, body, shown = match.groups()
        value = ask(app, path, json.loads(body), method=method).value
        if not os.environ.get("LOGLIN_WRITE_DOCS"):
            assert json.loads(shown) == close(rounded(value))
            return match[0]
        return match[0][: match.start(4) - match.start()] + json.dumps(rounded(value), ensure_ascii=False) + "\n```"

    PAGE.write_text(EXCHANGE.sub(written, text)) if os.environ.get("LOGLIN_WRITE_DOCS") else EXCHANGE.sub(written, text)
