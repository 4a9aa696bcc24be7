"""What has been done so far: the entries of a journal played again, those that were undone left out.

{"do": "answer", "item": 3, …}                     an answer, as the task writes it
{"do": "skip", "item": 3}                          not now
{"do": "flag", "item": 3, "flagged": true}         to be talked about
{"do": "always", "words": ["New", "York"], "type": "LOC"}
{"do": "never", "item": 3, "span": [0, 2, "LOC"]}  never here
{"do": "undo", "entry": 7, "item": 3}              the item is that of the entry, if it has one
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loglin.annotate.spans import Span


@dataclass
class Work:
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)  # item → its last answer, in order of answers
    skipped: dict[int, None] = field(default_factory=dict)
    flagged: set[int] = field(default_factory=set)
    always: dict[tuple[str, ...], str] = field(default_factory=dict)  # words → type
    never: dict[int, list[Span]] = field(default_factory=dict)
    revision: Counter[int] = field(default_factory=Counter)  # of every item: how often something was done to it
    done: list[int] = field(default_factory=list)  # numbers of entries, from 1, that were not undone
    entries: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any]]) -> Work:
        work = cls()
        for entry in entries:
            work.add(entry)
        return work

    def add(self, entry: dict[str, Any]) -> None:
        """One more entry."""
        self.entries.append(entry)
        if "item" in entry:
            self.revision[entry["item"]] += 1
        if entry["do"] != "undo":
            self.done.append(len(self.entries))
            self._apply(entry)
            return
        self.done.remove(entry["entry"])
        for part in (self.answers, self.skipped, self.flagged, self.always, self.never):
            part.clear()
        for number in self.done:
            self._apply(self.entries[number - 1])

    def last_of(self, page: str) -> int | None:
        """The number of the entry to undo: the last of a page, or, where it has none, the last of all."""
        own = (number for number in reversed(self.done) if self.entries[number - 1].get("page") == page)
        return next(own, self.done[-1] if self.done else None)

    def _apply(self, entry: dict[str, Any]) -> None:
        item = entry.get("item", -1)
        match entry["do"]:
            case "answer":
                self.answers.pop(item, None)
                self.answers[item] = entry
                self.skipped.pop(item, None)
            case "skip":
                self.skipped[item] = None
            case "flag":
                (self.flagged.add if entry["flagged"] else self.flagged.discard)(item)
            case "always":
                self.always[tuple(entry["words"])] = entry["type"]
            case "never":
                self.never.setdefault(item, []).append(Span(*entry["span"]))
