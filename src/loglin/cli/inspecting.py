"""loglin inspect, prune: what is in a model, why it decides as it does, and a smaller one."""

from __future__ import annotations

import math
import os
from typing import Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

_KEYS = ("criterion", "data", "sentences", "tokens", "objective", "iterations", "stopped", "train_seconds")
_TITLES = {"stopped": "stopped because", "train_seconds": "seconds"}


@click.command("inspect")
@click.argument("model")
@click.option("--top", type=click.IntRange(min=0), default=5, show_default=True, help="How many weights to list.")
@click.option("--label", help="Only the weights of this label.")
@click.option(
    "--explain",
    metavar="SENTENCE",
    help="Label this sentence, tokens parted by blanks, and say why. Columns of a token are parted by /, as in "
    "dog/NN; so are attributes, if the model looks at those.",
)
@click.option("--position", type=int, help="Token to explain, from 0; default the least certain one.")
@shared.as_json
def inspect_command(model, top, label, explain, position, as_json) -> None:
    """Show what is in MODEL: labels, templates, sizes, the strongest weights, how it was trained."""
    from loglin.models.chain import Model, read_arrays

    if position is not None and explain is None:
        raise click.UsageError("--position goes with --explain")
    if read_arrays(model)[1].get("task") == "parse":
        _inspect_parser(model, top, label, explain, as_json)
        return
    trained = Model.load(model)
    if explain is not None:
        from loglin.cli.explaining import explain as explain_sentence

        explain_sentence(trained, model, explain, position, as_json)
        return
    value = overview(trained, model, top, label)
    if as_json:
        shared.print_json(value)
    else:
        print("\n".join(_overview_lines(value)))


def _inspect_parser(path: str, top: int, label: str | None, explain: str | None, as_json: bool) -> None:
    from loglin.cli.parser_inspecting import parser_lines, parser_overview

    if explain is not None:
        raise LoglinError(f"{path} is a parser, which is asked about a span; use loglin parse {path} --explain I-J")
    value = parser_overview(path, top, label)
    if as_json:
        shared.print_json(value)
    else:
        print("\n".join(parser_lines(value, _record_lines(value["record"], "parser"))))


# ---------------------------------------------------------------------- overview


def overview(model, path: str, top: int, label: str | None = None) -> dict[str, Any]:
    """All that ``loglin inspect`` shows, for people and machines."""
    import numpy as np

    names = [str(y) for y in model.outcomes]
    if label is not None and label not in names:
        some = ", ".join(names[:20]) + ("…" if len(names) > 20 else "")
        raise LoglinError(f"the model has no label {label!r}; its labels are {some}")
    return {
        "model": path,
        "task": model.task,
        "labels": model.outcomes,
        "order": max(model.order, model.base.order if model.base is not None else 1),
        "base": _base(model.base),
        "decoding": model.decoding,
        "dictionary": len(model.dictionary.words) if model.dictionary else None,
        "unknown_words": model.dictionary.policy(model.labels) if model.dictionary else None,
        "templates": _templates(model),
        "attributes": model.extractor.n_attributes,
        "features": model.index.n_features,
        "active_features": int(np.count_nonzero(model.weights)),
        "bytes": os.path.getsize(path),
        "weights": _top_weights(model, top, label),
        "transitions": _top_transitions(model, top, label),
        "record": {k: v for k, v in model.record.items() if k != "history"},
    }


def _base(base) -> dict[str, Any] | None:
    """The base model in numbers."""
    if base is None:
        return None
    return {"order": base.order, "columns": base.columns, "values": [e.shape[1] for e in base.emissions]}


def _templates(model) -> list[dict[str, Any]]:
    """Every template with the number of its attributes, or of its label sequences."""
    import numpy as np

    extractor, index = model.extractor, model.index
    found, observed = [], 0
    counts: dict[str, Any] = {}
    for kind in ("unigram", "bigram"):
        counts[kind] = np.bincount(extractor.template_of(kind), minlength=1)
    for template in getattr(getattr(extractor, "templates", None), "templates", ()):
        if template.kind == "unigram" or template.items:
            count = counts[template.kind]
            found.append({"template": template.text, "attributes": int(count[observed : observed + 1].sum())})
            observed += 1
        else:
            size = len(index.pairs) if template.kind == "bigram" else len(index.triples)
            found.append({"template": template.text, "label_sequences": size})
    return found


