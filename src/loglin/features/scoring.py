"""Weights times attributes: the table of rows that scores a design's tokens, in both directions.

scores = X·W        every token sums the rows of its attributes and heads, and its single weights
gradient = Xᵀ·R     every attribute sums the residuals of its tokens and heads

The vectors that tokens carry are rows of that table too, filled by matrix products (features/products.py): kernels add
them up as they add up all others. A vector that several tokens share is a head without attributes.
"""

from __future__ import annotations

import copy

import numpy as np

from loglin.features.design import Design, Incidence, Vectors
from loglin.features.index import ROW_LABELS, FeatureIndex
from loglin.features.products import products, sums
from loglin.kernels import gradient as kernels
from loglin.kernels import keys
from loglin.kernels.rows import padded
from loglin.kernels.sentences import Tokens
from loglin.threads import Threads, chunks_by_size


class Scorer:
    """The unigram part of a model over one design."""

    def __init__(self, design: Design, index: FeatureIndex, dtype: type, threads: Threads, trains: bool = True):
        self.index, self.threads, self.dtype = index, threads, np.dtype(dtype)
        self.n_tokens, self.width = design.n_tokens, padded(index.n_labels)
        of_token, own = self._number_heads(design)
        counts = np.diff(index.ptr)
        is_row = counts >= ROW_LABELS
        is_row[self.head_lists.ids] = True
        for vectors in design.vectors:
            is_row[vectors.attributes] = True
        self.n_rows = int(is_row.sum())
        self.row_of = np.where(is_row, np.cumsum(is_row) - 1, -1).astype(np.int32)
        self.table = np.zeros((self.n_rows + self.n_heads + own.size, self.width), self.dtype)
        self.head_rows = self.row_of[self.head_lists.ids].astype(np.uint32)
        self.tokens = self._token_lists(design.tokens, np.concatenate([of_token, own], axis=1))
        self._attribute_chunks = chunks_by_size(index.ptr)
        self._head_chunks = chunks_by_size(self.head_lists.ptr)
        if trains:
            self._invert(design.tokens, of_token)

    def _number_heads(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """The heads of every token, (tokens, folds), shared vectors being some, and its own vectors, (tokens, k)."""
        heads, n = design.heads, design.n_tokens
        lists = heads.attributes if heads else Incidence.empty(0)
        shared: list[np.ndarray] = []
        self.vectors: list[tuple[Vectors, int]] = []  # and the number, as of heads, of the first row of each
        for vectors in design.vectors:
            if vectors.of_token is not None:
                self.vectors.append((vectors, lists.n_lists))
                shared.append(lists.n_lists + vectors.of_token)
                more = np.full(len(vectors.rows), len(lists.ids), np.int64)
                lists = Incidence(np.append(lists.ptr, more), lists.ids, lists.values)
        self.head_lists, self.n_heads = lists, lists.n_lists
        owned = [vectors for vectors in design.vectors if vectors.of_token is None]
        self.vectors += [(vectors, self.n_heads + k * n) for k, vectors in enumerate(owned)]
        first = heads.of_token if heads else np.empty((n, 0), np.int32)
        own = self.n_heads + np.arange(len(owned) * n, dtype=np.int32).reshape(len(owned), n).T
        return np.column_stack([first, *shared]).astype(np.int32), np.ascontiguousarray(own)

    def _token_lists(self, tokens: Incidence, of_token: np.ndarray) -> Tokens:
        index, n = self.index, self.n_tokens
        row_ptr, entry_ptr = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
        keys.count_scored(tokens.ptr, tokens.ids, of_token, index.ptr, self.row_of, row_ptr, entry_ptr)
        weighted = tokens.values.size > 0
        row_ids, row_values = np.empty(row_ptr[-1], np.uint32), np.empty(row_ptr[-1] * weighted, self.dtype)
        entry_ids, entry_labels = np.empty(entry_ptr[-1], np.uint32), np.empty(entry_ptr[-1], np.uint16)
        entry_values = np.empty(entry_ptr[-1] * weighted, self.dtype)
        keys.fill_scored(
            tokens.ptr,
            tokens.ids,
            tokens.values,
            of_token,
            self.n_rows,
            index.ptr,
            index.labels,
            self.row_of,
            row_ids,
            row_values,
            entry_ids,
            entry_labels,
            entry_values,
        )
        return Tokens(row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values)

    def _invert(self, tokens: Incidence, of_token: np.ndarray) -> None:
        """Postings: of attributes, tokens and heads (numbered behind the tokens); of heads, tokens."""
        n_attributes, heads = len(self.index.ptr) - 1, self.head_lists
        counts = tokens.counts(n_attributes) + heads.counts(n_attributes)
        self.posting_ptr = np.concatenate([[0], np.cumsum(counts)])
        self.postings = np.empty(self.posting_ptr[-1], np.uint32)
        weighted = tokens.values.size > 0
        self.posting_values = np.ones(len(self.postings) * weighted, self.dtype)
        cursor, values = self.posting_ptr[:-1].copy(), tokens.values.astype(self.dtype)
        keys.transpose(tokens.ptr, tokens.ids, values, 0, cursor, self.postings, self.posting_values)
        keys.transpose(heads.ptr, heads.ids, values[:0], self.n_tokens, cursor, self.postings, self.posting_values)
        folds, flat = of_token.shape[1], of_token.reshape(-1)
        head_counts = np.bincount(flat, minlength=self.n_heads)
        self.head_posting_ptr = np.concatenate([[0], np.cumsum(head_counts)]).astype(np.int64)
        self.head_postings = np.empty(len(flat), np.uint32)
        ptr = np.arange(self.n_tokens + 1, dtype=np.int64) * folds
        cursor = self.head_posting_ptr[:-1].copy()
        keys.transpose(ptr, flat, values[:0], 0, cursor, self.head_postings, self.posting_values)
        self._order = np.empty(n_attributes, np.int64)
        starts = np.zeros(self.n_tokens + self.n_heads + 1, np.int64)
        kernels.order_by_first(self.posting_ptr, self.postings, starts, self._order)
        work = (np.diff(self.posting_ptr) + np.diff(self.index.ptr))[self._order]
        self._posting_chunks = chunks_by_size(np.concatenate([[0], np.cumsum(work)]))
        self._head_posting_chunks = chunks_by_size(self.head_posting_ptr)

    def narrowed(self, index: FeatureIndex) -> Scorer:
        """A scorer over fewer labels that shares all lists; every attribute must be a row in both."""
        assert not self.n_heads
        assert self.n_rows == len(index.ptr) - 1
        assert np.diff(index.ptr).min() >= ROW_LABELS
        other = copy.copy(self)
        other.index, other.width = index, padded(index.n_labels)
        other.table = np.zeros((len(self.table), other.width), self.dtype)
        return other

    def load(self, weights: np.ndarray) -> None:
        """Put unigram weights (dtype of the table) into the table; single weights are read in place."""
        index = self.index
        self.threads.map(
            lambda b, e: kernels.fill_table(b, e, index.ptr, index.labels, self.row_of, weights, self.table),
            self._attribute_chunks,
        )
        self.threads.map(
            lambda b, e: kernels.sum_lists(b, e, self.head_lists.ptr, self.head_rows, self.n_rows, self.table),
            self._head_chunks,
        )
        for vectors, first in self.vectors:
            rows = self.table[self.n_rows + first :][: len(vectors.rows)]
            products(vectors.rows, self.table[self._table_rows(vectors)], rows, self.threads)

    def _table_rows(self, vectors: Vectors) -> slice:
        """Where the weights of the dimensions stand in the table."""
        first = int(self.row_of[vectors.first]) if vectors.size else 0
        return slice(first, first + vectors.size)

    def gradient(self, residuals: np.ndarray, out: np.ndarray, squared: bool = False) -> None:
        """Set out = Xᵀ·residuals; residuals are (tokens + heads, width), and the rows of heads are filled in here.

        With ``squared``, every value of X is squared, as the Hessian's diagonal needs.
        """
        index = self.index
        values = self.posting_values**2 if squared else self.posting_values
        self.threads.map(
            lambda b, e: kernels.sum_lists(b, e, self.head_posting_ptr, self.head_postings, self.n_tokens, residuals),
            self._head_posting_chunks,
        )
        self.threads.map(
            lambda b, e: kernels.attribute_gradient(
                b,
                e,
                self._order,
                index.ptr,
                index.labels,
                self.posting_ptr,
                self.postings,
                values,
                residuals,
                out,
            ),
            self._posting_chunks,
        )
        for vectors, first in self.vectors:
            begin = 0 if vectors.of_token is None else self.n_tokens + first
            by_label = sums(vectors.rows, residuals[begin:][: len(vectors.rows)], self.threads, squared)
            ptr = index.ptr[vectors.first : vectors.first + vectors.size + 1]
            dimension = np.repeat(np.arange(vectors.size), np.diff(ptr))
            out[ptr[0] : ptr[-1]] = by_label[dimension, index.labels[ptr[0] : ptr[-1]]]
