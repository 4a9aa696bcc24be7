"""Training a parser by each of the criteria: annotated trees in, a model out.

    pcfg           counted rules and words, nothing optimized
    mecfg          every rule given its symbol and span, normalized there (Sutton, McCallum 2005, §5)
    piecewise      the same with none-of-the-above instances from mistaken edges of charts: PT-CFG
    crf            whole trees given their sentences: CRF-CFG
    perceptron     whole trees, one sentence after the other, averaged
    m-estimation   without any parsing, on top of a PCFG (Smith, Vail, Lafferty 2007, §4.1.2)

What learns from sentences without trees, em, contrastive and mixture, is in training/parser_latent.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from loglin.corpus.trees import Tree
from loglin.criteria.m_estimation import check_bounded
from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.generative.tree_feature_expectations import expected_features
from loglin.models.parser import LOCAL, ParserModel
from loglin.objectives.expansions import ExpansionCriterion, Expansions, nota_instances
from loglin.objectives.exponential import ExponentialLoss
from loglin.objectives.tree_perceptron import TreePerceptron
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.structures.tree_scores import scores_with
from loglin.training.parser_latent import train_hidden
from loglin.training.parser_options import HIDDEN, ParserOptions
from loglin.training.parser_problem import TreeProblem, tree_problem
from loglin.training.parser_solving import Callback, Follow, Trained, fitted, likelihood, record_of
from loglin.training.watch import interruptible

EPOCHS = 10  # of the perceptron


def train_parser(
    trees: Sequence[Tree],
    options: ParserOptions,
    callback: Callback | None = None,
    sentences: Sequence[Sequence[str]] = (),  # without trees
) -> ParserModel:
    """A model by the criterion of the options."""
    began = time.perf_counter()
    with interruptible() as interrupted:
        follow = Follow(callback, interrupted)
        if options.criterion in HIDDEN:
            model, result, lengths = train_hidden(trees, sentences, options, follow)
        else:
            model, result, lengths = _train(trees, sentences, options, follow)
    model.record |= record_of(options, model, lengths, result, time.perf_counter() - began)
    return model


def _train(trees: Sequence[Tree], sentences: Sequence, options: ParserOptions, follow: Follow) -> Trained:
    if sentences:
        raise LoglinError(
            f"criterion {options.criterion} learns from trees alone, and {len(sentences)} sentences have none; leave "
            "them out, or take criterion mixture, em or contrastive"
        )
    problem = tree_problem(trees, options, None if options.grammar is None else PCFG.read(options.grammar))
    model, result = _METHODS[options.criterion](problem, follow)
    return model, result, problem.uses.lengths.tolist()


def _count(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    weights = np.zeros(problem.index.n_features)
    loss = -float(sum(problem.pcfg.log_probability(tree) for tree in problem.trees))
    result = Result(weights, loss, "rules were counted", True)
    return problem.model(weights, problem.base("pcfg")), result


def _expansions(problem: TreeProblem) -> Expansions:
    if problem.span_design is None:
        raise LoglinError(
            f"criterion {problem.options.criterion} looks at spans, but the template has none of them; add lines such "
            "as R01:%first[0], or take the template paper"
        )
    return Expansions.of_trees(problem.span_design, problem.uses.nodes)


def _mecfg(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    result = fitted(_locally(problem, _expansions(problem)), problem.options, follow)
    return problem.model(result.weights, problem.base("roots"), "local"), result


def _locally(problem: TreeProblem, instances: Expansions, nota: bool = False) -> ExpansionCriterion:
    grammar, index = problem.pcfg.grammar, problem.index
    return ExpansionCriterion(grammar, index.spans, instances, nota, index.n_features, problem.threads)


def _piecewise(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    """MECFG for some iterations, then none of the above for the chart edges that it mistakes."""
    settings, right = problem.options.checked, _expansions(problem)
    first = fitted(_locally(problem, right), problem.options, follow, max_iter=settings["iterations"])
    wrong = mistaken_edges(problem, first.weights, settings["threshold"])
    criterion = _locally(problem, Expansions.joined([right, wrong]), nota=True)
    result = fitted(criterion, problem.options, follow, first.weights)
    model = problem.model(result.weights, problem.base("roots"), settings["decoding"])
    model.record |= {"nota_instances": len(wrong.rules), "distinct_instances": criterion.n_instances}
    return model, result


def mistaken_edges(problem: TreeProblem, weights: np.ndarray, threshold: float) -> Expansions:
    """Edges outside the gold trees that score within ``threshold`` of the best of their length."""
    assert problem.span_design is not None
    forests, nodes, lengths = problem.forests, problem.uses.nodes, problem.uses.lengths
    scores = scores_with(problem.index, problem.base("roots"), problem.design, weights, LOCAL["local"])
    found = []
    ends = np.searchsorted(nodes.sentences, np.arange(len(lengths) + 1))
    for s, (b, e) in enumerate(pairwise(ends.tolist())):
        chart = forests.best_chart(s, scores).chart
        gold = nodes.symbols[b:e], nodes.begins[b:e], nodes.ends[b:e]
        edges = nota_instances(chart, int(lengths[s]), gold, threshold)
        found.append(Expansions.of_edges(problem.span_design, s, *edges))
    return Expansions.joined(found)


def _crf(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    base = problem.base(problem.options.checked["base"])
    result = fitted(likelihood(problem, base), problem.options, follow)
    return problem.model(result.weights, base), result


def _perceptron(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    """For every sentence whose best tree is wrong, w += f(right tree) − f(best tree)."""
    options, base = problem.options, problem.base(problem.options.checked["base"])
    learner = TreePerceptron(problem.index, base, problem.design, problem.uses, problem.features)
    epochs = EPOCHS if options.max_iter == ParserOptions.max_iter else options.max_iter
    history: list[Iteration] = []
    stopped, began, rng = (
        f"max_iter = {epochs} epochs were done",
        time.perf_counter(),
        np.random.default_rng(options.seed),
    )
    for epoch in range(1, epochs + 1):
        mistakes = learner.epoch(rng.permutation(len(problem.trees)), follow.interrupted)
        active = int(np.count_nonzero(learner.weights))
        history.append(Iteration(epoch, float(mistakes), 0.0, active, epoch, time.perf_counter() - began))
        try:
            follow(history[-1], learner.weights)
            reason = follow.interrupted()
        except StopTraining as stop:
            reason = str(stop)
        reason = reason or ("an epoch went over all trees without a mistake" if mistakes == 0 else None)
        if reason:
            stopped = reason
            break
    weights = learner.average() if options.checked["averaged"] else learner.weights
    return problem.model(weights, base), Result(weights, history[-1].value, stopped, True, history, len(history))


def _m_estimation(problem: TreeProblem, follow: Follow) -> tuple[ParserModel, Result]:
    """1/n Σ exp(−w·f) + w·E[f]: one pass over the grammar for E, and then no trees but the annotated ones."""
    options, F = problem.options, problem.features
    impossible = next((n for n, t in enumerate(problem.trees) if problem.pcfg.log_probability(t) == -np.inf), None)
    if impossible is not None:
        raise LoglinError(
            f"tree {impossible} of those to learn from has probability zero in the grammar, the base model of "
            "M-estimation; add its words to the grammar's file, or count the grammar"
        )
    began = time.perf_counter()
    expected = expected_features(problem.pcfg, problem.index, problem.tokens, problem.spans)
    seconds = time.perf_counter() - began
    lists = F.indptr.astype(np.int64), F.indices.astype(np.uint32), F.data
    loss = ExponentialLoss(lists, expected, dtype=np.float64, threads=problem.threads)
    if not options.l2:
        check_bounded(loss, options.l1)
    result = fitted(loss, options, follow)
    model = problem.model(result.weights, problem.base("pcfg" if options.checked["keep_base"] else "lexicon"))
    model.record |= {"expectation_seconds": round(seconds, 3)}
    return model, result


_METHODS: dict[str, Callable[[TreeProblem, Follow], tuple[ParserModel, Result]]] = {
    "pcfg": _count,
    "mecfg": _mecfg,
    "piecewise": _piecewise,
    "crf": _crf,
    "perceptron": _perceptron,
    "m-estimation": _m_estimation,
}