def _top_weights(model, top: int, label: str | None) -> dict[str, dict[str, list]]:
    """For every label its largest positive and negative weights, [attribute, weight] each."""
    import numpy as np

    index = model.index
    weights = index.split(model.weights)[0]
    attribute = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
    by_label = np.argsort(index.labels, kind="stable")
    cuts = np.searchsorted(index.labels[by_label], np.arange(index.n_labels + 1))
    found = {}
    for i, name in enumerate(map(str, model.outcomes)):
        if label is not None and name != label:
            continue
        features = by_label[cuts[i] : cuts[i + 1]]
        ranked = features[np.argsort(-weights[features], kind="stable")]
        positive = [f for f in ranked[:top] if weights[f] > 0]
        negative = [f for f in ranked[::-1][:top] if weights[f] < 0]
        found[name] = {
            side: [[model.extractor.attribute_name(int(attribute[f])), float(weights[f])] for f in chosen]
            for side, chosen in (("positive", positive), ("negative", negative))
        }
    return found


def _top_transitions(model, top: int, label: str | None) -> list[dict[str, Any]]:
    """The label sequences of largest weight, by magnitude; some only count where an attribute is seen."""
    import numpy as np

    index, names, L = model.index, [str(y) for y in model.outcomes], model.index.n_labels
    _, observed, pairs, triples = index.split(model.weights)
    attribute = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
    chosen = names.index(label) if label is not None else None
    found: list[dict[str, Any]] = []
    for codes, weights, length in (
        (index.pairs, pairs, 2),
        (index.bigram_pairs, observed, 2),
        (index.triples, triples, 3),
    ):
        sequences = np.stack([codes // L**p % L for p in range(length - 1, -1, -1)], axis=1)  # (n, length)
        wanted = weights != 0
        if chosen is not None:
            wanted &= (sequences == chosen).any(axis=1)
        kept = np.flatnonzero(wanted)
        for f in kept[np.argsort(-np.abs(weights[kept]), kind="stable")][:top]:
            value: dict[str, Any] = {"labels": [names[i] for i in sequences[f]], "weight": float(weights[f])}
            if codes is index.bigram_pairs:
                value["attribute"] = model.extractor.attribute_name(int(attribute[f]), "bigram")
            found.append(value)
    return sorted(found, key=lambda t: -abs(t["weight"]))[:top]


def _overview_lines(value: dict[str, Any]) -> list[str]:
    what = "tagger" if value["task"] == "tag" else "classifier"
    labels = value["labels"]
    kind = f"{what} of order {value['order']}" if what == "tagger" else what
    active = "all active" if value["active_features"] == value["features"] else f"{value['active_features']:,} active"
    lines = [
        f"{value['model']}: {kind}, {value['bytes'] / 1e6:.2f} MB",
        f"{len(labels)} labels: {_wrapped(labels)}",
        f"{value['attributes']:,} attributes, {value['features']:,} features ({active})",
    ]
    if value["base"]:
        numbers = zip(value["base"]["columns"], value["base"]["values"], strict=True)
        columns = ", ".join(f"column {c} ({n:,} values)" for c, n in numbers)
        lines.append(f"base model: HMM of order {value['base']['order']} that emits {columns}")
    if value["dictionary"] is not None:
        others = shared.unknown_words(value["unknown_words"])
        lines.append(f"tag dictionary: {value['dictionary']:,} words; others {others}")
    if value["decoding"]:
        told = ", ".join(f"{k} {_plain(v)}" for k, v in value["decoding"].items() if k != "scale")
        lines.append(f"decoding: {told}")
    if value["templates"]:
        lines += ["", "templates"]
        width = max(len(t["template"]) for t in value["templates"])
        for t in value["templates"]:
            size = (
                f"{t['attributes']:,} attributes" if "attributes" in t else f"{t['label_sequences']:,} label sequences"
            )
            lines.append(f"  {t['template']:<{width}}  {size}")
    for name, sides in value["weights"].items():
        if sides["positive"] or sides["negative"]:
            lines += ["", f"weights for {name}", *_two_columns(sides["positive"], sides["negative"])]
    if value["transitions"]:
        lines += ["", "strongest transitions"]
        for t in value["transitions"]:
            where = f"  where {t['attribute']}" if "attribute" in t else ""
            lines.append(f"  {t['weight']:+8.3f}  {' → '.join(t['labels'])}{where}")
    return [*lines, "", "training", *_record_lines(value["record"], what)]


def _wrapped(labels: list, limit: int = 30) -> str:
    rest = len(labels) - limit
    return " ".join(str(y) for y in labels[:limit]) + (f" … and {rest} more" if rest > 0 else "")


def _two_columns(positive: list, negative: list) -> list[str]:
    rows = []
    left = [f"{weight:+8.3f}  {name}" for name, weight in positive]
    right = [f"{weight:+8.3f}  {name}" for name, weight in negative]
    width = max((len(cell) for cell in left), default=0)
    for i in range(max(len(left), len(right))):
        first = left[i] if i < len(left) else ""
        rows.append(f"  {first:<{width}}  {right[i] if i < len(right) else ''}".rstrip())
    return rows


def _record_lines(record: dict, what: str) -> list[str]:
    """How the model was trained; the record of a foreign file may hold anything."""
    lines = []
    for key in _KEYS:
        if key in record and not (what == "classifier" and key in ("criterion", "tokens")):
            title = "examples" if what == "classifier" and key == "sentences" else _TITLES.get(key, key)
            lines.append(f"  {title:<15}  {_plain(record[key])}")
    options = record.get("options")
    if isinstance(options, dict):
        given = ", ".join(f"{k} {_plain(v)}" for k, v in options.items() if v is not None and k != "criterion")
        lines.append(f"  {'options':<15}  {given}")
    if "pruned" in record:
        lines.append(f"  {'pruned at':<15}  {_plain(record['pruned'])}")
    return lines or ["  not recorded"]


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}" if abs(value) >= 1000 else f"{value:.6g}"


# ---------------------------------------------------------------------- smaller models


@click.command("prune")
@click.argument("model")
@click.option("-o", "--output", required=True, help="Model file to write.")
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Drop weights of at most this magnitude.",
)
@click.option("--half", is_flag=True, help="Store weights in half precision.")
@shared.as_json
def prune_command(model, output, threshold, half, as_json) -> None:
    """Write MODEL without its small weights; those of exactly 0, as L1 leaves many, change no prediction."""
    import numpy as np

    from loglin.corpus.output import check_writable
    from loglin.models.chain import Model

    check_writable(output)
    shared.refuse_overwriting(output, model)
    if not math.isfinite(threshold):
        raise LoglinError(f"--threshold is {threshold}; give a number of at least 0")
    before = Model.load(model)
    if not len(before.weights):
        raise LoglinError(f"{model} has no weights to prune, as hidden Markov models have none; leave it as it is")
    after = before.prune(threshold)
    if after.index.n_features == 0:
        largest = float(np.abs(before.weights).max(initial=0.0))
        raise LoglinError(f"no weight is larger than {threshold:g}; give less than the largest, {largest:g}")
    after.record["pruned"] = threshold
    after.save(output, half)
    value: dict[str, Any] = {"threshold": threshold, "half": half, "output": output}
    for when, kept, path in (("before", before, model), ("after", after, output)):
        value[when] = {"features": kept.index.n_features, "bytes": os.path.getsize(path)}
    if as_json:
        shared.print_json(value)
        return
    old, new = value["before"], value["after"]
    print(f"features  {old['features']:>13,} → {new['features']:>13,}  {_change(old['features'], new['features'])}")
    print(f"bytes     {old['bytes']:>13,} → {new['bytes']:>13,}  {_change(old['bytes'], new['bytes'])}")
    print(f"model written to {output}")


def _change(old: int, new: int) -> str:
    return f"({100 * (new - old) / old:+.1f}%)" if old else ""


COMMANDS = {"inspect": inspect_command, "prune": prune_command}
