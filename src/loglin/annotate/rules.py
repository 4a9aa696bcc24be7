"""What words are said to be: by a dictionary, "always" from the page, and "never here"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from loglin.annotate.pool import Item
from loglin.annotate.spans import Notation, Span
from loglin.annotate.work import Work
from loglin.corpus.dictionaries import read

Words = tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """Words, one or several in a row, and the types that they may have."""

    notation: Notation
    types: Mapping[Words, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: str, notation: Notation, encoding: str = "utf-8") -> Rules:
        """A dictionary file: words, then types or labels; the words in front of a tab may hold blanks."""
        found = {}
        for words, tags in read(path, encoding).words.items():
            found[tuple(words.split())] = frozenset(
                type_ for tag in map(str, tags) for type_ in (notation.types([tag]) or [tag])
            )
        return cls(notation, found)

    def with_always(self, always: Mapping[Words, str]) -> Rules:
        return Rules(self.notation, {**self.types, **{words: frozenset([type_]) for words, type_ in always.items()}})

    def named(self) -> list[str]:
        """All types that the rules name."""
        return list(dict.fromkeys(type_ for types in self.types.values() for type_ in sorted(types)))

    def found(self, item: Item) -> list[tuple[int, int, frozenset[str]]]:
        """Where words of the rules stand in an item, the longest first from the left, with the types they may have."""
        words, longest, start, hits = item.words, max(map(len, self.types), default=0), 0, []
        while start < len(words):
            for stop in range(min(start + longest, len(words)), start, -1):
                if (types := self.types.get(tuple(words[start:stop]))) is not None:
                    hits.append((start, stop, types))
                    start = stop - 1
                    break
            start += 1
        return hits

    def allowed(self, item: Item, never: Sequence[Span] = (), names: Iterable[str] = ()) -> dict[int, set[str]]:
        """Positions whose labels are limited, with what they may be; ``names`` are all labels there are.

        A span that is never here is none of its type; that outweighs what words always are.
        """
        labels, limits = set(names), dict[int, set[str]]()
        for start, stop, types in self.found(item):
            for t in range(start, stop):
                inner = slice(None) if t == start or not all(len(self.notation.forms(y)) > 1 for y in types) else -1
                limits[t] = {label for y in types for label in _some(self.notation.forms(y), inner)} & labels
        for start, stop, type_ in never:
            for t in range(start, stop):
                limits[t] = labels - set(self.notation.forms(type_))
        return {t: some for t, some in limits.items() if some}


def _some(forms: Words, which: slice | int) -> Words:
    return forms[which] if isinstance(which, slice) else (forms[which],)


def single_words(rules: Rules, labels: Iterable[str]) -> dict[str, list[str]]:
    """The rules about single words, as a tagging dictionary of labels."""
    known = set(labels)
    found = {}
    for words, types in rules.types.items():
        some = sorted({form for type_ in types for form in rules.notation.forms(type_)} & known)
        if len(words) == 1 and some:
            found[words[0]] = some
    return found


def rules_of(base: Rules, work: Work) -> Rules:
    """The dictionary together with what the page has added."""
    return base.with_always(work.always)
