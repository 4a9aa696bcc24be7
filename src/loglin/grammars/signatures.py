"""Classes of words by their spelling, for words that a grammar does not know."""

from __future__ import annotations

SUFFIXES = ("ing", "ed", "ly", "ion", "er", "est", "al", "ity", "y", "s")


def signature(word: str, first_in_sentence: bool) -> str:
    """UNK, then capital (C0 where a sentence begins), hyphen and the first fitting suffix; or digits alone."""
    if any(c.isdigit() for c in word):
        return "UNK-dig"
    parts = ["UNK"]
    if word[:1].isupper():
        parts.append("C0" if first_in_sentence else "C")
    if "-" in word:
        parts.append("h")
    parts += [s for s in SUFFIXES if word.lower().endswith(s) and len(word) > len(s) + 1][:1]
    return "-".join(parts)
