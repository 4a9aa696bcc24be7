"""loglin annotate: a page on which one person labels text, while a model learns."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import interrupts, serving
from loglin.cli import options as shared
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.annotate.pool import Item
    from loglin.annotate.session import Session
    from loglin.annotate.task import Task

TASKS = {"tag": "tagging_of", "classify": "classifying_of"}


@click.command("annotate")
@click.argument("data")
@click.option("--labels", metavar="PER,ORG,…", help="The labels to choose from, in the order of the number keys.")
@click.option("--task", type=click.Choice(list(TASKS)), default="tag", show_default=True, help="Spans, or documents.")
@click.option("-o", "--output", help="Model file to write when the command ends.")
@click.option("--journal", help="Where what is done is kept; default: DATA.journal.jsonl. The same command resumes.")
@click.option("--dictionary", help="Words and the labels they may have, see loglin dictionary.")
@click.option("--model", help="A model to start from: its labels are proposed, and it teaches what is learnt.")
@click.option("--labeled", help="Labelled data to start from.")
@click.option("--template", help="Template file; default: words around, spelling.")
@click.option("--each-token", is_flag=True, help="Every token has a label of its own, as parts of speech.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Ask only for tokens that are less certain than this; the others stay undecided unless you say more. "
    "Default 0.95; 1 asks for all.",
)
@click.option(
    "--doubt",
    type=click.Choice(["token", "entropy"]),
    default="token",
    show_default=True,
    help="What the least certain item is: of the least certain token, or of the largest entropy.",
)
@click.option(
    "--mixture", is_flag=True, help="Sentences that nobody has read and the dictionary take part in learning."
)
@click.option(
    "--tokenizer", default="words", show_default=True, help="How raw text is split: words, whitespace, characters."
)
@serving.host
@serving.port
@click.option("--export", metavar="FILE", help="Write what is annotated to FILE (.conll, .jsonl, .spacy) and end.")
@shared.encoding
def annotate_command(data, output, journal, host, port, export, task, doubt, **given) -> None:
    """Label DATA in the browser: raw text, a sentence or document a line, columns, or JSON lines.

    The page proposes, you correct and accept; the model learns in the background and asks next for what it is least
    certain of. Everything is saved as it is done: after a crash the same command goes on.
    """
    from loglin.annotate.session import Session

    if not export:
        serving.require_extra()
    shared.check_output(output, data)
    shared.check_output(export, data)
    ending = _ending(export)
    todo, items = globals()[TASKS[task]](data, given)
    session = Session(todo, items, journal or f"{data}.journal.jsonl", doubt)
    try:
        if export:
            from loglin.annotate.export import exported

            shared.write_pieces(export, [exported(session, ending)[1]])
            print(f"{len(session.work.answers)} of {len(items)} written to {export}")
            return
        _serve(session, host, port)
        if output:
            _write_model(session, output)
    finally:
        session.close()


def _ending(export: str | None) -> str:
    """The export that a file's name asks for."""
    if export is None:
        return ""
    from loglin.annotate.export import FORMS

    for form, (ending, _) in FORMS.items():
        if export.endswith(f".{ending}"):
            return form
    endings = ", ".join(f".{ending}" for ending, _ in FORMS.values())
    raise LoglinError(f"--export is {export}; give a name that ends in one of {endings}")


# ---------------------------------------------------------------------- what is annotated


