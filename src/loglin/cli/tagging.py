"""loglin tag, eval: sequences."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from loglin.cli import options as shared


@click.command("tag")
@click.argument("model")
@click.argument("file", default="-")
@click.option("-o", "--output", help="Where to write; default standard output.")
@click.option("--marginals", is_flag=True, help="Add the probability of each label.")
@click.option("--nbest", type=click.IntRange(min=1), help="The K best sequences of each sentence, with probabilities.")
@click.option("--constrain", help="Only legal sequences of a label scheme: bio, iob1, iobes.")
@shared.decoding
@shared.beam
@shared.dictionary
@shared.text_format
@shared.encoding
@shared.threads
@shared.as_json
def tag_command(
    model,
    file,
    output,
    marginals,
    nbest,
    constrain,
    decoding,
    beam,
    dictionary,
    text_format,
    encoding,
    threads,
    as_json,
) -> None:
    """Add a column of labels to FILE (default: standard input); a label column in it is ignored.

    Of plain text (--format text) every word becomes word/TAG; in CoNLL-U labels stand in the column that the model
    was trained on, else in UPOS, and all else stays as it is.
    """
    from loglin.corpus.files import ReadAhead
    from loglin.corpus.formats import Stretch, detected
    from loglin.corpus.output import check_writable, write_atomically
    from loglin.decoding.chains import Decoder
    from loglin.decoding.tagged_text import tagged
    from loglin.models.chain import Model

    if output:
        check_writable(output)
        shared.refuse_overwriting(output, file, model)
    form = detected(file, text_format)
    stretches: Iterator[Stretch] = form.stretches(file, encoding)
    if form.ahead and threads != 1:
        stretches = ReadAhead(stretches)  # while the model is opened, and then while a stretch is tagged
    trained = require_tagger(Model.load(model), model)
    decoder = Decoder(trained, threads, constrain, shared.decoding_of(decoding, beam, dictionary))
    began, tokens = time.perf_counter(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal tokens
        asked = {"marginals": marginals, "nbest": nbest, "json": as_json}
        for count, piece in tagged(decoder, file, form, encoding, stretches=stretches, **asked):
            tokens += count
            yield piece

    if output:
        write_atomically(output, pieces())
        seconds = time.perf_counter() - began
        if as_json:
            summary = {"tokens": tokens, "seconds": seconds, "tokens_per_second": tokens / max(seconds, 1e-9)}
            shared.print_json(summary | {"output": output})
        return
    for piece in pieces():
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


@click.command("eval")
@click.argument("model")
@click.argument("file")
@click.option("--constrain", help="Only legal sequences of a label scheme: bio, iob1, iobes.")
@shared.decoding
@shared.beam
@shared.dictionary
@click.option("--label-column", type=shared.ColumnName(), help="Column of the labels; default: as in training.")
@click.option(
    "--mapping",
    type=click.Choice(["none", "many-to-one", "one-to-one"]),
    help="Of a model learnt without labels: which right label each of its labels stands for.",
)
@click.option("--words", type=click.IntRange(min=0), help="The most frequent errors by word, so many.")
@click.option("--marginals", is_flag=True, help="Also the mean probability of the right labels.")
@shared.text_format
@shared.encoding
@shared.threads
@shared.as_json
def eval_command(
    model,
    file,
    constrain,
    decoding,
    beam,
    dictionary,
    label_column,
    mapping,
    words,
    marginals,
    text_format,
    encoding,
    threads,
    as_json,
) -> None:
    """Tag FILE and compare with the labels in it: precision, recall and F1 per type, as conlleval.

    With --mapping, --words or --marginals: accuracy on all words and on those that the model's dictionary leaves a
    choice, V-measure and variation of information, for models learnt without labels.
    """
    from loglin.corpus.formats import detected
    from loglin.decoding.chains import Decoder
    from loglin.evaluation.tagged_text import read_labeled
    from loglin.models.chain import Model

    trained = require_tagger(Model.load(model), model)
    decoder = Decoder(trained, threads, constrain, shared.decoding_of(decoding, beam, dictionary))
    form, began = detected(file, text_format), time.perf_counter()
    data = read_labeled(decoder, file, form, encoding, label_column)
    if mapping or marginals or words is not None:
        result: Any = data.report(decoder, mapping or "none", marginals)
        value, text = result.as_dict(), result.report(words or 0)
        value["errors"] = value["errors"][: words or 0]
    else:
        result = data.evaluation(decoder)
        value, text = result.as_dict(), result.report()
    seconds, unseen = time.perf_counter() - began, data.names[len(trained.labels) :]
    if unseen and mapping in (None, "none"):
        names = ", ".join(map(str, unseen[:5]))
        print(f"loglin: {file} has labels that the model never saw, counted as errors: {names}", file=sys.stderr)
    if as_json:
        speed = {"tokens_per_second": result.tokens / max(seconds, 1e-9), "seconds": seconds}
        shared.print_json(value | speed | {"unseen_labels": unseen})
    else:
        print(text)


def require_tagger(model, path):
    if not model.kind.has_transitions:
        raise model.kind.refusal(path)
    return model


COMMANDS = {"tag": tag_command, "eval": eval_command}
