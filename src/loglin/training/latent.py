"""Learning where labels are hidden: from a dictionary and text to weights, by criteria on lattices or by EM.

dictionary ──► what each word may be ──► features, sites, lattices ──► starts, annealing rounds ──► the best weights
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.sparse.linalg import lsqr

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import Gold
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.dictionary import TagDictionary
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model
from loglin.neighborhoods.named import Everything, Neighborhood, neighborhood
from loglin.objectives.lattice import LatticeCriterion, LatticeFeatures
from loglin.optimize.fit import fit_weights
from loglin.optimize.record import Callback, Iteration, Result, StopTraining
from loglin.optimize.solvers import solve_by
from loglin.problems.lattices import LatticeText, TokenTypes, features_and_contrasts
from loglin.problems.problem import Problem
from loglin.threads import Threads
from loglin.training.watch import Watch

DIVERGED = 50.0  # without a prior, a weight of this size has no optimum near
CERTAIN = 0.01  # without a prior, so small a mean of −log p(x | N(x)) goes to 0
MEMORY = 10
ROUGH = 10.0  # annealing rounds before the last end with a tolerance so many times larger


def corpus_of(design: Design) -> Corpus:
    if design.corpus is None:
        raise LoglinError(
            "hidden labels are learnt from words, but the tokens are ready-made attributes; give words and a template"
        )
    empty = np.flatnonzero(np.diff(design.corpus.offsets) == 0)
    if len(empty):
        raise LoglinError(f"{design.corpus.source}: sentence {empty[0]} has no words; leave it out")
    return design.corpus


def possible_labels(corpus: Corpus, dictionary: TagDictionary | None, n_labels: int) -> Gold:
    """What the dictionary allows each token, as partial labels."""
    if dictionary is None:
        return Gold.hidden(corpus.n_tokens, n_labels)
    column = corpus.columns[0]
    words, of_token = np.unique(column.codes, return_inverse=True)
    allowed = dictionary.allowed(Column(words, column.vocabulary), source=corpus.source)
    sets, of_word = np.unique(allowed, axis=0, return_inverse=True)
    codes = ~(1 + of_word.reshape(-1)[of_token.reshape(-1)]).astype(np.int32)
    return Gold(codes, n_labels, np.concatenate([np.ones((1, n_labels), bool), sets]), np.empty(0, np.int32))


def lattice_text(
    types: TokenTypes, offsets: np.ndarray, dictionary: TagDictionary | None, gold: Gold | None, n_labels: int
) -> LatticeText:
    """Sentences with what dictionary and annotation allow."""
    column = types.corpus.columns[0]
    allowed = np.ones((types.n, n_labels), bool)
    if dictionary is not None:
        allowed = dictionary.allowed(column, source=types.corpus.source)
    said = gold.allowed() if gold is not None and gold.annotated.any() else None
    return LatticeText.of(types, offsets, allowed, said)


def labeled_sentences(gold: Gold, offsets: np.ndarray) -> np.ndarray:
    """Sentences with some annotation: (sentences,) bool."""
    said = np.concatenate([[0], np.cumsum(gold.annotated)])
    return said[offsets[1:]] > said[offsets[:-1]]


def check_held(held: Corpus, corpus: Corpus, dictionary: TagDictionary | None) -> None:
    """Refuse held-out text that the trained model could not be judged by, before it is trained."""
    if not held.n_tokens:
        raise LoglinError(f"{held.source} holds no words to judge by; give at least one sentence")
    if len(held.columns) != len(corpus.columns):
        raise LoglinError(
            f"{held.source} has {len(held.columns)} columns, the training text {len(corpus.columns)}; give the same, "
            "without labels"
        )
    empty = np.flatnonzero(np.diff(held.offsets) == 0)
    if len(empty):
        raise LoglinError(f"{held.source}: sentence {empty[0]} has no words; leave it out")
    if dictionary is not None:
        dictionary.allowed(held.columns[0], held.offsets, held.source)


def neighborhood_of(options: Any) -> Neighborhood:
    if options.criterion == "marginal-likelihood":
        return Everything()
    return neighborhood("trans1" if options.neighborhood is None else options.neighborhood)


def lattice_criterion(
    settings: dict, problem: Problem, dictionary: TagDictionary | None, options: Any
) -> LatticeCriterion:
    """The criterion that the options name, on the problem's text."""
    corpus, hidden = corpus_of(problem.design), problem.hidden
    assert hidden is not None
    types = TokenTypes.of(corpus)
    text = lattice_text(types, corpus.offsets, dictionary, hidden, problem.index.n_labels)
    weight = np.ones(corpus.n_sentences) if problem.weight is None else problem.weight.copy()
    labeled = np.zeros(corpus.n_sentences, bool)
    if options.criterion == "mixture":
        labeled = labeled_sentences(hidden, corpus.offsets)
        if not labeled.any():
            raise LoglinError("criterion mixture needs some labelled sentences; for none take criterion contrastive")
        weight[~labeled] *= settings["weight"]
    features, contrasts = features_and_contrasts(
        text,
        problem.extractor,
        problem.index,
        problem.order,
        neighborhood_of(options),
        labeled,
        weight,
        problem.labels,
    )
    return LatticeCriterion(features, contrasts, problem.threads)


