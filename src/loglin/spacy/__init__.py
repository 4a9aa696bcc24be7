"""spaCy pipelines with models of loglin: a component ``loglin``, and documents to and from sentences.

    nlp.add_pipe("loglin", config={"model": "ner.model"})

spaCy finds the component by its entry point; it is imported when it is first used (docs/spacy.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"Component": "component", "make_component": "component"}
_HOMES |= dict.fromkeys(("read_docs", "write_docs", "labeled_sentences", "docs_of"), "docs")
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loglin.spacy' has no attribute {name!r}")
    return getattr(import_module(f"loglin.spacy.{_HOMES[name]}"), name)
