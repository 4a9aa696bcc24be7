"""One person's work on a pool: which item comes next, what is proposed, and what was done, saved before it is said."""

from __future__ import annotations

import copy
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loglin.annotate.journal import Journal
from loglin.annotate.learner import Learner
from loglin.annotate.pool import Item, digest
from loglin.annotate.task import MEASURES, Task
from loglin.annotate.work import Work
from loglin.errors import LoglinError

ORDERS = {
    "uncertain": "the least certain first",
    "random": "at random",
    "given": "in the order of the file",
}
HELD = 600.0  # seconds for which an item that a page shows is not given to another page
CHECKED = 20  # every so manieth item is drawn at random and asked for wholly, to measure how well proposals are
WINDOW = 30  # answers that a point of the learning curve looks back on
LISTED = 200  # items of a list


class Conflict(LoglinError):
    """Something was done to an item since a page has seen it."""


@dataclass(frozen=True)
class Query:
    """Which items a page wants to see, and in which order."""

    order: str = "uncertain"
    search: str = ""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise LoglinError(f"the order is {self.order!r}; give one of {', '.join(ORDERS)}")


class Session:
    """All that a page asks for; every method may be called from any thread."""

    def __init__(self, task: Task, items: Sequence[Item], journal: str, measure: str = "entropy", seed: int = 0):
        if measure not in MEASURES:
            raise LoglinError(f"the measure of doubt is {measure!r}; give one of {', '.join(MEASURES)}")
        self.task, self.items, self.measure = task, items, measure
        header = {"task": task.name, "data": digest(items), "labels": task.types}
        self.journal = Journal(journal, header)
        self._lock = threading.RLock()
        self._held: dict[int, tuple[str, float]] = {}  # item → page that shows it, since when
        self._drawn: set[int] = set()  # items that were shown because they were drawn at random
        self._shuffled = list(range(len(items)))
        random.Random(seed).shuffle(self._shuffled)
        try:
            self.work = self._replayed(self.journal)
            if not self.work.entries:
                self._take_given()
        except BaseException:
            self.journal.close()
            raise
        self.learner = Learner(task, items, measure, self._copied)
        self.learner.ask(len(self.work.entries))

    def close(self) -> None:
        self.learner.end()
        self.journal.close()

    # ------------------------------------------------------------------ what is shown

    def next(self, page: str, query: Query) -> dict[str, Any] | None:
        """The next item of a page, with proposals; None where there is none left."""
        with self._lock:
            drawn = query.order == "uncertain" and len(self.work.answers) % CHECKED == CHECKED - 1
            for number in self._shuffled if drawn else self._ordered(query):
                if self._is_open(number, page) and query.search.lower() in self.items[number].text.lower():
                    self._held = {n: h for n, h in self._held.items() if h[0] != page}
                    self._held[number] = page, time.monotonic()
                    if drawn:
                        self._drawn.add(number)
                    return self.shown(number)
            return None

    def shown(self, number: int) -> dict[str, Any]:
        """An item as pages show it: its text, what is proposed, what was answered."""
        with self._lock:
            item, now = self._item(number), self.learner.now
            proposal = self.task.proposal(now.model, item, self.work)
            if number in self._drawn and "asked" in proposal:
                proposal["asked"] = list(range(len(item.places)))
            return {
                "item": number,
                "revision": self.work.revision[number],
                "text": item.text,
                "places": item.places,
                "proposal": proposal,
                "check": number in self._drawn,
                "answer": self.work.answers.get(number),
                "flagged": number in self.work.flagged,
                "skipped": number in self.work.skipped,
                "learnt": max(0, now.entries),
            }

    def listed(self, kind: str, search: str = "") -> list[dict[str, Any]]:
        """The items that are answered, skipped, flagged or open, as many as a page lists."""
        with self._lock:
            groups = {
                "answered": list(self.work.answers)[::-1],
                "skipped": list(self.work.skipped),
                "flagged": sorted(self.work.flagged),
                "open": [n for n in range(len(self.items)) if n not in self.work.answers],
            }
            if kind not in groups:
                raise LoglinError(f"there is no list {kind!r}; ask for one of {', '.join(groups)}")
            wanted = (n for n in groups[kind] if search.lower() in self.items[n].text.lower())
            return [{"item": n, "text": self.items[n].text[:200]} for n, _ in zip(wanted, range(LISTED), strict=False)]

    def state(self) -> dict[str, Any]:
        """Progress, the learning curve and the model."""
        with self._lock:
            now = self.learner.now
            return {
                "task": self.task.name,
                "single": self.task.single,
                "types": self.task.types,
                "orders": ORDERS,
                "items": len(self.items),
                "answered": len(self.work.answers),
                "skipped": len(self.work.skipped),
                "flagged": len(self.work.flagged),
                "entries": len(self.work.entries),
                "always": [{"words": list(words), "type": type_} for words, type_ in self.work.always.items()],
                "learnt": {
                    "entries": max(0, now.entries),
                    "times": now.times,
                    "seconds": now.seconds,
                    "failure": now.failure,
                },
                "curve": self.curve(),
                "checks": self.checks(),
            }

    def curve(self) -> list[dict[str, float]]:
        """Agreement of proposals, made before they were learnt from, with the answers: of the last ones, by number."""
        judged = [a for a in self.work.answers.values() if a.get("proposed") is not None]
        step = max(1, len(judged) // 60)
        ends = sorted({*range(step, len(judged) + 1, step), len(judged)} - {0})
        points = []
        for end in ends:
            value, n = self.task.agreement(judged[max(0, end - WINDOW) : end], self.items)
            if n:
                points.append({"answers": end, "agreement": value, "of": n})
        return points

    def checks(self) -> dict[str, float]:
        """The same on items that were drawn at random: what to expect of the items that are left."""
        drawn = [a for a in self.work.answers.values() if a.get("check") and a.get("proposed") is not None]
        value, n = self.task.agreement(drawn, self.items)
        return {"agreement": value, "of": n}

    # ------------------------------------------------------------------ what is done

    def do(self, given: dict[str, Any]) -> dict[str, Any]:
        """Check what a page has done, save it, and say what it was saved as."""
        actions: dict[str, Callable] = {
            "answer": self._answer,
            "skip": self._touch,
            "flag": self._flag,
            "always": self._always,
            "never": self._never,
            "undo": self._undo,
        }
        name = given.get("do")
        if not isinstance(name, str) or name not in actions:
            raise LoglinError(f'"do" is {name!r:.60}; give one of {", ".join(actions)}')
        with self._lock:
            page = given.get("page", "")
            entry = {"do": name, "page": page if isinstance(page, str) else ""} | actions[name](given)
            number = self.journal.append(entry)
            self.work.add(entry)
            self.learner.ask(number)
            item = entry.get("item")
            return {"saved": number, "item": item, "revision": None if item is None else self.work.revision[item]}

    def _answer(self, given: dict[str, Any]) -> dict[str, Any]:
        touched = self._touch(given)
        item = self.items[touched["item"]]
        answer = self.task.checked(item, given)
        now = self.learner.now
        proposed = None
        if now.model is not None and item.number not in self.work.answers:
            said = self.task.proposal(now.model, item, self.work)
            proposed = [[s["start"], s["stop"], s["type"]] for s in said["spans"]] if "spans" in said else said["label"]
        told = {"check": True} if item.number in self._drawn else {}
        return touched | answer | {"proposed": proposed} | told

    def _touch(self, given: dict[str, Any]) -> dict[str, Any]:
        """The item of an action, which must be as the page has seen it."""
        number = given.get("item")
        self._item(number)
        assert isinstance(number, int)
        if given.get("revision") != self.work.revision[number]:
            raise Conflict(f"item {number} was changed by another page since this one showed it; look at it again")
        return {"item": number}

    def _flag(self, given: dict[str, Any]) -> dict[str, Any]:
        return self._touch(given) | {"flagged": bool(given.get("flagged", True))}

    def _always(self, given: dict[str, Any]) -> dict[str, Any]:
        words, type_ = given.get("words"), given.get("type")
        if not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
            raise LoglinError(f'"words" is {words!r:.60}; give a list of words')
        if type_ not in self.task.types:
            raise LoglinError(f"the type {type_!r:.60} is not among {', '.join(self.task.types)}; give one of these")
        return {"words": words, "type": type_}

    def _never(self, given: dict[str, Any]) -> dict[str, Any]:
        touched = self._touch(given)
        spans = self.task.checked(self.items[touched["item"]], {"spans": [given.get("span")]})["spans"]
        return touched | {"span": spans[0]}

    def _undo(self, given: dict[str, Any]) -> dict[str, Any]:
        number = self.work.last_of(given.get("page", ""))
        if number is None:
            raise LoglinError("there is nothing to undo")
        undone = self.work.entries[number - 1]
        return {"entry": number} | ({"item": undone["item"]} if "item" in undone else {})

    # ------------------------------------------------------------------ inside

    def _copied(self) -> Work:
        with self._lock:
            return copy.deepcopy(self.work)

    def _item(self, number: Any) -> Item:
        if type(number) is not int or not 0 <= number < len(self.items):
            raise LoglinError(f"there is no item {number!r:.60}; give a number below {len(self.items)}")
        return self.items[number]

    def _is_open(self, number: int, page: str) -> bool:
        holder, since = self._held.get(number, (page, 0.0))
        theirs = holder != page and time.monotonic() - since < HELD
        return number not in self.work.answers and number not in self.work.skipped and not theirs

    def _ordered(self, query: Query) -> Iterator[int]:
        doubts = self.learner.now.doubts
        if query.order == "given":
            return iter(range(len(self.items)))
        if query.order == "random" or doubts is None:
            return iter(self._shuffled)
        return iter((-doubts).argsort(kind="stable").tolist())

    def _take_given(self) -> None:
        """Answers that the file has already."""
        for item in self.items:
            answer = self.task.given(item)
            if answer is not None:
                entry = {"do": "answer", "item": item.number, **answer, "proposed": None}
                self.journal.append(entry)
                self.work.add(entry)

    def _replayed(self, journal: Journal) -> Work:
        """What a journal says was done; one whose entries do not fit the items is refused."""
        work = Work()
        for number, entry in enumerate(journal.entries, 1):
            try:
                if "item" in entry:
                    self._item(entry["item"])
                if entry["do"] == "answer":
                    self.task.checked(self.items[entry["item"]], entry)
                work.add(entry)
            except (KeyError, TypeError, ValueError, LoglinError) as error:
                raise LoglinError(
                    f"{journal.path}, line {number + 1} is no entry ({error}); restore the journal, or give another "
                    "one by --journal"
                ) from None
        return work
