"""loglin train: from labelled, partly labelled or raw text to a tagger."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import distribution, interrupts
from loglin.cli import options as shared
from loglin.cli import training_options as training
from loglin.cli.selecting import grid_of
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.columns import Corpus
    from loglin.corpus.shards import Source
    from loglin.corpus.tagged import LabeledText
    from loglin.estimators.tagger import Tagger

_PARAMETERS = (
    "criterion", "template", "like", "optimizer", "neighborhood", "l1", "l2", "order", "min_count", "cutoff",
    "all_features", "all_pairs", "max_iter", "tol", "certify", "threads", "seed", "dtype", "dev_metric",
    "checkpoint", "vector_l2", "vector_scale", "tokenizer",
)  # fmt: skip


@click.command("train")
@click.argument("data")
@click.option(
    "--template",
    help="Template file (CRF++ / Wapiti syntax); default: words and spelling; trigram where labels are hidden.",
)
@click.option(
    "--like",
    metavar="TOOL",
    help="Features, boundaries and label pairs of the template as crf++, wapiti or crfsuite has them.",
)
@training.criterion("chain", default="crf")
@training.settings("chain")
@training.optimizer
@click.option("--neighborhood", help="What contrastive estimation compares with: trans1, …; see loglin neighborhood.")
@click.option("--unlabeled", help="Text without labels, learnt from besides DATA (criterion mixture or em).")
@click.option(
    "--dev",
    help="Held-out file; training stops when its score no longer rises. Where labels are hidden: text on which the "
    "criterion is reported.",
)
@click.option("--dev-metric", type=click.Choice(["f1", "likelihood"]), default="f1", show_default=True)
@click.option(
    "--grid",
    multiple=True,
    metavar="NAME=V1,V2,…",
    help="Where labels are hidden: try these values of an option or setting, keep the best on the text --dev.",
)
@click.option("--gold", help="With --grid: labelled text, to show the accuracy of every trial beside its criterion.")
@training.l1
@click.option(
    "--l2",
    type=training.Strength(),
    help="L2 penalty, 1 / variance, or auto: chosen on held-out sentences. Default: the criterion's, mostly 1.",
)
@shared.vectors
@click.option("--dev-vectors", metavar="FILE.npy", help="Vectors of the tokens of --dev.")
@click.option(
    "--embeddings", multiple=True, metavar="NAME=FILE", help="Word vectors that a template names: %vector[0,0,NAME]."
)
@click.option("--vector-l2", type=float, help="L2 penalty of the weights of vectors; default: that of --l2.")
@click.option("--vector-scale", is_flag=True, help="Standardize vectors: mean 0 and deviation 1 in training.")
@click.option("--order", type=click.IntRange(1, 2), help="Labels a label looks back; 1, or 2 where labels are hidden.")
@training.max_iter("1000, of the perceptron 10 epochs, of criteria that begin at a CRF 10")
@training.tol(None, "8e-4; up to 0.01 for other criteria than crf, see docs/criteria.md")
@training.certify
@training.min_count
@training.cutoff("label")
@click.option(
    "--dictionary",
    default="0",
    show_default=True,
    metavar="N|FILE",
    help="Words seen so often get only labels they had; 0: any label. Or a tagging dictionary, see loglin dictionary.",
)
@click.option("--all-features", is_flag=True, help="Weights for all (attribute, label) pairs, not only those seen.")
@click.option("--all-pairs", is_flag=True, help="Weights for all label pairs, not only those seen.")
@click.option("--partial", is_flag=True, help="The label _ means unknown, A|B one of these.")
@click.option("--scheme", help="Convert labels first, FROM:TO, such as iob1:iob2.")
@training.tokenizer
@training.start
@training.seed
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "float64"]),
    default="auto",
    help="Precision of the sums.",
)
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@distribution.shards
@training.quiet
@training.keep_on_interrupt
@training.checkpoint
@training.output
@shared.label_column
@shared.table_columns
@shared.text_format
@shared.encoding
@shared.threads
@shared.as_json
def train_command(data, output, as_json, **given) -> None:
    """Train a tagger on DATA (columns, word/TAG text, CRFsuite attributes or JSON lines; gzip too), write a model.

    DATA may be a quoted pattern such as 'data/*.txt.gz', or a folder. With one of these, --work-dir, --memory,
    --workers or --scheduler the corpus is trained on shard by shard and need not fit into memory.

    The criteria contrastive, em and marginal-likelihood learn from text without labels.
    """
    from loglin.corpus.output import check_writable

    began = time.perf_counter()
    check_writable(output)
    inputs = ("dev", "template", "dictionary", "unlabeled", "gold", "start", "vectors", "dev_vectors")
    shared.refuse_overwriting(output, data, *(given[name] for name in inputs))
    checkpoint = given["checkpoint"] = training.opened(given, output, given["quiet"])
    progress = shared.Progress(given["tol"] or 0.0, given["quiet"] or as_json)
    tagger = _tagger(given, progress)
    progress.tol = tagger.chosen_tol
    grid = grid_of(given, tagger.chosen_criterion())
    start = _start(given["start"])
    shared.load_kernels()
    seconds, trials = {"start": time.perf_counter() - began}, None
    piecewise = _is_read_piecewise(data, given, grid)
    text = _read_shards(data, given) if piecewise else _read(data, tagger, given)
    default = _default_template(tagger, text)
    tagger.dev = _held_out(tagger, text, given)
    seconds["read"] = time.perf_counter() - began - seconds["start"]
    with interrupts.keeping(given["keep_on_interrupt"], tagger), distribution.client(given) as client:
        shards = distribution.given_shards(given, client)
        if isinstance(text, Shards):
            tagger.fit(text.source, start=start, **shards)
        elif grid:
            from loglin.estimators.selection import select_tagger

            gold = _gold(given) if given["gold"] else None
            tagger, trials = select_tagger(tagger, grid, text.inputs, text.targets(), dev=tagger.dev, gold=gold)
        else:
            vectors = _rows(given["vectors"], data, text)
            tagger.fit(text.inputs, text.targets(), start=start, vectors=vectors, **shards)
    progress.close()
    model = tagger.model_
    train = model.record["train_seconds"]
    before = sum(seconds.values())
    seconds |= {"features": max(0.0, time.perf_counter() - began - before - train), "train": train}
    model.record |= {"columns": text.n_columns, "label_column": text.label_column, "data": shared.base_name(data)}
    model.record |= text.about
    tagger.save(output, given["half"])
    training.close(checkpoint, model.record)
    seconds["total"] = time.perf_counter() - began
    found = training.summary(model.record, seconds, output, labels=len(model.labels))
    if as_json:
        shared.print_json(found | ({"selection": trials.as_dict()} if trials is not None else {}))
        return
    if trials is not None:
        print(trials.report())
    about = (
        f"{found['sentences']:,} sentences, {found['tokens']:,} tokens, {found['labels']} labels, "
        f"{found['n_features']:,} features"
    )
    training.print_summary(about if default is None else f"{about}\ndefault template: {default}", found)


def _default_template(tagger: Tagger, text: LabeledText | Shards) -> str | None:
    """What the default template looks at, where none is given; of a table, at all columns that are named."""
    from loglin.features.read import default_template

    if tagger.template is not None or isinstance(getattr(text, "inputs", None), list):
        return None
    chosen = tagger.chosen_criterion()
    if tagger.hides_labels:
        return f"that of criterion {chosen.name} (--template gives another)"
    columns = text.about["table"]["columns"] if text.about else []
    if len(columns) > 1:
        tagger.template = default_template(len(columns))
    more = f", windows of {' and '.join(columns[1:])}" if len(columns) > 1 else ""
    return f"the word, two words on each side, spelling{more}, and pairs of labels (--template gives another)"


def _tagger(given: dict, progress: Any) -> Tagger:
    """What training is asked to do, checked before any data are read."""
    from loglin.estimators.tagger import Tagger

    tagger = Tagger(
        dictionary=shared.dictionary_of(given["dictionary"], given["encoding"]),
        settings=shared.settings_of(given["settings"]),
        embeddings=shared.settings_of(given["embeddings"], "--embeddings", "glove=FILE") or None,
        callbacks=[progress],
        **{name: given[name] for name in _PARAMETERS},
    )
    tagger.check()
    return tagger


@dataclass(frozen=True)
class Shards:
    """Training data that are read shard by shard."""

    source: Source
    n_columns: int
    label_column: int
    about: Mapping[str, Any]  # names of columns


def _is_read_piecewise(data: str, given: dict, grid: Any) -> bool:
    """Whether training is shard by shard, and DATA may be too large for memory; with vectors it is read as a whole."""
    from loglin.corpus.shards import is_several

    several = is_several(data)
    if not several and all(given[name] is None for name in ("work_dir", "memory", "workers", "scheduler")):
        return False
    if grid or given["unlabeled"]:
        raise LoglinError("shards take neither --grid nor --unlabeled; leave them out, or train in memory")
    if several and given["vectors"]:
        raise LoglinError(f"--vectors are those of one file, but {data} may be several; join them into one")
    return not given["vectors"]


def _read_shards(data: str, given: dict) -> Shards | LabeledText:
    """The source of shards, of which one piece is read to see its columns; attributes are read as a whole."""
    from loglin.corpus.formats import detected
    from loglin.corpus.shards import files_source, memory_of
    from loglin.corpus.tagged import read_attributes

    memory_of(given["memory"])
    how = {
        name: given[name]
        for name in ("text_format", "encoding", "label_column", "scheme", "partial", "columns", "sentence")
    }
    paths = distribution.several(data)
    if detected(paths[0], given["text_format"]).attributes:
        of_text = {name: how[name] for name in ("text_format", "encoding", "label_column", "scheme", "partial")}
        text = read_attributes(paths, **of_text, columns=given["template"] is not None)
        if text is not None:
            return text
    source = files_source(data, **how)
    next(source.pieces())
    return Shards(source, source.layout["columns"], source.layout["label_column"], source.layout["about"])


def _rows(path: str | None, data: str, text: LabeledText) -> Any:
    """The vectors of a text's tokens; None if there are none."""
    from loglin.corpus.npy import Rows

    return None if path is None else Rows(path, data).all(sum(text.lengths))


