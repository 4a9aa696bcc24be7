"""l2 = auto with labels that are not all known."""

from __future__ import annotations

import pytest

from loglin import LoglinError, Tagger


def test_a_criterion_that_needs_all_labels_refuses_before_it_reads_them():
    """Choosing the strength used to read memory that was none of its arrays'."""
    words, labels = [["a", "b", "a"]] * 30, [["x", "y", "x"]] * 29 + [["x", None, "x"]]
    with pytest.raises(LoglinError, match="needs one certain label for every token; sentence 29, token 1"):
        Tagger("m-estimation").fit(words, labels)
