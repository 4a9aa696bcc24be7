"""What Python users hear of a training: the log under the name loglin, and a warning where it cannot end well."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import TYPE_CHECKING

from loglin.optimize.record import LIMIT

if TYPE_CHECKING:
    from loglin.models.chain import Model
    from loglin.models.parser import ParserModel
    from loglin.optimize.record import Iteration


LOGGER = logging.getLogger("loglin")


class ConvergenceWarning(UserWarning):
    """Stands for scikit-learn's until a program has imported that, which takes 80 MB and half a second."""


def log_iteration(iteration: Iteration) -> None:
    """An iteration, for those who listen at level DEBUG."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        score = "" if iteration.score is None else f", dev {iteration.score:.4f}"
        LOGGER.debug("iteration %d: objective %.6g%s", iteration.number, iteration.value, score)


def warn_of_end(model: Model | ParserModel) -> None:
    """Warn where max_iter came before convergence, and where no finite weights are best; the model is usable."""
    record = model.record
    told = (record.get("criterion"), record.get("iterations"), record.get("objective"), record.get("stopped"))
    LOGGER.info("%s: %s iterations, objective %s; %s", *told)
    reason = record.get("unbounded")
    if not reason and record.get("stop") == LIMIT and record.get("certificate") is not None:
        reason = f"{record['stopped']}; raise max_iter, or tol"
    if reason:
        theirs = sys.modules.get("sklearn.exceptions")
        category = ConvergenceWarning if theirs is None else theirs.ConvergenceWarning
        warnings.warn(reason, category, stacklevel=4)
