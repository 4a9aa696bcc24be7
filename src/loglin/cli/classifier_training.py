"""loglin classify-train: from examples in a file to a classifier."""

from __future__ import annotations

import operator
import time
import warnings
from typing import Any

import click

from loglin.cli import examples as files
from loglin.cli import options as shared
from loglin.cli.examples import Example, example_format
from loglin.criteria.settings import CLASSIFIERS, NAIVE_BAYES
from loglin.errors import LoglinError

_OPTIONS = ("optimizer", "l1", "l2", "max_iter", "tol", "threads", "seed", "min_count", "cutoff")
NOT_COUNTED = ("optimizer", "l1", "l2", "variances", "max_iter", "tol", "cutoff", "observed", "threshold", "seed")


@click.command("classify-train")
@click.argument("data")
@click.option(
    "--criterion",
    type=click.Choice([*CLASSIFIERS, NAIVE_BAYES]),
    default="likelihood",
    show_default=True,
    help="How to estimate; naive-bayes counts.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the criterion; of naive-bayes kind=bernoulli, alpha=0.5, objective=conditional.",
)
@shared.optimizer
@click.option("--dev", help="Held-out file; training stops when its accuracy no longer rises.")
@click.option("--l1", type=click.FloatRange(min=0), default=0.0, show_default=True, help="L1 penalty.")
@click.option("--l2", type=click.FloatRange(min=0), default=1.0, show_default=True, help="L2 penalty, 1 / variance.")
@click.option(
    "--variance",
    "variances",
    multiple=True,
    metavar="PATTERN=VALUE",
    help="Variance of the Gaussian prior of the attributes that match, in place of 1 / l2.",
)
@click.option("--max-iter", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=1e-6,
    show_default=True,
    help="Stop when the relative improvement still to come is less.",
)
@click.option(
    "--min-count", type=click.IntRange(min=1), default=1, show_default=True, help="Leave out rarer attributes."
)
@click.option(
    "--cutoff",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Leave out rarer features, attribute and class together.",
)
@click.option("--observed", is_flag=True, help="Weights only for (attribute, class) pairs seen together.")
@click.option(
    "--threshold",
    help="Of label sets: the probability (or score) from which a label is given, or out-of-fold to choose it on "
    "training examples held out in turn.",
)
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

    {"labels": ["sport", "money"], "text": "..."} gives a set of labels, which may be empty: a yes-or-no model for
    each. {"label": "b", "candidates": {"a": ["near"], "b": {"distance": 3}}} is a choice among candidates of the
    line's own, whose weights all lines share.
    """
    from loglin.corpus.output import check_writable

    began = time.perf_counter()
    check_writable(output)
    shared.refuse_overwriting(output, data, given["dev"])
    kind, encoding = files.kind_of(data, given["example_format"]), given["encoding"]
    examples = files.labeled(data, kind, encoding)
    task = examples[0].task
    seconds = {"read": time.perf_counter() - began}
    progress = shared.Progress(given["tol"], given["quiet"] or as_json)
    estimator = _estimator(task, given, progress)
    if given["dev"]:
        _check_dev(task, given["criterion"])
        held = files.labeled(given["dev"], files.kind_of(given["dev"], given["example_format"]), encoding)
        files.refuse_candidates(held, given["dev"])
        estimator.dev = [e.features for e in held], [files.name_of(e, given["dev"]) for e in held]
    _fit(estimator, task, examples, data)
    progress.close()
    model = estimator.model_
    seconds["train"] = model.record["train_seconds"]
    seconds["features"] = max(0.0, time.perf_counter() - began - seconds["read"] - seconds["train"])
    model.record |= {"data": shared.base_name(data), "format": kind}
    model.save(output, given["half"])
    seconds["total"] = time.perf_counter() - began
    _report_training(_training_summary(model, seconds, output), as_json)


def _estimator(task: str, given: dict, progress) -> Any:
    from loglin.estimators import MaxEnt, NaiveBayes

    settings = shared.settings_of(given["settings"])
    if given["criterion"] == NAIVE_BAYES:
        if task != "one":
            raise LoglinError("naive-bayes needs one label an example; take criterion likelihood")
        _refuse_unused(NOT_COUNTED)
        return NaiveBayes(threads=given["threads"], min_count=given["min_count"], **_naive_bayes(settings))
    threshold = given["threshold"]
    if threshold is not None and task != "several":
        raise LoglinError('--threshold is for label sets; give every example a list "labels", or leave it out')
    if threshold not in (None, "out-of-fold"):
        threshold = shared.number_of("--threshold", threshold, "a number or out-of-fold")
        if given["criterion"] == "likelihood" and not 0 <= threshold <= 1:
            raise LoglinError(f"--threshold is {threshold:g}; give a probability from 0 to 1")
    return MaxEnt(
        given["criterion"],
        settings=settings,
        features=operator.getitem if task == "candidates" else None,
        multi_label=task == "several",
        threshold=threshold,
        variances=_variances(given["variances"]),
        all_features=not given["observed"],
        callbacks=[progress],
        dtype="float64",
        **{name: given[name] for name in _OPTIONS},
    )


def _refuse_unused(names: tuple[str, ...]) -> None:
    """Options that would be passed over are an error."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = {"variances": "variance"}.get(name, name).replace("_", "-")
            raise LoglinError(f"--{option} has no meaning for naive-bayes, which counts; leave it out")


