"""loglin classify-train: from examples in a file to a classifier."""

from __future__ import annotations

import operator
import time
import warnings
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import distribution, interrupts
from loglin.cli import examples as files
from loglin.cli import options as shared
from loglin.cli import training_options as training
from loglin.cli.classifying import loaded_classifier
from loglin.cli.examples import Example, example_format
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.criteria.criterion import Criterion
    from loglin.estimators import NaiveBayes

_OPTIONS = ("optimizer", "l1", "l2", "max_iter", "tol", "threads", "seed", "min_count", "cutoff", "checkpoint")
NOT_COUNTED = (
    "work_dir", "memory", "workers", "scheduler",
    "optimizer", "l1", "l2", "variances", "max_iter", "tol", "cutoff", "observed", "threshold", "seed", "start",
)  # fmt: skip


@click.command("classify-train")
@click.argument("data")
@training.criterion("local", "joint", default="likelihood")
@training.settings("local", "joint")
@training.optimizer
@click.option("--dev", help="Held-out file; training stops when its accuracy no longer rises.")
@training.l1
@click.option("--l2", type=click.FloatRange(min=0), default=1.0, show_default=True, help="L2 penalty, 1 / variance.")
@click.option(
    "--variance",
    "variances",
    multiple=True,
    metavar="PATTERN=VALUE",
    help="Variance of the Gaussian prior of the attributes that match, in place of 1 / l2.",
)
@training.max_iter("1000, of the perceptron 10 epochs")
@training.tol(1e-6)
@training.min_count
@training.cutoff("class")
@click.option("--observed", is_flag=True, help="Weights only for (attribute, class) pairs seen together.")
@click.option(
    "--threshold",
    help="Of label sets: the probability (or score) from which a label is given, or out-of-fold to choose it on "
    "training examples held out in turn.",
)
@training.start
@training.seed
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@training.quiet
@training.keep_on_interrupt
@training.checkpoint
@distribution.shards
@training.output
@example_format
@shared.encoding
@shared.threads
@shared.as_json
def classify_train_command(data, output, as_json, **given) -> None:
    """Train a classifier on DATA, maximum entropy by default, and write a model.

    DATA is a file, a quoted pattern or a folder, with one example a line: JSON such as
    {"label": "sport", "text": "They won"} or {"label": "sport", "features": {"words": ["they", "won"], "length": 2}},
    or SVMlight such as "1 3:0.5 7:1"; gzip too.

    {"labels": ["sport", "money"], "text": "..."} gives a set of labels, which may be empty: a yes-or-no model for
    each. {"label": "b", "candidates": {"a": ["near"], "b": {"distance": 3}}} is a choice among candidates of the
    line's own, whose weights all lines share.
    """
    began = time.perf_counter()
    shared.check_output(output, data, given["dev"], given["start"])
    checkpoint = given["checkpoint"] = training.opened(given, output, given["quiet"])
    paths, encoding = distribution.several(data), given["encoding"]
    kind = files.kind_of(paths[0], given["example_format"])
    examples = [example for path in paths for example in files.labeled(path, kind, encoding)]
    example = examples[0]  # all are of one kind
    seconds = {"read": time.perf_counter() - began}
    progress = shared.Progress(given["tol"], given["quiet"] or as_json)
    estimator = _estimator(example, given, progress)
    if given["dev"]:
        if example.is_set or example.has_candidates or not hasattr(estimator, "dev"):
            raise LoglinError("--dev needs one label an example and a criterion that is optimized; leave it out")
        held = files.labeled(given["dev"], files.kind_of(given["dev"], given["example_format"]), encoding)
        files.refuse_candidates(held, given["dev"])
        estimator.dev = [e.features for e in held], [files.name_of(e, given["dev"]) for e in held]
    start = {"start": loaded_classifier(given["start"]).model_} if given["start"] else {}
    with interrupts.keeping(given["keep_on_interrupt"], estimator), distribution.client(given) as client:
        shards = {k: v for k, v in distribution.given_shards(given, client).items() if v is not None}
        _fit(estimator, examples, data, start | shards)
    progress.close()
    model = estimator.model_
    seconds["train"] = model.record["train_seconds"]
    seconds["features"] = max(0.0, time.perf_counter() - began - seconds["read"] - seconds["train"])
    model.record |= {"data": shared.base_name(data), "format": kind, "texts": all(e.is_text for e in examples)}
    model.save(output, given["half"])
    training.close(checkpoint, model.record)
    seconds["total"] = time.perf_counter() - began
    threshold = {"threshold": model.decoding["threshold"]} if "threshold" in model.decoding else {}
    found = training.summary(model.record, seconds, output, labels=len(model.labels), **threshold)
    if as_json:
        shared.print_json(found)
        return
    classes = f"{found['labels']} classes" if found["labels"] else "candidates"
    features = f"{found['n_features']:,} features, {found['active_features']:,} of them active"
    training.print_summary(f"{found['sentences']:,} examples, {classes}, {features}", found)