def _start(path: str | None) -> Any:
    """The model to start from."""
    if path is None:
        return None
    from loglin.cli.tagging import require_tagger
    from loglin.models.chain import Model

    return require_tagger(Model.load(path), path)


def _read(data: str, tagger: Tagger, given: dict) -> LabeledText:
    """Training data: labelled, or with labels that are hidden but for what annotation says."""
    from loglin.corpus import tagged
    from loglin.corpus.columns import Corpus

    how = {name: given[name] for name in ("encoding", "label_column", "scheme", "partial")}
    if not tagger.hides_labels:
        if given["unlabeled"]:
            raise LoglinError(
                f"--unlabeled is given, but criterion {given['criterion']} learns from labels alone; take mixture or em"
            )
        form = shared.format_of(data, given)
        text = tagged.read_labeled(data, form, columns=given["template"] is not None, **how)
        if given["template"] is not None and not isinstance(text.inputs, Corpus):
            raise LoglinError(f"{data} holds attributes already; leave out --template")
        return text
    labeled = bool(given["unlabeled"]) or given["partial"] or tagger.needs_some_labels
    form = shared.format_of(data, given, labeled)
    text = tagged.read_hidden(data, form, labeled=labeled, unlabeled=given["unlabeled"], **how)
    if form.raw_endings and given["text_format"] == "auto":
        _refuse_columns(data, text.inputs)
    return text


