"""A tagger fitted on a corpus that need not be in memory: files, or sentences that can be iterated over again."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import loglin
from loglin.corpus.columns import Corpus, concatenate, encode_strings, from_sentences
from loglin.corpus.labels import PartialColumn
from loglin.corpus.shards import Source, files_source, memory_of
from loglin.errors import LoglinError
from loglin.estimators.given import ATTRIBUTES, again, form_of, label_sequences
from loglin.estimators.sharing import engine_of, require_sums, shared, work_folder
from loglin.estimators.tagger_problem import hides_labels, options_of, problem_of
from loglin.features.extract import TemplateExtractor
from loglin.features.read import read_templates
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
    tagger: Tagger,
    X: Any,
    y: Any,
    sample_weight: Any,
    vectors: Any,
    work_dir: str | os.PathLike | None,
    memory: int | str | None,
    client: Any,
) -> Iterator[ChainProblem]:
    """The problem of a corpus in shards; what is only needed while it is trained on is removed at the end."""
    chosen = tagger.chosen_criterion()
    _check(tagger, chosen)
    if vectors is not None or _is_whole(tagger, X, sample_weight):
        whole = problem_of(tagger, *_whole(X, y, tagger), sample_weight, vectors)
        with shared(whole, chosen, tagger.optimizer, work_dir, memory, client) as problem:
            yield problem
        return
    source = _source(X, y, tagger)
    with work_folder(work_dir) as folder:
        templates = read_templates(tagger.template, tagger.like, _columns(source, tagger))
        plan = Plan(
            TemplateExtractor(templates),
            options_of(tagger, chosen, None),
            chosen.features(),
            tagger.min_count,
            source.partial,
            memory_of(memory),
        )
        yield problem_of_shards(source, plan, folder, engine_of(client, tagger.threads), loglin.__version__)


def _check(tagger: Tagger, chosen: Any) -> None:
    if hides_labels(chosen):
        raise LoglinError(
            f"criterion {chosen.name} learns from hidden labels, in memory alone; leave out the work folder"
        )
    if (chosen.defaults.l2 if tagger.l2 is None else tagger.l2) == "auto":
        raise LoglinError("l2 is auto, which is chosen in memory alone; give a number")
    require_sums(tagger.optimizer)


def _is_whole(tagger: Tagger, X: Any, sample_weight: Any) -> bool:
    """Whether the problem is made in memory and then shared out: only templates of words are read piece by piece."""
    if tagger.features is not None or tagger.dictionary or tagger.embeddings or sample_weight is not None:
        return True
    if isinstance(X, Source | Corpus | str | os.PathLike | Iterator):
        return False
    token = next((token for sentence in X if isinstance(sentence, list | tuple) for token in sentence), "")
    return form_of([[token]]) == ATTRIBUTES


def _whole(X: Any, y: Any, tagger: Tagger) -> tuple[Any, Any]:
    """Sentences and labels, of files read at once."""
    if y is not None and not isinstance(X, Source):
        return X, y
    source = _source(X, y, tagger)
    corpus = concatenate(list(source.pieces()), "the files")
    labels = corpus.columns.pop()
    return corpus, PartialColumn(labels) if source.partial else labels


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
    number, found_any = 0, False
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
            found_any = True
            yield corpus
    if not found_any:
        raise LoglinError("there are no tokens to learn from; give at least one sentence")


_MISSING: Any = object()
