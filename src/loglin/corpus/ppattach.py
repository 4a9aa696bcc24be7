"""Where prepositional phrases attach: ``id verb noun preposition noun V|N`` a line (Ratnaparkhi et al. 1994).

In *joined the board as director* the phrase belongs to the verb (V), in *is chairman of the firm* to the noun (N).
"""

from __future__ import annotations

import os
from typing import NamedTuple

from loglin.corpus.crfsuite import text_lines
from loglin.errors import LoglinError

SITES = ("V", "N")


class Attachment(NamedTuple):
    verb: str
    noun1: str
    preposition: str
    noun2: str
    site: str  # V or N

    @property
    def words(self) -> tuple[str, str, str, str]:
        return self[:4]


def read(path: str | os.PathLike, encoding: str = "utf-8") -> list[Attachment]:
    """All decisions of a file; blank lines are passed over."""
    found = []
    for number, line in text_lines(path, encoding):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 6 or fields[5] not in SITES:
            raise LoglinError(
                f"{path}, line {number}: {line[:60]!r} is not an id, a verb, a noun, a preposition, a noun and V or N; "
                "correct it"
            )
        found.append(Attachment(*fields[1:]))
    if not found:
        raise LoglinError(f"{path} holds no decisions; expected lines such as 0 join board as director V")
    return found