def tagging_of(data: str, given: dict[str, Any]) -> tuple[Task, list[Item]]:
    """Sentences whose spans or tokens are labelled."""
    from loglin.annotate import pool
    from loglin.annotate.rules import Rules
    from loglin.annotate.spans import OUTSIDE, Phrases, Single, notation_of
    from loglin.annotate.tagging import THRESHOLD, Tagging
    from loglin.corpus.tokenizing import tokenizer
    from loglin.estimators.tagger import Tagger

    splits, encoding = tokenizer(given["tokenizer"]), given["encoding"]
    items = pool.read(data, splits, encoding)
    examples = [] if given["labeled"] is None else _labeled(given["labeled"], splits, encoding)
    teacher = None if given["model"] is None else Tagger.load(given["model"])
    seen = [str(y) for item in [*items, *examples] for y in item.given or ()]
    seen += [] if teacher is None else [str(y) for y in teacher.classes_]
    notation = (
        (Single() if given["each_token"] else notation_of(set(seen))) if seen or given["each_token"] else Phrases()
    )
    rules = Rules(notation) if given["dictionary"] is None else Rules.of_file(given["dictionary"], notation, encoding)
    outside = {OUTSIDE} if isinstance(notation, Phrases) else set()
    types = _types(given["labels"], [y for y in [*notation.types(seen), *rules.named()] if y not in outside])
    threshold = THRESHOLD if given["threshold"] is None else given["threshold"]
    task = Tagging(
        types,
        notation,
        rules,
        template=given["template"],
        tokenizer=splits.name,
        threshold=None if threshold >= 1 else threshold,
        mixture=given["mixture"],
        examples=[(item.tokens, notation.unified(item.given)) for item in examples],
        teacher=teacher,
    )
    return task, items


def _labeled(path: str, splits: Any, encoding: str) -> list[Item]:
    """Sentences of labelled data, in columns or another format of tagged text."""
    from loglin.annotate.pool import numbered, sentence
    from loglin.corpus.formats import detected
    from loglin.corpus.tagged import read_labeled

    text = read_labeled(path, detected(path), encoding=encoding, columns=True)
    if isinstance(text.inputs, list):
        raise LoglinError(f"{path} holds attributes, not words; give words")
    rows: Any = text.inputs.strings(0) if len(text.inputs.columns) == 1 else text.inputs.sentences()
    pairs = zip(rows, text.sequences(), strict=True)
    return numbered(path, (sentence(tokens, labels) for tokens, labels in pairs if tokens and labels))


def classifying_of(data: str, given: dict[str, Any]) -> tuple[Task, list[Item]]:
    """Documents with one label each."""
    from loglin.annotate import pool
    from loglin.annotate.classifying import Classifying
    from loglin.cli.classifying import loaded_classifier

    for name in ("dictionary", "template", "each_token", "mixture"):
        if given[name]:
            raise LoglinError(f"--{name.replace('_', '-')} is about tokens, but --task classify labels documents")
    items = pool.read_documents(data, given["encoding"])
    examples = [] if given["labeled"] is None else pool.read_documents(given["labeled"], given["encoding"])
    teacher = None if given["model"] is None else loaded_classifier(given["model"])
    seen = [str(item.given) for item in [*items, *examples] if item.given is not None]
    seen += [] if teacher is None else [str(y) for y in teacher.classes_]
    types = _types(given["labels"], list(dict.fromkeys(seen)))
    return Classifying(types, [(i.text, str(i.given)) for i in examples if i.given is not None], teacher), items


def _types(given: str | None, found: list[str]) -> list[str]:
    """The labels to choose from: those that are given, then those that were found."""
    own = [name.strip() for name in (given or "").split(",") if name.strip()]
    for name in own:
        if name.split() != [name]:
            raise LoglinError(f"the label {name!r} holds a blank; write it without one")
    types = list(dict.fromkeys([*own, *found]))
    if not types:
        raise LoglinError("there are no labels to choose from; name them, such as --labels PER,ORG")
    return types


# ---------------------------------------------------------------------- serving


def _serve(session: Session, host: str, port: int) -> None:
    """Answer until Ctrl-C or SIGTERM."""
    from loglin.annotate.web import LOCAL, app
    from loglin.serve.limits import Limits
    from loglin.serve.server import address_of, listening, run

    sock = listening(host, port)
    print(f"annotate at {address_of(sock)}/", flush=True)
    done = f"{len(session.work.answers):,} of {len(session.items):,} done"
    print(f"saved in {session.journal.path}; {done}; Ctrl-C ends", flush=True)
    interrupts.release()
    logging.getLogger("loglin").setLevel(logging.WARNING)  # every answer is learnt from: that is no news
    run(app(session, (*LOCAL, host)), sock, Limits())


def _write_model(session: Session, output: str) -> None:
    from loglin.annotate.export import model
    from loglin.corpus.output import write_atomically

    write_atomically(output, model(session))
    print(f"model written to {output}")


COMMANDS = {"annotate": annotate_command}
