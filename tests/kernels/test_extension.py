"""Kernels compiled ahead of time: the same numbers as the JIT's, and nothing used that does not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from loglin.cli.main import cli
from loglin.kernels import decode, digests, extension, gradient, keys, logspace, vectors

there = None if extension.mode() == "jit" else extension.find()
needs_extension = pytest.mark.skipif(there is None, reason="no compiled kernels: python -m loglin.kernels.build")
pytestmark = needs_extension
RNG = np.random.default_rng(7)


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def test_all_modules_are_compiled_from_their_sources():
    from loglin.kernels.build import kernel_modules

    assert there is not None
    assert [module for module in kernel_modules() if not there.fresh(module)] == []


def chain():
    return RNG.normal(size=(9, 5)), RNG.normal(size=(1, 5, 5)), np.zeros((0, 5, 5))


CALLS = {
    "a reordered sum": lambda real: (vectors.dot, *RNG.normal(size=(2, 5000)).astype(real)),
    "rows of vectors": lambda real: (
        gradient.sum_lists, 0, 3, np.array([0, 2, 4, 7]), RNG.integers(0, 5, 7).astype(np.uint32), 5,
        RNG.normal(size=(9, 24)).astype(real),
    ),
    "an array is returned": lambda real: (logspace.forward, *chain()),
    "a tuple is returned": lambda real: (keys.factorize, RNG.integers(0, 9, 50), np.zeros(50, np.int32)),
}  # fmt: skip


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_as_the_jit(name, real):
    kernel, *arguments = CALLS[name](real)
    again = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    found, expected = kernel(*arguments), kernel.fallback.made(*again)
    pairs = zip([*np.atleast_1d(found), *arguments], [*np.atleast_1d(expected), *again], strict=True)
    for one, other in pairs:
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_read_only_arrays_where_nothing_is_written():
    ptr, labels, weights = np.array([0, 2, 3]), np.array([0, 1, 1], np.uint16), np.ones(3)
    places = np.array([[-1, 0], [-1, 0]])
    for array in (ptr, labels, weights):
        array.flags.writeable = False
    decode.fill_rows(ptr, labels, places, weights, np.zeros((2, 8)))


def test_types_that_were_not_declared_are_named(monkeypatch):
    monkeypatch.setenv("LOGLIN_KERNELS", "strict")
    with pytest.raises(TypeError, match=r"vectors\.norm: not compiled for the types i4\[,\]; declare them"):
        vectors.norm(np.ones((2, 2), np.int32))
    with pytest.raises(TypeError, match="not contiguous"):
        vectors.norm(np.ones(4)[::2])
    fixed = np.ones(4)
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match=r"types const f8\[\]"):
        vectors.norm(fixed)


def test_types_that_were_not_declared_are_compiled(monkeypatch):
    monkeypatch.setenv("LOGLIN_KERNELS", "")
    assert vectors.norm(np.full(4, 2.0)[::2]) == pytest.approx(np.sqrt(8))


def test_code_of_other_sources_is_not_used(monkeypatch):
    """As if gradient.py had been edited since."""
    assert there is not None
    monkeypatch.setitem(there.digests, "gradient", "0" * 16)
    declared = gradient.never_falls.fallback.declared
    assert there.kernel(declared).n_overloads == 0
    assert there.kernel(vectors.dot.fallback.declared).n_overloads == vectors.dot.n_overloads > 0
    monkeypatch.setenv("LOGLIN_KERNELS", "strict")
    with pytest.raises(TypeError, match="its source is newer than the compiled kernels"):
        there.kernel(gradient.sum_lists.fallback.declared)(0)


def test_a_digest_covers_what_a_module_imports():
    assert {"gradient", "rows", "emitter", "compile"} == set(digests.sources("gradient"))
    assert "gradient" not in digests.sources("vectors")


def test_numba_is_not_imported(tmp_path):
    model, script = tmp_path / "tagger.model", Path(__file__).parent / "without_numba.py"
    done = subprocess.run([sys.executable, str(script), str(model)], capture_output=True, text=True, check=False,
                          env=os.environ | {"LOGLIN_KERNELS": ""})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[]"]


def test_plain_python_leaves_the_extension_aside():
    code = "from loglin.kernels.vectors import dot; print(type(dot).__name__)"
    assert run(code, NUMBA_DISABLE_JIT="1").stdout.strip() == "function"
    assert run(code, LOGLIN_KERNELS="jit").stdout.strip() == "CPUDispatcher"
    assert run(code, LOGLIN_KERNELS="strict").stdout.strip() == "Compiled"
    assert "write jit or strict" in run(code, LOGLIN_KERNELS="yes").stderr


def test_the_commands_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text()
    commands = [line for block in page.split("```sh\n")[1:] for line in block.split("```")[0].splitlines()]
    assert commands
    for command in [*commands, "loglin compile"]:
        result = CliRunner().invoke(cli, command.split()[1:], catch_exceptions=False)
        assert "compiled already" in result.output


@pytest.mark.full
def test_golden_numbers_by_either_way(tmp_path):
    """Every bit of weights and probabilities."""
    root = Path(__file__).parents[2]
    command, file = [sys.executable, str(root / "tests" / "golden" / "run.py")], str(tmp_path / "numbers.json")
    done = subprocess.run([*command, "record", file], env=os.environ | {"LOGLIN_KERNELS": "strict"}, check=False)
    assert done.returncode == 0
    again = subprocess.run(
        [*command, "check", file, "--exact"],
        env=os.environ | {"LOGLIN_KERNELS": "jit"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stdout[-3000:]


def test_no_named_arguments_are_as_if_none_were_meant(monkeypatch):
    from loglin.kernels import keys

    monkeypatch.setenv("LOGLIN_KERNELS", "strict")
    counts, none = np.zeros(2, np.int64), {}
    keys.count(np.array([1, 1], np.int32), counts, **none)  # as a function that wraps a kernel calls it
    assert counts.tolist() == [0, 2]
