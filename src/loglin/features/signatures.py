"""Unknown words by what they look like, so that a model knows something about words that it never saw."""

from __future__ import annotations

_SUFFIXES = ("ing", "ed", "ly", "ion", "er", "est", "al", "ity", "y", "s")


def signature(word: str, first_in_sentence: bool) -> str:
    """UNK with what is seen: -dig a digit, and nothing else; -C a capital (-C0 at the start), -h a hyphen, a suffix."""
    if any(c.isdigit() for c in word):
        return "UNK-dig"
    found = "UNK"
    if word[:1].isupper():
        found += "-C0" if first_in_sentence else "-C"
    if "-" in word:
        found += "-h"
    lowered = word.lower()
    suffix = next((s for s in _SUFFIXES if lowered.endswith(s) and len(lowered) > len(s) + 1), None)
    return found if suffix is None else f"{found}-{suffix}"
