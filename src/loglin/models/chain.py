"""A trained tagger or classifier: weights, labels, vocabularies and templates, and how it was trained."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from loglin.corpus.labels import check_number
from loglin.corpus.sections import Section
from loglin.corpus.shown import Shown
from loglin.errors import LoglinError
from loglin.features.index import FeatureIndex
from loglin.models.kinds import KINDS, Kind, load, save

if TYPE_CHECKING:
    from loglin.features.attributes import AttributeExtractor
    from loglin.features.dictionary import TagDictionary
    from loglin.features.extract import TemplateExtractor
    from loglin.features.matrix import MatrixExtractor
    from loglin.features.vectors import VectorSpace
    from loglin.generative.hmm import HMM

DECODINGS = ("global", "local", "nota", "scaled", "independent")  # how steps score; see decoding.chains.Decoder
SUMS = ("crfsuite", "crf++", "wapiti")  # whose order and precision sums have; see decoding/in_order.py
_EXTRACTORS = {  # module and class in loglin.features, imported where a model has one
    "templates": ("extract", "TemplateExtractor"),
    "attributes": ("attributes", "AttributeExtractor"),
    "matrix": ("matrix", "MatrixExtractor"),
}


@dataclass
class Model(Shown):
    task: str  # the name of its kind, see models/kinds.py
    labels: list  # where examples have candidates of their own, the classes that all choose from, or none
    extractor: TemplateExtractor | AttributeExtractor | MatrixExtractor
    index: FeatureIndex
    weights: np.ndarray  # (features,)
    order: int = 1
    record: dict = field(default_factory=dict)  # how it was trained, for people
    base: HMM | None = None  # q0 of a model q0(x, y)·exp(w·f(x, y))
    decoding: dict = field(default_factory=dict)  # see decoding.chains.Decoder; nothing: global
    dictionary: TagDictionary | None = None  # which labels words may have
    vectors: VectorSpace | None = None  # that tokens carry; their dimensions are attributes behind the extractor's

    @property
    def kind(self) -> Kind:
        """What kind of model this is: code asks for its properties, never for the name."""
        return KINDS[self.task]

    @property
    def outcomes(self) -> list:
        """The names of the index's labels: weights of a ranking are the same for all candidates."""
        return ["candidate"] if self.kind.ranks else self.labels

    @property
    def has_names(self) -> bool:
        """Whether the columns of the text that it was trained on have names."""
        return bool(self.record.get("table"))

    def attribute_name(self, attribute: int) -> str:
        """A unigram attribute of the index as people read it."""
        if self.vectors is None:
            return self.extractor.attribute_name(attribute)
        from loglin.features.vectors import attribute_name

        return attribute_name(self.extractor, self.vectors, attribute)

    # ------------------------------------------------------------------ smaller models

    def prune(self, threshold: float = 0.0) -> Model:
        """Without the weights of magnitude ≤ threshold, and without attributes that have none left."""
        from loglin.features.matrix import MatrixExtractor

        keep = np.abs(self.weights) > threshold
        index, extractor = self.index.selected(keep), self.extractor
        if not isinstance(extractor, MatrixExtractor):  # a matrix keeps its columns
            some, some_bigrams = np.diff(index.ptr) > 0, np.diff(index.bigram_ptr) > 0
            extractor = extractor.select(some[: extractor.n_attributes], some_bigrams)
            some[self.extractor.n_attributes :] = True  # vectors keep their dimensions
            ptr, bigram_ptr = np.append(0, index.ptr[1:][some]), np.append(0, index.bigram_ptr[1:][some_bigrams])
            index = replace(index, ptr=ptr, bigram_ptr=bigram_ptr)
        return replace(self, extractor=extractor, index=index, weights=self.weights[keep], record=dict(self.record))

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        save(path, self.to_section(half))

    def to_section(self, half: bool = False) -> Section:
        """The model as a file has it."""
        weights = self.weights.astype(np.float16) if half else self.weights
        if half and not np.isfinite(weights).all():
            raise LoglinError("a weight is too large for half precision (65504); save without --half")
        header = {
            "version": self._version(),
            "task": self.task,
            "labels": self.labels,
            "order": self.order,
            "record": self.record,
        }
        if self.decoding:
            header["decoding"] = self.decoding
        section = Section(header, {"weights": weights})
        section = section.with_part("features", self.extractor.to_section())
        section = section.with_part("index", self.index.to_section())
        for name, part in (("base", self.base), ("dictionary", self.dictionary), ("vectors", self.vectors)):
            if part is not None:
                section = section.with_part(name, part.to_section())
        return section

    def _version(self) -> int:
        """The least that a reader must know."""
        if "sums" in self.decoding:
            return 8
        if self.vectors is not None:
            return 7
        if "constrain" in self.decoding:
            return 6
        if self.dictionary and not self.dictionary.unknown.all():
            return 4
        if self.dictionary or self.kind.ranks or self.decoding.get("steps") == "independent":
            return 3
        return 1 if self.base is None and not self.decoding else 2

    @classmethod
    def load(cls, path: str | os.PathLike) -> Model:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        return load(path, "chain.Model")

    @classmethod
    def from_section(cls, section: Section, kind: Kind) -> Model:
        labels = section.labels("labels")
        n_labels = 1 if kind.ranks else len(labels)
        section.require(n_labels > 0, "labels", "is empty")
        check_number(n_labels)
        features = section.part("features")
        module, name = _EXTRACTORS[features.choice("kind", _EXTRACTORS)]
        extractor = getattr(import_module(f"loglin.features.{module}"), name).from_section(features)
        given = section.optional("vectors")
        vectors = _vector_space(given) if given else None
        dimensions = vectors.size if vectors else 0
        sizes = n_labels, extractor.n_attributes + dimensions, extractor.n_bigram_attributes
        index = FeatureIndex.from_section(section.part("index"), *sizes)
        weights = section.finite("weights", index.n_features, np.float16, np.float32, np.float64)
        hmm, words = section.optional("base"), section.optional("dictionary")
        decoding = section.part("decoding")
        base = _base_model(hmm) if hmm else None
        section.require(base is None or base.labels == labels, "base.labels", "are not those of the model")
        section.require(_is_decoding(decoding, n_labels), "decoding", "is no way to decode")
        return cls(
            kind.name,
            labels,
            extractor,
            index,
            weights,
            section.choice("order", (1, 2)),
            section.record() if "record" in section.manifest else {},
            base,
            decoding.manifest,
            _dictionary(words, n_labels) if words else None,
            vectors,
        )


