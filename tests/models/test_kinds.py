"""The registry of kinds of models: nothing else compares the name of a task."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import loglin
from loglin.models.kinds import KINDS

PACKAGE = Path(loglin.__file__).parent


def compared_tasks(path: Path) -> list[str]:
    """Comparisons in which something called task meets the name of a kind."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = {getattr(side, "attr", None) or getattr(side, "id", None) for side in sides}
            values = {c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)}
            if "task" in names and values & set(KINDS):
                found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("folder", ["features", "generative", "models", "decoding", "evaluation", "cli"])
def test_no_task_is_compared_by_its_name(folder):
    found = [line for path in sorted((PACKAGE / folder).glob("*.py")) for line in compared_tasks(path)]
    assert [line for line in found if not line.startswith("tagging.py")] == []


def test_what_a_kind_says():
    assert [kind.name for kind in KINDS.values() if kind.has_transitions] == ["tag"]
    assert [kind.name for kind in KINDS.values() if kind.ranks] == ["rank"]
    assert KINDS["classify"].face_of({"criterion": "naive-bayes"}) == "NaiveBayes"
    assert KINDS["classify"].face_of({"criterion": ["x"]}) == KINDS["classify"].face_of(None) == "MaxEnt"
    assert str(KINDS["parse"].refusal("m")) == "m is a parser; use loglin parse, or Parser.load"
