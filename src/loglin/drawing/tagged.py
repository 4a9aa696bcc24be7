"""Tagged sentences: for the terminal in columns, for notebooks with entities in color."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loglin.corpus import schemes
from loglin.corpus.shown import Shown
from loglin.drawing.html import Html, element, frame, remark, tint
from loglin.drawing.svg import columns, printable
from loglin.errors import LoglinError

MOST = 200  # sentences on a page
_WRONG = "text-decoration:underline wavy #d32f45;text-underline-offset:3px"


@dataclass(frozen=True)
class TaggedText(Shown):
    """Sentences with their labels, shown as lines of columns or, in a notebook, with entities in color."""

    sentences: list[list[str]]
    labels: list[list]
    right: list[list] | None = None  # labels that differ from these are marked
    probabilities: list[list[float]] | None = None  # of every token's label
    entities: dict[tuple[int, int, int], float] = field(default_factory=dict)  # sentence, begin, end → probability

    def __str__(self) -> str:
        blocks = []
        for n, (words, labels) in enumerate(zip(self.sentences, self.labels, strict=True)):
            rows = [[printable(word), printable(str(y))] for word, y in zip(words, labels, strict=True)]
            for i, row in enumerate(rows):
                if self.probabilities is not None:
                    row.append(f"{self.probabilities[n][i]:.4f}")
                if self.right is not None and self.right[n][i] != labels[i]:
                    row.append(f"not {printable(str(self.right[n][i]))}")
            width = max((columns(row[0]) for row in rows), default=0)
            wide = max((columns(row[1]) for row in rows), default=0)
            lines = [
                "  ".join([a + " " * (width - columns(a)), b + " " * (wide - columns(b)), *rest])
                for a, b, *rest in rows
            ]
            blocks.append("\n".join(line.rstrip() for line in lines))
        return "\n\n".join(blocks)


def show(sentences: Iterable, labels: Iterable, right: Iterable | None = None) -> TaggedText:
    """A sentence and its labels, or several, for notebooks and terminals.

    Parameters
    ----------
    sentences : a list of tokens, or a list of such lists; of a token with several columns the first is shown.
    labels : a label for each token. Labels in a chunk scheme (B-PER, I-PER, O) are shown as entities.
    right : the right labels; those that differ are underlined.

    Examples
    --------
    >>> print(show(["two", "cups"], ["QTY", "UNIT"]))
    two   QTY
    cups  UNIT
    """
    given = [list(part) for part in (sentences, labels)]
    many = bool(given[1]) and isinstance(given[1][0], list | tuple)
    tokens, found = given if many else [[part] for part in given]
    gold = None if right is None else list(right) if many else [list(right)]
    words = [[_word(token) for token in sentence] for sentence in tokens]
    for what, sequences in (("labels", found), ("right labels", gold)):
        if sequences is not None:
            _check(words, sequences, what)
    return TaggedText(words, [list(y) for y in found], None if gold is None else [list(y) for y in gold])


def _word(token: Any) -> str:
    first = token[0] if isinstance(token, tuple | list) and token else token
    return str(first)


def _check(words: list[list[str]], labels: Sequence, what: str) -> None:
    if len(labels) != len(words):
        raise LoglinError(f"there are {len(words)} sentences but {what} of {len(labels)}; give as many")
    for number, (sentence, sequence) in enumerate(zip(words, labels, strict=True)):
        if len(sentence) != len(sequence):
            raise LoglinError(
                f"sentence {number} has {len(sentence)} tokens but {len(sequence)} {what}; give one for each token"
            )


def tagged_page(text: TaggedText) -> Html:
    """Sentences with entities, or the label below each token where labels are no chunk scheme."""
    names = sorted({str(y) for labels in text.labels for y in labels})
    chunks = schemes.detect(names) is not None
    types = sorted({(schemes.split(y) or ("", y))[1] for y in names} if chunks else names)
    shown = [_sentence(text, n, types, chunks) for n in range(min(len(text.sentences), MOST))]
    rest = len(text.sentences) - len(shown)
    return frame(*shown, *([remark(f"and {rest:,} more sentences")] if rest else []))


def _sentence(text: TaggedText, n: int, types: list[str], chunks: bool) -> Html:
    labels = [str(y) for y in text.labels[n]]
    spans = schemes.entities(labels) if chunks else [(y, i, i + 1) for i, y in enumerate(labels)]
    pieces, at = [], 0
    for name, start, stop in [*spans, ("", len(labels), len(labels))]:
        pieces += [_token(text, n, i) for i in range(at, start)]
        if start < stop:
            pieces.append(_span(text, n, name, start, stop, types.index(name), chunks))
        at = stop
    return element("div", *(Html(f"{piece} ") for piece in pieces), style="line-height:2.2;margin:2px 0")


def _span(text: TaggedText, n: int, name: str, start: int, stop: int, place: int, chunks: bool) -> Html:
    chance = text.entities.get((n, start, stop))
    if chance is None and not chunks and text.probabilities is not None:
        chance = text.probabilities[n][start]
    known = name if chance is None else f"{name} {100 * chance:.0f} %"
    note = element("span", known, style="font-size:75%;opacity:.8;margin-left:4px;white-space:nowrap")
    words = [_token(text, n, i) for i in range(start, stop)]
    style = f"background:{tint(place)};border:1px solid {tint(place, 0.7)};border-radius:4px;padding:1px 4px"
    return element("span", *(Html(f"{word} ") for word in words[:-1]), words[-1], note, style=style)


def _token(text: TaggedText, n: int, i: int) -> Html:
    """A token, with its probability where the mouse rests on it; underlined where its label is wrong."""
    about = str(text.labels[n][i])
    if text.probabilities is not None:
        about += f", probability {text.probabilities[n][i]:.4f}"
    wrong = text.right is not None and text.right[n][i] != text.labels[n][i]
    if text.right is not None and wrong:
        about += f"; right: {text.right[n][i]}"
    return element("span", text.sentences[n][i], title=about, style=_WRONG if wrong else None)
