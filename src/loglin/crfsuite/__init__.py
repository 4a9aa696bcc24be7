"""The names of sklearn-crfsuite and python-crfsuite, on loglin: change the import line (docs/crfsuite.md).

from loglin import crfsuite as sklearn_crfsuite      CRF, metrics, scorers
from loglin import crfsuite as pycrfsuite            Trainer, Tagger, ItemSequence

CRF ──► Trainer ──► algorithms (parameters → criterion, penalties, when to end) ──► training.fit ──► Model ──► Tagger
           └──► messages in CRFsuite's words ──► log_parser
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

CRFSUITE_VERSION = "0.12"  # whose behavior is followed
__all__ = [
    "CRF",
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "Tagger",
    "Trainer",
    "metrics",
    "scorers",
]

_HOMES = {
    "BaseTrainer": "trainer",
    "CRF": "estimator",
    "ItemSequence": "items",
    "Tagger": "tagger",
    "Trainer": "trainer",
}
_MODULES = ("metrics", "scorers")

if TYPE_CHECKING:
    from loglin.crfsuite import metrics, scorers
    from loglin.crfsuite.estimator import CRF
    from loglin.crfsuite.items import ItemSequence
    from loglin.crfsuite.tagger import Tagger
    from loglin.crfsuite.trainer import BaseTrainer, Trainer
    from loglin.errors import LoglinError as CRFSuiteError


def __getattr__(name: str) -> Any:
    if name == "CRFSuiteError":
        return import_module("loglin.errors").LoglinError
    if name in _MODULES:
        return import_module(f"loglin.crfsuite.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'loglin.crfsuite' has no attribute {name!r}")
    return getattr(import_module(f"loglin.crfsuite.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
