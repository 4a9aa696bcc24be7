"""Taggers compared with the labels of a file: learnt from labels, or without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus import conll
from loglin.corpus.columns import Column, encode_strings
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.evaluation.induced import TaggingReport, tagging_report
from loglin.evaluation.sequences import Evaluation, evaluate
from loglin.features.design import Design
from loglin.training.tagger_files import (
    batches,
    feature_columns,
    object_inputs,
    require_certain,
    require_templates,
    text_corpus,
    without_column,
)


@dataclass
class Labeled:
    """A file ready to be decoded, and its labels."""

    design: Design
    words: Column  # of attributes the tokens as they print
    gold: np.ndarray  # (tokens,) int32
    names: list  # the model's labels, then those that only the file has

    def evaluation(self, decoder: Decoder) -> Evaluation:
        """Phrases or tokens, as conlleval counts them."""
        return evaluate(self.gold, decoder.best(self.design), [str(n) for n in self.names], self.design.offsets)

    def report(self, decoder: Decoder, mapping: str = "none", marginals: bool = False) -> TaggingReport:
        """What a tagger learnt without labels gets right, with the model's dictionary where there is one."""
        design, allowed, probabilities = self.design, None, None
        if decoder.dictionary is not None and design.corpus is not None:
            allowed = decoder.dictionary.allowed(self.words, design.offsets, design.corpus.source)
        if marginals:
            rows = [chain.marginals() for chain in decoder.chains(design)]
            probabilities = np.concatenate([*rows, np.empty((0, len(decoder.model.labels)))])
        names = [str(name) for name in self.names]
        predicted = decoder.best(design)
        return tagging_report(
            self.gold, predicted, names, self.words, allowed=allowed, mapping=mapping, marginals=probabilities
        )


def _labeled(decoder: Decoder, inputs: Any, distinct: list, codes: np.ndarray) -> Labeled:
    """Columns, or sentences of attributes, whose tokens have the labels distinct[codes]."""
    design = decoder.design(inputs)
    names = list(dict.fromkeys([*decoder.model.labels, *distinct]))
    number = {name: i for i, name in enumerate(names)}
    gold = np.array([number[y] for y in distinct], np.int32)[codes]
    if design.corpus is not None and design.corpus.columns:
        words = design.corpus.columns[0]
    else:
        words = encode_strings([str(token) for sentence in inputs for token in sentence])
    return Labeled(design, words, gold, names)


def read_labeled(decoder: Decoder, path: str, kind: str, encoding: str, label_column: int | None = None) -> Labeled:
    """A labelled file of any format; ``label_column`` is that of training if it is not given."""
    if kind == "conll":
        require_templates(decoder, path)
        corpus = conll.read(path, encoding)
        inputs = feature_columns(decoder, corpus)
        if len(inputs.columns) == len(corpus.columns):
            raise LoglinError(
                f"{path} has {len(corpus.columns)} columns and the model was trained on "
                f"{decoder.model.record.get('columns')}: the labels to compare with are missing; add their column"
            )
        recorded = decoder.model.record.get("label_column", -1)  # checked by feature_columns
        column = corpus.column(recorded if label_column is None else label_column)
        return _labeled(decoder, inputs, column.vocabulary.strings, column.codes)
    if kind == "text":
        require_templates(decoder, path)
        corpus = text_corpus(path, encoding, tagged=True)
        column = corpus.columns[1]
        return _labeled(decoder, without_column(corpus, 1), column.vocabulary.strings, column.codes)
    batch = [pair for batch in batches(path, kind, encoding) for pair in batch]
    if not batch or any(labels is None for labels, _ in batch):
        raise LoglinError(f'{path} lacks labels to compare with; give "labels" for every sentence')
    require_certain(path, [labels for labels, _ in batch], "give a certain one to compare with")
    number: dict = {}
    codes = [number.setdefault(y, len(number)) for labels, _ in batch for y in labels or ()]
    return _labeled(decoder, object_inputs(decoder, batch, path), list(number), np.array(codes, np.int32))
