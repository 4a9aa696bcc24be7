"""Options that every train command has, names that come from the registries, and one summary."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError


class CriterionChoice(shared.RegistryChoice):
    """A criterion by name, of those that the registry has for some structures."""

    def __init__(self, *structures: str):
        super().__init__(lambda: dict.fromkeys(name for structure in structures for name in _criteria(structure)))
        self.structures = structures

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name; a wrong one is answered with those that there are."""
        from loglin.criteria.registry import named

        if not any(named(value, structure) for structure in self.structures):
            raise LoglinError(f"no criterion is called {value!r}; there are {', '.join(self.choices)}")
        return value


class Strength(click.ParamType):
    """A strength of at least 0, or auto."""

    name = "NUMBER|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        """The number, or the word."""
        return value if value == "auto" else click.FloatRange(min=0).convert(value, param, ctx)


def _criteria(structure: str) -> dict[str, Any]:
    from loglin.criteria.registry import criteria

    return criteria(structure)


def _optimizers() -> dict[str, Any]:
    from loglin.optimize.optimizers import optimizers

    return optimizers()


def _tokenizers() -> dict[str, str]:
    from loglin.corpus.tokenizing import NAMES

    return NAMES


optimizer = click.option(
    "--optimizer",
    type=shared.RegistryChoice(_optimizers),
    default="auto",
    show_default=True,
    help="How weights are found.",
)
tokenizer = click.option(
    "--tokenizer",
    type=shared.RegistryChoice(_tokenizers),
    help="How the model splits raw text, for loglin serve and where text is given raw; default there: words.",
)
start = click.option("--continue", "start", metavar="MODEL", help="Start from the weights of this model.")
quiet = click.option("--quiet", is_flag=True, help="No progress.")
keep_on_interrupt = click.option(
    "--keep-on-interrupt",
    is_flag=True,
    help="When Ctrl-C or SIGTERM ends training, write the best model so far; Ctrl-C at a terminal always does.",
)


def checkpoint(command: Callable) -> Callable:
    """The options --checkpoint and --checkpoint-every."""
    command = click.option(
        "--checkpoint-every",
        type=click.FloatRange(min=0),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How often the state is written.",
    )(command)
    return click.option(
        "--checkpoint",
        metavar="FILE",
        help="Write the state of training here; after a crash the same command goes on from it.",
    )(command)


def opened(given: dict[str, Any], output: str, quiet: bool) -> Any:
    """The checkpoint that is asked for, which says on standard error if training goes on from it; or None."""
    if given["checkpoint"] is None:
        return None
    from loglin.optimize.checkpoint import Checkpoint

    if os.path.realpath(given["checkpoint"]) == os.path.realpath(output):
        raise LoglinError(f"--checkpoint and --output are both {output}; give them different names")
    tell = (lambda sentence: None) if quiet else (lambda sentence: print(sentence, file=sys.stderr))
    return Checkpoint(given["checkpoint"], given["checkpoint_every"], tell)


def close(checkpoint: Any, record: dict[str, Any]) -> None:
    """Remove the checkpoint now that the model is written, unless a signal ended training."""
    from loglin.training.fit import was_interrupted

    if checkpoint is not None and not was_interrupted(record):
        checkpoint.remove()


output = click.option("-o", "--output", required=True, help="Model file to write.")
seed = click.option("--seed", type=int, default=0, show_default=True)
l1 = click.option("--l1", type=click.FloatRange(min=0), default=0.0, show_default=True, help="L1 penalty.")


min_count = click.option(
    "--min-count", type=shared.Count(1), default=1, show_default=True, help="Leave out rarer attributes."
)


def cutoff(together: str) -> Callable:
    """The option --cutoff of features, which are an attribute and something ``together``."""
    text = f"Leave out rarer features, attribute and {together} together."
    return click.option("--cutoff", type=shared.Count(1), default=1, show_default=True, help=text)


def criterion(*structures: str, default: str) -> Callable:
    """The option --criterion, with the criteria of these structures."""
    return click.option(
        "--criterion",
        type=CriterionChoice(*structures),
        default=default,
        show_default=True,
        help="How to estimate; see --settings for what each can be told.",
    )


def settings(*structures: str) -> Callable:
    """The options --set, and --settings, which prints every criterion's settings and ends."""

    def show(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not context.resilient_parsing:
            print(settings_table(*structures))
            context.exit()

    def both(command: Callable) -> Callable:
        command = click.option(
            "--settings", "show_settings", is_flag=True, is_eager=True, expose_value=False, callback=show,
            help="Show the criteria with their settings, and end.",
        )(command)  # fmt: skip
        return click.option(
            "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the criterion."
        )(command)

    return both


def settings_table(*structures: str) -> str:
    """Every criterion with what it is and its settings, from the registry."""
    lines: list[str] = []
    for structure in structures:
        for name, kind in _criteria(structure).items():
            lines += [f"{name}: {kind.line}", *(f"    {line}" for line in kind.help().splitlines())]
    return "\n".join(lines)


def max_iter(default: str) -> Callable:
    return click.option("--max-iter", type=shared.Count(1), help=f"Most iterations; default {default}.")


def tol(default: float | None, told: str = "") -> Callable:
    """The option --tol; where the default depends on the criterion, ``told`` says it."""
    return click.option(
        "--tol",
        type=click.FloatRange(min=0),
        default=default,
        show_default=told or True,
        help="Stop when the objective is about this share of itself above its optimum.",
    )


certify = click.option(
    "--certify",
    is_flag=True,
    help="Go on until a lower bound of the optimum proves --tol (default 0.1 %).",
)


_KEYS = (
    "objective", "iterations", "evaluations", "stopped", "converged", "certificate", "n_features", "active_features",
)  # fmt: skip
_CHOICE = ("l2", "l2_choice", "l2_trials")  # where l2 was chosen on held-out sentences


def summary(record: dict[str, Any], seconds: dict[str, float], model: str, **more: Any) -> dict[str, Any]:
    """What a training did, for programs: the same keys for every kind of model."""
    from loglin.training.fit import peak_memory_mb

    found = {k: record.get(k) for k in _KEYS}
    found |= {"sentences": record["sentences"], "tokens": record["tokens"]} | more
    found |= {"seconds": seconds, "peak_memory_mb": peak_memory_mb(), "threads": record.get("threads", 1)}
    found["model"] = model
    extra = {k: record[k] for k in ("log_likelihood", "map", "held_criterion", "warnings", *_CHOICE) if k in record}
    found |= {k: None if v in (math.inf, -math.inf) else v for k, v in extra.items()}  # JSON has no infinity
    scores = [i["score"] for i in record.get("history", []) if i["score"] is not None]
    return found | ({"dev_score": max(scores)} if scores else {})


def print_summary(about: str, found: dict[str, Any]) -> None:
    """What a training did, for people; ``about`` says what the model is made of."""
    for warning in found.get("warnings") or ():
        print(f"warning: {warning}", file=sys.stderr)
    print(about)
    if found["objective"] is None:
        print(found["stopped"])
    else:
        print(f"objective {found['objective']:,.3f} after {found['iterations']} iterations: {found['stopped']}")
    if "map" in found:
        print(f"log-likelihood {found['log_likelihood']:,.3f}, with the prior (MAP) {found['map']:,.3f}")
    if "held_criterion" in found:
        held = -math.inf if found["held_criterion"] is None else found["held_criterion"]
        print(f"criterion on the held-out text {held:,.3f}")
    if "threshold" in found:
        print(f"a label is given from {found['threshold']:.4f} on")
    if "l2_choice" in found:
        print(found["l2_choice"])
    if "dev_score" in found:
        print(f"best score on the held-out data: {found['dev_score']:.4f}")
    seconds = found["seconds"]
    parts = ", ".join(f"{shared.GERUNDS[k]} {v:.2f}" for k, v in seconds.items() if k in shared.GERUNDS)
    memory = "" if found["peak_memory_mb"] is None else f", {found['peak_memory_mb']:.0f} MB"
    print(f"{seconds['total']:.2f} s ({parts}){memory}, {found['threads']} threads")
    print(f"model written to {found['model']}")
