"""loglin neighborhood: the sentences that contrastive estimation compares a sentence with."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.neighborhoods import Neighborhood, WordLattices

LONGEST = 10**300  # a number of strings that is written with all its digits in JSON


@click.command("neighborhood")
@click.argument("name")
@click.argument("sentence", nargs=-1)
@click.option("--strings", is_flag=True, help="List the neighbors, the sentence itself first.")
@click.option("--limit", type=shared.Count(1), default=100, show_default=True, help="Neighbors to list at most.")
@click.option("--dot", is_flag=True, help="Print the lattice for Graphviz.")
@click.option("-o", "--output", help="Draw the lattice: FILE.svg.")
@shared.as_json
def neighborhood_command(name, sentence, strings, limit, dot, output, as_json) -> None:
    """Show the neighborhood NAME of a SENTENCE as a lattice of words.

    NAME is del1word, trans1, trans2, …, delortrans1, del1subseq, length (of the sentence's own words), a union such
    as del1word+trans1, or a file with a transducer: lines STATE OPERATION STATE and final STATE ….
    """
    from loglin.corpus.output import check_writable, write_atomically
    from loglin.drawing.lattice_svg import svg
    from loglin.drawing.lattices import LatticeDrawing
    from loglin.neighborhoods import neighborhood

    if dot and (as_json or strings):
        raise LoglinError("--dot prints the lattice for Graphviz and nothing else; leave out --json and --strings")
    if output is not None:
        if not output.lower().endswith(".svg"):
            raise LoglinError(f"-o is {output!r}; name a file that ends in .svg, or use --dot for Graphviz")
        shared.refuse_overwriting(output, name)
        check_writable(output)
    words = " ".join(sentence).split()
    if not words:
        raise LoglinError("the sentence is empty; give some words")
    chosen = neighborhood(name)
    if chosen.needs_corpus:
        raise LoglinError(f"the neighborhood {chosen.name} needs a corpus, not one sentence; use it in training")
    lattices, tokens = _lattice(chosen, words)
    drawing = LatticeDrawing.of(lattices, 0, tokens)
    if output is not None:
        write_atomically(output, svg(drawing, f"{chosen.name}: {' '.join(words)}").encode())
    listed = _listed(lattices, words, tokens, limit) if strings else None
    if dot:
        print(drawing.dot())
    elif as_json:
        shared.print_json(_as_dict(chosen, words, lattices, drawing, listed))
    else:
        size = lattices.size(0)
        counts = {"sentence": size, "state": len(drawing.final), "arc": len(drawing.arcs)}
        shown = [f"{_number(n)} {what}{'s' * (n != 1)}" for what, n in counts.items()]
        print(f"{chosen.name}: {', '.join(shown)}\n")
        print(drawing.text() if listed is None else "\n".join(map(" ".join, listed)))
        if listed is not None and size > len(listed):
            print(f"… and {_number(size - len(listed))} more; see --limit")
        if output is not None:
            print(f"\nwritten to {output}")


def _lattice(chosen: Neighborhood, words: list[str]) -> tuple[WordLattices, list[str]]:
    """The lattice of one sentence, and what its symbols stand for: its words, and those that a transducer writes."""
    from loglin.neighborhoods.named import Edits

    written = chosen.transducer.words if isinstance(chosen, Edits) else []
    symbols = {word: k for k, word in enumerate(dict.fromkeys([*words, *written]))}
    return chosen.lattices([[symbols[word] for word in words]], len(symbols), list(symbols)), list(symbols)


def _listed(lattices: WordLattices, words: list[str], tokens: list[str], limit: int) -> list[list[str]]:
    """The sentence and its first neighbors, ``limit`` in all."""
    strings = ([tokens[symbol] for symbol in string] for string in lattices.strings(0))
    return [words, *itertools.islice((string for string in strings if string != words), limit - 1)]


def _as_dict(chosen: Neighborhood, words: list[str], lattices: WordLattices, drawing: Any, listed: Any) -> dict:
    size = lattices.size(0)
    states = [{"end": ["", "neighbor", "sentence"][end], "arcs": {}} for end in drawing.final]
    for q, label, r in drawing.arcs:
        states[q]["arcs"][label] = r
    return {
        "neighborhood": chosen.name,
        "sentence": words,
        "size": size if size < LONGEST else None,
        "log_size": math.log(size),
        "n_states": len(states),
        "n_arcs": len(drawing.arcs),
        "states": states,
        "observed": drawing.observed,
    } | ({} if listed is None else {"strings": listed})


def _number(n: int) -> str:
    """All digits of a number that has a few, the order of magnitude of others."""
    return f"{n:,}" if n < 10**15 else f"about 10^{math.floor(math.log10(n))}"


COMMANDS = {"neighborhood": neighborhood_command}
