"""A brief version of ``make faults``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_few_faults():
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, script, "--kills", "25", "--signals", "25", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.endswith("; 0 failures\n")