def _base_model(section: Section) -> HMM:
    from loglin.generative.hmm import HMM

    return HMM.from_section(section)


def _vector_space(section: Section) -> VectorSpace:
    from loglin.features.vectors import VectorSpace

    return VectorSpace.from_section(section)


def _dictionary(section: Section, n_labels: int) -> TagDictionary:
    from loglin.features.dictionary import TagDictionary

    return TagDictionary.from_section(section, n_labels)


def _is_decoding(decoding: Section, n_labels: int) -> bool:
    """Whether a file's way to decode is one that there is."""
    given = decoding.manifest
    known = {"steps", "beam", "scale", "link", "threshold", "constrain", "sums"}
    if not isinstance(given, dict) or given.keys() - known or not isinstance(given.get("constrain", ""), str):
        return False
    if not given:
        return True
    if "sums" in given:
        decoding.choice("sums", SUMS)
    steps = decoding.choice("steps", DECODINGS) if "steps" in given else "global"
    if steps == "independent":
        decoding.choice("link", ("logistic", "identity"))
        threshold = decoding.get("threshold")
        return type(threshold) in (int, float) and math.isfinite(threshold)
    if "beam" in given:
        decoding.whole("beam", least=0)
    return len(decoding.factors("scale")) == n_labels + 1 if "scale" in given else steps != "scaled"