def _estimator(example: Example, given: dict, progress: Any) -> Any:
    """The estimator of the structure that has the criterion, for examples of one kind."""
    from loglin.criteria.registry import criteria

    name, settings = given["criterion"], shared.settings_of(given["settings"])
    joint, local = criteria("joint"), criteria("local")
    if name in joint:
        return _counting(joint[name]().with_settings(settings), example, given)
    from loglin.estimators import MaxEnt

    threshold = given["threshold"]
    if threshold is not None and not example.is_set:
        raise LoglinError('--threshold is for label sets; give every example a list "labels", or leave it out')
    if threshold not in (None, "out-of-fold"):
        threshold = shared.number_of("--threshold", threshold, "a number or out-of-fold")
        if local[name].gives_probabilities and not 0 <= threshold <= 1:
            raise LoglinError(f"--threshold is {threshold:g}; give a probability from 0 to 1")
    return MaxEnt(
        name,
        settings=settings,
        features=operator.getitem if example.has_candidates else None,
        multi_label=example.is_set,
        threshold=threshold,
        variances=_variances(given["variances"]),
        all_features=not given["observed"],
        callbacks=[progress],
        dtype="float64",
        **{option: given[option] for option in _OPTIONS},
    )


def _counting(criterion: Criterion, example: Example, given: dict) -> NaiveBayes:
    """The estimator of a joint model; options that only weights have are an error."""
    from loglin.estimators import NaiveBayes

    if example.is_set or example.has_candidates:
        raise LoglinError(f"{criterion.name} needs one label an example; take criterion likelihood")
    context = click.get_current_context()
    for name in NOT_COUNTED:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = {"variances": "variance", "start": "continue"}.get(name, name).replace("_", "-")
            raise LoglinError(f"--{option} has no meaning for {criterion.name}, which counts; leave it out")
    settings = {f.name: getattr(criterion, f.name) for f in criterion.settings()}
    return NaiveBayes(
        threads=given["threads"], min_count=given["min_count"], checkpoint=given["checkpoint"], **settings
    )


def _variances(pairs: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for pair in pairs:
        pattern, equals, value = pair.rpartition("=")
        if not equals or not pattern:
            raise LoglinError(f"--variance is {pair!r}; write PATTERN=VALUE, such as suffix:*=0.5")
        found[pattern] = shared.number_of(f"the variance of {pattern!r}", value, "a number above 0")
    return found


def _fit(estimator: Any, examples: list[Example], path: str, more: dict[str, Any]) -> None:
    X, example = [e.features for e in examples], examples[0]
    y: list = [(files.names_of if example.is_set else files.name_of)(e, path) for e in examples]
    if example.has_candidates:
        more = more | {"candidates": X}
    elif not example.is_set and len(set(y)) < 2:
        raise LoglinError(f"{path}: every example is labelled {y[0]!r}; give examples of at least two classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the summary says it, where it tells why training stopped
        estimator.fit(X, y, **more)


COMMANDS = {"classify-train": classify_train_command}
