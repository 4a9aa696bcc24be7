"""Damaged templates of CRF++, Wapiti and loglin, and random patterns, on a few words."""

from __future__ import annotations

import random

from fuzz import prepared, wild
from loglin.corpus.columns import from_sentences
from loglin.features.extract import TemplateExtractor
from loglin.features.span_templates import parse_grammar_templates
from loglin.features.template import parse_templates

LINES = [
    "U00:%x[-1,0]/%x[0,0]", "B", "B01:%x[0,0]", "T", "*02:%x[1,0]", "U03:%suffix[0,0,3]", "U04:%prefix[0,0,2]", "U05:%shape[0,0]",  # noqa: E501
    'U06:%t[0,0,"^\\u"]', 'U07:%m[0,0,"[\\w-]+"]', 'U08:%M[0,0,"(a+)+$"]', 'U09:%if[0,0,"\\d|x*?"]', "U10:%ngrams[0,0,1,3]",  # noqa: E501
    "U11:%rare[0,0,2]/%lower[0,0]", "U12:%edge[-1,0]", "#! min_count=2 U00", "#! boundary=distance", "#! oov=first",
    "#! like=wapiti", "#! like=crf++", "#! labels=all", "# a comment", "U13:%length-class[0,0]", "U14:%X[0,0]",
]  # fmt: skip
PIECES = [
    "%",
    "[",
    "]",
    "-100",
    "101",
    "99999999999999999999",
    ",",
    '"',
    "\\",
    "*",
    "+?",
    "(?:",
    "(?=",
    "{2,}",
    "|",
    "^",
    "$",
    "\\1",
]
WORDS = [["The", "dog", "", "a" * 40 + "!"], ["Élan", "x-1", "\x1c"]]


def case(rng: random.Random) -> None:
    text = "\n".join(rng.choices(LINES, k=rng.randrange(1, 6)))
    text = wild.damaged(rng, text, PIECES).decode("utf-8", "surrogateescape")
    if rng.random() < 0.1:
        parse_grammar_templates(text, "template")
        return
    templates = parse_templates(text, "template", rng.choice([None, None, None, "crf++", "wapiti", "crfsuite"]))
    corpus = from_sentences(WORDS)
    if templates.columns <= 1:
        extractor = TemplateExtractor(templates)
        extractor.fit(corpus, 1)
        extractor.transform(from_sentences([["new", "The"], *prepared.SENTENCES]))


KINDS = {"templates": case}
