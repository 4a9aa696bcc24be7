"""A tagger's parameters and data as a training problem; imported when something is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.embeddings import embeddings_of
from loglin.corpus.labels import Gold, gold_of, gold_of_sequences
from loglin.criteria.criterion import Criterion
from loglin.criteria.hidden import HiddenLabels
from loglin.errors import LoglinError
from loglin.estimators.given import (
    ATTRIBUTES,
    COLUMNS,
    WORDS,
    again,
    certain_labels,
    form_of,
    label_sequences,
    warn_of_lists,
)
from loglin.estimators.strength import first_l2, sequences_of
from loglin.features.attributes import AttributeExtractor
from loglin.features.extract import TemplateExtractor
from loglin.features.like import check_like, takes_attributes
from loglin.features.read import read_templates
from loglin.features.vectors import VectorSpace, vectors_of, with_vectors
from loglin.optimize.run import check_whole
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions, hidden_labels, with_dictionary_labels
from loglin.threads import Threads
from loglin.training.held_out import METRICS, HeldOutLabels

if TYPE_CHECKING:
    from loglin.estimators.tagger import Tagger


def hides_labels(chosen: Criterion) -> TypeGuard[HiddenLabels]:
    """Whether a criterion learns from text whose labels are hidden."""
    return isinstance(chosen, HiddenLabels)


def check_parameters(tagger: Tagger, chosen: Criterion) -> None:
    """Refuse wrong parameters before any data are read."""
    check_like(tagger.like)
    _ = tagger.splits
    check_whole("min_count", tagger.min_count, 1)
    if takes_attributes(tagger.like):
        check_whole("cutoff", tagger.cutoff, 1)
    options_of(tagger, chosen, None)
    if tagger.embeddings is not None and not isinstance(tagger.embeddings, Mapping):
        raise LoglinError(f"embeddings are {tagger.embeddings!r:.60}; give a dict of names and files")
    if tagger.like is not None and hides_labels(chosen):
        raise LoglinError(
            f"criterion {chosen.name} learns from hidden labels, which {tagger.like} cannot; leave it out"
        )
    if tagger.dev_metric not in METRICS:
        raise LoglinError(f"dev_metric is {tagger.dev_metric!r}; choose {' or '.join(METRICS)}")


def problem_of(
    tagger: Tagger, X: Any, y: Any, sample_weight: Sequence[float] | None, vectors: Any = None
) -> ChainProblem:
    """The training problem of sentences and labels."""
    chosen = tagger.chosen_criterion()
    sentences, y = tagger.sentences_of(X), label_sequences(y)
    options = options_of(tagger, chosen, sample_weight)
    extractor = _new_extractor(tagger, sentences, chosen)
    design = extractor.fit(tagger.input_of(extractor, sentences), tagger.min_count)
    lengths = np.diff(design.offsets).tolist()
    about: dict[str, Any] = {"request": chosen.features(), "threads": Threads(tagger.threads)}
    rows = vectors_of(vectors, design.offsets, None)
    tables = {name: embeddings_of(given, name) for name, given in (tagger.embeddings or {}).items()}
    templates = getattr(extractor, "templates", None)
    space = VectorSpace.of(design, rows, templates, tables, tagger.vector_scale)
    if space is not None:
        about["vectors"], design = space, space.design(design, rows)
    if hides_labels(chosen):
        labels, gold = hidden_labels(sequences_of(y, lengths), lengths, options, chosen.labels)
        held = None if tagger.dev is None else _corpus(tagger)
        return ChainProblem.with_hidden_labels(design, extractor, labels, gold, options, held=held, **about)
    if y is None:
        raise LoglinError(f"criterion {chosen.name} needs labels; give them, or take criterion contrastive")
    labels, gold = with_dictionary_labels(*gold_of(y, lengths), options)
    return ChainProblem(design, extractor, labels, gold, options, **about)


def held_out_of(tagger: Tagger, problem: ChainProblem, X: Any, y: Any, vectors: Any = None) -> HeldOutLabels:
    """Labelled sentences as training judges itself by them."""
    extractor, labels = problem.extractor, problem.labels
    design = extractor.transform(tagger.input_of(extractor, tagger.sentences_of(X, "dev")))
    design = with_vectors(problem.vectors, design, vectors, "the vectors of dev")
    lengths = np.diff(design.offsets).tolist()
    sequences = certain_labels(sequences_of(label_sequences(y, "dev"), lengths), labels, "dev")
    names = list(dict.fromkeys([*labels, *(label for s in sequences for label in s)]))
    _, gold = gold_of_sequences(sequences, lengths, names)
    certain = Gold.certain(gold.codes, len(names))
    return HeldOutLabels(design, certain, names, tagger.dev_metric, threads=tagger.threads)


def options_of(tagger: Tagger, chosen: Criterion, sample_weight: Sequence[float] | None) -> ChainOptions:
    """Penalties, order and features as a tagger's parameters say."""
    by_value = takes_attributes(tagger.like)
    return ChainOptions(
        l1=tagger.l1,
        l2=first_l2(chosen, tagger.l2),
        vector_l2=tagger.vector_l2,
        order=chosen.defaults.order if tagger.order is None else tagger.order,
        all_features=tagger.all_features,
        all_pairs=tagger.all_pairs,
        by_value=by_value,
        cutoff=0 if by_value and tagger.cutoff == 1 else tagger.cutoff,
        dictionary=tagger.dictionary,
        label_weights=tagger.label_weights,
        instance_weights=sample_weight,
    )


def _new_extractor(
    tagger: Tagger, sentences: Corpus | list[list], chosen: Criterion
) -> TemplateExtractor | AttributeExtractor:
    if tagger.features is not None and tagger.template is not None:
        raise LoglinError("give either a template or a feature function, not both")
    form: str | None = WORDS
    columns = 1
    if not isinstance(sentences, Corpus):
        token = next((t for sentence in sentences for t in sentence), None)
        if token is None:
            raise LoglinError("there are no tokens to learn from; give at least one sentence")
        if tagger.features is None and tagger.template is None:
            form = form_of(sentences)
        if hides_labels(chosen) and (tagger.features is not None or form == ATTRIBUTES):
            raise LoglinError("hidden labels are learnt from words; give tokens as strings or tuples, and a template")
        columns = len(token) if form == COLUMNS else 1
    if hides_labels(chosen) and tagger.template is None:
        if columns > 1:
            raise LoglinError(
                f"tokens are tuples of {columns} columns, but criterion {chosen.name} looks at words alone unless a "
                "template says more; give one, or tokens as strings"
            )
        order = chosen.defaults.order if tagger.order is None else tagger.order
        return TemplateExtractor(read_templates(chosen.default_template(order)))
    if tagger.features is not None or form == ATTRIBUTES:
        if tagger.like is not None and not takes_attributes(tagger.like):
            raise LoglinError(f"like is {tagger.like!r}, which takes templates; give one, or like='crfsuite'")
        if form == ATTRIBUTES:
            warn_of_lists(sentences)  # type: ignore[arg-type]
        return AttributeExtractor(zeros=takes_attributes(tagger.like))
    return TemplateExtractor(read_templates(tagger.template, tagger.like, columns))


def _corpus(tagger: Tagger) -> Corpus:
    sentences = tagger.sentences_of(again(tagger.dev, "dev"), "dev")
    return sentences if isinstance(sentences, Corpus) else from_sentences(sentences, "dev")
