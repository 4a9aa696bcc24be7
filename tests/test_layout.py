"""A folder imports only folders drawn above it in the design; imports are lazy; kernels import kernels."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from loglin.criteria.registry import FIRST, criteria
from loglin.kernels.digests import sources
from loglin.models.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "loglin"
# the way of the data, top to bottom: a folder imports only folders that stand before it
FOLDERS = [
    "kernels",
    "corpus",
    "features",
    "grammars",
    "structures",
    "neighborhoods",
    "generative",
    "models",
    "decoding",
    "evaluation",
    "optimize",
    "objectives",
    "problems",
    "criteria",
    "training",
    "drawing",
    "estimators",
    "crfsuite",
    "serve",
    "spacy",
    "inspection",
    "annotate",
    "demo",
    "reproduce",
    "cli",
]
ROOT_MODULES = {"errors.py", "threads.py", "__init__.py", "__main__.py"}  # all may use the first two


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


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_upwards(path):
    folder = path.relative_to(PACKAGE).parts[0]
    later = {name for name in imports_of(path) if name in FOLDERS[FOLDERS.index(folder) + 1 :]}
    assert not later, f"{path.relative_to(PACKAGE)} imports {later}"


def test_optimizers_and_objectives_know_each_other_by_protocols_alone():
    for path in (PACKAGE / "optimize").glob("*.py"):
        assert "objectives" not in imports_of(path), path.name


COMPILERS = {"jit", "emitter", "build"}  # import Numba; with compiled kernels nothing imports them


KERNELS = sorted(path for path in (PACKAGE / "kernels").glob("*.py") if "@kernel" in path.read_text())


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_kernels_import_no_compiler_and_digests_know_what_they_import(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("loglin.kernels"):
            modules = node.module.split(".")[2:]
            found |= set(modules) if modules else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not [name for name in names if name.split(".")[0] in ("numba", "llvmlite")]
    if path.stem != "compile":  # imports how kernels are compiled, which the compiled code does not depend on
        assert found & COMPILERS == set()
        assert found <= set(sources(path.stem))


def test_no_code_compares_with_the_name_of_a_criterion_or_a_task():
    """What differs between criteria and tasks is said by their classes; the registries alone know names."""
    names = {*KINDS, *(name for structure in FIRST for name in criteria(structure))} - {"accuracy"}  # a metric too
    found = []
    for path in PACKAGE.glob("*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                inside = [part for one in (node.left, *node.comparators) for part in ast.walk(one)]
                if names & {
                    part.value for part in inside if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }:
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert not found


def test_nothing_else_lies_at_the_root():
    found = {p.name for p in PACKAGE.iterdir() if p.name != "__pycache__"}
    assert found == {*FOLDERS, *ROOT_MODULES, "py.typed"}


def test_a_wheel_has_every_file_that_is_no_python():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["loglin"]
    shipped = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    there = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    others = {path for path in there if path.suffix != ".py" and not path.name.startswith("compiled-")}
    assert len(others) > 3
    assert others <= shipped


def test_test_files_share_code_through_support_alone():
    for path in ROOT.glob("tests/**/*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        modules += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        assert not [name for name in modules if name.startswith(("test_", "conftest"))], path.name


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import loglin", ("numpy", "numba", "sklearn")),
        ("import loglin.cli.main", ("numpy", "numba", "sklearn")),
        ("import loglin.cli.tagging, loglin.decoding.tagged_text", ("sklearn", "scipy.sparse", "scipy.optimize")),
    ],
)
def test_imports_are_lazy(code, forbidden):
    script = f"{code}; import sys; print([m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
