"""Our docstrings for mkdocstrings: what stands behind the colon of a parameter is about it, not its type.

Types are in signatures. CRITERIA in a docstring stands for the list of criteria, which has a page of its own.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

LISTED = "see the page on criteria"
SECTION = re.compile(r"^Parameters\n-+\n(?:(?! *\n\S.*\n-+$).*\n?)*", re.MULTILINE)
PARAMETER = re.compile(r"^(\w[\w, ]*?) : (.*)$", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Writes "name : about it" as numpydoc has it: the name in a line, and below it what is said about it."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring is not None:
            text = obj.docstring.value.replace("CRITERIA", LISTED)
            obj.docstring.value = SECTION.sub(lambda part: PARAMETER.sub(r"\1\n    \2", part.group()), text)
