"""Text whose labels are hidden: what a dictionary and annotation leave open, and a model's criterion on such text.

words, dictionary, annotation ──► what each token may be ──► sites and chains of lattices
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import Gold
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.dictionary import TagDictionary
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model
from loglin.neighborhoods.named import neighborhood
from loglin.objectives.lattice import LatticeCriterion
from loglin.problems.lattices import LatticeText, TokenTypes, features_and_contrasts
from loglin.threads import Threads


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


def unlabeled_value(model: Model, corpus: Corpus, around: Any = None, threads: int | None = None) -> float:
    """The unpenalized criterion of a model on text without labels, for the choice among models.

    Of contrastive models Σ log p(x | N(x)), with ``around`` another neighborhood than the model's own; of hidden
    Markov models the log-likelihood. Pools hold the words of the training text and of this one.
    """
    if model.dictionary is not None:
        model.dictionary.allowed(corpus.columns[0], corpus.offsets, corpus.source)  # refuses words at their places
    if model.base is not None and len(model.weights):
        raise LoglinError(
            "the model was trained from labels, with a base model, and has no criterion on text without labels; take "
            "one of criterion contrastive, mixture, marginal-likelihood or em"
        )
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
