"""Training as it goes on: a bar in a terminal or a notebook, else a line a second."""

from __future__ import annotations

import math
import sys
from typing import Any

BAR = "{percentage:3.0f}% |{bar:20}| {desc}"


def in_notebook() -> bool:
    """Whether this is a notebook, which has a kernel in the place of a terminal."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and "IPKernelApp" in found.config


class Progress:
    """Shows iterations; give it to ``callbacks=[Progress()]`` of any estimator.

    The bar stands for the way to convergence: from the improvement that was to come at first to ``tol`` of
    the objective, on a logarithmic scale, and so do the seconds left.
    """

    def __init__(self, tol: float = 1e-3):
        self.tol = tol
        self.bar: Any = None
        self._begin()

    def _begin(self) -> None:
        self.close()
        self.values: list[float] = []
        self.first: float | None = None
        self.last = 0.0

    def __call__(self, iteration: Any) -> None:
        if iteration.number == 1:
            self._begin()
            self.bar = _new_bar() if in_notebook() or sys.stderr.isatty() else None
        done, text = self.way(iteration.value), self.text(iteration)
        if 0.05 < done < 1:
            text += f", about {iteration.seconds * (1 - done) / done:.0f} s left"
        if self.bar is not None:
            self.bar.n = round(100 * done)
            self.bar.set_description_str(text)
        elif iteration.seconds - self.last >= 1.0 or iteration.number == 1:
            self.last = iteration.seconds
            print(text, file=sys.stderr)

    @staticmethod
    def text(iteration: Any) -> str:
        """An iteration in a line."""
        text = f"iteration {iteration.number}  objective {iteration.value:,.2f}"
        if iteration.active:
            text += f"  active {iteration.active:,}"
        if iteration.score is not None:
            text += f"  dev {iteration.score:.4f}"
        return text + f"  {iteration.seconds:.1f} s"

    def way(self, value: float) -> float:
        """Share of the way to convergence, 0 to 1."""
        from loglin.optimize.descent import improvement_left

        self.values.append(value)
        left, goal = improvement_left(self.values), self.tol * abs(value)
        if not left or goal <= 0:
            return 0.0
        self.first = max(self.first or left, left)
        if self.first <= goal:
            return 1.0
        return min(1.0, max(0.0, math.log(self.first / left) / math.log(self.first / goal)))

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _new_bar() -> Any:
    if in_notebook():
        from tqdm.auto import tqdm  # a widget, or a line of text where ipywidgets are not installed

        return tqdm(total=100, bar_format=BAR)
    from tqdm import tqdm

    return tqdm(total=100, leave=False, bar_format=BAR)
