"""Criteria that judge one label at a time, its neighbors being given: MEMM, piecewise, pseudolikelihood.

With the label before a token known, "the label before is A" is an attribute like any other, so such a
criterion is a maximum-entropy classifier over *instances*, each a token with neighbors:

    MEMM              the true label before                                → the true label
    piecewise         that, and tokens with a wrong label before           → none of the above (NOTA)
    pseudolikelihood  the true labels before and behind                    → the true label

NOTA is one more label, without features, so its score is 0 and a normalizer is 1 + Σ exp(score). The weights
are those of the chain in the same order: the features of (attribute, label before) lie side by side in the
chain's index. Pseudolikelihood meets the same weights from both sides and ties them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loglin.corpus.labels import Gold
from loglin.features.design import Design, Heads, Incidence
from loglin.features.index import FeatureIndex
from loglin.kernels import local as kernels
from loglin.objectives.decisions import TokenDecisions
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.sparse import likelihood_of
from loglin.objectives.stochastic import StochasticLearner
from loglin.threads import Threads

GROUP = 16  # instances of none of the above that are passed over as one sentence


@dataclass
class Instances:
    """Tokens with labels beside them; -1 where there is none, beyond the sentence."""

    tokens: np.ndarray  # (instances,)
    before: np.ndarray  # (instances, order): the label two before (order 2), then the one before
    labels: np.ndarray  # (instances,) what to predict; L: none of the above
    weights: np.ndarray  # (instances,)
    behind: np.ndarray | None = None  # (instances, order): the label behind, then two behind

    def joined(self, other: Instances) -> Instances:
        both = [np.concatenate(pair) for pair in zip(self._arrays(), other._arrays(), strict=True)]
        return Instances(*both)

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.tokens, self.before, self.labels, self.weights


def shifted(codes: np.ndarray, offsets: np.ndarray, distance: int) -> np.ndarray:
    """The label ``distance`` tokens away, -1 beyond the sentence."""
    n = len(codes)
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    place = np.arange(n) + distance
    inside = (place >= 0) & (place < n)
    place = np.where(inside, place, 0)
    return np.where(inside & (sentence[place] == sentence), codes[place], -1).astype(np.int64)


def true_instances(design: Design, gold: Gold, order: int, weights: np.ndarray | None, behind: bool = False):
    """Every token with its true neighbors."""
    codes, offsets = gold.codes, design.offsets
    before = np.stack([shifted(codes, offsets, -d) for d in range(order, 0, -1)], axis=1)
    after = np.stack([shifted(codes, offsets, d) for d in range(1, order + 1)], axis=1) if behind else None
    by_token = np.ones(len(codes)) if weights is None else np.repeat(weights, np.diff(offsets))
    return Instances(np.arange(len(codes)), before, codes.astype(np.int64), by_token, after)


def wrong_instances(true: Instances, wrong: np.ndarray, n_labels: int) -> Instances:
    """A none-of-the-above instance for each wrong source; wrong (tokens, L) or (tokens, L²) in second order."""
    order = true.before.shape[1]
    place, source = np.nonzero(wrong)
    before = source[:, None] if order == 1 else np.stack(np.divmod(source, n_labels), axis=1)
    first = true.before[place] < 0  # START cannot be another label
    before = np.where(first, -1, before)
    return Instances(true.tokens[place], before, np.full(len(place), n_labels), true.weights[place])


def wrong_sources(true: Instances, n_labels: int) -> np.ndarray:
    """Every source but the true one: (tokens, L), or (tokens, L²) for pairs of labels."""
    order, n = true.before.shape[1], len(true.tokens)
    if order == 1:
        wrong = np.ones((n, n_labels), bool)
        has = true.before[:, 0] >= 0
        wrong[np.flatnonzero(has), true.before[has, 0]] = False
        wrong[~has] = False
        return wrong
    wrong = np.ones((n, n_labels, n_labels), bool)
    second, third = true.before[:, 0] < 0, true.before[:, 0] >= 0
    wrong[true.before[:, 1] < 0] = False
    wrong[second, 1:] = False  # START before: only the nearer label varies
    wrong[np.flatnonzero(second), 0, true.before[second, 1]] = False
    wrong[np.flatnonzero(third), true.before[third, 0], true.before[third, 1]] = False
    return wrong.reshape(n, -1)


class _Runs:
    """Features of one kind grouped by attribute and neighbors: each group is an attribute of the local model.

    ``by`` is the group of every feature (attribute · neighbors + neighbor), ``labels`` what it predicts.
    """

    def __init__(self, by: np.ndarray, labels: np.ndarray, first: int):
        order = np.argsort(by, kind="stable")
        self.features, self.labels = order + first, labels[order]
        self.keys, starts = np.unique(by[order], return_index=True)
        self.sizes = np.diff(np.append(starts, len(by)))

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Number of each key's group, -1 where there is none or the key is negative."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, -1)


class LocalLikelihood:
    """Value and gradient of a local criterion by the chain's weights."""

    convex = True

    def __init__(
        self,
        design: Design,
        index: FeatureIndex,
        instances: Instances,
        nota: bool,
        dtype: type = np.float32,
        threads: Threads | None = None,
    ):
        self.index, self.n_features, self.dtype = index, index.n_features, np.dtype(dtype)
        self._design, self._instances = design, instances
        self._groups: list[_Runs] = []
        self._lists: list[Incidence] = []  # of every instance, until they are joined
        self._n_attributes = design.n_attributes
        self._beside(-1)
        if instances.behind is not None:
            self._beside(+1)
        local, keep, weights = self._local_design(nota)
        gold = Gold.certain(instances.labels[keep], index.n_labels + nota)
        self._data = local, gold, self._local_index(nota), weights, threads
        cuts = self._cuts(local.n_tokens, weights)
        self.model = self._likelihood(cuts)
        tied = np.concatenate([np.arange(index.sizes[0]), *(g.features for g in self._groups)])
        self.tied = None if instances.behind is None else tied  # the weight of every local feature
        del self._instances  # as large as what was made of them

    def _cuts(self, n: int, weights: np.ndarray) -> np.ndarray:
        """Where sentences of instances begin: those of the text, then GROUP instances of the same weight."""
        offsets = self._design.offsets
        later = np.arange(offsets[-1], n)
        changes = np.flatnonzero(weights[later] != weights[later - 1]) if len(later) else later
        starts = np.union1d(later[::GROUP], later[changes])
        return np.concatenate([offsets[:-1], starts, [n]]).astype(np.int64)

    def _likelihood(self, cuts: np.ndarray) -> ConditionalLikelihood:
        """The instances as sentences without label bigrams, in which tokens are independent of each other.

        A pass over such sentences takes a third of the time that one over single tokens takes.
        """
        local, gold, index, weights, threads = self._data
        local = replace(local, offsets=cuts)
        by_sentence = weights[np.minimum(cuts[:-1], len(weights) - 1)] if len(weights) else np.ones(len(cuts) - 1)
        uniform = np.all(weights == 1)
        return likelihood_of(local, gold, index, None if uniform else by_sentence, self.dtype, threads)

    # ------------------------------------------------------------------ value and gradient

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        if self.tied is None:
            return self.model(weights)
        value, gradient = self.model(weights[self.tied])
        return value, np.bincount(self.tied, gradient, minlength=self.n_features).astype(self.dtype)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        if self.tied is None:
            return self.model.curvature(weights)
        return np.bincount(self.tied, self.model.curvature(weights[self.tied]), minlength=self.n_features)

    @property
    def evaluations(self) -> int:
        return self.model.evaluations

    @evaluations.setter
    def evaluations(self, number: int) -> None:
        self.model.evaluations = number

    @property
    def memory(self) -> int:
        """Steps that L-BFGS should remember at least."""
        return getattr(self.model, "memory", 0)

    @property
    def starts_cold(self) -> bool:
        return getattr(self.model, "starts_cold", False)

    def learner(self, seed: int = 0) -> StochasticLearner | None:
        """What learns the same weights one instance at a time; None where weights are tied."""
        return self.model.learner(seed) if self.tied is None else None

    @property
    def decisions(self) -> TokenDecisions | None:
        """The pairs of independent decisions; None where weights are tied."""
        return self._alone.decisions if self.tied is None else None

    @cached_property
    def _alone(self) -> ConditionalLikelihood:
        return self._likelihood(np.arange(self._data[0].n_tokens + 1))

    def all_right(self) -> bool:
        return self.model.all_right()

    # ------------------------------------------------------------------ attributes

    def _beside(self, side: int) -> None:
        """Attributes from the neighbors on one side: observed bigrams, label bigrams, label trigrams."""
        index, L, there = self.index, self.index.n_labels, self._instances
        before = there.before
        near = before[:, -1] if side < 0 else there.behind[:, 0]  # type: ignore[index]
        u, b, p = np.cumsum(index.sizes[:3]).tolist()  # where each kind's weights begin
        attribute = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
        given, predicted = np.divmod(index.bigram_pairs.astype(np.int64), L)
        if side > 0:
            given, predicted = predicted, given
        runs = self._group(attribute * L + given, predicted, u)
        tokens = there.tokens if side < 0 else there.tokens + 1
        self._add_lists(runs, tokens, near)
        given, predicted = np.divmod(index.pairs.astype(np.int64), L)
        if side > 0:
            given, predicted = predicted, given
        self._add(self._group(given, predicted, b), near)
        if len(index.triples):
            self._add_triples(side, p)

    def _add_triples(self, side: int, first: int) -> None:
        L, there = self.index.n_labels, self._instances
        a, rest = np.divmod(self.index.triples, L * L)
        b, c = np.divmod(rest, L)
        q, r = there.before[:, 0], there.before[:, 1]
        if side < 0:
            self._add(self._group(a * L + b, c, first), _pair(q, r, L))
            return
        n, m = there.behind[:, 0], there.behind[:, 1]  # type: ignore[index]
        self._add(self._group(a * L + c, b, first), _pair(r, n, L))
        self._add(self._group(b * L + c, a, first), _pair(n, m, L))

    def _group(self, by: np.ndarray, labels: np.ndarray, first: int) -> _Runs:
        runs = _Runs(by, labels, first)
        self._groups.append(runs)
        return runs

    def _add(self, runs: _Runs, keys: np.ndarray) -> None:
        """One attribute at most for every instance: that of its key."""
        found = runs.find(keys)[None]
        self._lists.append(Incidence.from_matrix(np.where(found >= 0, found + self._n_attributes, -1).astype(np.int32)))
        self._n_attributes += len(runs.keys)

    def _add_lists(self, runs: _Runs, tokens: np.ndarray, near: np.ndarray) -> None:
        """The attributes of a step's observed bigrams whose neighbor is the given one."""
        lists, L = self._design.bigrams, self.index.n_labels
        run_ptr = np.searchsorted(runs.keys // L, np.arange(self._design.n_bigram_attributes + 1))
        arguments = (
            np.minimum(tokens, lists.n_lists - 1),
            np.ascontiguousarray(near),
            lists.ptr,
            lists.ids,
            run_ptr,
            runs.keys % L,
        )
        ptr = np.empty(len(tokens) + 1, np.int64)
        kernels.neighbor_runs(*arguments, ptr, np.empty(0, np.int32))
        ids = np.empty(ptr[-1], np.int32)
        kernels.neighbor_runs(*arguments, ptr, ids)
        ids += np.int32(self._n_attributes)
        self._lists.append(Incidence(ptr, ids))
        self._n_attributes += len(runs.keys)

    # ------------------------------------------------------------------ the local model

    def _local_design(self, nota: bool) -> tuple[Design, np.ndarray, np.ndarray]:
        """A sentence of one token for every instance; which instances are kept, and their weights."""
        design, there = self._design, self._instances
        keep, weights = np.arange(len(there.tokens)), there.weights
        if nota:
            keep, weights = _merge(design, there, self._lists[0], self.index.n_labels)
        beside = self._lists.pop(0)
        while self._lists:
            beside = beside.joined(self._lists.pop(0))
        if nota:
            beside = beside.select(keep)
        tokens = design.tokens.select(there.tokens[keep]).joined(beside)
        heads = None
        if design.heads is not None:
            of_token = np.ascontiguousarray(design.heads.of_token[there.tokens[keep]])
            heads = Heads(of_token, design.heads.attributes)
        offsets = np.arange(len(keep) + 1, dtype=np.int64)
        vectors = tuple(v.of(there.tokens[keep]) for v in design.vectors)
        none = Incidence.empty(len(keep))
        return Design(offsets, tokens, none, self._n_attributes, 0, heads, vectors=vectors), keep, weights

    def _local_index(self, nota: bool) -> FeatureIndex:
        index = self.index
        sizes = np.concatenate([np.diff(index.ptr), *(g.sizes for g in self._groups)])
        labels = np.concatenate([index.labels, *(g.labels for g in self._groups)]).astype(np.uint16)
        nothing = np.empty(0, np.int32)
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return FeatureIndex(
            index.n_labels + nota, ptr, labels, np.zeros(1, np.int64), nothing, nothing, np.empty(0, np.int64)
        )


def _pair(first: np.ndarray, second: np.ndarray, L: int) -> np.ndarray:
    return np.where((first < 0) | (second < 0), -1, first * L + second)


def _merge(design: Design, there: Instances, observed: Incidence, L: int) -> tuple[np.ndarray, np.ndarray]:
    """Instances of none of the above without any observation are alike but for their source: count them."""
    bare = (there.labels == L) & (np.diff(observed.ptr) == 0) & (np.diff(design.tokens.ptr)[there.tokens] == 0)
    if design.heads is not None or design.vectors or not bare.any():
        return np.arange(len(there.tokens)), there.weights
    rest, alone = np.flatnonzero(~bare), np.flatnonzero(bare)
    key = there.before[alone, -1] + 1
    if there.before.shape[1] == 2:
        key = key * (L + 1) + there.before[alone, 0] + 1
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    keep = np.concatenate([rest, alone[first]])
    return keep, np.concatenate([there.weights[rest], np.bincount(group, there.weights[alone])])
