"""loglin classify: one decision per example."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from loglin.cli import examples as files
from loglin.cli import options as shared
from loglin.cli.examples import Example, example_format
from loglin.errors import LoglinError


@click.command("classify")
@click.argument("model")
@click.argument("file", default="-")
@click.option("-o", "--output", help="Where to write; default standard output.")
@click.option("--proba", is_flag=True, help="Add every class and its probability, parted by tabs.")
@click.option(
    "--nbest",
    type=shared.Count(1),
    help="Instead of the label, the K best classes, each with its probability.",
)
@click.option("--eval", "compare", is_flag=True, help="Compare with the labels in FILE; the labels go to -o only.")
@example_format
@shared.encoding
@shared.threads
@click.option("--json", "as_json", is_flag=True, help="One JSON object per example, or one of the scores.")
def classify_command(model, file, output, proba, nbest, compare, example_format, encoding, threads, as_json) -> None:
    """Classify every example of FILE (default: standard input): a label a line; a label in FILE is ignored.

    A set of labels is a line of labels parted by |, empty if there is none. Where the criterion gives no
    probabilities (margin, perceptron, least-squares), sums of votes stand in their place.
    """
    shared.check_output(output, file, model)
    estimator = loaded_classifier(model, threads)
    gives_sets = estimator.model_.decoding.get("steps") == "independent"
    kind = files.kind_of(file, example_format, estimator.model_.record.get("format"))
    began = time.perf_counter()
    gold: list = []
    predicted: list = []  # to be compared; without that, memory shall not grow with the file
    count = 0

    def pieces() -> Iterator[bytes]:
        nonlocal count
        for batch in files.read_examples(file, kind, encoding):
            if compare:
                name = files.names_of if gives_sets else files.name_of
                gold.extend(name(example, file, "leave out --eval") for example in batch)
            judged = _judged(estimator, batch, file)
            predicted.extend(answer for answer, _ in judged if compare)
            count += len(judged)
            yield "".join(_line(answer, values, proba, nbest, as_json) for answer, values in judged).encode()

    if compare and not output:
        for _ in pieces():
            pass
    else:
        shared.write_pieces(output, pieces())
    seconds = time.perf_counter() - began
    speed = {"seconds": seconds, "examples_per_second": count / max(seconds, 1e-9)}
    if compare:
        _report_scores(gold, predicted, estimator.classes_.tolist(), file, speed, as_json)
    elif output and as_json:
        shared.print_json({"examples": count, **speed, "output": output})


def loaded_classifier(path: str, threads: int | None = None) -> Any:
    """The classifier of a model file."""
    from loglin.estimators.judging import classifier_of
    from loglin.models.chain import Model

    return classifier_of(Model.load(path), path, threads)


def _judged(estimator: Any, batch: list[Example], path: str) -> list[tuple[Any, dict[str, float]]]:
    """Of every example its answer, and the probability (or sum of votes) of every class or candidate."""
    from loglin.estimators.judging import judged

    if estimator.model_.kind.ranks:
        for example in batch:
            if not example.has_candidates:
                raise LoglinError(
                    f'{path}: example {example.number} has no "candidates", among which this model chooses; give some'
                )
    else:
        files.refuse_candidates(batch, path)
    return judged(estimator, [example.features for example in batch])


def _line(answer: Any, values: dict[str, float], proba: bool, nbest: int | None, as_json: bool) -> str:
    """One example's line of output."""
    from loglin.estimators.judging import as_dict

    if as_json:
        return json.dumps(as_dict(answer, values, nbest), ensure_ascii=False) + "\n"
    ranked = sorted(values, key=lambda y: -values[y])
    fields = [] if nbest else ["|".join(sorted(answer)) if isinstance(answer, set) else answer]
    if nbest or proba:
        for y in ranked[:nbest] if nbest else values:
            fields += [y, f"{values[y]:.6f}"]
    return "\t".join(fields) + "\n"


def _report_scores(gold: list, predicted: list, known: list, path: str, speed: dict[str, float], as_json: bool) -> None:
    """Accuracy, and precision, recall and F1 of every class."""
    import numpy as np

    from loglin.evaluation.sequences import evaluate, evaluate_label_sets

    if not gold:
        raise LoglinError(f"{path} holds no examples; give at least one with a label")
    several = isinstance(gold[0], set)
    mentioned = sorted({y for given in gold for y in given}) if several else [*gold, *predicted]
    names = list(dict.fromkeys([*map(str, known), *mentioned]))
    unseen = names[len(known) :] if known else []
    code = {name: i for i, name in enumerate(names)}
    if several:
        right, found = (np.array([[name in given for name in names] for given in sets]) for sets in (gold, predicted))
        result = evaluate_label_sets(right, found, names)
    else:
        right, found = (np.array([code[str(y)] for y in side]) for side in (gold, predicted))
        result = evaluate(right, found, names, np.arange(len(gold) + 1), tokens_only=True)
    if unseen:
        some = ", ".join(unseen[:5])
        print(f"loglin: {path} has classes that the model never saw, counted as errors: {some}", file=sys.stderr)
    if as_json:
        shared.print_json(result.as_dict() | speed | {"unseen_labels": unseen})
        return
    if several:
        exact = f"whole sets right {100 * result.sentence_accuracy:.2f}%"
        print(
            f"micro F1 {100 * result.f1:.2f} (precision {100 * result.precision:.2f}%, "
            f"recall {100 * result.recall:.2f}%), macro F1 {100 * result.macro_f1:.2f}, {exact}"
        )
    else:
        print(
            f"accuracy {100 * result.accuracy:.2f}% ({result.correct:,} of {result.tokens:,} examples), "
            f"macro F1 {100 * result.macro_f1:.2f}"
        )
    if not known:
        return  # candidates have names that mean something in their own line alone
    width = max(5, *(len(name) for name in result.by_type)) if result.by_type else 5
    print(f"{'class':<{width}}  precision  recall      F1  examples  predicted")
    for name, row in result.by_type.items():
        print(
            f"{name:<{width}}  {100 * row['precision']:8.2f}%{100 * row['recall']:7.2f}%  {100 * row['f1']:6.2f}"
            f"  {row['support']:>8,}  {row['found']:>9,}"
        )


COMMANDS = {"classify": classify_command}
