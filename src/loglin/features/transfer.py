"""Weights of an older model for a new one's features: training continues where the older one stopped."""

from __future__ import annotations

import numpy as np

from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.matrix import MatrixExtractor
from loglin.features.words import positions


def transferred_weights(old, extractor, labels: list, index: FeatureIndex, vectors=None) -> np.ndarray:
    """Weights (features,) for the new index; features that ``old`` (a model) does not know start at zero.

    Dimensions of ``vectors`` stand behind the attributes of the extractor, where the old model's have theirs.
    """
    if not len(old.weights):
        raise LoglinError("the model to start from has no weights, as hidden Markov models have none; choose another")
    weights = np.zeros(index.n_features)
    number = {label: i for i, label in enumerate(labels)}
    label = np.array([number.get(name, -1) for name in old.labels])
    new, past = index.split(weights), old.index.split(np.asarray(old.weights, np.float64))
    L, old_L = index.n_labels, old.index.n_labels

    def pairs(codes: np.ndarray) -> np.ndarray:
        a, b = label[codes // old_L], label[codes % old_L]
        return np.where((a < 0) | (b < 0), -1, a * L + b)

    def triples(codes: np.ndarray) -> np.ndarray:
        front, back = pairs(codes // old_L), label[codes % old_L]
        return np.where((front < 0) | (back < 0), -1, front * L + back)

    was, one = old.index, np.array([0])
    unigrams, bigrams = (attribute_numbers(old.extractor, extractor, kind) for kind in ("unigram", "bigram"))
    if old.vectors is not None:
        dimensions = old.vectors.numbers_in(vectors)
        unigrams = np.append(unigrams, np.where(dimensions < 0, -1, dimensions + extractor.n_attributes))
    copy_weights(unigrams, was.ptr, label[was.labels], past[0], index.ptr, index.labels, L, new[0])
    parts = (was.bigram_ptr, pairs(was.bigram_pairs), past[1], index.bigram_ptr, index.bigram_pairs)
    copy_weights(bigrams, *parts, L * L, new[1])
    ends, old_ends = np.array([0, len(index.pairs)]), np.array([0, len(was.pairs)])
    copy_weights(one, old_ends, pairs(was.pairs), past[2], ends, index.pairs, L * L, new[2])
    ends, old_ends = np.array([0, len(index.triples)]), np.array([0, len(was.triples)])
    copy_weights(one, old_ends, triples(was.triples), past[3], ends, index.triples, L**3, new[3])
    return weights


def copy_weights(attributes, old_ptr, old_codes, old_weights, ptr, codes, size, out) -> None:
    """out[f] = the old weight of the same (attribute, code); attributes maps old numbers to new ones."""
    owner = attributes[np.repeat(np.arange(len(old_ptr) - 1), np.diff(old_ptr))]
    known = (owner >= 0) & (old_codes >= 0)
    old_keys = owner[known].astype(np.int64) * size + old_codes[known]
    keys = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)).astype(np.int64) * size + codes
    place = positions(keys, old_keys)  # keys are sorted by construction
    out[place[place >= 0]] = old_weights[known][place >= 0]


def attribute_numbers(old, new, kind: str) -> np.ndarray:
    """For every attribute of the old extractor its number in the new one, or -1."""
    n_old = old.n_attributes if kind == "unigram" else old.n_bigram_attributes
    numbers = np.full(n_old, -1, np.int64)
    if isinstance(old, TemplateExtractor) and isinstance(new, TemplateExtractor):
        old.match(new, kind, numbers)
    elif kind == "unigram" and isinstance(old, AttributeExtractor) and isinstance(new, AttributeExtractor):
        numbers[:] = new.names.codes_of(old.names)
    elif kind == "unigram" and isinstance(old, MatrixExtractor) and isinstance(new, MatrixExtractor):
        number = {new.attribute_name(a): a for a in range(new.n_attributes)}
        numbers[:] = [number.get(old.attribute_name(a), -1) for a in range(n_old)]
    return numbers
