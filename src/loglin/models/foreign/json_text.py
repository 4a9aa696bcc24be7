"""A model as one JSON object, for programs that are still to be written: names and weights in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from loglin.corpus.output import Buffer
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model
from loglin.models.foreign.format import Foreign
from loglin.models.foreign.names import strings


class Json(Foreign):
    name, program, reads = "json", "JSON", False

    def write(self, model: Model) -> Iterable[Buffer]:
        parts = {"a base model": model.base, "a tag dictionary": model.dictionary, "vectors": model.vectors}
        for part, there in parts.items():
            if there is not None:
                raise LoglinError(f"the model has {part}, and JSON holds weights alone; train one without")
        yield json.dumps(_value(model), ensure_ascii=False, indent=0, default=str).encode("utf-8", "surrogatepass")
        yield b"\n"


FORMAT = Json()


def _value(model: Model) -> dict[str, Any]:
    """What the file says: every weight that is not 0 with the labels that it is about."""
    index, labels, L = model.index, model.outcomes, model.index.n_labels
    unigrams, bigrams, pairs, triples = (part.astype(np.float64) for part in index.split(model.weights))

    def rows(ptr: np.ndarray, codes: np.ndarray, weights: np.ndarray, length: int, names: list[str]) -> list:
        found = []
        for a in range(len(ptr) - 1):
            some = [_row(labels, code, length, L, w) for code, w in _active(codes, weights, ptr[a], ptr[a + 1])]
            if some:
                found.append([names[a], some])
        return found

    templates = getattr(model.extractor, "templates", None)
    return {
        "kind": model.kind.noun,
        "labels": labels,
        "order": model.order,
        "decoding": model.decoding,
        "template": None if templates is None else list(templates.lines),
        "attributes": rows(index.ptr, index.labels, unigrams, 1, _names(model, "unigram")),
        "pair_attributes": rows(index.bigram_ptr, index.bigram_pairs, bigrams, 2, _names(model, "bigram")),
        "pairs": [_row(labels, c, 2, L, w) for c, w in _active(index.pairs, pairs, 0, len(pairs))],
        "triples": [_row(labels, c, 3, L, w) for c, w in _active(index.triples, triples, 0, len(triples))],
    }


def _active(codes: np.ndarray, weights: np.ndarray, begin: int, end: int) -> Iterable[tuple[int, float]]:
    pairs = zip(codes[begin:end].tolist(), weights[begin:end].tolist(), strict=True)
    return [(code, weight) for code, weight in pairs if weight != 0]


def _row(labels: list, code: int, length: int, L: int, weight: float) -> list:
    """The labels that a code stands for, and the weight."""
    return [*(labels[code // L**p % L] for p in range(length - 1, -1, -1)), weight]


def _names(model: Model, kind: str) -> list[str]:
    """The name of every attribute."""
    extractor = model.extractor
    n = extractor.n_attributes if kind == "unigram" else extractor.n_bigram_attributes
    if not isinstance(extractor, TemplateExtractor) or any(i.function == "ngrams" for i, _ in _items(extractor)):
        return [extractor.attribute_name(a, kind) for a in range(n)]
    names = [""] * n
    for attribute, template, values in strings(extractor, kind, lambda item, d: f"_B{d:+d}"):
        names[attribute] = names[attribute] or template.describe(values)
    return names


def _items(extractor: TemplateExtractor) -> list:
    return [(item, template) for template in extractor.observed_templates for item in template.items]
