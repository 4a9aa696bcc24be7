"""A training problem cut into parts, each a problem of its own with the features that it has, numbered from 0.

    problem ──► parts, each in a file ──► the objective that the criterion makes of each ──► their sum

The parts of a corpus that is read piece by piece are made in problems/shards.py. A problem that is in memory is cut
here: chains at sentences, trees at trees, histories of a language model at those that share a way through the tree.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from loglin.corpus.labels import Choices, Gold, LabelSets
from loglin.corpus.shards import WorkFolder
from loglin.corpus.stored import StoredFile
from loglin.features.design import Design, Heads, Incidence
from loglin.features.index import FeatureIndex
from loglin.objectives.sums import Engine, Facts, Share, Sum, summed
from loglin.optimize.rows import Room
from loglin.threads import Threads

if TYPE_CHECKING:
    from loglin.problems.chains import ChainProblem
    from loglin.problems.histories import Histories
    from loglin.problems.trees import TreeProblem

REMEMBERED = 20  # of the memory one part of what the optimizer remembers takes one share; what is larger is on disk


class Part(NamedTuple):
    """A shard ready to be trained on."""

    problem: Any
    places: np.ndarray  # (features of the shard,) uint32: where they stand among all
    tokens: int


@dataclass(eq=False)
class Parts:
    """The shards of a problem, and who computes on them."""

    folder: WorkFolder
    engine: Engine
    files: Sequence[StoredFile]
    n_features: int
    layout: dict[str, int]  # of the text: columns, and which has the labels
    room: Room

    def sum(self, make: Callable[[Any, type], Any], dtype: type) -> Sum:
        """The sum of the objectives that ``make`` makes of the parts; those of the sum before are removed."""
        self.remove()
        name = self.folder.name(f"objective-{secrets.token_hex(4)}")
        items = [(file, f"{name}-{number:05}") for number, file in enumerate(self.files)]
        facts = list(self.engine.map(partial(_with_objective, make, dtype, self.engine.threads), items))
        return summed(self.engine, facts, self.n_features, dtype, self.room)

    def remove(self) -> None:
        """Remove objectives from the work folder."""
        self.folder.remove("objective-")

    def about(self) -> dict[str, Any]:
        """What a model's record says of the shards."""
        return {"shards": len(self.files)} | self.layout | self.engine.about()


def _with_objective(
    make: Callable[[Any, type], Any], dtype: type, threads: int | None, item: tuple[StoredFile, str]
) -> Facts:
    """Store the objective of a part, its arrays ready for passes."""
    (problem, places, tokens), name = item[0].load(), item[1]
    problem.threads = Threads(threads)
    problem.places = places
    objective = make(problem, dtype)
    objective.__dict__.pop("decisions", None)
    if hasattr(objective, "prepare"):  # of what is made when it is first asked for, every pass would make it anew
        objective.prepare()
    return Facts.of(StoredFile.write(name, Share(objective, places)), objective, tokens)


def localized(design: Design, index: FeatureIndex) -> tuple[Design, FeatureIndex, np.ndarray]:
    """A design with the attributes that it has alone, their index, and where its features stand in ``index``."""
    heads = design.heads
    ids = [design.tokens.ids] if heads is None else [design.tokens.ids, heads.attributes.ids]
    used = np.zeros(design.n_attributes, bool)
    for some in ids:
        used[some] = True
    for vectors in design.vectors:
        used[vectors.attributes] = True
    used_bigrams = np.zeros(design.n_bigram_attributes, bool)
    used_bigrams[design.bigrams.ids] = True
    numbers, bigram_numbers = ((np.cumsum(u) - 1).astype(np.int32) for u in (used, used_bigrams))

    def renumbered(lists: Incidence, numbers: np.ndarray) -> Incidence:
        return Incidence(lists.ptr, numbers[lists.ids], lists.values)

    own, places = index.local(np.flatnonzero(used), np.flatnonzero(used_bigrams))
    local = Design(
        design.offsets,
        renumbered(design.tokens, numbers),
        renumbered(design.bigrams, bigram_numbers),
        int(used.sum()),
        int(used_bigrams.sum()),
        None if heads is None else Heads(heads.of_token, renumbered(heads.attributes, numbers)),
        vectors=tuple(replace(vectors, first=int(numbers[vectors.first])) for vectors in design.vectors),
    )
    return local, own, places.astype(np.uint32)


# ---------------------------------------------------------------------- problems that are in memory


def shared_out(problem: Any, folder: WorkFolder, engine: Engine, tokens: int, memory: int, key: dict | None) -> Any:
    """The same problem, whose objective is the sum over parts of about so many tokens in files of the folder."""

    def write() -> tuple[list[StoredFile], dict]:
        files = (folder.name(f"piece-{number:05}") for number in range(10**9))
        return [StoredFile.write(next(files), part) for part in problem.pieces(tokens)], {}

    files, _ = folder.stage("piece", key, write)
    other = copy(problem)
    room = Room(folder.path, memory // REMEMBERED)
    other.parts = Parts(folder, engine, files, problem.n_features, {}, room)
    return other


def ranges(lengths: np.ndarray, tokens: int) -> Iterator[tuple[int, int]]:
    """Consecutive items that have so many tokens together, or one item alone."""
    ends, begin = np.cumsum(lengths), 0
    while begin < len(lengths):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + tokens, side="right")))
        yield begin, end
        begin = end


