"""What parsing costs: exact CKY beside NLTK's Viterbi parser, passes of training, sentences a second by length.

    python benchmarks/forests.py [--output DIR]

The grammar is counted from 736 sentences of 2 to 15 words of the treebank sample: 393 symbols, 1,309 rules. NLTK's
ViterbiParser gets the same rules, the same root distribution as unary rules of one start symbol, and of the lexicon
what the sentence's words need, with the rest of every tag's probability on a word that does not occur; so it does less
work per sentence than with the whole lexicon. Both find the same probabilities, or the run ends with an error. One
thread, one run, the best of several rounds for loglin; NLTK once. The data are found through LOGLIN_DATA. With
--output, writes forests.json and forests.md.
"""

from __future__ import annotations

import gc
import math
import resource
import time

import numpy as np
from nltk.grammar import PCFG as NltkGrammar
from nltk.grammar import Nonterminal, ProbabilisticProduction
from nltk.parse import ViterbiParser

from loglin import Parser
from loglin.criteria import CRFTrees
from loglin.criteria.trees import likelihood_of_trees
from loglin.decoding.trees import TreeDecoder
from loglin.generative.pcfg import PCFG
from loglin.problems.trees import TreeOptions
from loglin.reproduce.treebank_parsing import splits
from loglin.structures.forest import chart_bytes
from loglin.structures.tree_scores import scores_with
from output import parser_of, report

PEER_LENGTHS, PEER_SENTENCES = (4, 6, 8, 10, 12), 2  # so many test sentences of each length
LENGTHS, TOGETHER, ROUNDS = (5, 10, 15, 20, 30, 40, 60), 40, 5


def best_time(function, rounds: int = ROUNDS) -> float:
    found = math.inf
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        found = min(found, time.perf_counter() - began)
    return found


def nltk_grammar(pcfg: PCFG, words: list[str]) -> NltkGrammar:
    """The same grammar for NLTK, with the words of one sentence and one word for all others."""
    g, top = pcfg.grammar, Nonterminal("TOP")
    symbols = [Nonterminal(f"s{n}") for n in range(g.n_symbols)]
    rules = [
        ProbabilisticProduction(symbols[a], [symbols[b], symbols[c]], prob=math.exp(p))
        for (a, b, c), p in zip(g.binary.tolist(), pcfg.rules.tolist(), strict=True)
    ]
    rules += [
        ProbabilisticProduction(top, [symbols[a]], prob=math.exp(p))
        for a, p in enumerate(pcfg.roots.tolist())
        if p > -math.inf
    ]
    lexicon, rows = pcfg.lexicon, pcfg.lexicon.rows(words)
    left = dict(zip(lexicon.tags.tolist(), lexicon.mass.tolist(), strict=True))
    for row in sorted(set(rows.tolist())):
        for entry in range(lexicon.ptr[row], lexicon.ptr[row + 1]):
            tag, p = int(lexicon.tags[lexicon.columns[entry]]), math.exp(lexicon.log_p[entry])
            left[tag] -= p
            rules.append(ProbabilisticProduction(symbols[tag], [lexicon.text(row)], prob=p))
    rules += [ProbabilisticProduction(symbols[t], ["<others>"], prob=p) for t, p in left.items() if p > 1e-9]
    return NltkGrammar(top, rules)


def against_nltk(parser: Parser, sentences: list[list[str]]) -> list[dict]:
    """Seconds of both and the probability of the best tree, for each sentence."""
    pcfg, found = parser.pcfg_, []
    decoder = TreeDecoder(parser.model_, threads=1)
    decoder.best(sentences[:1])
    for words in sentences:
        terminals = [pcfg.lexicon.text(row) for row in pcfg.lexicon.rows(words).tolist()]
        peer = ViterbiParser(nltk_grammar(pcfg, words))
        began = time.perf_counter()
        theirs = next(iter(peer.parse(terminals)))
        seconds = time.perf_counter() - began
        ours = decoder.best([words])[0]
        if abs(ours.score - math.log(theirs.prob())) > 1e-8:
            raise SystemExit(f"the best trees of {words} have {ours.score} and {math.log(theirs.prob())}")
        quick = best_time(lambda words=words: decoder.best([words]))
        found.append({"words": len(words), "nltk": seconds, "loglin": quick, "log_probability": ours.score})
    return found


