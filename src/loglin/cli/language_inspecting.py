"""What is in a language model, for loglin inspect."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from loglin.cli.inspecting import record_lines
from loglin.drawing.records import plain
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.generative.predictor import Predictor
    from loglin.models.language import PredictorModel


def explain(model: PredictorModel, path: str, *_: Any) -> None:
    """Refuse: a language model is asked about the next word."""
    raise LoglinError(
        f"{path} is a language model, which is asked about the next word; use loglin lm next {path} --explain WORD"
    )


def overview(model: PredictorModel, path: str, top: int, label: str | None) -> dict[str, Any]:
    """All that ``loglin inspect`` shows of a language model, for people and machines."""
    if label is not None:
        raise LoglinError(f"{path} is a language model, which has no labels; leave out --label")
    words = model.predictor.words
    return {
        "model": path,
        "task": model.kind.name,
        "vocabulary": len(words.names),
        "words": [words.names[code] for code in range(min(top, len(words.names)))],
        "kinds": _kinds(model.predictor),
        "features": model.predictor.n_features,
        "bytes": os.path.getsize(path),
        "weights": _top_weights(model.predictor, top),
        "record": {k: v for k, v in model.record.items() if k != "history"},
    }


def _kinds(predictor: Predictor) -> list[dict[str, Any]]:
    """Every kind of features with the number of its attributes and features."""
    import numpy as np

    from loglin.generative.ngram import NGramModel
    from loglin.models.cache import CacheModel
    from loglin.models.next_word import NextWordModel

    if isinstance(predictor, CacheModel):
        return [*_kinds(predictor.base), {"kind": "cache", "attributes": 1, "features": len(predictor.theta)}]
    if isinstance(predictor, NGramModel):
        return [{"kind": f"{predictor.order}-gram", "attributes": 1, "features": len(predictor.keys)}]
    assert isinstance(predictor, NextWordModel)
    extractor = predictor.extractor
    found = [{"kind": "unigram", "attributes": 1, "features": predictor.words.n_predicted}]
    sizes = np.bincount(extractor.kind_of(), np.diff(extractor.ptr), len(extractor.kinds)).astype(int).tolist()
    for kind, values, size in zip(extractor.kinds, extractor.values, sizes, strict=True):
        found.append({"kind": kind, "attributes": len(values), "features": size})
    return found


def _top_weights(predictor: Predictor, top: int) -> list[tuple[str, float]]:
    """The largest weights of features by magnitude, those of single words left out."""
    import numpy as np

    from loglin.models.cache import CacheModel
    from loglin.models.next_word import NextWordModel

    base = predictor.base if isinstance(predictor, CacheModel) else predictor
    if not isinstance(base, NextWordModel):
        return []
    weights, extractor = base.weights[base.words.n_predicted :], base.extractor
    ranked = np.argsort(-np.abs(weights), kind="stable")[:top].tolist()
    owner = np.searchsorted(extractor.ptr, ranked, side="right") - 1
    names = [
        f"{extractor.name(int(a))} for {base.words.strings[extractor.targets[f]]}"
        for a, f in zip(owner, ranked, strict=True)
    ]
    return list(zip(names, weights[ranked].tolist(), strict=True))


def lines(value: dict[str, Any]) -> list[str]:
    """The overview for people."""
    more = value["vocabulary"] - len(value["words"])
    page = [
        f"{value['model']}: language model, {value['bytes'] / 1e6:.2f} MB",
        f"{value['vocabulary']:,} words: {' '.join(value['words'])}{f' … and {more:,} more' if more else ''}",
        f"{value['features']:,} features",
        "",
        "features",
    ]
    width = max(len(kind["kind"]) for kind in value["kinds"])
    for kind in value["kinds"]:
        attributes = f" of {kind['attributes']:,} attributes" if kind["attributes"] > 1 else ""
        page.append(f"  {kind['kind']:<{width}}  {kind['features']:,} features{attributes}")
    if value["weights"]:
        page += ["", "strongest weights", *(f"  {weight:+8.3f}  {name}" for name, weight in value["weights"])]
    page += ["", "training", *record_lines(value["record"])]
    for key, found in value["record"].items():
        if "perplexity" in key or key == "cache":
            page.append(f"  {key.replace('_', ' '):<15}  {plain(found)}")
    return page
