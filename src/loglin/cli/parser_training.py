"""loglin parse-train: from trees, or from text and a grammar, to a parser."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import distribution, interrupts
from loglin.cli import options as shared
from loglin.cli import training_options as training
from loglin.criteria.registry import criterion
from loglin.criteria.trees import OnTrees
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.trees import Tree
    from loglin.models.parser import ParserModel

_PARAMETERS = (
    *("template", "grammar", "horizontal", "vertical", "max_length", "l1", "l2", "max_iter", "tol", "threads"),
    *("seed", "neighborhood", "optimizer", "checkpoint", "tokenizer"),
)


@click.command("parse-train")
@click.argument("data")
@training.criterion("forest", default="crf")
@click.option("--template", help="File of span and word templates, or paper or spans; default: the criterion's.")
@click.option("--grammar", help="Grammar file with rules to use in the place of those of DATA.")
@click.option("--horizontal", type=shared.Count(0), default=2, show_default=True, help="Siblings in new symbols.")
@click.option("--vertical", type=shared.Count(1), default=1, show_default=True, help="2: labels know parents, …")
@click.option("--annotations", multiple=True, metavar="NAME,…", help="Annotations of Klein and Manning by name.")
@click.option("--skip-bad", is_flag=True, help="Leave out trees of DATA that cannot be read, and say how many.")
@click.option("--max-length", type=shared.Count(1), help="Leave out longer sentences.")
@click.option("--unlabeled", help="Text without trees, learnt from besides DATA (mixture, em, contrastive).")
@click.option("--neighborhood", help="What contrastive estimation compares with: trans1, …; see loglin neighborhood.")
@training.settings("forest")
@training.optimizer
@click.option("--dev", help="Held-out trees; training stops when the F1 of their sentences' trees no longer rises.")
@training.l1
@click.option("--l2", type=click.FloatRange(min=0), help="L2 penalty, 1 / variance; default 1, m-estimation .06.")
@training.max_iter("200, of the perceptron 10 epochs")
@training.tol(1e-3)
@training.start
@training.tokenizer
@training.seed
@click.option("--save-grammar", metavar="FILE", help="Also write the grammar, to be read and edited.")
@training.quiet
@training.keep_on_interrupt
@training.checkpoint
@distribution.shards
@training.output
@click.option(
    "--format",
    "text_format",
    type=click.Choice(["auto", "trees", "text"]),
    default="auto",
    help="Kind of DATA; auto: trees, but text, a sentence a line, where trees are hidden and the name ends in .txt.",
)
@shared.encoding
@shared.threads
@shared.as_json
def parse_train_command(data, output, save_grammar, as_json, **given) -> None:
    """Train a parser on DATA, a file or folder of bracketed trees, and write a model.

    The criteria em and contrastive learn from text without trees.
    """
    from loglin.corpus.output import check_writable
    from loglin.estimators import Parser

    began = time.perf_counter()
    inputs = [data, *(given[name] for name in ("template", "grammar", "unlabeled", "dev", "start"))]
    for path in filter(None, (output, save_grammar)):
        check_writable(path)
        shared.refuse_overwriting(path, *inputs)
    checkpoint = given["checkpoint"] = training.opened(given, output, given["quiet"])
    examples, unlabeled = _read(data, given)
    dev = _trees(given["dev"], given["encoding"]) if given["dev"] else None
    start = _parser_model(given["start"]) if given["start"] else None
    seconds = {"read": time.perf_counter() - began}
    progress = shared.Progress(given["tol"], given["quiet"] or as_json)
    parser = Parser(
        given["criterion"],
        annotations=tuple(name.strip() for part in given["annotations"] for name in part.split(",")),
        settings=shared.settings_of(given["settings"]),
        callbacks=[progress],
        dev=dev,
        **{name: given[name] for name in _PARAMETERS},
    )
    keeping = interrupts.keeping(given["keep_on_interrupt"], parser)
    with keeping, distribution.client(given) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the summary says why training stopped
        parser.fit(examples, unlabeled, start=start, **distribution.given_shards(given, client))
    progress.close()
    seconds["train"] = time.perf_counter() - began - seconds["read"]
    parser.model_.record["data"] = shared.base_name(data)
    parser.save(output)
    training.close(checkpoint, parser.model_.record)
    if save_grammar:
        parser.pcfg_.write(save_grammar)
    seconds["total"] = time.perf_counter() - began
    _summarize(parser.model_.record, seconds, output, as_json)


def _read(data: str, given: dict) -> tuple[list[Tree] | list[list[str]], list[list[str]] | None]:
    """Trees, or sentences in their place; and sentences besides."""
    chosen, kind, encoding = criterion(given["criterion"], "forest"), given["text_format"], given["encoding"]
    assert isinstance(chosen, OnTrees)
    if given["unlabeled"] and not chosen.takes_unlabeled:
        raise LoglinError(f"--unlabeled is given, but criterion {chosen.name} learns from DATA alone; take mixture")
    if kind == "auto":
        kind = "text" if chosen.takes_sentences and data.removesuffix(".gz").endswith(".txt") else "trees"
    if kind == "text" and not chosen.takes_sentences:
        raise LoglinError(f"criterion {chosen.name} learns from trees; give trees, or take em or contrastive")
    examples = _trees(data, encoding, given["skip_bad"]) if kind == "trees" else _sentences(data, encoding)
    return examples, _sentences(given["unlabeled"], encoding) if given["unlabeled"] else None


def _parser_model(path: str) -> ParserModel:
    from loglin.models.parser import ParserModel

    return ParserModel.load(path)


def _trees(path: str, encoding: str, skip_bad: bool = False) -> list[Tree]:
    from loglin.corpus.trees import read_trees

    paths = [path] if os.path.isdir(path) else distribution.several(path)
    refused: list[str] | None = [] if skip_bad else None
    found = [tree for one in paths for tree in read_trees(one, encoding, refused)]
    if refused:
        print(f"loglin: {len(refused):,} trees are left out, the first because of {refused[0]}", file=sys.stderr)
    return found


def _sentences(path: str, encoding: str) -> list[list[str]]:
    from loglin.corpus import plaintext

    found = plaintext.read(path, encoding, blank_lines=False).sentences()
    if not found:
        raise LoglinError(f"{path} holds no words; write a sentence a line")
    return found


def _summarize(record: dict[str, Any], seconds: dict[str, float], output: str, as_json: bool) -> None:
    summary = {name: value for name, value in record.items() if name not in ("history", "options")}
    summary |= {"seconds": seconds, "model": output}
    if as_json:
        shared.print_json(summary)
        return
    about = (
        f"{record['sentences']:,} sentences, {record['tokens']:,} tokens, {record['symbols']:,} symbols, "
        f"{record['rules']:,} rules, {record['features']:,} features"
    )
    training.print_summary(about, summary)


COMMANDS = {"parse-train": parse_train_command}
