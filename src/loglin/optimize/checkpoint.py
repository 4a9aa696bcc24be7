"""The state of a training on disk, from which the same command goes on after it was killed.

A training is a row of stages: every loop that reports iterations is one, and so is a warm start. Data, settings and
seed determine all of them, and what is computed between them. A checkpoint holds what the stages that have ended came
to, and the state of the one that runs. To go on is to run the same program again: stages that have ended return at
once what they came to, and the last one continues where it was, so that the weights are the same to the last bit.

    stage 1 ──► outcome ─┐
    stage 2 ──► outcome ─┼──► one file, replaced as a whole every so many seconds
    stage 3 ──► state   ─┘

The file has the format of models (models/files.py): JSON and plain arrays with a checksum; nothing in it is executed.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.optimize.bounds import Certificate
from loglin.optimize.record import Iteration, Result, Stop

if TYPE_CHECKING:
    from loglin.optimize.reporter import Reporter

TASK = "checkpoint"  # in the place where a model file names the model's
EVERY = 60.0  # seconds
_RECORDS = {kind.__name__: kind for kind in (Result, Stop, Certificate)}
_COUNTERS = ("evaluations", "touches")  # of objectives, which records tell


class Checkpoint:
    """A file that holds the state of one training; the copies that scikit-learn makes are the same one."""

    def __init__(
        self, path: str | os.PathLike, every: float = EVERY, tell: Callable[[str], None] = lambda sentence: None
    ):
        from loglin.corpus.output import check_writable
        from loglin.optimize.run import check_number

        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise LoglinError(f"checkpoint is {path!r:.60}; give the name of a file")
        check_number("checkpoint_every", every)
        check_writable(path)
        self.path, self.every, self.tell = path, every, tell
        self.about: list[dict[str, Any]] = []  # what tells each training of the run from all others
        self.stages: list[Section] = []  # that have ended
        self._about, self._saved = self._read()
        self._last = time.monotonic()
        self._failed = False

    def __deepcopy__(self, memo: dict) -> Checkpoint:
        return self

    def __repr__(self) -> str:
        return f"Checkpoint({os.fspath(self.path)!r}, {self.every:g})"

    # ------------------------------------------------------------------ going on

    def _read(self) -> tuple[list[dict[str, Any]], list[Section]]:
        if not os.path.exists(self.path):
            return [], []
        from loglin.models import files

        try:
            found = files.read(self.path)
        except LoglinError as error:
            reason = error.__cause__ or error
            raise LoglinError(f"{self.path} is no checkpoint or is damaged ({reason}); {self._remedy}") from error
        with self.refusing():
            found.choice("task", [TASK])
            about = [dict(one) for one in found.value("about", list)]
            parts = [found.part(f"stage{n}") for n in range(found.whole("stages"))]
            return about, [Section(p.manifest, {k: a.copy() for k, a in p.arrays.items()}, p.name) for p in parts]

    @property
    def _remedy(self) -> str:
        return "remove it to begin anew, or name another file"

    def refusing(self) -> Any:
        """Turn whatever is wrong with the file's contents into one sentence."""
        from loglin.models import files

        return files.refusing(self.path, "is no checkpoint of this training", self._remedy)

    def belongs(self, about: dict[str, Any]) -> None:
        """Refuse to go on with a training that differs from the one whose state was written; say if it goes on."""
        number = len(self.about)
        self.about.append(about)
        if number >= len(self._about):
            return
        there = self._about[number]
        for name in [*about, *(there.keys() - about.keys())]:
            if there.get(name) != about.get(name):
                values = f" ({there.get(name)!r:.40} there, {about.get(name)!r:.40} here)"
                raise LoglinError(
                    f"the checkpoint {self.path} belongs to another training: {name} differ"
                    f"{'' if name.startswith('the ') else 's' + values}; give the same command, or {self._remedy}"
                )
        if number == 0:
            with self.refusing():
                numbers = [row[0] for saved in self._saved for row in saved.get("value")["map"]["iterations"][-1:]]
                self.tell(f"training goes on from iteration {max(numbers, default=0)}, kept in {self.path}")

    def taken(self) -> dict[str, Any] | None:
        """What the file says of the next stage; None if it was not begun."""
        if len(self.stages) >= len(self._saved):
            return None
        saved = self._saved[len(self.stages)]
        with self.refusing():
            found = unpacked(saved)
            if found["ended"]:
                self.stages.append(saved)
            else:
                self._saved = []
            return found

    # ------------------------------------------------------------------ writing

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._last >= self.every

    def write(self, running: dict[str, Any]) -> None:
        """Replace the file by the state as it is now; a failure is told once, and training goes on."""
        from loglin.models import files

        n = len(self.stages)
        whole = Section({"version": files.VERSION, "task": TASK, "about": self.about, "stages": n + 1})
        for number, stage in enumerate([*self.stages, packed(running)]):
            whole = whole.with_part(f"stage{number}", stage)
        try:
            files.write(self.path, whole)
        except LoglinError as error:
            if not self._failed:
                warnings.warn(f"no checkpoint: {error}; training goes on", stacklevel=2)
            self._failed = True
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the training has ended, and what it came to is kept."""
        with suppress(OSError):
            os.unlink(self.path)


class Stage:
    """One loop of a training: whether it has ended and with what, or the state that it goes on from.

    Without a checkpoint nothing is known and nothing is kept.
    """

    def __init__(
        self,
        reporter: Reporter,
        function: Any = None,  # what is minimized, whose counters are kept too
        plain: Callable[[Any], Any] = lambda learned: learned,  # what is learned as arrays
        again: Callable[[Any], Any] = lambda arrays: arrays,  # arrays as what is learned
    ):
        self.reporter, self.checkpoint, self.plain = reporter, reporter.checkpoint, plain
        while hasattr(function, "objective"):  # penalized, or in other variables
            function = function.objective
        self.function, self.first = function, len(reporter.iterations)
        self.ended, self.outcome, self.state = False, None, None  # type: bool, Any, Any
        saved = None if self.checkpoint is None else self.checkpoint.taken()
        if saved is None or self.checkpoint is None:
            return
        with self.checkpoint.refusing():
            self._restore(saved, again)

    def _restore(self, saved: dict[str, Any], again: Callable[[Any], Any]) -> None:
        from loglin.optimize.reporter import Best

        reporter = self.reporter
        reporter.iterations += [Iteration(*row) for row in saved["iterations"]]
        if saved["iterations"]:
            reporter.began = time.perf_counter() - reporter.iterations[-1].seconds
        if saved["best"] is not None:
            score, learned, number = saved["best"]
            reporter.best = Best(score, again(learned), number)
        for name, count in saved["counters"].items():
            if name in _COUNTERS and hasattr(self.function, name):
                setattr(self.function, name, count)
        self.ended, content = saved["ended"], saved["content"]
        if isinstance(content, Result):
            content.iterations = reporter.since(self.first)
        self.outcome, self.state = (content, None) if self.ended else (None, content)

    def resume(self, restore: Callable[[Any], None]) -> bool:
        """Let a loop take its state; returns whether there was one."""
        if self.state is None or self.checkpoint is None:
            return False
        with self.checkpoint.refusing():
            restore(self.state)
        self.state = None
        return True

    def save(self, state: Any) -> None:
        """Write the state of the loop if it is time to; called where the loop could begin again with it."""
        if self.checkpoint is not None and self.checkpoint.is_due and self.reporter.asked is None:
            self.checkpoint.write(self._told(False, state))

    def end(self, outcome: Any) -> Any:
        """Keep what the loop came to, and return it."""
        if self.checkpoint is not None and self.reporter.asked is None:
            kept = replace(outcome, iterations=[]) if isinstance(outcome, Result) else outcome
            self.checkpoint.stages.append(packed(self._told(True, kept)))
        return outcome

    def _told(self, ended: bool, content: Any) -> dict[str, Any]:
        met, best = self.reporter.iterations[self.first :], self.reporter.best
        is_new = best is not None and bool(met) and best.number >= met[0].number
        return {
            "ended": ended,
            "content": content,
            "iterations": [list(astuple(iteration)) for iteration in met],
            "best": [best.score, self.plain(best.learned), best.number] if best is not None and is_new else None,
            "counters": {name: getattr(self.function, name) for name in _COUNTERS if hasattr(self.function, name)},
        }


def fields_of(one: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The named attributes of an object, for its state."""
    return {name: getattr(one, name) for name in names}


