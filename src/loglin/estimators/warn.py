"""What Python users hear of a training that cannot end well."""

from __future__ import annotations

import warnings

from loglin.models.chain import Model
from loglin.models.parser import ParserModel


def warn_if_unbounded(model: Model | ParserModel) -> None:
    """Without a prior the best weights may be infinite; the model is usable all the same."""
    if reason := model.record.get("unbounded"):
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(reason, ConvergenceWarning, stacklevel=3)
