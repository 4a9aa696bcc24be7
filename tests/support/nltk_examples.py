"""The example grammars that come with NLTK: texts within one of its functions, or variables in older versions."""

from __future__ import annotations

import nltk


def toy_grammars() -> list[nltk.PCFG]:
    older = [getattr(nltk, name) for name in ("toy_pcfg1", "toy_pcfg2") if hasattr(nltk, name)]
    texts = [text for text in nltk.grammar.pcfg_demo.__code__.co_consts if isinstance(text, str) and " -> " in text]
    found = older or [nltk.PCFG.fromstring(text) for text in texts if "NP" in text]
    assert len(found) == 2
    return found
