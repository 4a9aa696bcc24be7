"""loglin train --grid: the values of options and settings to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.criteria.criterion import Criterion

GRID = ("l1", "l2", "tol", "cutoff", "seed")  # what --grid may name besides settings


def grid_of(given: dict, criterion: Criterion) -> dict[str, list]:
    """What --grid names, with its values, or an error before anything is trained."""
    grid: dict[str, list] = {}
    for text in given["grid"]:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise LoglinError(f"--grid is {text!r}; write NAME=V1,V2, such as l2=0.5,1,2")
        grid[name.strip().replace("-", "_")] = [_value(v.strip()) for v in values.split(",")]
    if given["gold"] and not grid:
        raise LoglinError("--gold is for the trials of --grid; give --grid too, or judge the model with loglin eval")
    if not grid:
        return grid
    from loglin.training.selection import check_grid, separated

    check_grid(grid, criterion, given["dev"])
    inside, outside = separated(grid, criterion)
    unknown = [name for name in outside if name not in GRID] + ["labels"] * ("labels" in inside)
    if unknown:
        raise LoglinError(
            f"--grid names {unknown[0]!r}; name {', '.join(GRID)} or a setting of the criterion other than labels"
        )
    return grid


def _value(text: str) -> Any:
    """A whole number, a number, or the text itself."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
