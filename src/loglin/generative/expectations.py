"""Expected feature counts under a hidden Markov model, exactly and for all features of a model at once.

A template's attribute at token t is a condition on tokens at offsets around t. With W_p[s] the weight that it
gives to state s at offset p (the mass of emitted values that fit, 1 where it says nothing), the expected
number of tokens with the attribute, label c, and label b before is

    Left[b, c] · W_0[c] · Right[b, c]

    Left    from the expected visits i forwards through the offsets before 0 (Eq. 10)
    Right   from o = 1 backwards through the offsets behind 0 (Eq. 11)

as in Eq. 12 of Smith, Vail and Lafferty (2007). Before the sentence stands START again and again, behind it
END; their weight at an offset is 1 if the attribute has a boundary symbol there. Arrays have the keys of
attributes as last axis; the axes before it are (history, state) as in generative/paths.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.generative.hmm import HMM
from loglin.generative.windows import Windows

CHUNK = 1 << 22  # the most bytes of one array of messages


def expectations(
    hmm: HMM, extractor: TemplateExtractor, index: FeatureIndex, input_only: bool = False
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """E_q0[f] for every feature: (features,); with ``input_only`` also of attributes whatever the label."""
    L = len(hmm.labels)
    if index.n_labels != L:
        raise LoglinError(f"the base model has {L} labels but the features {index.n_labels}; fit both to the same data")
    windows = Windows(hmm, extractor)
    found, attributes = np.zeros(index.n_features), np.zeros(extractor.n_attributes)
    unigrams, bigrams, pairs, triples = index.split(found)
    size = max(1, CHUNK // (8 * hmm.transition.shape[0] * (L + 1)))
    for template, table in zip(extractor.observed_templates, extractor.tables, strict=True):
        for start in range(0, len(table.keys), size):
            keys = table.keys[start : start + size]
            joint = _joint(hmm, windows.weights(template, keys), len(keys))
            first, last = table.base + start, table.base + start + len(keys)
            if template.kind == "unigram":
                by_label = joint.labels()
                attributes[first:last] = by_label.sum(axis=0)
                owner, at = _owners(index.ptr, first, last)
                unigrams[at] = by_label[index.labels[at], owner]
            else:
                owner, at = _owners(index.bigram_ptr, first, last)
                unfold = index.bigram_pairs[at]
                bigrams[at] = joint.pairs(unfold // L, unfold % L, owner)
    t, into = hmm.transition, hmm.sums.into
    cube = np.einsum("ab,abc->abc", into, t) if hmm.order == 2 else (into[0][:, None] * t[0])[:, :, None] * t[0]
    steps = cube[:, :L, :L].sum(axis=0) if hmm.order == 2 else into[0, :L, None] * t[0, :L, :L]
    pairs[:] = steps.ravel()[index.pairs]
    triples[:] = cube[:L, :L, :L].ravel()[index.triples]
    return (found, attributes) if input_only else found


def _owners(ptr: np.ndarray, first: int, last: int) -> tuple[np.ndarray, slice]:
    """The attribute of each feature of the attributes first … last − 1, counted from first, and the features."""
    return np.repeat(np.arange(last - first), np.diff(ptr[first : last + 1])), slice(ptr[first], ptr[last])


@dataclass
class _Joint:
    """Expected tokens with an attribute (keys), a label c and the label b before it, START included.

    Order 2 keeps the table (S, L, keys); order 1 its factors, before[b] · t[b, c] · after[c].
    """

    t: np.ndarray
    before: np.ndarray  # (S, L, keys), or (S, keys) in order 1
    after: np.ndarray  # the same shape without START first, or (L, keys)
    n_keys: int

    def labels(self) -> np.ndarray:
        """The same summed over the label before: (L, keys)."""
        if len(self.t) == 1:
            found = (self.t[0, :, :-1].T @ self.before) * self.after
        else:
            found = np.einsum("bck,bck->ck", self.before, self.after)
        return np.broadcast_to(found, (len(found), self.n_keys))

    def pairs(self, b: np.ndarray, c: np.ndarray, key: np.ndarray) -> np.ndarray:
        """The number of tokens with each (b, c, key): (features,)."""
        before = np.broadcast_to(self.before, (*self.before.shape[:-1], self.n_keys))
        after = np.broadcast_to(self.after, (*self.after.shape[:-1], self.n_keys))
        if len(self.t) == 1:
            return before[b, key] * self.t[0, b, c] * after[c, key]
        return before[b, c, key] * after[b, c, key]


def _joint(hmm: HMM, weights: dict[int, np.ndarray], n_keys: int) -> _Joint:
    t, L = hmm.transition, len(hmm.labels)
    into = hmm.sums.into[:, :, None]  # (H, S, 1)
    first, last = min([-1, *weights]), max([0, *weights])
    for p in range(first, 0):
        if p > first:
            into = _advance(t, into)
        if p in weights:
            into = into * weights[p]
    out, end = hmm.sums.out[:, :L, None], np.ones(1)  # (H, L, 1) before the label at p, (1,) before END
    for p in range(last, 0, -1):
        inside, end = (out * weights[p][:L], end * weights[p][L]) if p in weights else (out, end)
        out = _retreat(t, inside, end)
    out = out * weights[0][:L] if 0 in weights else out
    if hmm.order == 1:
        return _Joint(t, into[0], out[0], n_keys)
    return _Joint(t, _reach_label(t, into), out, n_keys)


def _reach_label(t: np.ndarray, into: np.ndarray) -> np.ndarray:
    """out[b, c] = Σ_a into[a, b] t[a, b, c] for labels c: (S, L, keys), order 2."""
    return np.matmul(t[:, :, :-1].transpose(1, 2, 0), into.transpose(1, 0, 2))


def _advance(t: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Weights of states one offset on; START may stay START: (H, S, keys)."""
    H, S, n = into.shape
    further = np.zeros((H, S, n))
    if H == 1:
        further[0, :-1] = t[0, :, :-1].T @ into[0]
    else:
        further[:, :-1] = _reach_label(t, into)
    further[-1, -1] = into[-1, -1]
    return further


def _retreat(t: np.ndarray, inside: np.ndarray, end: np.ndarray) -> np.ndarray:
    """out[a, b] = Σ_c t[a, b, c] inside[b, c] + t[a, b, STOP] end for labels b: (H, L, keys)."""
    L, n = inside.shape[1], max(inside.shape[2], len(end))
    ahead = np.empty((len(t), L + 1, n))
    ahead[:, :L], ahead[:, L] = inside, end
    if len(t) == 1:
        return t[0, :L] @ ahead
    return np.matmul(t[:, :L].transpose(1, 0, 2), ahead[:L]).transpose(1, 0, 2)
