"""What Python users hear of a training that cannot end well."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from loglin.optimize.record import LIMIT

if TYPE_CHECKING:
    from loglin.models.chain import Model
    from loglin.models.parser import ParserModel


def warn_of_end(model: Model | ParserModel) -> None:
    """Warn where max_iter came before convergence, and where no finite weights are best; the model is usable."""
    record = model.record
    reason = record.get("unbounded")
    if not reason and record.get("stop") == LIMIT and record.get("certificate") is not None:
        reason = f"{record['stopped']}; raise max_iter, or tol"
    if reason:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(reason, ConvergenceWarning, stacklevel=4)
