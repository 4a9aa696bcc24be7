"""The kernels also run as plain Python, so that they can be stepped through and covered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.mark.full
def test_the_marked_tests_with_the_jit_off():
    others = sorted(set(TESTS.glob("*/test_*.py")) - {Path(__file__)})
    files = [str(path) for path in others if "mark.without_jit" in path.read_text()]
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "without_jit", *files]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=TESTS.parent, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
