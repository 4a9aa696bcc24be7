"""Adds to what pyproject.toml says: a wheel holds the kernels, compiled for every level of the processor.

``LOGLIN_LEVELS`` chooses others, as in python -m loglin.kernels.build --levels; "none" makes a wheel without.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

LEVELS = os.environ.get("LOGLIN_LEVELS", "all").split()


class BuildWithKernels(build_py):
    """Copies the sources, then compiles them into the same folder."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode and LEVELS != ["none"]:
            library = Path(self.build_lib).resolve()
            command = [sys.executable, "-m", "loglin.kernels.build", "--levels", *LEVELS]
            subprocess.run(command, env=os.environ | {"PYTHONPATH": str(library)}, cwd=library, check=True)


class Binary(Distribution):
    """A distribution for one platform."""

    def has_ext_modules(self) -> bool:
        return LEVELS != ["none"]


setup(cmdclass={"build_py": BuildWithKernels}, distclass=Binary)
