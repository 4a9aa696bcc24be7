"""loglin train --grid: trials over values of options and settings, and the one to keep."""

from __future__ import annotations

from typing import Any

from loglin.corpus.formats import detected
from loglin.errors import LoglinError

GRID = ("l1", "l2", "tol", "cutoff", "seed")  # what --grid may name besides settings


def grid_of(given: dict, criterion: str) -> dict[str, list]:
    """What --grid names, with its values, or an error before anything is trained."""
    from loglin.training.selection import check_grid, parted

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
    check_grid(grid, criterion, given["dev"])
    inside, outside = parted(grid, criterion)
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


def selected(grid: dict[str, list], train_one: Any, options: Any, n_columns: int, given: dict) -> Any:
    """Trials over the grid, each with its criterion on the held-out text."""
    from dataclasses import replace

    from loglin.decoding.chains import Decoder
    from loglin.evaluation.tagged_text import read_labeled
    from loglin.training.selection import parted, select

    def train(parameters: dict) -> Any:
        inside, outside = parted(parameters, options.criterion)
        model = train_one(replace(options, settings={**(options.settings or {}), **inside}, **outside))
        model.record |= {"columns": n_columns, "label_column": given["label_column"]}
        return model

    def accuracy(model: Any) -> float:
        decoder = Decoder(model, given["threads"])
        form = detected(given["gold"], given["text_format"])
        return read_labeled(decoder, given["gold"], form, given["encoding"], None).report(decoder).telling_accuracy

    return select(grid, train, accuracy if given["gold"] else None)