def pieces_of_chains(problem: ChainProblem, tokens: int) -> Iterator[Part]:
    """Sentences of a problem, with the attributes that they have."""
    design, index = problem.design, problem.index
    for begin, end in ranges(np.diff(design.offsets), tokens):
        first, last = (int(t) for t in design.offsets[[begin, end]])
        local, own, places = localized(between(design, begin, end), index)
        options = replace(problem.options, dictionary=0, instance_weights=None, label_weights=None)
        gold = gold_between(problem.gold, first, last)
        part = copy(problem)
        part.design, part.gold, part.options, part.extractor, part.hidden = local, gold, options, None, None
        part.held = part.unpenalized = None
        weight = None if problem.weight is None else problem.weight[begin:end]
        part.__dict__ |= {"index": own, "weight": weight}
        for name in ("penalties", "dictionary"):
            part.__dict__.pop(name, None)
        yield Part(part, places, last - first)


def between(design: Design, begin: int, end: int) -> Design:
    """Consecutive sentences of a design."""
    first, last = design.offsets[[begin, end]]
    heads = design.heads
    if heads is not None:
        used, of_token = np.unique(heads.of_token[first:last], return_inverse=True)
        of_token = of_token.reshape(last - first, heads.of_token.shape[1]).astype(np.int32)
        heads = Heads(of_token, heads.attributes.select(used))
    return Design(
        design.offsets[begin : end + 1] - first,
        _lists(design.tokens, first, last),
        _lists(design.bigrams, first, last),
        design.n_attributes,
        design.n_bigram_attributes,
        heads,
        vectors=tuple(vectors.between(first, last) for vectors in design.vectors),
    )


def _lists(lists: Incidence, first: int, last: int) -> Incidence:
    begin, end = lists.ptr[[first, last]]
    values = lists.values[begin:end] if lists.values.size else lists.values
    return Incidence(lists.ptr[first : last + 1] - begin, lists.ids[begin:end], values)


def gold_between(gold: Any, first: int, last: int) -> Any:
    """What is known of consecutive tokens."""
    if isinstance(gold, LabelSets):
        return LabelSets(gold.has[first:last])
    if isinstance(gold, Choices):
        return replace(gold, chosen=gold.chosen[first:last])
    assert isinstance(gold, Gold)
    candidates = gold.candidates[first:last] if gold.candidates.size else gold.candidates
    return replace(gold, codes=gold.codes[first:last], candidates=candidates)


def pieces_of_trees(problem: TreeProblem, tokens: int) -> Iterator[Part]:
    """Annotated trees of a problem; every part may use all features."""
    from loglin.grammars.uses import TreeUses

    uses, design, spans = problem.uses, problem.design, problem.span_design
    lengths, nodes = uses.lengths, uses.nodes
    words, cells, states = (_starts(n) for n in (lengths, lengths * (lengths + 1) // 2, lengths + 1))
    places = np.arange(problem.index.n_features, dtype=np.uint32)
    for b, e in ranges(lengths, tokens):
        (w0, w1), (c0, c1), (s0, s1) = (ptr[[b, e]] for ptr in (words, cells, states))
        inside = (nodes.sentences >= b) & (nodes.sentences < e)
        own = replace(nodes, **{name: values[inside] for name, values in vars(nodes).items()})
        part = copy(problem)
        part.uses = TreeUses(lengths[b:e], uses.roots[b:e], uses.tags[w0:w1], replace(own, sentences=own.sentences - b))
        part.design = replace(
            design, tokens=design.tokens[w0:w1], spans=design.spans[c0:c1], splits=design.splits[s0:s1],
            leaves=design.leaves[w0:w1],
        )  # fmt: skip
        if spans is not None:
            part.span_design = replace(
                spans, offsets=spans.offsets[b : e + 1] - w0, ptr=spans.ptr[b : e + 1] - c0,
                attributes=spans.attributes[c0:c1], splits=spans.splits[s0:s1],
            )  # fmt: skip
        part.weight = None if problem.weight is None else problem.weight[b:e]
        part.options = replace(problem.options, template=None, grammar=None, weight=None)
        part.trees, part.tokens, part.spans = [], None, None
        for name in ("features", "forests"):
            part.__dict__.pop(name, None)
        yield Part(part, places, int(w1 - w0))


def pieces_of_histories(whole: Histories, histories: int) -> Iterator[Part]:
    """Groups of histories, which share the attributes on the way to them; the first has the counts of the features."""
    tree, places = whole.tree, np.arange(len(whole.observed), dtype=np.uint32)
    observed = whole.observed
    for begin, end in ranges(np.diff(tree.histories), histories):
        first, last = tree.histories[[begin, end]]
        a, b = tree.history_ptr[[first, last]]
        part = tree._replace(
            path=tree.path[begin:end],
            histories=tree.histories[begin : end + 1] - first,
            history_ptr=tree.history_ptr[first : last + 1] - a,
            history_attributes=tree.history_attributes[a:b],
            counts=tree.counts[first:last],
        )
        yield Part(replace(whole, tree=part, observed=observed), places, int(part.counts.sum()))
        observed = np.zeros_like(observed)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)])