def of_length(words: list[str], n: int) -> list[str]:
    return (words * (n // len(words) + 1))[:n]


def by_length(parser: Parser, sentences: list[list[str]]) -> dict[int, float]:
    """Sentences a second, with sentences cut or repeated to each length; attributes and trees included."""
    decoder = TreeDecoder(parser.model_, threads=1)
    found = {}
    for n in LENGTHS:
        batch = [of_length(words, n) for words in sentences[:TOGETHER]]
        decoder.best(batch[:2])
        found[n] = len(batch) / best_time(lambda batch=batch: decoder.best(batch), 3)
    return found


def measured() -> dict:
    split = splits(15, [0])[0]
    sentences = [tree.words() for tree in split.test]
    pcfg = Parser("pcfg", threads=1).fit(split.training)
    g = pcfg.model_.grammar
    chosen = [w for n in PEER_LENGTHS for w in [s for s in sentences if len(s) == n][:PEER_SENTENCES]]
    problem = CRFTrees().problem(split.training, TreeOptions(template="paper", threads=1))
    base = problem.base("pcfg")
    criterion, weights = likelihood_of_trees(problem, base), np.zeros(problem.index.n_features)
    scores = scores_with(problem.index, base, problem.design, weights)
    criterion(weights), problem.forests.best(scores)
    passes = {"inside-outside": math.inf, "viterbi": math.inf, "inside": math.inf}
    for _ in range(ROUNDS):  # in turn, so that a slow moment of the machine meets all
        passes["inside-outside"] = min(passes["inside-outside"], best_time(lambda: criterion(weights), 1))
        passes["viterbi"] = min(passes["viterbi"], best_time(lambda: problem.forests.best(scores), 1))
        passes["inside"] = min(passes["inside"], best_time(lambda: problem.forests.totals(scores), 1))
    began = time.perf_counter()
    mecfg = Parser("mecfg", threads=1).fit(split.training)
    mecfg_seconds = time.perf_counter() - began
    long_parser = Parser("pcfg", threads=1).fit(splits(40, [0])[0].training)
    big = long_parser.model_.grammar
    lengths = {"15": by_length(pcfg, sentences), "40": by_length(long_parser, sentences)}
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    TreeDecoder(long_parser.model_, threads=1).best([of_length(sentences[0], 60)])
    return {
        "symbols": g.n_symbols,
        "rules": g.n_rules,
        "long symbols": big.n_symbols,
        "long rules": big.n_rules,
        "training sentences": len(split.training),
        "peer": against_nltk(pcfg, chosen),
        "passes": passes,
        "mecfg seconds": mecfg_seconds,
        "mecfg iterations": mecfg.model_.record["iterations"],
        "sentences a second": lengths,
        "chart MiB of 60 words": {
            name: {"best": chart_bytes(h, 60).best / 2**20, "sums": chart_bytes(h, 60).sums / 2**20}
            for name, h in (("15", g), ("40", big))
        },
        "peak memory grew by MiB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "longest sentence in 1 GiB": {
            "15": TreeDecoder(pcfg.model_).longest,
            "40": TreeDecoder(long_parser.model_).longest,
        },
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def page(found: dict) -> str:
    peer, passes = found["peer"], found["passes"]
    nltk, ours = sum(row["nltk"] for row in peer), sum(row["loglin"] for row in peer)
    lines = [
        "# Forests",
        "",
        f"Grammar of {found['training sentences']} sentences of at most 15 words: {found['symbols']} symbols, "
        f"{found['rules']:,} binary rules. One thread.",
        "",
        "## Exact CKY beside NLTK's ViterbiParser",
        "",
        "| words | NLTK, seconds | loglin, milliseconds | times as fast | log probability of both |",
        "|---:|---:|---:|---:|---:|",
    ]
    for row in peer:
        lines.append(
            f"| {row['words']} | {row['nltk']:.2f} | {1e3 * row['loglin']:.2f} | {row['nltk'] / row['loglin']:,.0f} | "
            f"{row['log_probability']:.6f} |"
        )
    lines += [
        "",
        f"Together {nltk:.1f} s against {1e3 * ours:.1f} ms: {nltk / ours:,.0f} times.",
        "",
        "## Passes over the training sentences",
        "",
        "| pass | milliseconds |",
        "|---|---:|",
        *(f"| {name} | {1e3 * seconds:.0f} |" for name, seconds in passes.items()),
        "",
        f"Inside–outside with gradient (CRF-CFG) costs {passes['inside-outside'] / passes['viterbi']:.2f} Viterbi "
        f"passes. MECFG trains in {found['mecfg seconds']:.1f} s ({found['mecfg iterations']} iterations) and parses "
        "nothing.",
        "",
        "## Sentences a second by length",
        "",
        f"Best trees, attributes and bracketing included. The larger grammar is counted from sentences of at most 40 "
        f"words: {found['long symbols']:,} symbols, {found['long rules']:,} rules.",
        "",
        f"| words | {found['symbols']} symbols | {found['long symbols']:,} symbols |",
        "|---:|---:|---:|",
    ]
    small, large = found["sentences a second"]["15"], found["sentences a second"]["40"]
    lines += [f"| {n} | {small[n]:,.0f} | {large[n]:,.1f} |" for n in small]
    memory = found["chart MiB of 60 words"]
    lines += [
        "",
        f"The chart of a 60-word sentence takes {memory['15']['best']:.0f} MiB for its best tree with the small "
        f"grammar and {memory['40']['best']:.0f} with the large one ({memory['15']['sums']:.0f} and "
        f"{memory['40']['sums']:.0f} for probabilities); the process grew by "
        f"{found['peak memory grew by MiB']:.0f} MiB at most. Within the default "
        f"limit of 1 GiB a sentence may have {found['longest sentence in 1 GiB']['15']} and "
        f"{found['longest sentence in 1 GiB']['40']} words; longer ones are flagged, not parsed. Peak memory of the "
        f"whole run {found['peak_memory_mb']:.0f} MB.",
        "",
        "Made by `python benchmarks/forests.py`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    given = parser_of(__doc__).parse_args()
    found = measured()
    report(given.output, "forests", page(found), found)


if __name__ == "__main__":
    main()
