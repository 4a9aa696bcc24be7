"""A brief version of ``make faults``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command", [["run.py", "--kills", "6", "--signals", "6", "--seed", "3"], ["checkpoints.py", "--kills", "5"]]
)
def test_a_few_faults(command):
    script, *options = command
    command = [sys.executable, Path(__file__).with_name(script), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.endswith("; 0 failures\n")
