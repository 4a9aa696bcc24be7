"""What is in a tagger or classifier, for loglin inspect."""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import Any

from loglin.cli import options as shared
from loglin.cli.explaining import explain as explain
from loglin.cli.inspecting import check_label, record_lines
from loglin.drawing.records import plain
from loglin.models.strongest import top_transitions, top_weights


def overview(model, path: str, top: int, label: str | None = None) -> dict[str, Any]:
    """All that ``loglin inspect`` shows, for people and machines."""
    import numpy as np

    names = [str(y) for y in model.outcomes]
    check_label(label, names, "model")
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
        "vectors": _vectors(model.vectors),
        "features": model.index.n_features,
        "active_features": int(np.count_nonzero(model.weights)),
        "bytes": os.path.getsize(path),
        "weights": top_weights(model, top, label),
        "transitions": top_transitions(model, top, label),
        "record": {k: v for k, v in model.record.items() if k != "history"},
    }


def _vectors(space) -> list[dict[str, Any]] | None:
    """Every group of vectors with its dimensions."""
    if space is None:
        return None
    return [{"vectors": group.title, "dimensions": group.size} for group in space.groups]


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
    templates: Any = getattr(extractor, "templates", None)
    for template in () if templates is None else templates.templates:
        if template in templates.observed:
            count = counts[template.kind]
            found.append({"template": template.text, "attributes": int(count[observed : observed + 1].sum())})
            observed += 1
        elif template not in templates.vectors:  # which are told by themselves
            size = len(index.pairs) if template.kind == "bigram" else len(index.triples)
            found.append({"template": template.text, "label_sequences": size})
    return found


def lines(value: dict[str, Any]) -> list[str]:
    """The overview for people."""
    from loglin.models.kinds import KINDS

    kind, labels = KINDS[value["task"]], value["labels"]
    what = f"{kind.noun} of order {value['order']}" if kind.has_transitions else kind.noun
    active = "all active" if value["active_features"] == value["features"] else f"{value['active_features']:,} active"
    page = [
        f"{value['model']}: {what}, {value['bytes'] / 1e6:.2f} MB",
        f"{len(labels)} labels: {_wrapped(labels)}",
        f"{value['attributes']:,} attributes, {value['features']:,} features ({active})",
    ]
    page += [f"{group['vectors']} of {group['dimensions']:,} dimensions" for group in value["vectors"] or ()]
    if value["base"]:
        numbers = zip(value["base"]["columns"], value["base"]["values"], strict=True)
        columns = ", ".join(f"column {c} ({n:,} values)" for c, n in numbers)
        page.append(f"base model: HMM of order {value['base']['order']} that emits {columns}")
    if value["dictionary"] is not None:
        others = shared.unknown_words(value["unknown_words"])
        page.append(f"tag dictionary: {value['dictionary']:,} words; others {others}")
    if value["decoding"]:
        told = ", ".join(f"{k} {plain(v)}" for k, v in value["decoding"].items() if k != "scale")
        page.append(f"decoding: {told}")
    if value["templates"]:
        page += ["", "templates"]
        width = max(len(t["template"]) for t in value["templates"])
        for t in value["templates"]:
            size = (
                f"{t['attributes']:,} attributes" if "attributes" in t else f"{t['label_sequences']:,} label sequences"
            )
            page.append(f"  {t['template']:<{width}}  {size}")
    for name, sides in value["weights"].items():
        if sides["positive"] or sides["negative"]:
            page += ["", f"weights for {name}", *_two_columns(sides["positive"], sides["negative"])]
    if value["transitions"]:
        page += ["", "strongest transitions"]
        for t in value["transitions"]:
            where = f"  where {t['attribute']}" if "attribute" in t else ""
            page.append(f"  {t['weight']:+8.3f}  {' → '.join(t['labels'])}{where}")
    return [*page, "", "training", *record_lines(value["record"], not kind.has_transitions)]


def _wrapped(labels: list, limit: int = 30) -> str:
    rest = len(labels) - limit
    return " ".join(str(y) for y in labels[:limit]) + (f" … and {rest} more" if rest > 0 else "")


def _two_columns(positive: list, negative: list) -> list[str]:
    left, right = ([f"{weight:+8.3f}  {name}" for name, weight in side] for side in (positive, negative))
    width = max((len(cell) for cell in left), default=0)
    return [f"  {a:<{width}}  {b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]
