"""The training problem on chains and single decisions: design, labels, feature index, penalties.

design, gold labels, options, what the criterion asks for ──► index, weights of sentences, penalties ──► a model
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus.columns import Corpus
from loglin.corpus.labels import Choices, Gold, LabelSets
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.dictionary import TagDictionary
from loglin.features.index import Everything, FeatureIndex, build_index
from loglin.features.vectors import VectorSpace, attribute_name
from loglin.models.chain import Model
from loglin.optimize.penalties import Penalties
from loglin.problems.options import ChainOptions
from loglin.problems.penalties import instance_weights, strengths
from loglin.problems.request import OBSERVED, Annotation, FeatureRequest
from loglin.threads import Threads

if TYPE_CHECKING:
    from loglin.features.template import TemplateSet
    from loglin.generative.hmm import HMM
    from loglin.optimize.objective import Objective
    from loglin.optimize.run import Make
    from loglin.problems.parts import Part, Parts

LARGEST = 1e15  # |value| of an attribute


@dataclass(eq=False)
class ChainProblem:
    """What there is to learn from, numbered and checked when it is asked for."""

    design: Design
    extractor: Any
    labels: list
    gold: Any  # Gold; LabelSets where several labels can be right, Choices where examples bring candidates
    options: ChainOptions = field(default_factory=ChainOptions)
    request: FeatureRequest = OBSERVED
    threads: Threads = field(default_factory=lambda: Threads(1))
    task: str = "tag"  # of the model
    sequential: bool = True  # labels depend on their neighbors
    joint: bool = False  # of decisions: the model is one of labels and attributes together
    unpenalized: np.ndarray | None = None  # (attributes,) bool: intercepts
    hidden: Gold | None = None  # what is annotated, where ``gold`` is what the dictionary allows
    held: Corpus | None = None  # text without labels, on which the criterion of hidden labels is reported
    vectors: VectorSpace | None = None  # of the vectors that tokens carry
    places: np.ndarray | None = None  # of a part: where its features stand among all
    parts: Parts | None = None  # where the sentences are, if they are not here; see problems/parts.py

    @classmethod
    def with_hidden_labels(
        cls, design: Design, extractor: Any, labels: list, annotation: Gold, options: ChainOptions, **more: Any
    ) -> ChainProblem:
        """A problem whose labels are hidden but for ``annotation``: what the dictionary allows may be right."""
        from loglin.problems.hidden import corpus_of, possible_labels

        problem = cls(design, extractor, labels, annotation, options, hidden=annotation, **more)
        problem.gold = possible_labels(corpus_of(design), problem.dictionary, len(labels))
        return problem

    @property
    def structure(self) -> str:
        return "chain" if self.sequential else "joint" if self.joint else "local"

    # ------------------------------------------------------------------ what is annotated

    @property
    def annotation(self) -> Annotation:
        if self.hidden is not None:
            return Annotation.HIDDEN
        return Annotation.CERTAIN if self.gold.all_certain else Annotation.PARTIAL

    def require_labels(self, criterion: str) -> None:
        """Refuse labels that are missing or not certain; most criteria compare with the whole truth."""
        if self.gold.all_certain:
            return
        if not self.sequential:
            raise LoglinError(f"criterion {criterion} needs one certain class for every example; take likelihood")
        offsets, unknown, where = self.design.offsets, np.flatnonzero(self.gold.codes < 0), ""
        if len(unknown):
            s = int(np.searchsorted(offsets, unknown[0], side="right")) - 1
            where = f"; sentence {s}, token {int(unknown[0] - offsets[s])} has none"
        raise LoglinError(
            f"criterion {criterion} needs one certain label for every token{where}: label it, or use "
            "criterion crf, which learns from partly labelled text"
        )

    @cached_property
    def dictionary(self) -> TagDictionary | None:
        """The dictionary that decoding will heed; the labels of the data must not contradict a given one."""
        given, gold = self.options.dictionary, self.gold if self.hidden is None else self.hidden
        if not given:
            return None
        if self.design.corpus is None or not isinstance(gold, Gold):
            raise LoglinError(
                "a tag dictionary needs words, but the tokens are attributes; give a template, or dictionary 0"
            )
        if isinstance(given, int):
            column = self.design.corpus.columns[0]
            if self.hidden is not None:  # of the labelled tokens alone: others would allow their words everything
                certain = np.flatnonzero(gold.codes >= 0)
                column = replace(column, codes=column.codes[certain])
                gold = Gold.certain(gold.codes[certain], gold.n_labels)
            return TagDictionary.of(column, gold, given)
        names, dictionary = given
        dictionary = dictionary.relabeled(names, self.labels)
        dictionary.refuse_conflicts(self.design.corpus, gold, self.labels)
        return dictionary

    # ------------------------------------------------------------------ features

    @property
    def _templates(self) -> TemplateSet | None:
        return getattr(self.extractor, "templates", None)

    @property
    def asked_order(self) -> int:
        """2 if a template looks back two labels, else as the options say."""
        trigrams = self._templates is not None and any(t.kind == "trigram" for t in self._templates.templates)
        return 2 if trigrams else self.options.order

    @property
    def order(self) -> int:
        """How many labels a label looks back."""
        if self.hidden is not None:
            return self.asked_order
        return 2 if len(self.index.triples) else 1

    @property
    def has_transitions(self) -> bool:
        """Whether label bigrams have weights."""
        return self.sequential and (self._templates is None or self._templates.transitions)

    @cached_property
    def index(self) -> FeatureIndex:
        self._check_values()
        options = self.options
        index = build_index(self.design, self.gold, self.everything(), self.has_transitions, self.asked_order)
        least, sure = options.cutoff, 1.0  # what every feature reaches
        if options.by_value:
            sure = -math.inf if self.design.tokens.values.min(initial=0) < 0 else 0.0
        if least > sure:
            from loglin.features.cutoff import cut_off

            counted = (replace(self.design, vectors=()), self.gold.allowed(), least)
            index = cut_off(index, *counted, always=self._always, by_value=options.by_value)
        if index.n_features == 0:
            raise LoglinError("no feature is left to learn; lower min_count or cutoff, or give the tokens attributes")
        return index

    @property
    def _always(self) -> np.ndarray | None:
        """Which attributes keep all weights, however seldom they are seen: intercepts and dimensions of vectors."""
        if not self.design.vectors:
            return self.unpenalized
        always = np.zeros(self.design.n_attributes, bool)
        for vectors in self.design.vectors:
            always[vectors.attributes] = True
        return always

    def _check_values(self) -> None:
        """Refuse values whose weights, or whose squares, single precision could not hold."""
        tokens = self.design.tokens
        too_large = np.flatnonzero(np.abs(tokens.values) > LARGEST)
        if len(too_large):
            attribute, value = int(tokens.ids[too_large[0]]), tokens.values[too_large[0]]
            raise LoglinError(
                f"the attribute {self.extractor.attribute_name(attribute)!r} has the value {value:g}, which is too "
                f"large; give values between -{LARGEST:g} and {LARGEST:g}, such as this one in another unit"
            )

    def everything(self) -> Everything:
        """Where weights for all labels are wanted: everywhere, or for the templates that say so."""
        wanted = Everything.of(self.design, self.options.all_features)
        if self.request.all_ngrams:
            wanted.bigrams[:] = wanted.pairs = wanted.triples = True
        wanted.pairs |= self.request.all_pairs or self.options.all_pairs
        for vectors in self.design.vectors:
            wanted.attributes[vectors.attributes] = True
        if self._templates is None:
            return wanted
        for t in self._templates.label_ngrams:
            wanted.pairs |= t.kind == "bigram" and t.labels == "all"
            wanted.triples |= t.kind == "trigram" and t.labels == "all"
        asked = np.array([t.labels == "all" for t in self._templates.observed], bool)
        if asked.any():
            of_template = asked[self.extractor.template_of("unigram")]
            wanted.attributes[: len(of_template)] |= of_template
            wanted.bigrams |= asked[self.extractor.template_of("bigram")]
        return wanted

    @cached_property
    def weight(self) -> np.ndarray | None:
        """How much each sentence counts: (sentences,); None: all the same."""
        gold = self.gold if self.hidden is None else self.hidden
        return instance_weights(self.design, gold, self.labels, self.options)

    @cached_property
    def penalties(self) -> Penalties:
        vectors = self.vectors is not None
        return strengths(self.extractor, self.index, self.options, self.unpenalized, vectors)

    def with_l2(self, l2: float) -> ChainProblem:
        """The same problem with another l2; its features are numbered once."""
        other = copy(self)
        other.options = replace(self.options, l2=l2)
        other.__dict__["index"] = self.index
        other.__dict__.pop("penalties", None)
        return other

    def objective(self, make: Callable[[ChainProblem, type], Objective]) -> Make:
        """What is minimized, of any precision; ``make`` makes it of a problem. Of parts it is the sum."""
        return partial(make, self) if self.parts is None else partial(self.parts.sum, make)

    def pieces(self, tokens: int) -> Iterator[Part]:
        """The problem cut at sentences, about so many tokens each."""
        from loglin.problems.parts import pieces_of_chains

        return pieces_of_chains(self, tokens)

    @property
    def n_features(self) -> int:
        return self.index.n_features

    def feature_name(self, feature: int) -> str:
        """The attribute of a feature, and its label where it has one, as people know them."""
        index = self.index
        if feature >= len(index.labels):
            return "a label bigram"
        attribute = int(np.searchsorted(index.ptr, feature, side="right")) - 1
        label = "" if isinstance(self.gold, Choices) else f" for {self.labels[index.labels[feature]]}"
        return f"{attribute_name(self.extractor, self.vectors, attribute)}{label}"

    # ------------------------------------------------------------------ starts

    def transferred(self, old: Model) -> np.ndarray:
        """The weights of another model for the features of this problem."""
        from loglin.features.transfer import transferred_weights

        return transferred_weights(old, self.extractor, self.labels, self.index, self.vectors)

    def class_shares(self) -> np.ndarray | None:
        """Weights that say nothing but how frequent the classes are, nearer than zero; None without an intercept."""
        if self.unpenalized is None or not self.gold.all_certain:
            return None
        n = self.design.n_tokens
        weight = np.ones(n) if self.weight is None else self.weight
        share = np.clip(self.gold.counts(weight) / weight.sum(), 0.5 / n, 1 - 0.5 / n)
        bias = np.log(share) - (np.log(1 - share) if isinstance(self.gold, LabelSets) else 0.0)
        weights = np.zeros(self.index.n_features)
        feature = np.repeat(self.unpenalized, np.diff(self.index.ptr))
        weights[: len(feature)][feature] = bias[self.index.labels[feature]]
        return weights

    # ------------------------------------------------------------------ models

    def stored(self, dtype: str) -> type:
        """The precision of stored weights: single for taggers unless asked, for classifiers as they were trained."""
        return np.float64 if dtype == "float64" or (not self.sequential and dtype == "auto") else np.float32

    def model(self, weights: np.ndarray, base: HMM | None = None, decoding: dict | None = None) -> Model:
        """A model with these weights; those behind the features of the index are left out."""
        about = (self.task, self.labels, self.extractor, self.index)
        weights = weights[: self.index.n_features]
        return Model(*about, weights, self.order, {}, base, decoding or {}, self.dictionary, self.vectors)

    def counted_model(self, hmm: HMM) -> Model:
        """A hidden Markov model: a base model without features."""
        n, nothing = hmm.extractor.n_attributes, np.empty(0, np.int32)
        index = FeatureIndex(
            len(self.labels), np.zeros(n + 1, np.int64), nothing.astype(np.uint16), np.zeros(1, np.int64), nothing,
            nothing, np.empty(0, np.int64),
        )  # fmt: skip
        about = ("tag", self.labels, hmm.extractor, index, np.empty(0, np.float32), 1)
        return Model(*about, {}, hmm, {}, self.dictionary)

    def about(self, model: Model) -> dict[str, Any]:
        """What a model's record says of the data."""
        features = len(model.weights)
        if model.base is not None and not features:
            features = sum(e.size for e in model.base.emissions) + model.base.transition.size
        return {
            "n_features": features,
            "active_features": int(np.count_nonzero(model.weights)),
            "sentences": self.design.n_sentences,
            "tokens": self.design.n_tokens,
            "threads": self.threads.n,
        } | ({} if self.parts is None else self.parts.about())
