"""Templates as users give them: a file's name, a text, the name of a set that comes with loglin, or nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from loglin.corpus.files import read_text
from loglin.errors import LoglinError
from loglin.features.template import TemplateSet, parse_templates

if TYPE_CHECKING:
    from loglin.features.span_templates import GrammarTemplates

# For words: the word and its neighbors, spelling, and label bigrams.
WINDOWS = """\
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U10:%lower[0,0]
U11:%prefix[0,0,1]
U12:%prefix[0,0,2]
U13:%prefix[0,0,3]
U14:%suffix[0,0,1]
U15:%suffix[0,0,2]
U16:%suffix[0,0,3]
U20:%short-shape[-1,0]
U21:%shape[0,0]
U22:%short-shape[0,0]
U23:%short-shape[1,0]
"""
DEFAULT = WINDOWS + "B\n"

# Of every further column the same windows as of words, but for the spelling.
COLUMN = """\
U{0}00:%x[-2,{0}]
U{0}01:%x[-1,{0}]
U{0}02:%x[0,{0}]
U{0}03:%x[1,{0}]
U{0}04:%x[2,{0}]
U{0}05:%x[-1,{0}]/%x[0,{0}]
U{0}06:%x[0,{0}]/%x[1,{0}]
"""

# Ratnaparkhi's (1996) parts of speech: the word if common, else its spelling; words around; one and two tags before.
RATNAPARKHI = """\
#! min_count=5 U00
U00:%x[0,0]
U01:%x[-1,0]
U02:%x[-2,0]
U03:%x[1,0]
U04:%x[2,0]
U11:%prefix[0,0,1]/%rare[0,0,5]
U12:%prefix[0,0,2]/%rare[0,0,5]
U13:%prefix[0,0,3]/%rare[0,0,5]
U14:%prefix[0,0,4]/%rare[0,0,5]
U15:%suffix[0,0,1]/%rare[0,0,5]
U16:%suffix[0,0,2]/%rare[0,0,5]
U17:%suffix[0,0,3]/%rare[0,0,5]
U18:%suffix[0,0,4]/%rare[0,0,5]
U21:%if[0,0,"\\d"]/%rare[0,0,5]
U22:%if[0,0,"\\u"]/%rare[0,0,5]
U23:%if[0,0,"-"]/%rare[0,0,5]
U31:%edge[-1,0]
B32:%edge[-2,0]
B
T
"""

# A tagger of words and label n-grams with the ends of the sentence as labels, as HMMs have them: BOS BOS t, BOS t EOS,
# BOS t t', t t' EOS and t t' t'' (contrastive_estimation §5.1), or BOS t, t EOS and t t'.
TRIGRAM = """\
U00:%x[0,0]
U01:%edge[-1,0]
U02:%edge[-1,0]/%edge[1,0]
B01:%edge[-2,0]
B02:%edge[1,0]
T
"""
BIGRAM = """\
U00:%x[0,0]
U01:%edge[-1,0]
U02:%edge[1,0]
B
"""
# §5.2: suffixes of words that have as many characters, an initial capital, a hyphen, a digit.
SPELLING = """\
U11:%suffix[0,0,1]
U12:%suffix[0,0,2]/%if[0,0,".."]
U13:%suffix[0,0,3]/%if[0,0,"..."]
U21:%if[0,0,"^\\u"]
U22:%if[0,0,"-"]
U23:%if[0,0,"\\d"]
"""


def _ends(template: str) -> str:
    """The label n-grams of a template whose words stand in another."""
    return template.removeprefix("U00:%x[0,0]\n").replace("U0", "U9")


NAMED = {
    "ratnaparkhi": RATNAPARKHI,
    "bigram": BIGRAM,
    "bigram-spelling": SPELLING + BIGRAM,
    "trigram": TRIGRAM,
    "trigram-spelling": SPELLING + TRIGRAM,
    "windows-bigram": WINDOWS + _ends(BIGRAM),
    "windows-trigram": WINDOWS + _ends(TRIGRAM),
}

# piecewise_training §5: first and last word of the span, joined with the length if below 3; rare words as signatures.
PAPER = """\
R01:%word[first,0,2]/%length[3]
R02:%word[last,0,2]/%length[3]
"""
# The same with the words outside the span, for criteria that judge one rule at a time: on the Treebank sample
# (sentences of at most 15 words, five splits) MECFG has an F1 of 77.8 with them, 76.9 without.
BOUNDARIES = (
    PAPER
    + """\
R03:%word[first,-1,2]/%length[3]
R04:%word[last,1,2]/%length[3]
"""
)
# For whole trees: the ends of the span, the words outside it and around its split, shapes, the length; words and
# their spelling.
SPANS = """\
R01:%word[first,0,2]
R02:%word[last,0,2]
R03:%word[first,-1,2]
R04:%word[last,1,2]
R05:%length[6]
R06:%short-shape[first,0]/%short-shape[last,0]
L01:%word[first,-1,2]/%word[first,0,2]
L02:%word[last,0,2]/%word[last,1,2]
S01:%word[split,-1,2]
S02:%word[split,0,2]
U01:%x[0,0]
U02:%suffix[0,0,3]
U03:%short-shape[0,0]
"""
NAMED_GRAMMARS = {"paper": PAPER, "boundaries": BOUNDARIES, "spans": SPANS}


def read_templates(
    template: str | os.PathLike | TemplateSet | None, like: str | None = None, columns: int = 1
) -> TemplateSet:
    """Templates from a path, from text with at least one line break or item, by name, or the default ones.

    ``like`` names a tool whose features they shall give (features/like.py). Default templates look at so many
    ``columns``.
    """
    if isinstance(template, TemplateSet):
        return template
    if template is None:
        return parse_templates(default_template(columns), "the default template", like)
    return parse_templates(*_text(_named(template), NAMED), like)


def default_template(columns: int = 1) -> str:
    """The template that is taken where none is given, for words and further columns."""
    return "".join(COLUMN.format(c) for c in range(1, columns)) + DEFAULT


def read_grammar_templates(template: str | os.PathLike | GrammarTemplates) -> GrammarTemplates:
    """Templates of a grammar from a path, from text, by name, or the default ones."""
    from loglin.features.span_templates import GrammarTemplates, parse_grammar_templates

    if isinstance(template, GrammarTemplates):
        return template
    return parse_grammar_templates(*_text(_named(template), NAMED_GRAMMARS))


def _named(template: object) -> str:
    if not isinstance(template, str | os.PathLike):
        raise LoglinError(f"template is {template!r:.60}; give a file, a name or the text of templates")
    return str(os.fspath(template))


def _text(template: str, named: dict[str, str]) -> tuple[str, str]:
    """The text of a template, and what to call it in messages."""
    if "\n" in template or "%" in template:
        return template, "template"
    if template in named and not Path(template).exists():
        return named[template], f"the template {template}"
    try:
        if Path(template).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        os.stat(template)
    except (OSError, ValueError) as error:
        raise LoglinError(
            f"cannot read the template {template}: {getattr(error, 'strerror', error)}; check the name, or take one "
            f"that comes with loglin: {', '.join(named)}"
        ) from error
    return read_text(template, remedy="save the template as UTF-8"), template
