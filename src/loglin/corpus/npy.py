"""NumPy's files of numbers, a row for every token of a text."""

from __future__ import annotations

import numpy as np

from loglin.errors import LoglinError


class Rows:
    """The rows of a file (rows, dimensions), handed out in the order of the tokens of ``text``."""

    def __init__(self, path: str, text: str):
        self.path, self.text, self.used = path, text, 0
        try:
            self.rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise LoglinError(f"{path} cannot be read: {error.strerror or error}; check its name") from None
        except (ValueError, EOFError):
            raise LoglinError(f"{path} is no array of numbers; write one with numpy.save") from None
        if not isinstance(self.rows, np.ndarray) or self.rows.ndim != 2 or self.rows.dtype.kind not in "fiu":
            found = (
                f"of shape {self.rows.shape} and type {self.rows.dtype}" if hasattr(self.rows, "dtype") else "several"
            )
            raise LoglinError(f"{path} holds an array {found}; write one of floats, (tokens, dimensions)")

    def take(self, n: int) -> np.ndarray:
        """The rows of the next ``n`` tokens."""
        rows = self.rows[self.used : self.used + n]
        if len(rows) < n:
            raise LoglinError(
                f"{self.path} has {len(self.rows):,} rows, but {self.text} has more tokens; give a row for every token"
            )
        self.used += n
        return rows

    def end(self) -> None:
        """Refuse rows that no token has."""
        if self.used < len(self.rows):
            raise LoglinError(
                f"{self.path} has {len(self.rows):,} rows, but {self.text} has {self.used:,} tokens; give a row for "
                "every token"
            )

    def all(self, n: int) -> np.ndarray:
        """The rows of a text of ``n`` tokens."""
        rows = self.take(n)
        self.end()
        return rows
