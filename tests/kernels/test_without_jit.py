"""The kernels also run as plain Python, so that they can be stepped through and covered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def test_a_part_of_the_suite_with_the_jit_off():
    chosen = "plain or conditioned or values or second or large_weights or kneser or cache_in_blocks or silent_arcs"
    chosen += " or known_criteria or windows_of_a_neighborhood or by_hand or mistaken"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-p",
        "no:cacheprovider",
        str(TESTS / "objectives" / "test_likelihood.py"),
    ]
    command += [
        str(TESTS / "structures" / "test_structures.py"),
        str(TESTS / "estimators" / "test_language_model.py"),
        str(TESTS / "neighborhoods" / "test_neighborhoods.py"),
        str(TESTS / "structures" / "test_lattices.py"),
        str(TESTS / "objectives" / "test_lattice_windows.py"),
        str(TESTS / "structures" / "test_forests.py"),
        str(TESTS / "structures" / "test_forest_lattices.py"),
        str(TESTS / "structures" / "test_pruning.py"),
        str(TESTS / "objectives" / "test_expansions.py"),
        "-k",
        f"({chosen}) and not 40",
    ]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=TESTS.parent, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