def solve_latent(
    settings: dict, problem: Problem, options: Any, dictionary: TagDictionary | None, first, watch: Watch, interrupted
) -> Result:
    """Weights from one start or the best of several; the first is at zero unless that is a saddle."""
    if settings["starts"] < 1:
        raise LoglinError("starts is 0; give at least one")
    if not 0 < settings["annealing"] <= 1 or settings["annealing_rate"] <= 1:
        raise LoglinError(
            f"annealing is {settings['annealing']} and its rate {settings['annealing_rate']}; give a β above 0 and at "
            "most 1, and a rate above 1"
        )
    criterion, rng = lattice_criterion(settings, problem, dictionary, options), np.random.default_rng(problem.seed)
    zero = np.zeros(criterion.n_features)
    if isinstance(neighborhood_of(options), Everything):
        zero = _convergent(criterion.features)
    noise = (settings["deviation"] * rng.standard_normal(len(zero)) for _ in range(settings["starts"]))
    blind = dictionary is None and not _sees_labels(problem)
    starts = (
        first if first is not None and n == 0 else zero + (drawn if n or blind else 0.0)
        for n, drawn in enumerate(noise)
    )

    def solve(weights: np.ndarray, follow: Callback, ended: Callable[[], str | None]) -> Result:
        return _rounds(criterion, weights, settings, problem, options, follow, ended)

    best = best_of_starts(starts, solve, watch, interrupted)
    report_divergence(best, (problem.l1 == 0) & (problem.l2 == 0), problem.design.n_sentences)
    return best


def best_of_starts(
    starts: Iterable[np.ndarray],
    solve: Callable[[np.ndarray, Callback, Callable[[], str | None]], Result],  # weights, a callback, whether to end
    watch: Callback,
    interrupted: Callable[[], str | None],
) -> Result:
    """The result with the lowest value; a stop that the user or a callback asks for ends this start and all others."""
    results: list[Result] = []
    halted: list[str] = []

    def follow(iteration: Iteration, weights: np.ndarray) -> None:
        try:
            watch(iteration, weights)
        except StopTraining as stop:
            halted.append(str(stop))
            raise

    def ended() -> str | None:
        return halted[0] if halted else interrupted()

    for weights in starts:
        results.append(solve(weights, follow, ended))
        if ended():
            break
    best = min(results, key=lambda r: r.value)
    if (reason := ended()) and best is not results[-1]:
        best.stopped, best.converged = f"{reason}; {best.stopped}", False
    if len(results) > 1:
        values = ", ".join(f"{-r.value:,.2f}" for r in results)
        best.stopped += f"; the best of {len(results)} starts ({values})"
    return best


def _sees_labels(problem: Problem) -> bool:
    """Whether any annotation tells the labels apart; without it all weights zero are a saddle."""
    return problem.hidden is not None and bool(problem.hidden.annotated.any())


