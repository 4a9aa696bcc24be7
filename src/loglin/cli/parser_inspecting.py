"""What is in a parser, for loglin inspect."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from loglin.cli.inspecting import check_label, record_lines
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.models.parser import ParserModel


def explain(model: ParserModel, path: str, *_: Any) -> None:
    """Refuse: a parser is asked about a span."""
    raise LoglinError(f"{path} is a parser, which is asked about a span; use loglin parse {path} --explain I-J")


def overview(model: ParserModel, path: str, top: int, label: str | None) -> dict[str, Any]:
    """All that ``loglin inspect`` shows of a parser, for people and machines."""
    import numpy as np

    from loglin.grammars.symbols import base_label

    labels = sorted({name for symbol in model.grammar.symbols for name in base_label(symbol)})
    check_label(label, labels, "parser")
    return {
        "model": path,
        "task": model.kind.name,
        "labels": labels,
        "symbols": model.grammar.n_symbols,
        "rules": model.grammar.n_rules,
        "tags": len(model.index.tags),
        "words": model.lexicon.n_known,
        "templates": _templates(model),
        "features": model.index.n_features,
        "active_features": int(np.count_nonzero(model.weights)),
        "decoding": model.decoding,
        "bytes": os.path.getsize(path),
        "label_rules": None if label is None else _rules_of(model, label, top),
        "weights": _top_weights(model, top, label),
        "record": {k: v for k, v in model.record.items() if k != "history"},
    }


def lines(value: dict[str, Any]) -> list[str]:
    """The overview for people."""
    page = [
        f"{value['model']}: parser, {value['bytes'] / 1e6:.2f} MB",
        f"{len(value['labels'])} labels: {' '.join(value['labels'])}",
        f"{value['symbols']:,} symbols, {value['rules']:,} rules, {value['tags']:,} tags, {value['words']:,} words",
        f"{value['features']:,} features ({value['active_features']:,} active); rules score: {value['decoding']}",
    ]
    if value["templates"]:
        page += ["", "templates", *(f"  {line}" for line in value["templates"])]
    if value["label_rules"]:
        page += ["", "rules, base probability and weight"]
        page += [f"  {r['probability']:8.6f}  {r['weight']:+8.3f}  {r['rule']}" for r in value["label_rules"]]
    if value["weights"]:
        page += ["", "strongest weights", *(f"  {weight:+8.3f}  {name}" for name, weight in value["weights"])]
    return [*page, "", "training", *record_lines(value["record"])]


def _templates(model: ParserModel) -> list[str]:
    extractors = [e for e in (model.spans, model.tokens) if e is not None]
    return [line for e in extractors for line in e.templates.lines if line.strip() and not line.startswith("#")]


def _of_label(model: ParserModel, label: str | None) -> np.ndarray:
    """Whether each symbol is one of the label: (symbols,)."""
    import numpy as np

    from loglin.grammars.symbols import chain_of

    return np.array([label is None or label in chain_of(symbol) for symbol in model.grammar.symbols])


def _rules_of(model: ParserModel, label: str, top: int) -> list[dict[str, Any]]:
    """The likeliest rules of a label's symbols, as the base model has them."""
    import numpy as np

    from loglin.problems.tree_features import rule_name

    weights = model.index.split(model.weights)[0]
    rules = np.flatnonzero(_of_label(model, label)[model.grammar.parents])
    ranked = rules[np.argsort(-(model.base.rules + weights)[rules], kind="stable")][:top].tolist()
    probability = np.exp(model.base.rules)
    return [
        {"rule": rule_name(model.grammar.rules[r]), "probability": float(probability[r]), "weight": float(weights[r])}
        for r in ranked
    ]


def _top_weights(model: ParserModel, top: int, label: str | None) -> list[tuple[str, float]]:
    """The largest weights by magnitude, of rules, symbols, spans, splits and words."""
    import numpy as np

    from loglin.problems.tree_features import feature_name

    index, grammar, ours = model.index, model.grammar, _of_label(model, label)
    parents = np.concatenate([grammar.parents, np.arange(grammar.n_symbols, dtype=np.int32)])  # of rules, of symbols
    spans = index.spans
    tags = index.tags[index.tokens.labels]
    symbol = [parents, parents[spans.targets], grammar.parents[spans.split_rules], tags]  # that each weight is about
    wanted = ours[np.concatenate(symbol)] & (model.weights != 0)
    kept = np.flatnonzero(wanted)
    ranked = kept[np.argsort(-np.abs(model.weights[kept]), kind="stable")][:top].tolist()
    about = (index, model.tokens, model.spans)
    return [(feature_name(*about, weight), float(model.weights[weight])) for weight in ranked]
