"""setuptools, told what building a wheel takes besides: Numba to compile kernels, and a C compiler to link them.

An editable install compiles nothing, so it needs none of them.
"""

from __future__ import annotations

import os
import shutil
import sysconfig

from setuptools import build_meta
from setuptools.build_meta import (  # what a build front end calls
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

COMPILER = ["numba>=0.60", "numpy>=2.0"]  # an extension that is built with NumPy 2 also runs with 1.26


def get_requires_for_build_wheel(config_settings=None):
    if os.environ.get("LOGLIN_LEVELS") == "none":
        return build_meta.get_requires_for_build_wheel(config_settings)
    command = os.environ.get("CC") or sysconfig.get_config_var("CC")  # none on Windows
    linker = ["ziglang"] if command and not shutil.which(command.split()[0]) else []
    return [*build_meta.get_requires_for_build_wheel(config_settings), *COMPILER, *linker]
