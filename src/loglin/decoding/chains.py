"""From a model and text to labels, probabilities and reasons."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus import schemes
from loglin.decoding.in_order import InOrder
from loglin.decoding.vectors import vector_scores, vector_weights
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.features.index import ROW_LABELS, ROW_SHARE
from loglin.features.vectors import with_vectors
from loglin.kernels import decode as kernels
from loglin.kernels.rows import padded
from loglin.kernels.sentences import Attributes
from loglin.kernels.sparse_viterbi import Observed, best_sparse_labels
from loglin.models.chain import Model
from loglin.threads import Threads, check_threads, chunks_by_size

if TYPE_CHECKING:
    from loglin.decoding.narrowed import Narrowed
    from loglin.decoding.reasons import Entity, Explanation, Vote
    from loglin.decoding.scored_text import ScoredText
    from loglin.structures.chain import Chain
    from loglin.structures.links import Steps

MANY = 1000  # classes of independent decisions that may still be decoded as chains, with steps of classes²
SINGLE = 1e30  # votes below it can be added up in single precision, sentences of a hundred million tokens too
LARGEST_PAIR = 600.0  # |weight| of a label pair whose exponential is finite
ANY = "none"  # in the place of a label scheme: any sequence, even if the model says otherwise
HEAD_WEIGHTS = 1 << 24  # the most numbers, 64 MB, that scores by value may take; beyond, tokens are scored one by one


class Decoder:
    """A model made ready to score text; ``constrain`` names a label scheme whose order is enforced, by default the
    model's own, and "none" enforces none.

    ``decoding`` overrides the model's own way: steps score "global" as they are, "local" normalized each by
    itself (an MEMM), "nota" the same with none of the above as one more outcome, "scaled" times a factor learnt
    for the label before; ``beam`` > 0 searches with so many states a step instead of exactly; "dictionary" false
    leaves the model's tag dictionary aside; ``prune`` > 0 leaves labels out of the search that a token's own features
    give a smaller probability, a cascade for many labels and for second order.
    """

    def __init__(
        self, model: Model, threads: int | None = 1, constrain: str | None = None, decoding: dict | None = None
    ):
        scheme = model.decoding.get("constrain") if constrain is None else constrain
        self.model, self.index, self.constrain = model, model.index, None if scheme == ANY else scheme
        check_threads(threads)
        self.threads = threads
        self.width = padded(self.index.n_labels)
        self.legal = schemes.legal(model.labels, self.constrain) if self.constrain else None
        self.decoding = (
            {"steps": "global", "beam": 0, "dictionary": True, "prune": 0.0} | model.decoding | (decoding or {})
        )
        self.dictionary = model.dictionary if self.decoding["dictionary"] else None
        beam = self.decoding["beam"]
        if not isinstance(beam, int) or not 0 <= beam < 1 << 31:
            raise LoglinError(f"beam is {beam!r}; give a number of states, or 0 for an exact search")
        prune = self.decoding["prune"]
        if isinstance(prune, bool) or not isinstance(prune, int | float) or not 0 <= prune < 1:
            raise LoglinError(f"prune is {prune!r}; give a probability from 0 to below 1, such as 0.001")
        if prune and (beam or self.legal is not None or self.decoding["steps"] != "global"):
            raise LoglinError("prune searches whole chains exactly; leave out beam, constrain and decoding, or prune")
        if self.decoding["steps"] == "scaled" and "scale" not in self.decoding:
            raise LoglinError("the model has no scale factors; train it with --set decoding=scaled")
        self.constant = {"local": 0.0, "nota": 1.0}.get(self.decoding["steps"], -1.0)
        self.has_steps = model.kind.has_transitions or self.index.n_labels <= MANY
        self.transitions = self.index.transitions(model.weights) if self.has_steps else np.zeros((0, 0))
        self.trigrams = self.index.trigrams(model.weights)
        self._endings: dict[str, np.ndarray] = {}  # see _ends
        self._quick = (
            self.has_steps
            and self.trigrams is None
            and model.base is None
            and self.dictionary is None
            and not self.decoding["beam"]
            and not self.prunes
            and self.decoding["steps"] != "scaled"
            and (self.constant < 0 or self.legal is None)
        )

    # ------------------------------------------------------------------ weights, in either precision

    @cached_property
    def _single(self) -> kernels.Weights:
        """Weights in single precision, with -inf for what the scheme forbids."""
        model, L = self.laid_out(np.float32), self.index.n_labels
        if self.legal is not None:
            model.T[:, :L][~self.legal[0]] = -np.inf
            for edge, allowed in zip(model.edges, self.legal[1:], strict=True):
                edge[:L][~allowed] = -np.inf
        return model

    @cached_property
    def double(self) -> kernels.Weights:
        """Weights in double precision."""
        return self.laid_out(np.float64)

    def laid_out(self, dtype: type[np.floating], least: int | None = None) -> kernels.Weights:
        """The model's weights as kernels score with them; attributes of at least ``least`` labels are rows."""
        index = self.index
        weights: np.ndarray = np.ascontiguousarray(self.model.weights, dtype)
        places = np.empty((len(index.ptr) - 1, 2), np.int32 if dtype is np.float32 else np.int64)
        least = least or max(ROW_LABELS, index.n_labels // ROW_SHARE if index.few_pairs else 0)
        n_rows = kernels.fill_places(index.ptr, least, index.labels, weights, places, places.view(dtype))
        table = np.zeros((n_rows, self.width), dtype)
        kernels.fill_rows(index.ptr, index.labels, places, weights, table)
        T, edges = np.zeros((len(self.transitions), self.width), dtype), np.zeros((2, self.width), dtype)
        T[:, : self.transitions.shape[1]] = self.transitions
        bigrams = (index.bigram_ptr, index.bigram_pairs, index.sizes[0])
        return kernels.Weights(index.ptr, index.labels, places, places.view(dtype), table, weights, T, edges, *bigrams)

    def attributes(self, design: Design, dtype: type) -> Attributes:
        """A design as kernels read it."""
        tokens, bigrams = design.tokens, design.bigrams
        steps = (bigrams.ptr if len(self.index.bigram_pairs) else bigrams.ptr[:0], bigrams.ids)
        return Attributes(design.offsets, tokens.ptr, tokens.ids, tokens.values.astype(dtype), *steps)

    # ------------------------------------------------------------------ labels

    def prepare(self) -> None:
        """Lay out weights and tables now rather than with the first sentence."""
        if self._quick:
            _ = self._single
        if isinstance(self.model.extractor, TemplateExtractor):
            self.model.extractor.prepare()

    def design(self, inputs: Any, for_best: bool = False, vectors: Any = None) -> Design:
        """The integer design of a corpus, or of sentences of attributes; ``for_best``: for nothing but ``best``.

        ``vectors`` are those of the tokens, if the model was trained with any: an array for every sentence, or one for
        all tokens.
        """
        return with_vectors(self.model.vectors, self._sparse_design(inputs, for_best), vectors)

    def _sparse_design(self, inputs: Any, for_best: bool) -> Design:
        extractor = self.model.extractor
        if isinstance(extractor, TemplateExtractor):
            if for_best and self._quick and "sums" not in self.decoding:
                return extractor.transform_by_value(inputs, HEAD_WEIGHTS // self.width, self.threads)
            return extractor.transform(inputs, self.threads)
        return extractor.transform(inputs)

    def best(self, design: Design) -> np.ndarray:
        """The best label sequence of every sentence: (tokens,) int32."""
        if not self.has_steps:
            return self.scores(design).argmax(axis=1).astype(np.int32)
        if design.n_tokens and (self.prunes or (self.dictionary is not None and design.corpus is not None)):
            if self.narrowed is not None:
                return self.narrowed.best(design)
            if self.prunes:
                raise LoglinError(
                    "prune needs steps that are the same everywhere, but templates of this model cross "
                    "label bigrams with the text; leave prune out"
                )
        if not self._quick or self._leaves_single_precision(design):
            return self.scored(design).best()
        if "sums" in self.decoding and self.legal is None and self.model.vectors is None:
            return self._in_order.best(design)
        out = np.empty(design.n_tokens, np.int32)
        text, model, constant = self.attributes(design, np.float32), self._single, np.float32(self.constant)
        longest = int(np.diff(design.offsets).max(initial=1))
        of_token, heads = self._scored_heads(design)
        scored = (text, of_token, heads, model)

        def chunk(begin: int, end: int) -> None:
            if self._observed is None:
                kernels.best_labels(begin, end, *scored, constant, longest, out)
            else:
                best_sparse_labels(begin, end, *scored, self._observed, constant, longest, out)

        Threads(self.threads if design.n_tokens > 2000 else 1).map(chunk, chunks_by_size(design.offsets))
        if self.legal is not None and not self._is_legal(out, design.offsets):
            raise LoglinError("no label sequence obeys the constraint for some sentence; check --constrain")
        return out

    @cached_property
    def _in_order(self) -> InOrder:
        return InOrder(self)

    @cached_property
    def _observed(self) -> Observed | None:
        """The label pairs that have a weight, where a step over them alone costs less; None elsewhere."""
        index, L = self.index, self.index.n_labels
        weights = index.split(self.model.weights)[2]
        if not index.few_pairs or self.legal is not None or not np.all(np.abs(weights) < LARGEST_PAIR):
            return None
        before, label = np.divmod(index.pairs.astype(np.int64), L)
        return Observed.of(before, label, weights, L, np.float32)

    def _leaves_single_precision(self, design: Design) -> bool:
        """Whether scores, transitions included, might be infinite in single precision."""
        largest = float(np.abs(design.tokens.values).max(initial=1.0))
        for vectors in design.vectors:
            largest = max(largest, vectors.size * float(np.abs(vectors.rows).max(initial=0.0)))
        return not self._largest_weight * largest < SINGLE

    @cached_property
    def _largest_weight(self) -> float:
        weights = self.model.weights
        return max(float(weights.max(initial=0.0)), -float(weights.min(initial=0.0)))

    def _scored_heads(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """The heads of every token, (tokens, folds), and all scores of heads, (heads, width); vectors are some."""
        of_token, heads = self._scored_attributes(design)
        if design.vectors:
            own = len(heads) + np.arange(design.n_tokens, dtype=np.int32)[:, None]
            of_token = np.concatenate([of_token, own], axis=1)
            heads = np.concatenate([heads, self._vector_scores(design, np.float32)])
        return of_token, heads

    def _vector_scores(self, design: Design, dtype: type) -> np.ndarray:
        weights: np.ndarray = self._vector_weights.astype(dtype, copy=False)
        return vector_scores(design, design.vectors, weights, self.model.extractor.n_attributes, self.threads)

    @cached_property
    def _vector_weights(self) -> np.ndarray:
        return vector_weights(self.model, self.width)

    def _scored_attributes(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        if design.heads is None:
            return np.empty((design.n_tokens, 0), np.int32), np.empty((0, self.width), np.float32)
        lists, none = design.heads.attributes, np.empty(0, np.int64)
        scores = np.empty((lists.n_lists, self.width), np.float32)
        text = Attributes(lists.ptr, lists.ptr, lists.ids, lists.values.astype(np.float32), none, lists.ids[:0])
        kernels.score_attributes(0, lists.n_lists, text, self._single, scores)
        return design.heads.of_token, scores

    @property
    def prunes(self) -> bool:
        """Whether labels are left out of the search by their probability."""
        return bool(self.decoding["prune"])

    @cached_property
    def narrowed(self) -> Narrowed | None:
        """The search among some labels of each token; None where steps depend on more than labels."""
        from loglin.decoding.narrowed import Narrowed

        return Narrowed.of(self)

    def _is_legal(self, labels: np.ndarray, offsets: np.ndarray) -> bool:
        transitions, first, last = self.legal  # type: ignore[misc]
        lengths = np.diff(offsets)
        begins, ends = offsets[:-1][lengths > 0], offsets[1:][lengths > 0] - 1
        steps = np.delete(np.arange(len(labels)), begins)
        return bool(
            transitions[labels[steps - 1], labels[steps]].all()
            and first[labels[begins]].all()
            and last[labels[ends]].all()
        )

    def scores(self, design: Design) -> np.ndarray:
        """Scores of every token by label, (tokens, labels) float64."""
        out = np.empty((design.n_tokens, self.index.n_labels))
        kernels.all_scores(self.attributes(design, np.float64), self.double, out)
        if design.vectors:
            out += self._vector_scores(design, np.float64)[:, : out.shape[1]]
        return out

    @cached_property
    def shared_steps(self) -> Steps | None:
        """The steps of every sentence; None where they depend on it."""
        from loglin.decoding.scored_text import shared_steps

        return shared_steps(self)

    def scored(self, design: Design) -> ScoredText:
        """The text with its scores: best sequences, sums and probabilities."""
        from loglin.decoding.scored_text import ScoredText

        return ScoredText(self, design)

    def chains(self, design: Design) -> Iterator[Chain]:
        """Each sentence as a structure: partition, marginals, n-best, samples, spans."""
        return self.scored(design).chains()

    def marginals(self, design: Design) -> np.ndarray:
        """Probabilities of every token's labels, (tokens, labels)."""
        return self.scored(design).marginals()

    def nbest(self, design: Design, k: int) -> Iterator[list[tuple[np.ndarray, float]]]:
        """The k best label sequences of every sentence with their probabilities, best first; fewer if fewer exist."""
        return self.scored(design).nbest(k)

    # ------------------------------------------------------------------ reasons

    def entities(self, chain: Chain, words: list[str]) -> list[Entity]:
        """Entities of the best sequence, each with the exact probability that it stands just there.

        That is the probability of its labels followed by no continuation of it.
        """
        from loglin.decoding.reasons import Entity

        labels, _ = chain.best()
        names = [str(self.model.labels[i]) for i in labels]
        spans, masks = schemes.entities(names), []
        for _, start, stop in spans:
            inner, behind = stop - start, stop < len(labels)
            allowed = np.zeros((inner + behind, len(self.model.labels)), bool)
            allowed[np.arange(inner), labels[start:stop]] = True
            if behind:
                allowed[inner] = self._ends(names[stop - 1])
            masks.append(allowed)
        found = zip(spans, chain.span_probabilities([start for _, start, _ in spans], masks), strict=True)
        return [Entity(type_, start, stop, " ".join(words[start:stop]), p) for (type_, start, stop), p in found]

    def _ends(self, last: str) -> np.ndarray:
        """Which labels behind ``last`` do not make its entity longer, (labels,) bool."""
        if last not in self._endings:
            pairs = (schemes.entities([last, str(label)]) for label in self.model.labels)
            longer = [any(start == 0 and stop == 2 for _, start, stop in spans) for spans in pairs]
            self._endings[last] = ~np.array(longer)
        return self._endings[last]

    def votes(self, design: Design, token: int) -> list[Vote]:
        """Every active feature of a token with its votes, those with the largest vote first."""
        from loglin.decoding.reasons import Vote

        index, labels, weights = self.index, self.model.outcomes, self.model.weights
        found = []
        tokens = design.tokens
        for q in range(tokens.ptr[token], tokens.ptr[token + 1]):
            a = int(tokens.ids[q])
            if a < 0:
                continue
            value = float(tokens.values[q]) if tokens.values.size else 1.0
            features = range(index.ptr[a], index.ptr[a + 1])
            votes = {labels[index.labels[f]]: float(weights[f]) * value for f in features}
            if votes:
                found.append(Vote(self.model.extractor.attribute_name(a), value, votes))
        groups = () if self.model.vectors is None else self.model.vectors.groups
        for group, vectors in zip(groups, design.vectors, strict=True):
            added = vector_scores(design, (vectors,), self._vector_weights, self.model.extractor.n_attributes)[token]
            name = f"{group.title} of {vectors.size} dimensions"
            found.append(Vote(name, 1.0, dict(zip(labels, added.tolist(), strict=False))))
        if self.model.base is not None and design.corpus is not None:
            emitted = self.model.base.emission_scores(design.corpus)[token]
            found.append(
                Vote("base model: log p(token | label)", 1.0, dict(zip(labels, emitted.tolist(), strict=True)))
            )
        return sorted(found, key=lambda v: -max(abs(x) for x in v.votes.values()))

    def explain(self, design: Design, words: list[str], position: int) -> Explanation:
        """Why the token at ``position`` of a design of one sentence gets its label."""
        from loglin.decoding.reasons import Explanation

        n, names = len(words), self.model.labels
        if type(position) is bool or not isinstance(position, int | np.integer) or not -n <= position < n:
            raise LoglinError(
                f"position {position} is outside the sentence of {n} tokens; give 0 to {n - 1}, or -1 for the last"
            )
        position %= n
        chain = next(self.chains(design))
        labels, _ = chain.best()
        before, after = (dict(zip(names, part.tolist(), strict=True)) for part in chain.steps_around(labels, position))
        return Explanation(
            words[position],
            names[labels[position]],
            dict(zip(names, chain.marginals()[position].tolist(), strict=True)),
            self.votes(design, position),
            before if position > 0 else {},
            after if position < n - 1 else {},
        )
