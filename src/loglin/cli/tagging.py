"""loglin tag, eval: sequences."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from loglin.cli import distribution
from loglin.cli import options as shared
from loglin.errors import LoglinError

constrain = click.option(
    "--constrain",
    help="Only legal sequences of a label scheme: bio, iob1, iobes; default: as the model was trained; none: any.",
)


@click.command("tag")
@click.argument("model")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", help="Where to write; default standard output.")
@click.option("--output-dir", help="Folder to tag several files into; what is done there is not done again.")
@click.option(
    "--raw", is_flag=True, help="The file is raw text, a sentence a line, which the model's tokenizer splits."
)
@click.option("--marginals", is_flag=True, help="Add the probability of each label.")
@click.option("--nbest", type=shared.Count(1), help="The K best sequences of each sentence, with probabilities.")
@constrain
@shared.decoding
@shared.beam
@shared.dictionary
@shared.prune
@shared.vectors
@shared.table_columns
@shared.text_format
@shared.encoding
@distribution.workers
@distribution.scheduler
@shared.threads
@shared.as_json
def tag_command(model, files, output, output_dir, raw, marginals, nbest, as_json, **given) -> None:
    """Add a column of labels to a file (default: standard input); a label column in it is ignored.

    Several FILES, quoted patterns such as 'in/*.txt', or folders are tagged into --output-dir, each into a file of its
    name. The same command goes on where it was stopped: files that are done and unchanged are left as they are.

    Of plain text (--format text) every word becomes word/TAG; in CoNLL-U labels stand in the column that the model
    was trained on, else in UPOS, and all else stays as it is. Of raw text (--raw) every token becomes a line, token and
    label; with --json every sentence one, with the characters of tokens and entities.
    """
    if raw:
        from loglin.cli.raw_tagging import tag_raw

        if output_dir is not None:
            raise LoglinError("--raw tags one file; leave out --output-dir")
        tag_raw(model, _single(files, given), output, {"marginals": marginals, "nbest": nbest}, as_json, given)
        return
    if output_dir is not None:
        _tag_files(model, files, output, output_dir, {"marginals": marginals, "nbest": nbest, "json": as_json}, given)
        return
    file = _single(files, given)
    from loglin.corpus.files import ReadAhead
    from loglin.corpus.formats import Stretch, is_uncertain
    from loglin.decoding.tagged_text import tagged

    shared.check_output(output, file, model)
    decoder = _decoder(model, given) if is_uncertain(file) else None  # the model says what the file is
    has_names = None if decoder is None else decoder.model.has_names
    form, encoding = shared.format_of(file, given, has_names=has_names), given["encoding"]
    stretches: Iterator[Stretch] | None = None
    if form.ahead and given["threads"] != 1:
        ahead = form.stretches(file, encoding)
        stretches = ReadAhead(ahead)  # while the model is opened, and then while a stretch is tagged
    decoder, vectors = decoder or _decoder(model, given), _rows(given, file)
    began, tokens = time.perf_counter(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal tokens
        asked = {"marginals": marginals, "nbest": nbest, "json": as_json, "vectors": vectors}
        for count, piece in tagged(decoder, file, form, encoding, stretches=stretches, **asked):
            tokens += count
            yield piece

    shared.write_pieces(output, pieces())
    if output and as_json:
        seconds = time.perf_counter() - began
        summary = {"tokens": tokens, "seconds": seconds, "tokens_per_second": tokens / max(seconds, 1e-9)}
        shared.print_json(summary | {"output": output})


def _single(files: tuple[str, ...], given: dict[str, Any]) -> str:
    """The one file to tag; several are refused without a folder to tag them into."""
    file = files[0] if files else "-"
    if len(files) > 1 or os.path.isdir(file) or (any(c in file for c in "*?[") and not os.path.exists(file)):
        what = f"{file} is a folder" if os.path.isdir(file) else f"{' and '.join(files[:2])} are several files"
        raise LoglinError(f"{what}; give --output-dir, a folder to write them into")
    if given["workers"] is not None or given["scheduler"] is not None:
        raise LoglinError("workers share out files that are tagged into a folder; give --output-dir")
    return file


def _tag_files(model, files, output, folder, asked: dict[str, Any], given: dict[str, Any]) -> None:
    """Tag every file into the folder and say what was done."""
    from loglin import __version__
    from loglin.corpus.shards import sources
    from loglin.decoding.tagged_files import Answers, Tagging, items_of
    from loglin.models.chain import Model

    if output:
        raise LoglinError("--output names one file, --output-dir a folder for several; give one of them")
    if not files or "-" in files:
        raise LoglinError("--output-dir takes files, patterns or folders, not standard input; name them")
    if given["vectors"] is not None:
        raise LoglinError("--vectors has the rows of one file; leave out --output-dir, and tag file by file")
    began = time.perf_counter()
    require_tagger(Model.load(model), model)
    items = items_of(sources(files), folder, model)
    told = shared.decoding_of(**{name: given[name] for name in shared.TOLD})
    named = {name: given[name] for name in ("constrain", "columns", "sentence")}
    answers = Answers(given["text_format"], given["encoding"], **asked, **named, decoding=told)
    with distribution.engine(given) as engine:
        tagging = Tagging.of(model, answers, given["threads"] if engine is None else 1, __version__)
        outcomes = list(map(tagging, items) if engine is None else engine.map(tagging, items))
    wrong = [outcome for outcome in outcomes if outcome.error]
    seconds, tokens = time.perf_counter() - began, sum(o.tokens for o in outcomes if not o.done_before)
    before = sum(o.done_before for o in outcomes)
    done = len(outcomes) - before - len(wrong)
    if wrong:
        others = f" ({len(wrong)} of {len(outcomes)} files were not tagged)" if len(outcomes) > 1 else ""
        raise LoglinError(f"{wrong[0].error}{others}")
    summary = {"files": done, "done_before": before, "tokens": tokens, "seconds": seconds}
    speed = tokens / max(seconds, 1e-9)
    text = f"{done:,} files tagged, {before:,} done before; {tokens:,} tokens in {seconds:.1f} s, {speed:,.0f} a second"
    shared.show(summary | {"tokens_per_second": speed, "output": folder}, text, asked["json"])


@click.command("eval")
@click.argument("model")
@click.argument("file")
@constrain
@shared.decoding
@shared.beam
@shared.dictionary
@shared.prune
@click.option(
    "--label-column", "--label", type=shared.ColumnName(), help="Column of the labels; default: as in training."
)
@click.option(
    "--mapping",
    type=click.Choice(["none", "many-to-one", "one-to-one"]),
    help="Of a model learnt without labels: which right label each of its labels stands for.",
)
@click.option("--words", type=shared.Count(0), help="The most frequent errors by word, so many.")
@click.option("--marginals", is_flag=True, help="Also the mean probability of the right labels.")
@shared.vectors
@shared.table_columns
@shared.text_format
@shared.encoding
@shared.threads
@shared.as_json
def eval_command(model, file, label_column, mapping, words, marginals, as_json, **given) -> None:
    """Tag FILE and compare with the labels in it: precision, recall and F1 per type, as conlleval.

    With --mapping, --words or --marginals: accuracy on all words and on those that the model's dictionary leaves a
    choice, V-measure and variation of information, for models learnt without labels.
    """
    from loglin.evaluation.tagged_text import read_labeled

    decoder = _decoder(model, given)
    form, began = shared.format_of(file, given, has_names=decoder.model.has_names), time.perf_counter()
    data = read_labeled(decoder, file, form, given["encoding"], label_column, _rows(given, file))
    if mapping or marginals or words is not None:
        result: Any = data.report(decoder, mapping or "none", marginals)
        value, text = result.as_dict(), result.report(words or 0)
        value["errors"] = value["errors"][: words or 0]
    else:
        result = data.evaluation(decoder)
        value, text = result.as_dict(), result.report()
    seconds, unseen = time.perf_counter() - began, data.names[len(decoder.model.labels) :]
    if unseen and mapping in (None, "none"):
        names = ", ".join(map(str, unseen[:5]))
        print(f"loglin: {file} has labels that the model never saw, counted as errors: {names}", file=sys.stderr)
    if decoder.prunes:
        kept = data.kept(decoder)
        value, text = value | kept.as_dict(), f"{text}\n{kept.report()}"
    speed = {"tokens_per_second": result.tokens / max(seconds, 1e-9), "seconds": seconds}
    shared.show(value | speed | {"unseen_labels": unseen}, text, as_json)


def _decoder(path: str, given: dict[str, Any]) -> Any:
    """The decoder of a tagger's file, told by the options of tag and eval."""
    from loglin.decoding.chains import Decoder
    from loglin.models.chain import Model

    told = shared.decoding_of(**{name: given[name] for name in shared.TOLD})
    return Decoder(require_tagger(Model.load(path), path), given["threads"], given["constrain"], told)


def _rows(given: dict[str, Any], text: str) -> Any:
    """The vectors of a text's tokens; None if there are none."""
    from loglin.corpus.npy import Rows

    return None if given["vectors"] is None else Rows(given["vectors"], text)


def require_tagger(model, path):
    if not model.kind.has_transitions:
        raise model.kind.refusal(path)
    return model


COMMANDS = {"tag": tag_command, "eval": eval_command}
