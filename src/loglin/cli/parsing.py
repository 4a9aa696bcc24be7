"""loglin parse: trees for sentences."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.trees import Tree
    from loglin.drawing.trees import Marks

SENTENCES_AT_ONCE = 100
MOST_PICTURES = 100  # trees in one SVG file
GRAMMARS = (".grammar", ".cfg", ".pcfg")  # ends of names

memory = click.option(
    "--memory",
    type=shared.Count(1),
    default=1024,
    show_default=True,
    help="MiB that the chart of a sentence may take; longer sentences are not parsed, and reported.",
)


@click.command("parse")
@click.argument("model")
@click.argument("file", default="-")
@click.option("-o", "--output", help="Where to write; default standard output.")
@click.option("--draw", is_flag=True, help="Draw the trees, indented where they are wider than the terminal.")
@click.option("--width", type=shared.Count(1), help="Columns of --draw; default those of the terminal.")
@click.option("--svg", metavar="FILE", help="Also draw all trees into this SVG file.")
@click.option("--nbest", type=shared.Count(1), help="The K best trees of a sentence, behind their probabilities.")
@click.option("--probabilities", is_flag=True, help="Add the probability of every phrase.")
@click.option("--max-recall", is_flag=True, help="Trees with the most phrases expected to be right, not the likeliest.")
@click.option("--explain", metavar="I-J", help="Say why the words I to J, from 0, J left out, are a phrase or not.")
@click.option(
    "--format",
    "text_format",
    type=click.Choice(["auto", "text", "raw", "trees"]),
    default="auto",
    help="Kind of FILE: text, a sentence a line, its tokens parted by blanks; raw, a sentence a line, split by the "
    "model's tokenizer; or trees, whose words are parsed; auto goes by the name (.mrg or a "
    "folder: trees).",
)
@memory
@shared.encoding
@shared.threads
@shared.as_json
def parse_command(model, file, output, svg, text_format, memory, encoding, threads, **given) -> None:
    """Write the tree of every sentence of FILE (default: standard input), a line each.

    MODEL is a model file, or a grammar whose name ends in .grammar, .cfg or .pcfg. Sentences stand a line each, tokens
    parted by blanks; brackets in them become -LRB- and -RRB-. A sentence without a complete parse gets the best trees
    that cover it together, and is reported.
    """
    if given["nbest"] and given["max_recall"]:
        raise LoglinError("--max-recall makes one tree of the likeliest spans; leave out --nbest")
    for path in (output, svg):
        shared.check_output(path, file, model)
    asked = _Asked(
        nbest=given["nbest"],
        probabilities=given["probabilities"],
        max_recall=given["max_recall"],
        span=_span(given["explain"]),
        as_json=given["as_json"],
        columns=(given["width"] or shutil.get_terminal_size().columns) if given["draw"] else 0,
        pictures=[] if svg else None,
    )
    parser = loaded_parser(model, threads, memory)
    began = time.perf_counter()
    pieces: Iterable[bytes] = (piece.encode() for piece in _parsed(parser, file, text_format, encoding, asked))
    if svg:  # before anything else is written
        pieces = list(pieces)
        _write_pictures(svg, file, asked)
    shared.write_pieces(output, pieces)
    if asked.incomplete:
        line, note = asked.incomplete[0]
        print(
            f"loglin: {len(asked.incomplete)} of {asked.sentences} sentences have no complete parse; "
            f"the first is {file}, line {line}: {note}",
            file=sys.stderr,
        )
    if output and asked.as_json:
        seconds = time.perf_counter() - began
        summary = {"sentences": asked.sentences, "incomplete": len(asked.incomplete), "seconds": seconds}
        speed = {"sentences_per_second": asked.sentences / max(seconds, 1e-9)}
        shared.print_json(summary | speed | {"output": output})


@dataclass
class _Asked:
    """What is to be written, and what was met on the way."""

    nbest: int | None
    probabilities: bool
    max_recall: bool
    span: tuple[int, int] | None
    as_json: bool
    columns: int  # of drawings; 0: none
    pictures: list[tuple[Tree, Marks | None]] | None  # for SVG
    sentences: int = 0
    incomplete: list[tuple[int, str]] = field(default_factory=list)  # line and why


def loaded_parser(path: str, threads: int | None = None, mebibytes: int = 1024) -> Any:
    """The parser of a model file, or of a grammar's."""
    from loglin.estimators import Parser

    if path.removesuffix(".gz").endswith(GRAMMARS):
        parser = Parser.from_grammar(path, threads=threads, memory=mebibytes << 20)
        if not parser.pcfg_.is_tight():
            lost = 1 - parser.pcfg_.total
            click.echo(
                f"loglin: {path} is not tight: with probability {lost:.3g} a derivation never ends; trees of a given "
                "sentence compare all the same, but for sampling or expectations lower its recursive rules",
                err=True,
            )
        return parser
    return Parser.load(path, threads, mebibytes << 20)


def words_of(tree: Tree) -> list[str]:
    """The words of a tree, without traces."""
    from loglin.corpus.trees import TRACE

    return [leaf.word or "" for leaf in tree.leaves() if leaf.label != TRACE]


