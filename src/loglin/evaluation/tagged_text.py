"""Taggers compared with the labels of a file, whether the taggers were learned from labels or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.columns import Column, encode_strings
from loglin.corpus.formats import Format, LabelColumn
from loglin.corpus.npy import Rows
from loglin.corpus.tagged import require_certain
from loglin.decoding.chains import Decoder
from loglin.decoding.tagged_text import layout_of, n_tokens
from loglin.evaluation.induced import TaggingReport, tagging_report
from loglin.evaluation.sequences import Evaluation, evaluate
from loglin.features.design import Design


@dataclass(frozen=True)
class Kept:
    """What a pruned search keeps: the share of right labels, and how many labels a token has."""

    right: float
    labels: float

    def as_dict(self) -> dict[str, float]:
        return {"gold_labels_kept": self.right, "labels_per_token": self.labels}

    def report(self) -> str:
        return f"pruning keeps {self.right:.2%} of the right labels, {self.labels:.1f} labels a token"


@dataclass
class Labeled:
    """A file ready to be decoded, and its labels."""

    design: Design
    words: Column  # of attributes the tokens as they print
    gold: np.ndarray  # (tokens,) int32
    names: list  # the model's labels, then those that only the file has

    def evaluation(self, decoder: Decoder) -> Evaluation:
        """Scores of phrases or tokens, as conlleval counts them."""
        return evaluate(self.gold, decoder.best(self.design), [str(n) for n in self.names], self.design.offsets)

    def kept(self, decoder: Decoder) -> Kept:
        """How much of the truth the decoder's search can find; a label that the model never saw is lost."""
        assert decoder.narrowed is not None
        allowed = decoder.narrowed.allowed(self.design)
        known = self.gold < allowed.shape[1]
        right = allowed[np.flatnonzero(known), self.gold[known]].sum() / max(1, len(self.gold))
        return Kept(float(right), float(allowed.sum() / max(1, len(allowed))))

    def report(self, decoder: Decoder, mapping: str = "none", marginals: bool = False) -> TaggingReport:
        """Scores of a tagger learned without labels, with the model's dictionary where there is one."""
        design, allowed, probabilities = self.design, None, None
        if decoder.dictionary is not None and design.corpus is not None:
            allowed = decoder.dictionary.allowed(self.words, design.offsets, design.corpus.source)
        if marginals:
            probabilities = decoder.marginals(design)
        names = [str(name) for name in self.names]
        predicted = decoder.best(design)
        return tagging_report(
            self.gold, predicted, names, self.words, allowed=allowed, mapping=mapping, marginals=probabilities
        )


def _labeled(decoder: Decoder, inputs: Any, distinct: list, codes: np.ndarray, vectors: Rows | None) -> Labeled:
    """Columns, or sentences of attributes, as a Labeled whose token t has the label distinct[codes[t]]."""
    design = decoder.design(inputs, vectors=None if vectors is None else vectors.all(n_tokens(inputs)))
    names = list(dict.fromkeys([*decoder.model.labels, *distinct]))
    number = {name: i for i, name in enumerate(names)}
    gold = np.array([number[y] for y in distinct], np.int32)[codes]
    if design.corpus is not None and design.corpus.columns:
        words = design.corpus.columns[0]
    else:
        words = encode_strings([str(token) for sentence in inputs for token in sentence])
    return Labeled(design, words, gold, names)


def read_labeled(
    decoder: Decoder,
    path: str,
    form: Format,
    encoding: str,
    label_column: LabelColumn = None,
    vectors: Rows | None = None,
) -> Labeled:
    """Read a labelled file to compare the decoder with; ``label_column`` is that of training if it is not given."""
    layout = layout_of(decoder, form, path)
    text = form.labeled(path, encoding, label_column, layout.words, layout)
    if isinstance(text.labels, Column):
        return _labeled(decoder, text.inputs, text.labels.vocabulary.strings, text.labels.codes, vectors)
    require_certain(path, text.labels, "give a certain one to compare with")
    number: dict = {}
    codes = [number.setdefault(y, len(number)) for labels in text.labels for y in labels or ()]
    return _labeled(decoder, text.inputs, list(number), np.array(codes, np.int32), vectors)
