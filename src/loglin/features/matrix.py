"""Numeric input as scikit-learn gives it: a dense or sparse matrix, one row per example."""

from __future__ import annotations

import numpy as np

from loglin.corpus.sections import Section
from loglin.features.design import NO_VALUES, Design, Incidence


class MatrixExtractor:
    """Columns of a matrix are the attributes; ``intercept`` adds one that is always 1."""

    n_bigram_attributes = 0

    def __init__(self, n_columns: int = 0, intercept: bool = True, names: list[str] | None = None):
        self.n_columns, self.intercept, self.names = n_columns, intercept, names

    @property
    def n_attributes(self) -> int:
        return self.n_columns + self.intercept

    def fit(self, X, min_count: int = 1) -> Design:
        self.n_columns = X.shape[1]
        return self.transform(X)

    def transform(self, X, intercept: bool = True) -> Design:
        """The design of a checked NumPy array or SciPy CSR matrix; ``intercept=False`` leaves its attribute out."""
        n = X.shape[0]
        if hasattr(X, "indptr"):
            ptr, ids = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
            values = X.data.astype(np.float64, copy=False)
        else:
            ptr = np.arange(n + 1, dtype=np.int64) * self.n_columns
            ids = np.tile(np.arange(self.n_columns, dtype=np.int32), n)
            values = np.asarray(X, np.float64).reshape(-1)
        tokens = Incidence(ptr, ids, NO_VALUES if len(values) and np.all(values == 1) else values)
        if self.intercept and intercept:
            always = Incidence(np.arange(n + 1, dtype=np.int64), np.full(n, self.n_columns, np.int32))
            tokens = tokens.joined(always)
        return Design(np.arange(n + 1, dtype=np.int64), tokens, Incidence.empty(n), self.n_attributes, 0)

    def attribute_name(self, attribute: int, kind: str = "unigram") -> str:
        if attribute == self.n_columns:
            return "(intercept)"
        return self.names[attribute] if self.names else f"x{attribute}"

    def template_of(self, kind: str) -> np.ndarray:
        return np.zeros(self.n_attributes if kind == "unigram" else 0, np.int64)

    def to_section(self) -> Section:
        numbers = {"columns": self.n_columns, "intercept": self.intercept, "names": self.names}
        return Section({"kind": "matrix"} | numbers)

    @classmethod
    def from_section(cls, section: Section) -> MatrixExtractor:
        n_columns = section.whole("columns", least=0)
        names = None if section.get("names") is None else section.names("names")
        section.require(names is None or len(names) == n_columns, "names", "are not one a column")
        return cls(n_columns, section.value("intercept", bool), names)
