"""A training problem whose sentences are on disk, shard by shard.

    text ──► texts (columns of codes) ──► runs of attributes ──► extractor ──► designs ──► index ──► parts
                  first pass: count                             second pass: write

Every part is a ``ChainProblem`` of its own with the features that it has, numbered from 0. The problem of all is a
``ChainProblem`` too, with the same labels, features and penalties as if the corpus were in memory; what it minimizes
is the sum of what the criterion makes of the parts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import gold_of_column
from loglin.corpus.shards import Source, WorkFolder, cut, tokens_of
from loglin.corpus.stored import StoredFile
from loglin.corpus.vocabulary import EMPTY, Vocabulary
from loglin.errors import LoglinError
from loglin.features.counting import Run, number_attributes
from loglin.features.cutoff import counts as feature_counts
from loglin.features.extract import TemplateExtractor
from loglin.features.index import Everything, FeatureIndex, Observed
from loglin.objectives.sums import Engine
from loglin.optimize.rows import Room
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions
from loglin.problems.parts import REMEMBERED, Part, Parts, localized
from loglin.problems.request import FeatureRequest
from loglin.threads import Threads


class Elsewhere:
    """Stands where a criterion expects the sentences; knows their number, and refuses to show them."""

    def __init__(self, **known: Any):
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LoglinError(
            "this criterion, or option, looks at all sentences at once, which shards never are; take criterion crf, "
            "memm, margin, label-likelihood or pseudolikelihood, or train in memory, without a work folder"
        )


# ---------------------------------------------------------------------- preparation


@dataclass(frozen=True)
class Plan:
    """What is made of a corpus."""

    extractor: TemplateExtractor  # not fitted yet
    options: ChainOptions
    request: FeatureRequest
    min_count: int
    partial: bool
    memory: int  # bytes, about

    @property
    def tokens(self) -> int:
        """Of a shard."""
        return tokens_of(self.memory)

    def check(self) -> None:
        """Refuse what only a whole corpus in memory can answer."""
        if self.extractor.templates.oov == "first":
            raise LoglinError("oov=first looks at the whole corpus at once; leave it out of the template for shards")
        if self.extractor.templates.vectors:
            raise LoglinError("shards take no vectors; leave %vector out of the template, or train in memory")
        if self.options.dictionary:
            raise LoglinError("shards take no tag dictionary; leave out the dictionary, or train in memory")
        if self.options.instance_weights is not None:
            raise LoglinError("shards take no weights of sentences; leave out sample_weight, or train in memory")

    def key(self) -> dict[str, Any]:
        """What parts depend on besides the text."""
        o = self.options
        return {
            "template": self.extractor.templates.lines,
            "features": [self.min_count, o.cutoff, o.order, o.all_features, o.all_pairs, o.by_value],
            "request": [self.request.all_pairs, self.request.all_ngrams],
            "partial": self.partial,
        }


def problem_of_shards(source: Source, plan: Plan, folder: WorkFolder, engine: Engine, version: str) -> ChainProblem:
    """The training problem of a corpus of any size; what the folder has of the same text and plan is used again."""
    plan.check()
    key = None if source.key is None else {"version": version, "tokens": plan.tokens, **source.key}
    texts, about = folder.stage("text", key, partial(_write_texts, source, folder, plan.tokens))
    make = partial(_write_parts, plan, folder, engine, texts, about)
    parts, known = folder.stage("part", None if key is None else {"text": key, **plan.key()}, make)
    source.check()
    common, *files = parts
    extractor, index, labels = common.load(at_once=False)  # little of it is looked at
    design = Elsewhere(
        n_tokens=about["tokens"],
        n_sentences=about["sentences"],
        n_attributes=extractor.n_attributes,
        n_bigram_attributes=extractor.n_bigram_attributes,
        corpus=None,
        vectors=(),
    )
    gold = Elsewhere(all_certain=known["certain"], n_labels=len(labels))
    shards = Parts(
        folder, engine, files, index.n_features, about["layout"], Room(folder.path, plan.memory // REMEMBERED)
    )
    problem = ChainProblem(
        design,  # type: ignore[arg-type]
        extractor,
        labels,
        gold,
        plan.options,
        request=plan.request,
        threads=Threads(engine.threads),
        parts=shards,
    )
    problem.__dict__["index"] = index
    if plan.options.label_weights is None:
        problem.__dict__["weight"] = None
    return problem


def _write_texts(source: Source, folder: WorkFolder, tokens: int) -> tuple[list[StoredFile], dict]:
    files, totals, layout = [], np.zeros(2, np.int64), {}
    for number, corpus in enumerate(cut(source.pieces(), tokens)):
        files.append(StoredFile.write(folder.name(f"text-{number:05}"), corpus))
        totals += corpus.n_tokens, corpus.n_sentences
        layout = {"columns": len(corpus.columns), "label_column": -1}
    if not files:
        raise LoglinError("there are no tokens to learn from; give at least one sentence")
    return files, {"tokens": int(totals[0]), "sentences": int(totals[1]), "layout": source.layout or layout}


def _write_parts(
    plan: Plan, folder: WorkFolder, engine: Engine, texts: Sequence[StoredFile], about: dict
) -> tuple[list[StoredFile], dict]:
    extractor, labels = _with_values(plan, texts)
    fitting = StoredFile.write(folder.name("part-fitting"), extractor)
    numbered = [(number, text, folder.name(f"part-run-{number:05}")) for number, text in enumerate(texts)]
    runs = list(engine.map(partial(_count, fitting), numbered))
    number_attributes(extractor, [run.load() for run in runs], plan.min_count)
    folder.remove("part-run-")
    for table in extractor.tables:
        _ = table.slots  # stored with the table, so that no part hashes it again
    fitting = StoredFile.write(folder.name("part-fitting"), extractor)
    whole = _outline(plan, extractor, labels)
    everything, order = whole.everything(), whole.asked_order
    named = [(text, folder.name(f"part-design-{number:05}")) for number, text in enumerate(texts)]
    observed, designs, certain = None, [], True
    how = partial(_write_design, fitting, labels, plan.partial, everything, order)
    for design, seen, sure in engine.map(how, named):
        designs.append(design)
        certain = certain and sure
        if observed is None:
            observed = seen
        else:
            observed.add(seen)
    assert observed is not None
    index = observed.index(len(labels), everything, whole.has_transitions, order)
    if plan.options.cutoff > 1:
        fired = sum(engine.map(partial(_fired, index), designs))
        index = index.selected(fired >= plan.options.cutoff)
    if index.n_features == 0:
        raise LoglinError("no feature is left to learn; lower min_count or cutoff, or give the tokens attributes")
    options = replace(plan.options, dictionary=0)
    pairs = [(d, folder.name(f"part-{number:05}")) for number, d in enumerate(designs)]
    parts = list(engine.map(partial(_write_part, index, labels, options, plan.request), pairs))
    folder.remove("part-design-")
    os.unlink(fitting.path)
    common = StoredFile.write(folder.name("part-common"), (extractor, index, labels))
    return [common, *parts], {"certain": certain}


def _outline(plan: Plan, extractor: TemplateExtractor, labels: list) -> ChainProblem:
    """The problem before its features are numbered."""
    sizes = {"n_attributes": extractor.n_attributes, "n_bigram_attributes": extractor.n_bigram_attributes}
    return ChainProblem(Elsewhere(**sizes, vectors=()), extractor, labels, None, plan.options, plan.request)  # type: ignore[arg-type]


def _with_values(plan: Plan, texts: Sequence[StoredFile]) -> tuple[TemplateExtractor, list]:
    """The extractor with the values of all columns, and the labels."""
    extractor, counted = TemplateExtractor(plan.extractor.templates), plan.extractor.views.counted_columns
    vocabularies: list[Vocabulary] = []
    counts = {c: np.zeros(0, np.int64) for c in counted}
    for text in texts:
        corpus = text.load()
        extractor.check_columns(replace(corpus, columns=corpus.columns[:-1]))
        vocabularies = vocabularies or [EMPTY] * len(corpus.columns)
        for c, column in enumerate(corpus.columns):
            vocabularies[c], codes = vocabularies[c].merged(column.vocabulary)
            if c in counts:
                grown = np.zeros(len(vocabularies[c]), np.int64)
                grown[: len(counts[c])] = counts[c]
                grown[codes] += np.bincount(column.codes, minlength=len(codes))
                counts[c] = grown
    extractor.views.learn(vocabularies[:-1], counts)
    names = Column(np.empty(0, np.int32), vocabularies[-1])
    return extractor, gold_of_column(names, plan.partial)[0]


def _count(fitting: StoredFile, item: tuple[int, StoredFile, str]) -> StoredFile:
    """Store the runs of attributes of a shard."""
    number, text, name = item
    fitted = fitting.load().factorized(_inputs(text.load()))
    return StoredFile.write(name, [Run.of(f, number) for f in fitted])


def _inputs(corpus: Corpus) -> Corpus:
    return replace(corpus, columns=corpus.columns[:-1])


def _write_design(
    fitting: StoredFile, labels: list, partial_: bool, everything: Everything, order: int, item: tuple[StoredFile, str]
) -> tuple[StoredFile, Observed, bool]:
    """Store the design and the labels of a shard; say which features it shows, and whether all labels are certain."""
    corpus = item[0].load()
    _, gold = gold_of_column(corpus.columns[-1], partial_, labels)
    design = replace(fitting.load().part(_inputs(corpus)), corpus=None)
    observed = Observed.of(design, gold, everything, order)
    return StoredFile.write(item[1], (design, gold)), observed, gold.all_certain


def _fired(index: FeatureIndex, file: StoredFile) -> np.ndarray:
    design, gold = file.load()
    return feature_counts(index, design, gold.allowed())


def _write_part(
    index: FeatureIndex, labels: list, options: ChainOptions, request: FeatureRequest, item: tuple[StoredFile, str]
) -> StoredFile:
    """Store a shard as a problem of the features that it has."""
    design, gold = item[0].load()
    local, own, places = localized(design, index)
    problem = ChainProblem(local, None, labels, gold, options, request)
    problem.__dict__["index"] = own
    return StoredFile.write(item[1], Part(problem, places, local.n_tokens))