def _span(text: str | None) -> tuple[int, int] | None:
    """(2, 5) of "2-5"."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)-(\d+)", text.strip())
    if match is None or int(match[1]) >= int(match[2]):
        raise LoglinError(f"--explain is {text!r}; write I-J for the words I to J − 1, counted from 0, such as 0-2")
    return int(match[1]), int(match[2])


def _lines(parser: Any, path: str, text_format: str, encoding: str) -> Iterator[list[tuple[str, list[str]]]]:
    """Lists of lines with their tokens, none where there is no sentence."""
    from loglin.corpus import plaintext
    from loglin.corpus.crfsuite import line_blocks
    from loglin.corpus.files import batches
    from loglin.corpus.trees import read_trees

    named = os.path.isdir(path) or path.removesuffix(".gz").endswith(".mrg")
    if text_format == "trees" or (text_format == "auto" and named):
        return batches((("", words_of(tree)) for tree in read_trees(path, encoding)), SENTENCES_AT_ONCE)
    if text_format == "raw":
        from loglin.corpus.tokenizing import RAW, tokenizer

        splits = parser.splits or tokenizer(RAW)
        return (
            part
            for block in line_blocks(path, encoding, b"\n", tokens=False)
            for part in batches(((line, splits.tokens(line)) for _, line in block), SENTENCES_AT_ONCE)
        )
    return plaintext.lines(path, encoding, SENTENCES_AT_ONCE)


def _parsed(parser: Any, path: str, text_format: str, encoding: str, asked: _Asked) -> Iterator[str]:
    """The output for every line; what is no sentence stays as it is."""
    from loglin.corpus.trees import without_brackets

    numbers = itertools.count(1)
    for lines in _lines(parser, path, text_format, encoding):
        batch = [(next(numbers), line) for line in lines]
        sentences = [without_brackets(tokens) for _, (_, tokens) in batch if tokens]
        answers = iter(_answers(parser, sentences, asked))
        for number, (line, tokens) in batch:
            if not tokens:
                yield "" if asked.as_json else f"{line}\n"
                continue
            best, marks = next(answers)
            explanation = _explained(parser, tokens, asked.span, f"{path}, line {number}")
            asked.sentences += 1
            if not best[0].complete:
                asked.incomplete.append((number, best[0].note))
            if asked.pictures is not None:
                asked.pictures += [(parse.tree, marks) for parse in best]
                if len(asked.pictures) > MOST_PICTURES:
                    raise LoglinError(
                        f"{path} has more than {MOST_PICTURES} trees, too many for one picture; give fewer sentences"
                    )
            yield _written(tokens, best, marks, explanation, asked)


def _answers(parser: Any, sentences: list[list[str]], asked: _Asked) -> Iterator[tuple[list, Marks | None]]:
    """For every sentence its trees, best first, and the probabilities of its phrases."""
    if asked.nbest:
        trees = parser.parse_nbest(sentences, asked.nbest)
    else:
        trees = [[parse] for parse in parser.parse(sentences, "max-recall" if asked.max_recall else "best")]
    for sentence, best in zip(sentences, trees, strict=True):
        marks: Marks | None = None
        if asked.probabilities and best[0].complete:
            marks = {(label, i, j): p for label, i, j, p in parser.marginals(sentence)}
        yield best, marks


def _explained(parser: Any, tokens: list[str], span: tuple[int, int] | None, place: str) -> Any:
    """Why a span is a phrase, if that is asked."""
    from loglin.corpus.trees import without_brackets

    try:
        return None if span is None else parser.explain(without_brackets(tokens), span)
    except LoglinError as error:
        raise LoglinError(f"{place}: {error}") from error


def _written(tokens: list[str], best: list, marks: Marks | None, explanation: Any, asked: _Asked) -> str:
    """One sentence's part of the output."""
    if asked.as_json:
        value = {"tokens": tokens, **best[0].as_dict(), "complete": best[0].complete, "note": best[0].note}
        if asked.nbest:
            value["nbest"] = [parse.as_dict() for parse in best]
        if marks is not None:
            value["phrases"] = best[0].phrases(marks)
        if explanation is not None:
            value["explanation"] = asdict(explanation)
        return json.dumps(value, ensure_ascii=False) + "\n"
    from loglin.drawing.trees import draw

    parts = []
    for parse in best:
        shown = draw(parse.tree, asked.columns, marks) if asked.columns else str(parse.tree)
        share = f"{parse.probability or 0.0:.6f}" + ("\n" if asked.columns else "\t") if asked.nbest else ""
        parts.append(f"{share}{shown}\n" + ("\n" if asked.columns else ""))
    if marks is not None and not asked.columns:
        parts += [f"  {p['label']} {p['begin']}-{p['end']} {p['probability']:.6f}\n" for p in best[0].phrases(marks)]
    if explanation is not None:
        parts.append(f"{explanation}\n")
    several = (asked.nbest or marks is not None or explanation is not None) and not asked.columns
    return "".join(parts) + ("\n" if several else "")


def _write_pictures(path: str, source: str, asked: _Asked) -> None:
    from loglin.corpus.output import write_atomically
    from loglin.drawing.tree_svg import svg

    if not asked.pictures:
        raise LoglinError(f"{source} holds no sentence to draw; write one a line")
    trees, marks = zip(*asked.pictures, strict=True)
    write_atomically(path, svg(trees, f"parses of {shared.base_name(source)}", marks).encode())


COMMANDS = {"parse": parse_command}
