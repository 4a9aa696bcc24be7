"""loglin parse-eval: trees compared with the right ones."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import options as shared
from loglin.cli.parsing import GRAMMARS, loaded_parser, memory, words_of
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.trees import Tree


@click.command("parse-eval")
@click.argument("gold")
@click.argument("system")
@click.option("--against", metavar="OTHER", help="Trees of another parser: test whether SYSTEM differs by chance.")
@click.option("--max-length", type=shared.Count(1), help="Leave out longer sentences.")
@click.option("--by-length", is_flag=True, help="Also the scores of short sentences, and by length.")
@click.option("--by-label", is_flag=True, help="Also the scores of every label.")
@click.option("--unlabeled", is_flag=True, help="Brackets agree whatever their labels.")
@click.option(
    "--conventions",
    type=click.Choice(["evalb", "plain"]),
    default="evalb",
    show_default=True,
    help="evalb: with COLLINS.prm. plain: ADVP is not PRT, roots count, punctuation is what GOLD says, and sentences "
    "that cannot be compared count as having no brackets.",
)
@click.option("--resamples", type=click.IntRange(1, 10_000_000), default=1000, show_default=True, help="Of intervals.")
@click.option("--seed", type=shared.Count(0), default=0, show_default=True, help="Of the resampling.")
@memory
@shared.encoding
@shared.threads
@shared.as_json
def parse_eval_command(gold, system, against, as_json, **given) -> None:
    """Compare the trees of SYSTEM with those of GOLD, files of bracketed trees or folders of them.

    Or loglin parse-eval MODEL GOLD, with a model file or a grammar (.grammar, .cfg, .pcfg): parse the words of GOLD
    and compare.

    Precision, recall and F1 of labelled brackets, exact match, crossing brackets and tagging accuracy are those of
    evalb. A line without a tree is a sentence without a parse.
    """
    from loglin.corpus.trees import read_trees
    from loglin.evaluation.trees import CONVENTIONS, evaluate_trees

    began, model = time.perf_counter(), None
    if _is_model(gold):
        model, gold = gold, system
    right = read_trees(gold, given["encoding"])
    complete = None
    if model is None:
        found = _read_parses(system, right, gold, given["encoding"])
    else:
        right, found, complete = _parsed(model, right, given)
    seconds = time.perf_counter() - began
    conventions = replace(CONVENTIONS[given["conventions"]], labeled=not given["unlabeled"])
    limits = {name: given[name] for name in ("max_length", "resamples", "seed")}
    report = evaluate_trees(right, found, conventions, complete=complete, **limits)
    value: dict[str, Any] = report.as_dict()
    text = report.report(given["by_label"], given["by_length"])
    if model is not None:
        value |= {"seconds": seconds, "sentences_per_second": len(found) / max(seconds, 1e-9)}
    if against:
        from loglin.evaluation.trees import compare_parsers

        names = shared.short_names(model or system, against)
        others = _read_parses(against, right, gold, given["encoding"])
        result = compare_parsers(right, found, others, conventions, names=names, **limits)
        value["comparison"] = result.as_dict()
        text += f"\n\n{result.report()}"
    shared.show(value, text, as_json)


def _is_model(path: str) -> bool:
    """Whether a file is a grammar by its name or begins as models do: the length of a header, then JSON."""
    if path.removesuffix(".gz").endswith(GRAMMARS):
        return True
    if not os.path.isfile(path):  # a pipe can be read only once
        return False
    try:
        with open(path, "rb") as stream:
            start = stream.read(9)
    except OSError:
        return False  # whoever reads it will say what is wrong
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32


def _parsed(model: str, right: list[Tree], given: dict) -> tuple[list[Tree], list[Tree | None], list[bool]]:
    """Gold trees that have words, what the model makes of these, and whether it covers them."""
    parser = loaded_parser(model, given["threads"], given["memory"])
    most = given["max_length"] or math.inf
    kept = [tree for tree in right if 0 < len(words_of(tree)) <= most]
    if not kept:
        raise LoglinError("no sentence is short enough; give a larger --max-length")
    parses = parser.parse([words_of(tree) for tree in kept])
    return kept, [parse.tree for parse in parses], [parse.complete for parse in parses]


def _read_parses(path: str, right: list[Tree], gold: str, encoding: str) -> list[Tree | None]:
    """As many trees as there are gold ones; None for a blank line in a file with a tree a line."""
    from loglin.corpus.files import read_text
    from loglin.corpus.trees import parse_trees, read_trees

    if os.path.isdir(path):
        found: list[Tree | None] = list(read_trees(path, encoding))
    else:
        text = read_text(path, encoding)
        found = list(parse_trees(text, path))
        filled = [bool(line.strip()) for line in text.splitlines()]
        if len(found) < len(right) == len(filled) and sum(filled) == len(found):
            trees = iter(found)
            found = [next(trees) if full else None for full in filled]
    if len(found) != len(right):
        raise LoglinError(
            f"{path} has {len(found)} trees but {gold} has {len(right)}; give a tree for every sentence, a line each, "
            "and a blank line where there is none"
        )
    return found


COMMANDS = {"parse-eval": parse_eval_command}
