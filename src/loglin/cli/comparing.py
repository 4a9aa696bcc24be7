"""loglin compare: two outputs for the same sentences, and whether they differ by more than chance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.columns import Corpus

_WITH_PROBABILITY = re.compile(r".*:[01]\.\d{6}", re.DOTALL)  # what tag --marginals writes


@click.command("compare")
@click.argument("gold")
@click.argument("output1")
@click.argument("output2")
@click.option("--metric", type=click.Choice(["f1", "accuracy"]), default="f1", show_default=True)
@click.option(
    "--unit",
    type=click.Choice(["sentence", "token"]),
    default="sentence",
    show_default=True,
    help="What McNemar's test counts as right or wrong.",
)
@click.option("--resamples", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True)
@click.option("--seed", type=shared.Count(0), default=0, show_default=True, help="Of the bootstrap.")
@shared.label_column
@click.option(
    "--output-column",
    type=shared.ColumnName(),
    help="Column of the predicted labels in both outputs; default: where loglin tag writes, the last, or in CoNLL-U "
    "the label column.",
)
@shared.encoding
@shared.as_json
def compare_command(
    gold, output1, output2, metric, unit, resamples, seed, label_column, output_column, encoding, as_json
) -> None:
    """Test whether OUTPUT1 and OUTPUT2 differ by more than chance, given the right labels in GOLD.

    GOLD is a labelled column file. The outputs are what loglin tag writes, or files of labels alone.
    """
    from loglin.corpus.formats import detected
    from loglin.evaluation.significance import compare

    form = detected(gold)
    right, right_column = form.table(gold, encoding), form.position(gold, label_column)
    labels = [right.strings(right_column)]
    for path in (output1, output2):
        form = detected(path)
        asked = label_column if output_column is None and form.replaces else output_column
        output, column = form.table(path, encoding), form.position(path, asked)
        found = output.strings(column)
        _refuse_details(output, found)
        _check_words(right, right_column, output, column)
        labels.append(found)
    result = compare(
        *labels, metric=metric, unit=unit, resamples=resamples, seed=seed, names=shared.short_names(output1, output2)
    )
    shared.show(result.as_dict(), result.report(), as_json)


def _refuse_details(output: Corpus, labels: list[list[str]]) -> None:
    """tag --marginals and --nbest write more than one label a token."""
    if all(_WITH_PROBABILITY.fullmatch(label) for sentence in labels for label in sentence):
        raise LoglinError(
            f"{output.source} has a probability in its label column ({labels[0][0]!r}); tag without --marginals"
        )
    opening = [column.vocabulary[int(column.codes[0])] for column in output.columns]
    if len(opening) == 3 and opening[:2] == ["#", "0"] and re.fullmatch(r"[01]\.\d{6}", opening[2]):
        raise LoglinError(f"{output.source} has several label sequences a sentence; tag without --nbest")


def _check_words(gold: Corpus, label_column: int, output: Corpus, output_column: int) -> None:
    """The same sentences, tokens and, where both files have them, words."""
    words = [_words(gold, label_column), _words(output, output_column)]
    if len(output.columns) == len(gold.columns) + 1:  # gold itself, tagged: its label column is still there
        words[1] = _words(output, range(len(gold.columns))[label_column])
    known = [w is not None for w in words]
    ours, theirs = (w if w is not None else c.strings(0) for w, c in zip(words, (gold, output), strict=True))
    for number, (right, found) in enumerate(zip(ours, theirs, strict=False), start=1):
        place = f"{output.source}, sentence {number}"
        for t, (a, b) in enumerate(zip(right, found, strict=False), start=1):
            if all(known) and a != b:
                raise LoglinError(f"{place}, token {t} is {b!r} where {gold.source} has {a!r}; tag that very file")
        if len(right) != len(found):
            raise LoglinError(
                f"{place} ends at token {len(found)}, but {len(right)} tokens are in {gold.source}; tag that very file"
            )
    if len(ours) != len(theirs):
        raise LoglinError(
            f"{output.source} ends at sentence {len(theirs)}, but {len(ours)} sentences are in {gold.source}; "
            "tag that very file"
        )


def _words(corpus: Corpus, label_column: int) -> list[list[str]] | None:
    """The first column that is not the label's, or None in a file of labels alone."""
    label = range(len(corpus.columns))[label_column]
    rest = [i for i in range(len(corpus.columns)) if i != label]
    return corpus.strings(rest[0]) if rest else None


COMMANDS = {"compare": compare_command}
