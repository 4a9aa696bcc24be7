"""What learning without labels costs: contrastive gradients and EM steps on the treebank sample, in one run.

    python benchmarks/lattices.py [--output DIR]

24,020 words, 45 tags, the dictionary of all words, order 2, the template `trigram`. A gradient is a whole evaluation of
the criterion, from weights to value and gradient; an EM step is expectation and maximization. The best of ten rounds
is taken, in each of which all run five times in a row. Growth: the same sentences four times. hmmlearn: one EM step of
order 1 with 45 nameless states on the same words, scaled, not in logarithms, which is its quicker way. The data are
found through LOGLIN_DATA. With --output, writes lattices.json and lattices.md.
"""

from __future__ import annotations

import logging
import resource
import time
from functools import partial

import numpy as np

from loglin import Tagger
from loglin.corpus import datasets
from loglin.corpus.columns import Corpus, from_sentences
from loglin.features.dictionary import TagDictionary, dictionary_of
from loglin.objectives.lattice import Neighbors
from loglin.problems.hidden import lattice_text
from loglin.problems.hidden_chains import HiddenText
from loglin.problems.lattices import TokenTypes
from loglin.threads import Threads
from output import parser_of, report

WORDS, ROUNDS, IN_A_ROW = 24_000, 10, 5
NEIGHBORHOODS = ("trans1", "delortrans1", "del1word", "del1subseq", "length")


def best_of_rounds(functions: dict, rounds: int = ROUNDS) -> dict:
    """The best time of each; in every round all run, so that a slow moment of the machine meets all alike.

    Each runs a few times in a row, as in training, so that caches and threads are warm.
    """
    found = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            for _ in range(IN_A_ROW):
                began = time.perf_counter()
                function()
                found[name] = min(found[name], time.perf_counter() - began)
    return found


def treebank() -> tuple[list[list[str]], list, TagDictionary]:
    corpus = datasets.load("treebank")
    mapping: dict[str, dict[str, None]] = {}
    for sentence in corpus.sentences():
        for word, tag in sentence:
            mapping.setdefault(word, {})[tag] = None
    names, dictionary = dictionary_of(mapping)
    end = int(np.searchsorted(corpus.offsets, WORDS))
    return [[word for word, _ in s] for s in corpus.sentences()[:end]], names, dictionary


def gradient(corpus: Corpus, names: list, dictionary: TagDictionary, around: str, threads: int):
    """A criterion at weights that are not zero."""
    tagger = Tagger("contrastive", dictionary=(names, dictionary), neighborhood=around, threads=threads)
    criterion = tagger.chosen_criterion().objective(tagger.problem(corpus))
    weights = 0.5 * np.random.default_rng(0).standard_normal(criterion.n_features)
    return criterion, weights


def em_step(corpus: Corpus, names: list, dictionary: TagDictionary | None, order: int, threads: int):
    types = TokenTypes.of(corpus)
    text = lattice_text(types, corpus.offsets, dictionary, None, len(names))
    hidden = HiddenText(text, names, order, None, 0.1, None, Threads(threads))
    hmm = hidden.start("random", np.random.default_rng(0))
    return lambda: hidden.maximized(hidden.expected(hmm, 1.0)[1])


def hmmlearn_step(corpus: Corpus, states: int):
    from hmmlearn.hmm import CategoricalHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    codes, lengths = corpus.columns[0].codes.astype(np.int64)[:, None], np.diff(corpus.offsets)
    rng, V = np.random.default_rng(0), int(codes.max()) + 1
    model = CategoricalHMM(states, n_iter=1, tol=-np.inf, init_params="", implementation="scaling")
    model.startprob_, model.n_features = np.full(states, 1 / states), V
    model.transmat_ = np.full((states, states), 1 / states)
    model.emissionprob_ = rng.dirichlet(np.ones(V), states)
    return lambda: model.fit(codes, lengths)


def measured() -> dict:
    sentences, names, dictionary = treebank()
    small, large = from_sentences(sentences), from_sentences(sentences * 4)
    functions: dict = {"EM": em_step(small, names, dictionary, 2, 1)}
    arcs = {}
    for around in NEIGHBORHOODS:
        criterion, weights = gradient(small, names, dictionary, around, 1)
        functions[around] = partial(criterion, weights)
        (contrast,) = criterion.contrasts
        arcs[around] = contrast.against.lattices.n_arcs  # type: ignore[attr-defined]
        arcs[around] += 0 if isinstance(contrast.against, Neighbors) else contrast.observed.n_arcs
    for name, corpus, threads in (("two threads", small, 2), ("four times", large, 1), ("four times, two", large, 2)):
        functions[name] = partial(*gradient(corpus, names, dictionary, "trans1", threads))
    functions["free words"] = em_step(small, [f"L{i}" for i in range(45)], None, 1, 1)
    functions["hmmlearn"] = hmmlearn_step(small, 45)
    times = best_of_rounds(functions)
    return {
        "words": small.n_tokens,
        "sentences": small.n_sentences,
        "em": times["EM"],
        "gradients": {
            around: {
                "seconds": times[around],
                "em steps": times[around] / times["EM"],
                "label arcs": arcs[around],
                "million label arcs a second": arcs[around] / times[around] / 1e6,
            }
            for around in NEIGHBORHOODS
        },
        "growth": times["four times"] / times["trans1"],
        "threads": {
            "24K": times["trans1"] / times["two threads"],
            "96K": times["four times"] / times["four times, two"],
        },
        "hmmlearn": {name: times[name] for name in ("free words", "hmmlearn")},
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def page(found: dict) -> str:
    em = found["em"]
    lines = [
        "# Lattices",
        "",
        f"{found['words']:,} words, {found['sentences']:,} sentences of the treebank sample, 45 tags, order 2; one "
        "thread.",
        "",
        "| | milliseconds | EM steps | label arcs | million label arcs a second |",
        "|---|---:|---:|---:|---:|",
        f"| EM step | {1e3 * em:.1f} | 1 | | |",
    ]
    for name, row in found["gradients"].items():
        lines.append(
            f"| {name} | {1e3 * row['seconds']:.1f} | {row['em steps']:.2f} | {row['label arcs']:,} | "
            f"{row['million label arcs a second']:.0f} |"
        )
    threads, peer = found["threads"], found["hmmlearn"]
    lines += [
        "",
        f"Four times the data take {found['growth']:.2f} times as long (trans1). Two threads "
        f"are {threads['24K']:.2f} times as fast as one at 24,000 words, {threads['96K']:.2f} times at 96,000.",
        "",
        f"One EM step of order 1 with 45 nameless states and every word free: {1e3 * peer['free words']:.0f} ms, "
        f"hmmlearn {1e3 * peer['hmmlearn']:.0f} ms ({peer['hmmlearn'] / peer['free words']:.1f} times as long). Peak "
        f"memory of the whole run {found['peak_memory_mb']:.0f} MB.",
        "",
        "Made by `python benchmarks/lattices.py`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    given = parser_of(__doc__).parse_args()
    found = measured()
    report(given.output, "lattices", page(found), found)


if __name__ == "__main__":
    main()
