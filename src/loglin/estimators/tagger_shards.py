"""A tagger fitted on a corpus that need not be in memory: files, or sentences that can be iterated over again."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import loglin
from loglin.corpus.columns import Corpus, encode_strings, from_sentences
from loglin.corpus.shards import Source, WorkFolder, files_source, memory_of
from loglin.errors import LoglinError
from loglin.estimators.given import again, label_sequences
from loglin.estimators.tagger_problem import hides_labels, options_of
from loglin.features.extract import TemplateExtractor
from loglin.features.read import read_templates
from loglin.objectives.sums import Engine, InOrder
from loglin.problems.chains import ChainProblem
from loglin.problems.shards import Plan, problem_of_shards

if TYPE_CHECKING:
    from loglin.estimators.tagger import Tagger

AT_ONCE = 1000  # sentences that are numbered together
PATH = "give the name of a file, a pattern such as data/*.txt, or a list of names"


def are_shards(X: Any, y: Any, work_dir: Any, memory: Any, client: Any) -> bool:
    """Whether a corpus is to be trained on shard by shard."""
    if isinstance(X, Source) or any(given is not None for given in (work_dir, memory, client)):
        return True
    if isinstance(X, str | os.PathLike):
        return y is None  # with labels it is a sentence, which is to be refused
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(x, os.PathLike) for x in X)


@contextmanager
def sharded_problem(
    tagger: Tagger, X: Any, y: Any, work_dir: str | os.PathLike | None, memory: int | str | None, client: Any
) -> Iterator[ChainProblem]:
    """The problem of a corpus in shards; what is only needed while it is trained on is removed at the end."""
    chosen = tagger.chosen_criterion()
    _check(tagger, chosen)
    source = _source(X, y, tagger)
    with tempfile.TemporaryDirectory(prefix="loglin-") as temporary:
        folder = WorkFolder(temporary if work_dir is None else work_dir)
        try:
            templates = read_templates(tagger.template, tagger.like, _columns(source, tagger))
            plan = Plan(
                TemplateExtractor(templates),
                options_of(tagger, chosen, None),
                chosen.features(),
                tagger.min_count,
                source.partial,
                memory_of(memory),
            )
            problem = problem_of_shards(source, plan, folder, _engine(tagger, client), loglin.__version__)
            yield problem
        finally:
            folder.remove("objective-")
            folder.close()


def _engine(tagger: Tagger, client: Any) -> Engine:
    if client is None:
        return InOrder(tagger.threads)
    from loglin.objectives.distributed import Workers

    return Workers(client)


def _check(tagger: Tagger, chosen: Any) -> None:
    from loglin.optimize.optimizers import optimizer

    if hides_labels(chosen):
        raise LoglinError(
            f"criterion {chosen.name} learns from hidden labels, in memory alone; leave out the work folder"
        )
    if tagger.features is not None:
        raise LoglinError("shards take templates, not a feature function; give a template, or train in memory")
    if (chosen.defaults.l2 if tagger.l2 is None else tagger.l2) == "auto":
        raise LoglinError("l2 is auto, which is chosen in memory alone; give a number")
    by = optimizer(tagger.optimizer)
    if not by.takes_any_curvature:
        raise LoglinError(
            f"optimizer {by.name} looks at single sentences, which shards never give; use auto, lbfgs, gradient or "
            "conjugate-gradient"
        )


def _columns(source: Source, tagger: Tagger) -> int:
    """The columns that a default template looks at; of files the first alone, as when they are read in memory."""
    if tagger.template is not None or source.key is not None:
        return 1
    return len(next(source.pieces()).columns) - 1


def _source(X: Any, y: Any, tagger: Tagger) -> Source:
    if isinstance(X, Source):
        return X
    if y is None:
        if not isinstance(X, str | os.PathLike) and not (
            isinstance(X, list | tuple) and X and all(isinstance(x, str | os.PathLike) for x in X)
        ):
            raise LoglinError(f"without labels, X is taken for files, but it is {X!r:.60}; {PATH}")
        return files_source(X)
    for given, name in ((X, "X"), (y, "y")):
        if isinstance(given, Iterator):
            raise LoglinError(
                f"{name} is a generator, which can be read only once; give a list, or an object that begins anew "
                "whenever it is iterated over"
            )
    return Source(lambda: _pieces(again(X, "X"), again(y, "y"), tagger), None)


def _pieces(X: Any, y: Any, tagger: Tagger) -> Iterator[Corpus]:
    """Sentences and labels as columns, the labels last."""
    pairs = itertools.zip_longest(X, y, fillvalue=_MISSING)
    number = 0
    while batch := list(itertools.islice(pairs, AT_ONCE)):
        if any(_MISSING is one or _MISSING is other for one, other in batch):
            raise LoglinError("there are more sentences than label sequences, or fewer; give as many")
        sentences: Any = tagger.sentences_of([sentence for sentence, _ in batch])
        labels = label_sequences([labels for _, labels in batch])
        for s, (tokens, found) in enumerate(zip(sentences, labels, strict=True)):
            if found is None or not all(isinstance(label, str) for label in found):
                raise LoglinError(f"sentence {number + s} lacks labels that are strings; shards take no others")
            if len(found) != len(tokens):
                raise LoglinError(
                    f"sentence {number + s} has {len(tokens)} tokens but {len(found)} labels; give as many"
                )
        number += len(batch)
        corpus = from_sentences(sentences)
        if corpus.n_tokens:
            corpus.columns.append(encode_strings([label for found in labels for label in found]))
            yield corpus


_MISSING: Any = object()
