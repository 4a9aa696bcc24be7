"""loglin train: from labelled, partly labelled or raw text to a tagger."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import click

from loglin.cli import options as shared
from loglin.cli.selecting import grid_of, selected
from loglin.cli.tagging import require_tagger
from loglin.corpus.formats import detected
from loglin.criteria.settings import CRITERIA, LATENT
from loglin.errors import LoglinError


@click.command("train")
@click.argument("data")
@click.option(
    "--template",
    help="Template file (CRF++ / Wapiti syntax); default: words and spelling; trigram where labels are hidden.",
)
@click.option("--criterion", default="crf", show_default=True, help="How to estimate: " + ", ".join(CRITERIA) + ".")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the criterion.")
@shared.optimizer
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
@click.option("--l1", type=click.FloatRange(min=0), default=0.0, show_default=True, help="L1 penalty.")
@click.option("--l2", type=click.FloatRange(min=0), default=1.0, show_default=True, help="L2 penalty, 1 / variance.")
@click.option("--order", type=click.IntRange(1, 2), help="Labels a label looks back; 1, or 2 where labels are hidden.")
@click.option("--max-iter", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=5e-4,
    show_default=True,
    help="Stop when the relative improvement still to come is less.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Leave out rarer attributes.",
)
@click.option(
    "--cutoff",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Leave out rarer features, attribute and label together.",
)
@click.option(
    "--dictionary",
    default="0",
    show_default=True,
    metavar="N|FILE",
    help="Words seen so often get only labels they had; 0: any label. Or a tagging dictionary, see loglin dictionary.",
)
@click.option("--all-features", is_flag=True, help="Weights for all (attribute, label) pairs, not only those seen.")
@click.option("--partial", is_flag=True, help="The label _ means unknown, A|B one of these.")
@click.option("--scheme", help="Convert labels first, FROM:TO, such as iob1:iob2.")
@click.option("--continue", "start", help="Start from the weights of this model.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "float64"]),
    default="auto",
    help="Precision of the sums.",
)
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("-o", "--output", required=True, help="Model file to write.")
@shared.label_column
@shared.text_format
@shared.encoding
@shared.threads
@shared.as_json
def train_command(data, template, output, as_json, **given) -> None:
    """Train a tagger on DATA (columns, word/TAG text, CRFsuite attributes or JSON lines; gzip too), write a model.

    The criteria contrastive, em and marginal-likelihood learn from text without labels.
    """
    from loglin.corpus.output import check_writable

    began = time.perf_counter()
    check_writable(output)
    shared.refuse_overwriting(
        output, data, given["dev"], template, given["dictionary"], given["unlabeled"], given["gold"]
    )
    given["dictionary"] = shared.dictionary_of(given["dictionary"], given["encoding"])
    from loglin.models.chain import Model
    from loglin.training.chains import peak_memory_mb, train

    options = _options(given)
    grid = grid_of(given, options.criterion)
    seconds: dict[str, float] = {}
    source, held = _read(data, template, options, given)
    seconds["read"] = time.perf_counter() - began
    design, extractor, labels, gold = source.prepare(given["min_count"], options)
    dev = None
    if given["dev"] and held is None:
        from loglin.training.tagger_data import development

        dev = development(given["dev"], source, extractor, labels, given)
    start = require_tagger(Model.load(given["start"]), given["start"]) if given["start"] else None
    seconds["features"] = time.perf_counter() - began - seconds["read"]
    progress = shared.Progress(given["tol"], given["quiet"] or as_json)

    def train_one(chosen: Any) -> Any:
        more = {"start": start, "development": dev, "callback": progress, "held": held}
        return train(design, extractor, labels, gold, chosen, **more)

    given["label_column"] = source.text.label_column
    trials = selected(grid, train_one, options, source.text.n_columns, given) if grid else None
    model = train_one(options) if trials is None else trials.selected.model
    progress.close()
    seconds["train"] = model.record["train_seconds"]
    model.record["columns"] = source.text.n_columns
    model.record["label_column"] = given["label_column"]
    model.record["data"] = shared.base_name(data)
    model.save(output, given["half"])
    seconds["total"] = time.perf_counter() - began
    if trials is not None and not as_json:
        print(trials.report())
    _summarize(model, seconds, peak_memory_mb(), output, as_json, {} if trials is None else trials.as_dict())


def _options(given: dict) -> Any:
    """What training is asked to do."""
    from loglin.training.options import Options, default_order

    names = ("criterion", "optimizer", "neighborhood", "l1", "l2", "all_features", "cutoff", "dictionary", "max_iter")
    names += ("tol", "threads", "seed", "dtype", "dev_metric")
    given["order"] = given["order"] or default_order(given["criterion"])
    settings = shared.settings_of(given["settings"])
    return Options(settings=settings, order=given["order"], **{name: given[name] for name in names})


def _read(data: str, template: str | None, options: Any, given: dict) -> tuple[Any, Any]:
    """Training data, and held-out text where labels are hidden."""
    from loglin.corpus.tagged import read_raw
    from loglin.features.read import read_templates
    from loglin.training.options import hidden_template
    from loglin.training.tagger_data import has_labels, read_hidden, read_training

    if options.criterion not in LATENT:
        if given["unlabeled"]:
            raise LoglinError(
                f"--unlabeled is given, but criterion {options.criterion} learns from labels alone; take mixture or em"
            )
        templates = read_templates(template) if template else None
        return read_training(data, detected(data, given["text_format"]), templates, given), None
    form = detected(data, given["text_format"], has_labels(given))
    templates = read_templates(template or hidden_template(options.order))
    source = read_hidden(data, form, templates, given)
    if form.raw_endings and given["text_format"] == "auto":
        _refuse_columns(data, source.text.inputs.offsets)
    if not given["dev"]:
        return source, None
    form = detected(given["dev"], given["text_format"], labeled=False)
    return source, read_raw(given["dev"], form, encoding=given["encoding"], label_column=given["label_column"])


def _refuse_columns(path: str, offsets: Any) -> None:
    """Lines that all have the same few words are columns whose name says text."""
    lengths = {int(n) for n in offsets[1:] - offsets[:-1]}
    if len(offsets) > 20 and len(lengths) == 1 and (n := lengths.pop()) <= 5:
        raise LoglinError(
            f"{path} is read as text, a sentence a line, but all its lines have {n} word{'s' * (n > 1)}, like columns; "
            "give --format conll, or --format text if they are sentences"
        )


def _summarize(model: Any, seconds: dict, memory: float, output: str, as_json: bool, selection: dict) -> None:
    """What training did, for people or programs."""
    record = model.record
    keys = ("objective", "iterations", "evaluations", "stopped", "converged", "n_features", "active_features")
    summary = {k: record[k] for k in keys}
    summary |= {"labels": len(model.labels), "sentences": record["sentences"], "tokens": record["tokens"]}
    summary |= {"seconds": seconds, "peak_memory_mb": memory, "threads": record["threads"], "model": output}
    more = {k: record[k] for k in ("log_likelihood", "map", "held_criterion", "warnings") if k in record}
    summary |= {k: None if v in (math.inf, -math.inf) else v for k, v in more.items()}  # JSON has no infinity
    if record["history"] and record["history"][-1]["score"] is not None:
        summary["dev_score"] = max(i["score"] for i in record["history"])
    if as_json:
        shared.print_json(summary | ({"selection": selection} if selection else {}))
        return
    for warning in record.get("warnings", ()):
        print(f"warning: {warning}", file=sys.stderr)
    print(
        f"{summary['sentences']:,} sentences, {summary['tokens']:,} tokens, {summary['labels']} labels, "
        f"{summary['n_features']:,} features"
    )
    print(f"objective {summary['objective']:,.3f} after {summary['iterations']} iterations: {summary['stopped']}")
    if "map" in record:
        print(f"log-likelihood {record['log_likelihood']:,.3f}, with the prior (MAP) {record['map']:,.3f}")
    if "held_criterion" in record:
        print(f"criterion on the held-out text {record['held_criterion']:,.3f}")
    print(
        f"{seconds['total']:.2f} s (reading {seconds['read']:.2f}, features {seconds['features']:.2f}, "
        f"training {seconds['train']:.2f}), {summary['peak_memory_mb']:.0f} MB, {summary['threads']} threads"
    )
    print(f"model written to {output}")


COMMANDS = {"train": train_command}
