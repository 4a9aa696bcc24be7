"""loglin classify-train, classify: one decision per example."""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

EXAMPLES_AT_ONCE = 1000
_OPTIONS = ("optimizer", "l1", "l2", "max_iter", "tol", "threads", "seed")

example_format = click.option(
    "--format",
    "example_format",
    type=click.Choice(["auto", "jsonl", "svmlight"]),
    default="auto",
    help="Kind of file; auto goes by the name (.jsonl, .svm), else by the first character.",
)


@click.command("classify-train")
@click.argument("data")
@shared.optimizer
@click.option("--dev", help="Held-out file; training stops when its accuracy no longer rises.")
@click.option("--l1", type=click.FloatRange(min=0), default=0.0, show_default=True, help="L1 penalty.")
@click.option("--l2", type=click.FloatRange(min=0), default=1.0, show_default=True, help="L2 penalty, 1 / variance.")
@click.option("--max-iter", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=1e-6,
    show_default=True,
    help="Relative improvement over five iterations at which to stop.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Leave out rarer attributes.",
)
@click.option("--observed", is_flag=True, help="Weights only for (attribute, class) pairs seen together.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("-o", "--output", required=True, help="Model file to write.")
@example_format
@shared.encoding
@shared.threads
@shared.as_json
def classify_train_command(data, output, as_json, **given) -> None:
    """Train a maximum-entropy classifier on DATA and write a model.

    DATA has one example a line: JSON such as {"label": "sport", "text": "They won"} or {"label": "sport",
    "features": {"words": ["they", "won"], "length": 2}}, or SVMlight such as "1 3:0.5 7:1"; gzip too.
    """
    from loglin.corpus.output import check_writable

    began = time.perf_counter()
    check_writable(output)
    shared.refuse_overwriting(output, data, given["dev"])
    import numpy as np

    from loglin.corpus.labels import Gold
    from loglin.features.attributes import INTERCEPT, AttributeExtractor
    from loglin.training import Options, train

    options = Options(
        criterion="likelihood",
        task="classify",
        **{k: given[k] for k in _OPTIONS},
        all_features=not given["observed"],
        warm_start=False,
        dtype="float64",
    )
    kind, encoding = _kind(data, given["example_format"]), given["encoding"]
    names, examples = _labelled(data, kind, encoding, "leave it out or give it one")
    labels = sorted(set(names))
    if len(labels) < 2:
        raise LoglinError(f"{data}: every example is labelled {labels[0]!r}; give examples of at least two classes")
    seconds = {"read": time.perf_counter() - began}
    extractor = AttributeExtractor()
    design = _design(data, examples, lambda tokens: extractor.fit(tokens, given["min_count"]))
    code = {label: i for i, label in enumerate(labels)}
    gold = Gold.certain(np.array([code[name] for name in names]), len(labels))
    dev = _development(given["dev"], extractor, labels, given) if given["dev"] else None
    seconds["features"] = time.perf_counter() - began - seconds["read"]
    free = np.zeros(extractor.n_attributes, bool)
    if (intercept := extractor.names.code(INTERCEPT)) >= 0:
        free[intercept] = True
    progress = shared.Progress(given["tol"], given["quiet"] or as_json)
    model = train(
        design,
        extractor,
        labels,
        gold,
        options,
        development=dev,
        callback=progress,
        unpenalized=free,
    )
    progress.close()
    seconds["train"] = model.record["train_seconds"]
    model.record |= {"data": shared.base_name(data), "format": kind}
    model.save(output, given["half"])
    seconds["total"] = time.perf_counter() - began
    _report_training(_training_summary(model, seconds, output), as_json)


def _development(path: str, extractor, labels: list[str], given: dict) -> Any:
    """Held-out examples; classes never seen in training count as errors."""
    import numpy as np

    from loglin.corpus.labels import Gold
    from loglin.watch import Development

    names, examples = _labelled(
        path, _kind(path, given["example_format"]), given["encoding"], "leave it out or give it one"
    )
    code = {label: i for i, label in enumerate([*labels, *sorted(set(names) - set(labels))])}
    gold = Gold.certain(np.array([code[name] for name in names]), len(code))
    # with "class " before it no name is taken for a chunk label, so that the score is the accuracy
    return Development(_design(path, examples, extractor.transform), gold, [f"class {y}" for y in code])


def _training_summary(model, seconds: dict[str, float], output: str) -> dict[str, Any]:
    """The keys of ``loglin train --json``."""
    from loglin.training import peak_memory_mb

    record = model.record
    keys = ("objective", "iterations", "evaluations", "stopped", "converged", "n_features", "active_features")
    summary = {k: record[k] for k in keys}
    summary |= {"labels": len(model.labels), "sentences": record["sentences"], "tokens": record["tokens"]}
    summary |= {
        "seconds": seconds,
        "peak_memory_mb": peak_memory_mb(),
        "threads": record["threads"],
        "model": output,
    }
    scores = [i["score"] for i in record["history"] if i["score"] is not None]
    return summary | ({"dev_score": max(scores)} if scores else {})


def _report_training(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        shared.print_json(summary)
        return
    seconds = summary["seconds"]
    print(
        f"{summary['sentences']:,} examples, {summary['labels']} classes, {summary['n_features']:,} features, "
        f"{summary['active_features']:,} of them active"
    )
    print(f"objective {summary['objective']:,.3f} after {summary['iterations']} iterations: {summary['stopped']}")
    if "dev_score" in summary:
        print(f"best accuracy on the held-out file: {summary['dev_score']:.4f}")
    print(
        f"{seconds['total']:.2f} s (reading {seconds['read']:.2f}, features {seconds['features']:.2f}, "
        f"training {seconds['train']:.2f}), {summary['peak_memory_mb']:.0f} MB, {summary['threads']} threads"
    )
    print(f"model written to {summary['model']}")


@click.command("classify")
@click.argument("model")
@click.argument("file", default="-")
@click.option("-o", "--output", help="Where to write; default standard output.")
@click.option("--proba", is_flag=True, help="Add every class and its probability, parted by tabs.")
@click.option(
    "--nbest",
    type=click.IntRange(min=1),
    help="Instead of the label, the K best classes, each with its probability.",
)
@click.option("--eval", "compare", is_flag=True, help="Compare with the labels in FILE; the labels go to -o only.")
@example_format
@shared.encoding
@shared.threads
@click.option("--json", "as_json", is_flag=True, help="One JSON object per example, or one of the scores.")
def classify_command(model, file, output, proba, nbest, compare, example_format, encoding, threads, as_json) -> None:
    """Classify every example of FILE (default: standard input): a label a line; a label in FILE is ignored."""
    from loglin.corpus.output import check_writable, write_atomically
    from loglin.decode import Decoder
    from loglin.model import Model

    if output:
        check_writable(output)
        shared.refuse_overwriting(output, file, model)
    decoder = Decoder(_classifier(Model.load(model), model), threads)
    kind = _kind(file, example_format, decoder.model.record.get("format"))
    began = time.perf_counter()
    gold: list[str] = []
    predicted: list[str] = []

    def pieces() -> Iterator[bytes]:
        for batch in _batches(_read(file, kind, encoding)):
            if compare:
                gold.extend(_label(name, file, len(predicted) + i, "leave out --eval") for i, (name, _) in batch)
            rows = _probabilities(decoder, file, [features for _, (_, features) in batch], len(predicted))
            lines = [_line(decoder.model.labels, row, proba, nbest, as_json) for row in rows]
            predicted.extend(decoder.model.labels[row.argmax()] for row in rows)
            yield "".join(lines).encode()

    if output:
        write_atomically(output, pieces())
    else:
        for piece in pieces():
            if not compare:
                sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    seconds = time.perf_counter() - began
    speed = {"seconds": seconds, "examples_per_second": len(predicted) / max(seconds, 1e-9)}
    if compare:
        _report_scores(gold, predicted, decoder.model.labels, file, speed, as_json)
    elif output and as_json:
        shared.print_json({"examples": len(predicted), **speed, "output": output})


def _classifier(model, path: str):
    from loglin.features.attributes import AttributeExtractor

    if model.task != "classify":
        raise LoglinError(f"{path} tags sequences; use loglin tag")
    if not isinstance(model.extractor, AttributeExtractor):
        raise LoglinError(
            f"{path} was trained in Python on a matrix, and its columns have no names; open it with loglin.MaxEnt.load"
        )
    return model


def _probabilities(decoder, path: str, examples: list, before: int) -> Any:
    """Probabilities (examples, classes); ``before`` examples of the file have gone already."""
    from loglin.structures import Local

    design = _design(path, examples, decoder.model.extractor.transform, before)
    return Local(decoder.scores(design)).marginals()


def _line(labels: list, row, proba: bool, nbest: int | None, as_json: bool) -> str:
    """One example's line of output; ``row`` holds the probability of every class."""
    ranked = sorted(range(len(labels)), key=lambda i: -row[i])
    best = ranked[0]
    if as_json:
        value = {"label": labels[best], "probability": float(row[best])}
        value["probabilities"] = dict(zip(map(str, labels), row.tolist(), strict=True))
        if nbest:
            value["nbest"] = [{"label": labels[i], "probability": float(row[i])} for i in ranked[:nbest]]
        return json.dumps(value, ensure_ascii=False) + "\n"
    fields = [] if nbest else [str(labels[best])]
    if nbest or proba:
        for i in ranked[:nbest] if nbest else range(len(labels)):
            fields += [str(labels[i]), f"{row[i]:.6f}"]
    return "\t".join(fields) + "\n"


def _report_scores(
    gold: list[str], predicted: list, known: list, path: str, speed: dict[str, float], as_json: bool
) -> None:
    """Accuracy, and precision, recall and F1 of every class."""
    import numpy as np

    from loglin.evaluate import evaluate

    if not gold:
        raise LoglinError(f"{path} holds no examples; give at least one with a label")
    names = list(dict.fromkeys([*map(str, known), *gold]))
    unseen = names[len(known) :]
    code = {name: i for i, name in enumerate(names)}
    result = evaluate(
        np.array([code[y] for y in gold]),
        np.array([code[str(y)] for y in predicted]),
        names,
        np.arange(len(gold) + 1),
        tokens_only=True,
    )
    if unseen:
        some = ", ".join(unseen[:5])
        print(f"loglin: {path} has classes that the model never saw, counted as errors: {some}", file=sys.stderr)
    if as_json:
        shared.print_json(result.as_dict() | speed | {"unseen_labels": unseen})
        return
    print(
        f"accuracy {100 * result.accuracy:.2f}% ({result.correct:,} of {result.tokens:,} examples), "
        f"macro F1 {100 * result.macro_f1:.2f}"
    )
    width = max(5, *(len(name) for name in result.by_type))
    print(f"{'class':<{width}}  precision  recall      F1  examples  predicted")
    for name, row in result.by_type.items():
        print(
            f"{name:<{width}}  {100 * row['precision']:8.2f}%{100 * row['recall']:7.2f}%  {100 * row['f1']:6.2f}"
            f"  {row['support']:>8,}  {row['found']:>9,}"
        )


# ---------------------------------------------------------------------- examples in files


def _kind(path: str, given: str, trained: object = None) -> str:
    """The format of a file: as given, by its name, by its first character; of standard input, the model's."""
    if given != "auto":
        return given
    name = path.removesuffix(".gz")
    if name.endswith((".jsonl", ".json", ".ndjson")):
        return "jsonl"
    if name.endswith((".svm", ".svmlight", ".libsvm")):
        return "svmlight"
    if not Path(path).is_file():  # standard input or a pipe, which can be read only once
        return "svmlight" if trained == "svmlight" else "jsonl"
    from loglin.corpus.files import open_binary

    with open_binary(path) as stream:
        try:
            start = stream.read(4096)
        except (OSError, EOFError, zlib.error):
            return "jsonl"  # whose reader will say what is wrong
    return "jsonl" if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"") else "svmlight"


def _read(path: str, kind: str, encoding: str) -> Iterator[tuple[Any, Any]]:
    """(label or None, attributes) of every example."""
    from loglin.corpus import jsonlines, svmlight

    return jsonlines.examples(path, encoding) if kind == "jsonl" else svmlight.read(path, encoding)


def _labelled(path: str, kind: str, encoding: str, remedy: str) -> tuple[list[str], list]:
    """All labels and all examples of a file in which every example has a label."""
    names, examples = [], []
    for number, (label, features) in enumerate(_read(path, kind, encoding), 1):
        names.append(_label(label, path, number, remedy))
        examples.append(features)
    if not names:
        raise LoglinError(f'{path} holds no examples; write one a line, such as {{"label": "a", "text": "…"}}')
    return names, examples


def _label(label: Any, path: str, number: int, remedy: str) -> str:
    """A label as text; JSON may have numbers there."""
    if isinstance(label, str):
        return label
    if label is None:
        raise LoglinError(f'{path}: example {number} has no "label"; {remedy}')
    if isinstance(label, dict | list):
        raise LoglinError(f"{path}: the label of example {number} is {label!r}; give a string or a number")
    return json.dumps(label)


def _design(path: str, examples: list, extract, before: int = 0):
    """Examples as sentences of one token, each with an intercept."""
    from loglin.features.attributes import INTERCEPT, attributes_of

    try:
        return extract([[features, {INTERCEPT: 1.0}]] for features in examples)
    except (LoglinError, OverflowError):
        for number, features in enumerate(examples, before + 1):
            try:
                list(attributes_of(features))
            except (TypeError, ValueError, OverflowError) as error:
                raise LoglinError(f"{path}: example {number}: {error}; correct it") from None
        raise


def _batches(examples: Iterable) -> Iterator[list[tuple[int, tuple]]]:
    """Examples some at a time, numbered from 1 within each batch."""
    stream = iter(examples)
    while batch := list(enumerate(islice(stream, EXAMPLES_AT_ONCE), 1)):
        yield batch


COMMANDS = {"classify-train": classify_train_command, "classify": classify_command}
