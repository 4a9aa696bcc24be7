"""loglin: log-linear models for text, small, fast, explainable.

    from loglin import Tagger, MaxEnt, load

The way of the data; a folder imports only those above it (docs/architecture.md):

    kernels         compiled code: arrays in, arrays out
    corpus          files → columns of codes, trees, examples
    features        templates, functions → designs and feature indices
    grammars        rules, symbols, binarization
    structures      scores → partition, marginals, best, n-best, samples
    neighborhoods   a sentence → lattice of the sentences it is compared with
    generative      HMM, PCFG, n-gram, naive Bayes: counted
    models          trained models and their files
    decoding        model, text → labels, trees, entities, explanations
    evaluation      right and predicted → scores, significance
    optimize        value and gradient → weights
    objectives      data, structure → value and gradient
    problems        data numbered and checked
    criteria        which sums: one file each
    training        problem, criterion → trained model
    drawing         trees, lattices, explanations, models … → text, SVG, HTML, figures
    estimators      the face for Python
    crfsuite        the same with the names of python-crfsuite and sklearn-crfsuite
    serve           estimators → answers over HTTP; the pages
    spacy           a component of spaCy's pipelines
    inspection      what is in a model, and its mistakes → a page
    annotate        text, a person, a model that learns → labels
    demo, reproduce a built-in corpus; published tables
    cli             the face for the shell

Everything heavy is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Chain",
    "Forest",
    "Grammar",
    "LanguageModel",
    "Lattice",
    "Local",
    "LoglinError",
    "MaxEnt",
    "NaiveBayes",
    "Parser",
    "Progress",
    "Tagger",
    "load",
    "select_tagger",
    "show",
]

_HOMES = {
    "Chain": "loglin.structures",
    "Forest": "loglin.structures",
    "Grammar": "loglin.grammars.grammar",
    "LanguageModel": "loglin.estimators",
    "Lattice": "loglin.structures",
    "Local": "loglin.structures",
    "LoglinError": "loglin.errors",
    "MaxEnt": "loglin.estimators",
    "NaiveBayes": "loglin.estimators",
    "Parser": "loglin.estimators",
    "Progress": "loglin.drawing.progress",
    "Tagger": "loglin.estimators",
    "load": "loglin.estimators",
    "select_tagger": "loglin.estimators",
    "show": "loglin.drawing.tagged",
}

if TYPE_CHECKING:
    from loglin.drawing.progress import Progress
    from loglin.drawing.tagged import show
    from loglin.errors import LoglinError
    from loglin.estimators import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger, load, select_tagger
    from loglin.grammars.grammar import Grammar
    from loglin.structures import Chain, Forest, Lattice, Local


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loglin' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
