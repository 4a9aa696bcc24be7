"""A stage imports only stages drawn above it in the design; imports are lazy; kernels import kernels."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "loglin"
# the way of the data, top to bottom; kernels, parallel and errors may be used by all
STAGES = [
    "errors",
    "kernels",
    "parallel",
    "corpus",
    "features",
    "pictures",
    "neighborhoods",
    "grammars",
    "structures",
    "models",
    "criteria",
    "optimize",
    "methods",
    "model",
    "parser_model",
    "evaluate",
    "mapping",
    "significance",
    "parseval",
    "decode",
    "watch",
    "options",
    "solving",
    "latent",
    "training",
    "selection",
    "parser_options",
    "parser_problem",
    "parser_solving",
    "parser_latent",
    "parser_training",
    "parsing",
    "tagger_files",
    "tagger_evaluation",
    "estimators",
    "reproduce",
    "cli",
]


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("loglin"):
            if node.module == "loglin":
                found |= {f"loglin.{alias.name}" for alias in node.names}
            else:
                found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("loglin")}
    return {name.split(".")[1] for name in found if "." in name}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_upwards(path):
    stage = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if stage in ("__init__", "__main__"):
        return
    later = {name for name in imports_of(path) if name in STAGES and STAGES.index(name) > STAGES.index(stage)}
    assert not later, f"{path.name} of stage {stage} imports {later}"


def test_every_stage_is_listed():
    found = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if not p.name.startswith(("_", "py."))}
    assert found == set(STAGES)


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import loglin", ("numpy", "numba", "sklearn")),
        ("import loglin.cli.main", ("numpy", "numba", "sklearn")),
        ("import loglin.cli.tagging, loglin.tagger_files", ("sklearn", "scipy.sparse", "scipy.optimize")),
    ],
)
def test_imports_are_lazy(code, forbidden):
    script = f"{code}; import sys; print([m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
