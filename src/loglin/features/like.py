"""Features as CRF++, Wapiti and CRFsuite have them: one record a tool of what differs from loglin's own.

In all three an attribute is a string: two templates, or two values of one, that give the same string have the same
weights (features/naming.py). CRF++ 0.59, Wapiti 1.5.0 and CRFsuite 0.12 were read and measured (docs/templates.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loglin.errors import LoglinError


@dataclass(frozen=True)
class Tool:
    """What a tool makes of a template."""

    name: str
    letters: str  # what its templates begin with
    labels: str  # weights for the labels (and pairs) seen with an attribute, or for all
    before: str = ""  # the value of a place before the sentence, {} its distance; empty: the attribute is absent
    behind: str = ""
    farthest: int = 100  # the longest distance that is told apart; beyond it stands #
    longest: int = 100  # the longest distance that its templates may look
    functions: Mapping[str, str] | None = field(default=None, hash=False)  # its items → ours; None: all of ours
    counts_first: bool = True  # whether a first token's bigram attributes count, though no step leads to it
    pairs: bool = False  # label pairs have weights of their own, template or not, and are never crossed
    attributes: bool = False  # takes attributes with values in place of templates; cut-offs count the values
    comments: bool = False  # a # ends a line anywhere

    def symbols(self, reach: int) -> list[str] | None:
        """The values of the places at distance 1 … reach before a sentence, then behind it; None: no values."""
        if not self.before:
            return None
        distances = [str(d) if d <= self.farthest else "#" for d in range(1, reach + 1)]
        return [self.before.format(d) for d in distances] + [self.behind.format(d) for d in distances]

    def text_of(self, line: str) -> str:
        """What the tool reads of a template's line, its ends stripped."""
        return line.split("#", 1)[0].rstrip() if self.comments else line

    def check_line(self, line: str, place: str) -> None:
        if line[0] not in self.letters:
            *some, last = [letter for letter in self.letters if not letter.islower()]
            raise LoglinError(
                f"{place}: {line!r} starts with {line[0]!r}, but templates of {self.name} start with "
                f"{', '.join(some)} or {last}; leave out the line, or like={self.name}"
            )

    def function(self, name: str, offset: int, text: str, place: str) -> str:
        """Our name of the function of an item, whose text is given."""
        if abs(offset) > self.longest:
            raise LoglinError(f"{place}: {text!r} looks {abs(offset)} tokens away; {self.name} goes to {self.longest}")
        if self.functions is None:
            return name
        if name not in self.functions:
            items = ", ".join(f"%{known}" for known in self.functions if len(known) == 1)
            raise LoglinError(
                f"{place}: {self.name} has no {text!r}; its items are {items}: give a template of {self.name}, or "
                f"leave out like={self.name}"
            )
        return self.functions[name]


_WAPITI = {
    "x": "x", "X": "ascii-lower", "lower": "ascii-lower", "t": "byte-test", "T": "byte-test", "m": "byte-match",
    "M": "byte-match-lower",
}  # fmt: skip

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("crf++", "UB", "all", "_B-{}", "_B+{}", longest=8, functions={"x": "x"}, counts_first=False),
        Tool("wapiti", "UuBb*", "all", "_x-{}", "_x+{}", farthest=4, functions=_WAPITI, comments=True),
        Tool("crfsuite", "UB", "seen", pairs=True, attributes=True),
    )
}


def takes_attributes(like: str | None) -> bool:
    """Whether a tool, one that ``check_like`` knows, takes attributes in place of templates; without one: no."""
    return like is not None and TOOLS[like].attributes


def check_like(like: str | None) -> None:
    """Refuse the name of a tool that is not known."""
    if like is not None and like not in TOOLS:
        raise LoglinError(f"like is {like!r}; the tools whose features can be had are {', '.join(TOOLS)}")