def _naive_bayes(settings: dict) -> dict:
    known = ("kind", "alpha", "objective")
    for name in settings:
        if name not in known:
            raise LoglinError(f"naive-bayes has no setting {name!r}; it has {', '.join(known)}")
    if "alpha" in settings:
        settings["alpha"] = shared.number_of("alpha", settings["alpha"], "a number of at least 0")
    return settings


def _variances(pairs: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for pair in pairs:
        pattern, equals, value = pair.rpartition("=")
        if not equals or not pattern:
            raise LoglinError(f"--variance is {pair!r}; write PATTERN=VALUE, such as suffix:*=0.5")
        found[pattern] = shared.number_of(f"the variance of {pattern!r}", value, "a number above 0")
    return found


def _check_dev(task: str, criterion: str) -> None:
    if task != "one" or criterion == NAIVE_BAYES:
        raise LoglinError("--dev needs one label an example and a criterion that is optimized; leave it out")


def _fit(estimator: Any, task: str, examples: list[Example], path: str) -> None:
    from sklearn.exceptions import ConvergenceWarning

    X = [e.features for e in examples]
    if task == "several":
        y: list = [files.names_of(e, path) for e in examples]
    else:
        y = [files.name_of(e, path) for e in examples]
    if task == "one" and len(set(y)) < 2:
        raise LoglinError(f"{path}: every example is labelled {y[0]!r}; give examples of at least two classes")
    more = {"candidates": X} if task == "candidates" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it, where it tells why training stopped
        estimator.fit(X, y, **more)


def _training_summary(model, seconds: dict[str, float], output: str) -> dict[str, Any]:
    """The keys of ``loglin train --json``."""
    from loglin.training.chains import peak_memory_mb

    record = model.record
    keys = ("objective", "iterations", "evaluations", "stopped", "converged", "n_features", "active_features")
    summary = {k: record.get(k) for k in keys}
    summary |= {"labels": len(model.labels), "sentences": record["sentences"], "tokens": record["tokens"]}
    summary |= {
        "seconds": seconds,
        "peak_memory_mb": peak_memory_mb(),
        "threads": record.get("threads", 1),
        "model": output,
    }
    if "threshold" in model.decoding:
        summary["threshold"] = model.decoding["threshold"]
    scores = [i["score"] for i in record.get("history", []) if i["score"] is not None]
    return summary | ({"dev_score": max(scores)} if scores else {})


def _report_training(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        shared.print_json(summary)
        return
    seconds = summary["seconds"]
    classes = f"{summary['labels']} classes" if summary["labels"] else "candidates"
    active = "" if summary["active_features"] is None else f", {summary['active_features']:,} of them active"
    print(f"{summary['sentences']:,} examples, {classes}, {summary['n_features']:,} features{active}")
    if summary["objective"] is None:
        print(summary["stopped"])
    else:
        print(f"objective {summary['objective']:,.3f} after {summary['iterations']} iterations: {summary['stopped']}")
    if "threshold" in summary:
        print(f"a label is given from {summary['threshold']:.4f} on")
    if "dev_score" in summary:
        print(f"best accuracy on the held-out file: {summary['dev_score']:.4f}")
    print(
        f"{seconds['total']:.2f} s (reading {seconds['read']:.2f}, features {seconds['features']:.2f}, "
        f"training {seconds['train']:.2f}), {summary['peak_memory_mb']:.0f} MB, {summary['threads']} threads"
    )
    print(f"model written to {summary['model']}")


COMMANDS = {"classify-train": classify_train_command}