def _rounds(criterion: LatticeCriterion, weights, settings: dict, problem: Problem, options: Any, follow, ended):
    """From the first β up to 1, each round from the weights of the one before."""
    beta, passed = settings["annealing"], Result(weights, 0.0, "", False)
    while True:
        criterion.beta, last = beta, beta == 1.0
        tol = options.tol * (1.0 if last else ROUGH)
        limits: dict[str, Any] = {"l1": problem.l1, "l2": problem.l2, "max_iter": options.max_iter, "tol": tol}
        limits |= {"seed": options.seed, "callback": follow, "stop": ended}
        if options.optimizer in ("auto", "lbfgs"):
            plain: dict[str, Any] = {"warm_start": False, "scaled": False, "dtype": "float64", "memory": MEMORY}
            result = fit_weights(lambda dtype: criterion, start=weights, **plain, **limits)
        else:
            result = solve_by(options.optimizer, criterion, weights, **limits)
        weights = result.weights
        result.iterations = passed.iterations + result.iterations
        result.evaluations += passed.evaluations
        passed = result
        if last:
            return result
        if ended():
            criterion.beta = 1.0  # so that starts are compared by the same objective
            penalty = problem.l1 @ np.abs(weights) + 0.5 * problem.l2 @ weights**2
            result.value = criterion(weights)[0] + float(penalty)
            return result
        beta = min(1.0, beta * settings["annealing_rate"])


def _convergent(features: LatticeFeatures) -> np.ndarray:
    """Small weights whose sum over all sentences converges: (word, label) at 1 / ((L + 1) · words of the label)."""
    L, labels = features.sites.n_labels, features.sites.labels
    target = -np.log((L + 1) * np.bincount(labels, minlength=L)[labels])
    return lsqr(features.entries, target, atol=1e-10, btol=1e-10)[0]


def report_divergence(result: Result, free: np.ndarray, n_sentences: int) -> None:
    """Without a prior, neighborhoods that delete words push some of the free weights (features,) without end."""
    largest = float(np.abs(result.weights[free]).max(initial=0.0))
    certain = bool(free.all()) and largest > 0 and result.value < CERTAIN * n_sentences
    if largest > DIVERGED or certain:
        result.converged = False
        how = f"the largest to {largest:.0f}" if not certain else "until every sentence is certain among its neighbors"
        result.unbounded = f"without a prior weights grow without end, {how}; give l2 above 0, 1 / variance"
        result.stopped += f"; {result.unbounded}"


# ---------------------------------------------------------------------- other text


def unlabeled_value(model: Model, corpus: Corpus, around: Any = None, threads: int | None = None) -> float:
    """The unpenalized criterion of a model on text without labels, for the choice among models.

    Of contrastive models Σ log p(x | N(x)), with ``around`` another neighborhood than the model's own; of hidden
    Markov models the log-likelihood. Pools hold the words of the training text and of this one.
    """
    if model.dictionary is not None:
        model.dictionary.allowed(corpus.columns[0], corpus.offsets, corpus.source)  # refuses words at their places
    if model.base is not None:
        return likelihood_of(model, corpus, threads)
    if not isinstance(model.extractor, TemplateExtractor):
        raise LoglinError("the model looks at attributes, and neighbors are made of words; train it with a template")
    if around is None:
        around = model.record.get("neighborhood", "trans1")
    corpora = [corpus]
    if len(corpus.columns) == 1 and (known := model.extractor.vocabularies.get((0, "x", ()))) is not None:
        corpora.append(
            Corpus([Column(np.arange(len(known), dtype=np.int32), known)], np.array([0, len(known)]), "training")
        )
    types = TokenTypes.of(*corpora)
    L = model.index.n_labels
    text = lattice_text(types, corpus.offsets, model.dictionary, None, L)
    labeled, weight = np.zeros(corpus.n_sentences, bool), np.ones(corpus.n_sentences)
    features, contrasts = features_and_contrasts(
        text, model.extractor, model.index, model.order, neighborhood(around), labeled, weight, model.labels
    )
    return LatticeCriterion(features, contrasts, Threads(threads)).value(model.weights)


def likelihood_of(model: Model, corpus: Corpus, threads: int | None = None) -> float:
    """log p(x) of a text under a hidden Markov model, each word with the labels of the dictionary."""
    assert model.base is not None
    types = TokenTypes.of(corpus)
    text = lattice_text(types, corpus.offsets, model.dictionary, None, model.index.n_labels)
    site = np.repeat(np.arange(types.n), np.diff(text.sites.ptr))
    E = model.base.emission_scores(types.corpus)[site, text.sites.labels]
    chains = text.chains(model.base.order)
    return float(chains.totals(model.base.steps(), E, None, Threads(threads)).partitions.sum())
