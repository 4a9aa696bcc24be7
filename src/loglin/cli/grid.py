"""What loglin train --grid tries."""

from __future__ import annotations

from typing import Any

from loglin.errors import LoglinError

PARAMETERS = ("l1", "l2", "tol", "cutoff", "seed")


def grid_of(given: dict) -> dict[str, list[Any]]:
    """The values to try; what cannot be compared is refused before anything is trained."""
    from loglin.methods.settings import LATENT
    from loglin.selection import checked_grid, parted

    grid: dict[str, list[Any]] = {}
    for text in given["grid"]:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise LoglinError(f"--grid is {text!r}; write NAME=V1,V2, such as l2=0.5,1,2")
        grid[name.strip().replace("-", "_")] = [_number(v.strip()) for v in values.split(",")]
    if not grid:
        return grid
    if given["criterion"] not in LATENT:
        raise LoglinError(
            f"--grid is for text without labels; give --criterion {', '.join(LATENT[:-1])} or {LATENT[-1]}"
        )
    if not given["dev"]:
        raise LoglinError("--grid chooses by the criterion on held-out text without labels; give it by --dev FILE")
    checked_grid(grid)
    for name in parted(grid, given["criterion"])[1]:
        if name not in PARAMETERS:
            raise LoglinError(f"--grid names {name!r}; name {', '.join(PARAMETERS)} or a setting of the criterion")
    return grid


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
