"""How the time of a pass grows with the data: CoNLL-2000 once, and four times with distinct words.

    python benchmarks/scaling.py

With --output, writes scaling.md.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

from crf import TEMPLATE
from loglin.corpus import conll
from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import gold_of_column
from loglin.corpus.vocabulary import Vocabulary
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.template import parse_templates
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.threads import Threads
from output import parser_of, report

ROUNDS = 10


def repeated(corpus: Corpus, times: int) -> Corpus:
    """The corpus several times over, with words of its own each time."""
    words, tags, labels = corpus.columns
    names = words.vocabulary.strings
    vocabulary = Vocabulary.of(f"{name}_{k}" if k else name for k in range(times) for name in names)
    codes = np.concatenate([words.codes + np.int32(k * len(names)) for k in range(times)])
    offsets = np.concatenate([[0], *(corpus.offsets[1:] + k * corpus.n_tokens for k in range(times))])
    rest = [Column(np.tile(c.codes, times), c.vocabulary) for c in (tags, labels)]
    return Corpus([Column(codes, vocabulary), *rest], offsets.astype(np.int64))


def main() -> None:
    given = parser_of(__doc__).parse_args()
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds conll2000")
    corpus = conll.read(Path(os.environ["LOGLIN_DATA"]) / "conll2000" / "train.txt")
    lines = ["| threads | features × 1 / × 4 | seconds a pass × 1 | × 4 | ratio |", "|---|---|---|---|---|"]
    for threads in (1, 2):
        passes = {}
        for times in (1, 4):
            data = repeated(corpus, times)
            design = TemplateExtractor(parse_templates(TEMPLATE)).fit(Corpus(data.columns[:2], data.offsets))
            _, gold = gold_of_column(data.columns[2])
            index = build_index(design, gold, False, True, 1)
            passes[times] = ConditionalLikelihood(design, gold, index, None, np.float32, Threads(threads))
        seconds: dict[int, list[float]] = {1: [], 4: []}
        for _ in range(ROUNDS):  # in turn, so that both meet the same machine
            for times, criterion in passes.items():
                weights = np.zeros(criterion.n_features)
                criterion(weights)
                began = time.perf_counter()
                criterion(weights)
                seconds[times].append(time.perf_counter() - began)
        one, four = (float(np.median(seconds[k])) for k in (1, 4))
        sizes = " / ".join(f"{passes[k].n_features:,}" for k in (1, 4))
        lines.append(f"| {threads} | {sizes} | {one:.4f} | {four:.4f} | {four / one:.2f} |")
    report(given.output, "scaling", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