def set_fields(one: Any, names: tuple[str, ...], state: dict[str, Any], n: int) -> None:
    """Give an object the attributes of a state; arrays have its shapes, or those that it has not yet a row of ``n``."""
    for name in names:
        mine, there = np.shape(getattr(one, name)), np.shape(state[name])
        if len(mine) != len(there) or (there != mine and (0 not in mine or there[-1] != n)):
            raise ValueError(f"{name} has the shape {there}")
        setattr(one, name, state[name])


# ---------------------------------------------------------------------- values as sections


def packed(value: Any) -> Section:
    """Plain values, arrays, lists, dicts and the records of optimizers as JSON and copies of the arrays."""
    arrays: dict[str, np.ndarray] = {}
    return Section({"value": _plain(value, arrays)}, arrays)


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value.ravel().copy()
        return {"array": name, "shape": list(value.shape)}
    if isinstance(value, dict):
        return {"map": {key: _plain(one, arrays) for key, one in value.items()}}
    if isinstance(value, list):
        return [_plain(one, arrays) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(one, arrays) for one in value]}
    if is_dataclass(value):
        kept = {f.name: _plain(getattr(value, f.name), arrays) for f in fields(value)}
        return {"record": type(value).__name__, "fields": kept}
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >> 62:  # of random states
        return {"whole": str(value)}
    return value


def unpacked(section: Section) -> Any:
    """The value that a section was made of."""

    def again(found: Any) -> Any:
        if isinstance(found, list):
            return [again(one) for one in found]
        if not isinstance(found, dict):
            return found
        if "array" in found:
            return section.arrays[found["array"]].reshape(found["shape"]).copy()
        if "map" in found:
            return {key: again(one) for key, one in found["map"].items()}
        if "tuple" in found:
            return tuple(again(found["tuple"]))
        if "whole" in found:
            return int(found["whole"])
        return _RECORDS[found["record"]](**{key: again(one) for key, one in found["fields"].items()})

    return again(section.get("value"))
