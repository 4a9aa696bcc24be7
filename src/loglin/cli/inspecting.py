"""loglin inspect, prune: what is in a model, why it decides as it does, and a smaller one."""

from __future__ import annotations

import math
import os
from importlib import import_module
from typing import Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError


@click.command("inspect")
@click.argument("model")
@click.option("--top", type=shared.Count(0), default=5, show_default=True, help="How many weights to list.")
@click.option("--label", help="Only the weights of this label.")
@click.option(
    "--explain",
    metavar="SENTENCE",
    help="Label this sentence, tokens parted by blanks, and say why. Columns of a token are parted by /, as in "
    "dog/NN; so are attributes, if the model looks at those.",
)
@click.option("--position", type=int, help="Token to explain, from 0; default the least certain one.")
@click.option("--html", metavar="FILE", help="Write a page that shows the model and works without a service.")
@click.option("--eval", "compare", metavar="FILE", help="With --html, of a tagger: its mistakes on this labelled file.")
@click.option("--example", multiple=True, metavar="TEXT", help="With --html, of a tagger: a text to show; repeatable.")
@click.option("--verify", is_flag=True, help="Say whether the file is as it was written, and end.")
@shared.as_json
def inspect_command(model, top, label, explain, position, html, compare, example, verify, as_json) -> None:
    """Show what is in MODEL: labels, templates, sizes, the strongest weights, how it was trained."""
    from loglin.models import kinds

    if position is not None and explain is None:
        raise click.UsageError("--position goes with --explain")
    if (compare or example) and not html:
        raise click.UsageError("--eval and --example go with --html")
    if compare and example:
        raise click.UsageError("--eval shows the sentences of its file; leave out --example")
    trained = kinds.load(model)
    if html:
        from loglin.cli.reporting import write_report

        write_report(trained, model, html, compare, example)
        return
    if verify:
        shared.show(*verified(model), as_json)
        return
    page = import_module(f"loglin.cli.{trained.kind.form.split('.')[0]}_inspecting")
    if explain is not None:
        page.explain(trained, model, explain, position, as_json)
        return
    value = page.overview(trained, model, top, label)
    shared.show(value, "\n".join(page.lines(value)), as_json)


def verified(path: str) -> tuple[dict[str, Any], str]:
    """What the checksum of a file that was loaded proves, for machines and for people: loading has compared it."""
    from loglin.models import files

    found, size = files.checksum(path), os.path.getsize(path)
    value = {"model": path, "whole": True if found else None, "checksum": found, "bytes": size}
    if found:
        return value, f"{path} is whole: {size:,} bytes with the checksum {found}"
    return value, f"{path} has no checksum, as files of older versions have none; train it again to have one"


def check_label(label: str | None, labels: list[str], whose: str) -> None:
    """Refuse a label that the model has not."""
    if label is not None and label not in labels:
        some = ", ".join(labels[:20]) + ("…" if len(labels) > 20 else "")
        raise LoglinError(f"the {whose} has no label {label!r}; its labels are {some}")


def record_lines(record: dict, examples: bool = False) -> list[str]:
    """How the model was trained; the record of a foreign file may hold anything."""
    from loglin.drawing.records import TrainingRecord

    return [f"  {title:<15}  {text}" for title, text in TrainingRecord(record).rows(examples)] or ["  not recorded"]


# ---------------------------------------------------------------------- smaller models


@click.command("prune")
@click.argument("model")
@click.option("-o", "--output", required=True, help="Model file to write.")
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Drop weights of at most this magnitude.",
)
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@shared.as_json
def prune_command(model, output, threshold, half, as_json) -> None:
    """Write MODEL without its small weights; those of exactly 0, as L1 leaves many, change no prediction."""
    import numpy as np

    from loglin.models.chain import Model

    shared.check_output(output, model)
    if not math.isfinite(threshold):
        raise LoglinError(f"--threshold is {threshold}; give a number of at least 0")
    before = Model.load(model)
    if not len(before.weights):
        raise LoglinError(f"{model} has no weights to prune, as hidden Markov models have none; leave it as it is")
    after = before.prune(threshold)
    if after.index.n_features == 0:
        largest = float(np.abs(before.weights).max(initial=0.0))
        raise LoglinError(f"no weight is larger than {threshold:g}; give less than the largest, {largest:g}")
    after.record["pruned"] = threshold
    after.save(output, half)
    value: dict[str, Any] = {"threshold": threshold, "half": half, "output": output}
    for when, kept, path in (("before", before, model), ("after", after, output)):
        value[when] = {"features": kept.index.n_features, "bytes": os.path.getsize(path)}
    if as_json:
        shared.print_json(value)
        return
    old, new = value["before"], value["after"]
    print(f"features  {old['features']:>13,} → {new['features']:>13,}  {_change(old['features'], new['features'])}")
    print(f"bytes     {old['bytes']:>13,} → {new['bytes']:>13,}  {_change(old['bytes'], new['bytes'])}")
    print(f"model written to {output}")


def _change(old: int, new: int) -> str:
    return f"({100 * (new - old) / old:+.1f}%)" if old else ""


COMMANDS = {"inspect": inspect_command, "prune": prune_command}
