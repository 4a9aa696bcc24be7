"""A model as one JSON object, for programs that are still to be written: names and weights in words."""

from __future__ import annotations

import itertools
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
        yield json.dumps(_value(model), ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
        yield b"\n"


FORMAT = Json()


def _value(model: Model) -> dict[str, Any]:
    """What the file says: every weight that is not 0 with the labels that it is about."""
    index, labels = model.index, model.outcomes
    unigrams, bigrams, pairs, triples = index.split(model.weights)

    def of_attributes(ptr: np.ndarray, rows: list[list], names: list[str]) -> list:
        parts = (rows[b:e] for b, e in itertools.pairwise(ptr.tolist()))
        found = ([name, [row for row in part if row[-1]]] for name, part in zip(names, parts, strict=True))
        return [one for one in found if one[1]]

    templates = getattr(model.extractor, "templates", None)
    singles, doubles = _rows(labels, index.labels, unigrams, 1), _rows(labels, index.bigram_pairs, bigrams, 2)
    return {
        "kind": model.kind.noun,
        "labels": labels,
        "order": model.order,
        "decoding": model.decoding,
        "template": None if templates is None else list(templates.lines),
        "attributes": of_attributes(index.ptr, singles, _names(model, "unigram")),
        "pair_attributes": of_attributes(index.bigram_ptr, doubles, _names(model, "bigram")),
        "pairs": [row for row in _rows(labels, index.pairs, pairs, 2) if row[-1]],
        "triples": [row for row in _rows(labels, index.triples, triples, 3) if row[-1]],
    }


def _rows(labels: list, codes: np.ndarray, weights: np.ndarray, length: int) -> list[list]:
    """The labels that every code stands for, and the weight."""
    powers = [len(labels) ** p for p in reversed(range(length))]
    columns = [[labels[i] for i in (codes.astype(np.int64) // power % len(labels)).tolist()] for power in powers]
    return [list(row) for row in zip(*columns, weights.astype(np.float64).tolist(), strict=True)]


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