def _refuse_columns(path: str, corpus: Any) -> None:
    """Lines that all have the same few words are columns whose name says text."""
    offsets = corpus.offsets
    lengths = {int(n) for n in offsets[1:] - offsets[:-1]}
    if len(offsets) > 20 and len(lengths) == 1 and (n := lengths.pop()) <= 5:
        raise LoglinError(
            f"{path} is read as text, a sentence a line, but all its lines have {n} word{'s' * (n > 1)}, like columns; "
            "give --format conll, or --format text if they are sentences"
        )


def _held_out(tagger: Tagger, text: LabeledText | Shards, given: dict) -> Any:
    """Held-out data in the same form as the training data: inputs and labels, or text where labels are hidden."""
    from loglin.corpus import tagged
    from loglin.corpus.columns import Column, Corpus

    path, encoding, column = given["dev"], given["encoding"], given["label_column"]
    if path is None:
        return None
    if tagger.hides_labels:
        form = shared.format_of(path, given, labeled=False)
        return tagged.read_raw(path, form, encoding=encoding, label_column=column)
    has_names = bool(text.about.get("table"))
    form, columns = shared.format_of(path, given, has_names=has_names), given["template"] is not None
    held = tagged.read_labeled(
        path, form, encoding=encoding, label_column=column, scheme=given["scheme"], columns=columns
    )
    if held.n_columns != text.n_columns:
        raise LoglinError(f"{path} has {held.n_columns} columns, the training data {text.n_columns}; give as many")
    if isinstance(held.inputs, Corpus) != isinstance(getattr(text, "inputs", held.inputs), Corpus):
        raise LoglinError(f"{path} holds words and the training data attributes, or the reverse; give both the same")
    if not isinstance(held.labels, Column):
        tagged.require_certain(path, held.labels, "held-out data need certain labels")
    rows = _rows(given["dev_vectors"], path, held)
    return (held.inputs, held.targets()) if rows is None else (held.inputs, held.targets(), rows)


def _gold(given: dict) -> tuple[Corpus | list, list]:
    """Labelled text to compare every trial with."""
    from loglin.corpus import tagged

    form = shared.format_of(given["gold"], given)
    text = tagged.read_labeled(given["gold"], form, encoding=given["encoding"], label_column=given["label_column"])
    return text.inputs, text.sequences()


COMMANDS = {"train": train_command}
