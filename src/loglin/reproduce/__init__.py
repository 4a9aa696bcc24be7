"""Published tables and ours side by side. One module a table, imported when it is run.

A module has ``run(quick, progress, threads) -> Table``; where the table has figures it also says
``DRAWS = True``, so that ``check_output`` reports a missing matplotlib before the work and not after it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.reproduce.table import Table

# name → (module, one line)
TABLES = {
    "m-estimation-table1": ("m_estimation_table1", "NP chunking: HMM, MEMM, CRF, M-estimation (Smith et al. 2007)."),
    "m-estimation-table2": ("m_estimation_table2", "NP chunking: base models of M-estimation (Smith et al. 2007)."),
    "m-estimation-figures": ("m_estimation_figures", "Training times, learning curves, accuracy against time."),
    "optimizers": ("optimizers", "Ways to the same weights, by passes and seconds (lectures' optimizers)."),
    "piecewise-table1": ("piecewise_table1", "Entities and parts of speech: CRF, MEMM, pieces (Sutton, McCallum)."),
    "piecewise-table2": ("piecewise_table2", "Parsing: PCFG, MECFG, PT-CFG, CRF-CFG (Sutton, McCallum)."),
    "mestimation-trees": ("mestimation_trees", "Parsing: M-estimation on a PCFG, CRF-CFG (after Smith et al. 2007)."),
    "contrastive-figure2": ("contrastive_figure2", "Tags without labels: neighborhoods, EM, sizes (Smith, Eisner)."),
    "contrastive-table3": ("contrastive_table3", "Tags without labels: diluted dictionaries (Smith, Eisner)."),
    "contrastive-figure3": ("contrastive_figure3", "The same on ambiguous words, by prior (Smith, Eisner)."),
    "contrastive-trees": ("contrastive_trees", "Grammars of tags without trees: EM, neighborhoods (Smith, Eisner)."),
    "semi-supervised": ("semi_supervised", "Tags with few labels: mixtures with contrastive estimation, EM."),
    "slides-examples": ("slides_examples", "Worked examples of the lectures: votes, sensors, stoplights."),
    "text-categorization": ("text_categorization", "Reuters: naive Bayes, regressions, support vectors (Zhang, Oles)."),
    "word-sense": ("word_sense", "Word senses: joint against conditional estimation (Klein, Manning)."),
    "pp-attachment": ("pp_attachment", "Verb or noun: maximum entropy, back-off (Ratnaparkhi; Collins, Brooks)."),
    "sentence-boundary": ("sentence_boundary", "Where sentences end: maximum entropy (Reynar, Ratnaparkhi; Mikheev)."),
    "pos-ratnaparkhi": ("pos_ratnaparkhi", "Parts of speech, Ratnaparkhi's features: dictionary, beam, cut-off."),
    "smoothing": ("smoothing", "Count cut-offs against Gaussian priors: tags, prepositional phrases."),
    "language-model": ("language_model", "Next words of the Brown corpus: the features of Collins' lecture."),
}


def module_of(name: str) -> Any:
    """The module that makes a table."""
    if name not in TABLES:
        raise LoglinError(f"no table is called {name!r}; there are {', '.join(TABLES)}")
    full = f"loglin.reproduce.{TABLES[name][0]}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        raise LoglinError(f"the table {name} is not in this version of loglin; install a newer one") from error


def run(
    name: str, quick: bool = False, progress: Callable[[str], None] = lambda line: None, threads: int | None = None
) -> Table:
    """Make a table; ``quick`` is for a look in a minute or two, on less data, and its numbers are marked."""
    module, began = module_of(name), perf_counter()
    table = module.run(quick=quick, progress=progress, threads=threads)
    return replace(table, quick=quick, seconds=perf_counter() - began)


def check_output(name: str, folder: str | os.PathLike, quick: bool = False) -> None:
    """Refuse, before the work, a folder or a machine on which the finished table could not be written."""
    from loglin.reproduce.figures import require_matplotlib
    from loglin.reproduce.table import check_folder

    check_folder(folder, name, quick)
    if getattr(module_of(name), "DRAWS", False):
        require_matplotlib()
