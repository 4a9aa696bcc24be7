"""The integer design: which attributes every token has.

    tokens ──┬── attributes            tokens.ids[tokens.ptr[t] : tokens.ptr[t+1]], values 1 unless given
             └── heads ── attributes   one number for several templates over a few small columns

A head stands for all attributes that follow from one combination of column values, such as a
part-of-speech trigram: it gives the trigram, its two bigrams and its three tags. Tokens share few
distinct heads, so their attributes are summed once per head instead of once per token. Only training
uses heads; ``Design.heads`` is None otherwise.

Bigram attributes describe the step into a token and are crossed with (previous label, label).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loglin.corpus.columns import Corpus
from loglin.kernels import keys as kernels

NO_VALUES = np.empty(0, np.float64)


@dataclass
class Incidence:
    """Lists of attribute numbers: one list per token, or per head."""

    ptr: np.ndarray  # (lists + 1,) int64
    ids: np.ndarray  # (entries,) int32
    values: np.ndarray = field(default_factory=lambda: NO_VALUES)  # (entries,) float64, or empty: all 1

    @property
    def n_lists(self) -> int:
        return len(self.ptr) - 1

    @classmethod
    def empty(cls, n_lists: int) -> Incidence:
        return cls(np.zeros(n_lists + 1, np.int64), np.empty(0, np.int32))

    @classmethod
    def from_matrix(cls, matrix: np.ndarray) -> Incidence:
        """Lists from attribute numbers per template, (templates, tokens) int32, -1 for none."""
        if matrix.shape[0] == 0:
            return cls.empty(matrix.shape[1])
        ptr, ids = np.empty(matrix.shape[1] + 1, np.int64), np.empty(matrix.size, np.int32)
        size = kernels.compact(matrix, ptr, ids)
        return cls(ptr, ids[:size])

    @classmethod
    def of_equal_lengths(cls, matrix: np.ndarray) -> Incidence:
        """Lists from attribute numbers (tokens, templates), -1 included, which scoring ignores."""
        return cls(np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1], matrix.reshape(-1))

    def with_ids(self, ids: np.ndarray) -> Incidence:
        """The same lists with other numbers; entries with a negative number are dropped."""
        known = np.count_nonzero(ids >= 0)
        if known == len(ids):
            return Incidence(self.ptr, ids, self.values)
        ptr, kept = np.empty_like(self.ptr), np.empty(known, np.int32)
        values = np.empty(known) if self.values.size else NO_VALUES
        kernels.drop_unknown(self.ptr, ids.astype(np.int32, copy=False), self.values, ptr, kept, values)
        return Incidence(ptr, kept, values)

    def without_ones(self) -> Incidence:
        """The same lists, without values where all of them are 1."""
        return self if (self.values != 1).any() else Incidence(self.ptr, self.ids)

    def select(self, lists: np.ndarray) -> Incidence:
        """The chosen lists, in the order given."""
        ptr = np.concatenate([[0], np.cumsum(np.diff(self.ptr)[lists])])
        found = Incidence(ptr, np.empty(ptr[-1], np.int32), np.empty(ptr[-1] if self.values.size else 0))
        self.copy_into(lists, ptr, found)
        return found

    def copy_into(self, lists: np.ndarray, starts: np.ndarray, there: Incidence) -> None:
        """Put the chosen lists where they begin in the arrays of ``there``, whose values are 1 already."""
        ptr, which = np.ascontiguousarray(self.ptr, np.int64), np.ascontiguousarray(lists, np.int64)
        kernels.copy_lists(ptr, np.ascontiguousarray(self.ids, np.int32), which, starts, there.ids)
        if self.values.size:
            kernels.copy_lists(ptr, np.ascontiguousarray(self.values, np.float64), which, starts, there.values)

    def counts(self, size: int) -> np.ndarray:
        """How many entries each of ``size`` attributes has."""
        counts = np.zeros(size, np.int64)
        kernels.count(self.ids, counts)
        return counts

    def joined(self, other: Incidence) -> Incidence:
        """The lists of both, those of ``other`` behind these, token by token."""
        if not len(other.ids):
            return self
        size = len(self.ids) + len(other.ids)
        weighted = bool(self.values.size or other.values.size)
        found = Incidence(self.ptr + other.ptr, np.empty(size, np.int32), np.ones(size) if weighted else NO_VALUES)
        everything = np.arange(self.n_lists)
        self.copy_into(everything, found.ptr, found)
        other.copy_into(everything, found.ptr + np.append(np.diff(self.ptr), 0), found)
        return found


@dataclass
class Heads:
    of_token: np.ndarray  # (tokens, folds) int32: the heads of every token
    attributes: Incidence  # of every head


@dataclass
class Vectors:
    """Numbers that all tokens carry: each dimension is an attribute, whose value is the number."""

    first: int  # attribute of the first dimension; the others follow
    rows: np.ndarray  # (rows, dimensions) float32
    of_token: np.ndarray | None = None  # (tokens,) int32: the row of each token; None: token t has row t

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    @property
    def attributes(self) -> slice:
        """The attributes of the dimensions."""
        return slice(self.first, self.first + self.size)

    def of(self, tokens: np.ndarray) -> Vectors:
        """The vectors of some tokens, in the order given."""
        return Vectors(
            self.first, self.rows, (tokens if self.of_token is None else self.of_token[tokens]).astype(np.int32)
        )

    def between(self, first: int, last: int) -> Vectors:
        """The vectors of consecutive tokens, and no others."""
        if self.of_token is None:
            return Vectors(self.first, self.rows[first:last])
        used, of_token = np.unique(self.of_token[first:last], return_inverse=True)
        return Vectors(self.first, self.rows[used], of_token.astype(np.int32))

    def lists(self, n_tokens: int) -> Incidence:
        """The same as lists of attributes, which take many times the memory and time."""
        ids = np.tile(np.arange(self.first, self.first + self.size, dtype=np.int32), n_tokens)
        rows = self.rows if self.of_token is None else self.rows[self.of_token]
        return Incidence(np.arange(n_tokens + 1, dtype=np.int64) * self.size, ids, rows.astype(np.float64).reshape(-1))


@dataclass
class Design:
    """The attributes of every token of a corpus, as numbers."""

    offsets: np.ndarray  # (sentences + 1,) int64
    tokens: Incidence  # unigram attributes of tokens, those of heads left out
    bigrams: Incidence  # observed attributes of the step into each token
    n_attributes: int
    n_bigram_attributes: int
    heads: Heads | None = None
    corpus: Corpus | None = None  # the columns, for base models, which look at nothing else
    vectors: tuple[Vectors, ...] = ()  # attributes that all tokens have, in neither tokens nor heads
    silent: Incidence | None = None  # attributes of value 0: they score nothing, but are seen with their labels

    @property
    def n_tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_heads(self) -> int:
        """How many heads there are, with the vectors that several tokens share."""
        heads = self.heads.attributes.n_lists if self.heads else 0
        return heads + sum(len(v.rows) for v in self.vectors if v.of_token is not None)

    def unfolded(self) -> Incidence:
        """Attributes of every token, those of its heads and the dimensions of its vectors included."""
        lists = self._unfolded_heads()
        for vectors in self.vectors:
            lists = lists.joined(vectors.lists(self.n_tokens))
        return lists

    def _unfolded_heads(self) -> Incidence:
        tokens, heads = self.tokens, self.heads
        if heads is None:
            return tokens
        ptr = np.empty(self.n_tokens + 1, np.int64)
        lists = (tokens.ptr, tokens.ids, heads.of_token, heads.attributes.ptr, heads.attributes.ids)
        kernels.unfold(*lists, ptr, np.empty(0, np.int32))
        ids = np.empty(ptr[-1], np.int32)
        kernels.unfold(*lists, ptr, ids)
        found = Incidence(ptr, ids)
        if tokens.values.size:  # heads have none, which means 1
            found.values = np.ones(len(ids))
            tokens.copy_into(np.arange(self.n_tokens), ptr, found)
        return found
