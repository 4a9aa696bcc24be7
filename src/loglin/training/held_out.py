"""Held-out data that decides when to stop: a score of the weights met so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.corpus.labels import Gold
from loglin.criteria.criterion import Way
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.evaluation.sequences import evaluate
from loglin.features.design import Design
from loglin.models.chain import Model
from loglin.optimize.reporter import Judge

METRICS = ("f1", "likelihood")


@dataclass
class HeldOutLabels:
    """Labelled sentences or examples; labels that training never saw count as errors."""

    design: Design
    gold: Gold
    label_names: list
    metric: str = "f1"
    sequential: bool = True
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise LoglinError(f"dev_metric is {self.metric!r}; choose f1 or likelihood")

    def judge(self, way: Way) -> Judge:
        """Scores the model of any weights."""
        return Judge(lambda weights: self.score(way.model(weights.astype(np.float32))), self.metric)

    def score(self, model: Model) -> float:
        """F1 of the best labels, or the log-likelihood of the gold labels."""
        decoder = Decoder(model, self.threads)
        if self.metric == "f1":
            names = [str(name) for name in self.label_names]
            codes, found = self.gold.codes, decoder.best(self.design)
            return evaluate(codes, found, names, self.design.offsets, tokens_only=not self.sequential).f1
        total, offsets = 0.0, self.design.offsets
        for s, chain in enumerate(decoder.chains(self.design)):
            labels = self.gold.codes[offsets[s] : offsets[s + 1]]
            if (labels < len(model.labels)).all():
                total += chain.score(labels) - chain.partition()
        return total
