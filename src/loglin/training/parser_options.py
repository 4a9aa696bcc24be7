"""How to train a parser: what Python, the shell and reproductions ask for, checked before any data are read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from loglin.criteria.settings import NEIGHBORHOODS, checked_settings
from loglin.errors import LoglinError
from loglin.features.read import read_grammar_templates
from loglin.features.span_templates import GrammarTemplates
from loglin.grammars.transforms import TreeCoder
from loglin.neighborhoods.named import neighborhood

HIDDEN = ("em", "contrastive", "mixture")  # learn from sentences without trees
WORDS = "U00:%x[0,0]\n"  # all that can be seen of the neighbors of a sentence
TEMPLATES = {"mecfg": "paper", "piecewise": "paper", "crf": "spans", "perceptron": "spans", "m-estimation": "spans"}
TEMPLATES |= {"contrastive": WORDS, "mixture": WORDS}
# M-estimation's loss is a mean over trees, the others' are sums. On held-out trees of the Treebank sample 0.04 is best
# for sentences of at most 15 words, 0.1 for those of at most 10 and of at most 40.
PENALTIES = {"m-estimation": 0.06}


@dataclass(frozen=True)
class ParserOptions:
    criterion: str = "crf"
    coder: TreeCoder = field(default_factory=TreeCoder)
    template: Any = None  # a file, text or name; None: that of the criterion
    grammar: str | os.PathLike | None = None  # a file of rules
    l1: float = 0.0
    l2: float | None = None  # None: that of the criterion
    max_iter: int = 200  # iterations; epochs of the perceptron, of which ten are the default
    tol: float = 1e-3
    threads: int | None = None
    seed: int = 0
    max_length: int | None = None  # longer sentences are left out of training
    neighborhood: Any = None
    settings: Mapping | None = None

    def __post_init__(self) -> None:
        checked_settings(self.criterion, self.settings, "parse")
        if self.l2 is None:
            object.__setattr__(self, "l2", PENALTIES.get(self.criterion, 1.0))
        for name in ("l1", "l2", "tol"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
                raise LoglinError(f"{name} is {value!r}; give a number of at least 0")
        for name, least in (("max_iter", 1), ("seed", 0), ("threads", 1), ("max_length", 1)):
            value = getattr(self, name)
            if value is None and name in ("threads", "max_length"):
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise LoglinError(f"{name} is {value!r}; give a whole number of at least {least}")
        if self.neighborhood is not None and self.criterion not in NEIGHBORHOODS:
            raise LoglinError(
                f"criterion {self.criterion} compares with no neighborhood; leave it out, or take criterion contrastive"
            )
        if self.neighborhood is not None:
            object.__setattr__(self, "neighborhood", neighborhood(self.neighborhood))
        if self.template is not None and self.criterion in ("pcfg", "em"):
            raise LoglinError(
                f"criterion {self.criterion} counts rules and words alone; leave the template out, or take another"
            )
        self._check_starts()

    def _check_starts(self) -> None:
        """Of the criteria that depend on where they start."""
        settings = self.checked
        if settings.get("starts", 1) < 1:
            raise LoglinError(f"{self.criterion}'s setting starts is 0; give a whole number of at least 1")
        if settings.get("symbols") and self.grammar is not None:
            raise LoglinError(
                f"there are the grammar {os.fspath(self.grammar)} and {self.criterion}'s setting symbols, "
                f"{settings['symbols']}; give one of the two"
            )
        if not 0 < settings.get("annealing", 1.0) <= 1 or settings.get("annealing_rate", 2.0) <= 1:
            raise LoglinError(
                f"{self.criterion}'s setting annealing is {settings['annealing']} and annealing_rate "
                f"{settings['annealing_rate']}; give a number above 0 and at most 1 (none), and one above 1"
            )

    @property
    def checked(self) -> dict[str, Any]:
        """The criterion's settings, with defaults."""
        return checked_settings(self.criterion, self.settings, "parse")

    @property
    def as_terminals(self) -> bool:
        """Whether templates see words as the lexicon reads them: as the base model of M-estimation writes them."""
        return self.criterion == "m-estimation"

    def templates(self) -> GrammarTemplates | None:
        """What spans and words are described by; None: nothing."""
        template = self.template if self.template is not None else TEMPLATES.get(self.criterion)
        return None if template is None else read_grammar_templates(template)
