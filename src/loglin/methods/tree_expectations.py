"""Which features a PCFG expects how often, for M-estimation on trees."""

from __future__ import annotations

import numpy as np

from loglin.criteria.forest import TreeIndex
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.spans import SpanExtractor
from loglin.models.pcfg import PCFG


def expected_features(
    pcfg: PCFG, index: TreeIndex, tokens: TemplateExtractor | None, spans: SpanExtractor | None
) -> np.ndarray:
    """E[f] under the grammar: (features,)."""
    raise LoglinError("M-estimation on trees is being built")
