"""Text and SVG primitives that drawings of trees and of lattices share: widths, allowed characters, the SVG file."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

FONT = 13.0  # size of letters in SVG
FILE = "white"  # the ground of a picture in a file of its own
_JOINERS = "\u200c\u200d"  # without width, but part of words in Persian or Hindi


def printable(text: str) -> str:
    """The text with a replacement sign for each character that would steer a terminal or that XML cannot hold."""
    return "".join(c if c.isprintable() or c in _JOINERS else "\N{REPLACEMENT CHARACTER}" for c in text)


def columns(text: str) -> int:
    """The number of terminal columns that the text takes: an ideograph takes two, a mark on another character none."""
    return sum(map(_columns, text))


def _columns(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf") or "\u1160" <= c <= "\u11ff":  # the rest of a Korean syllable
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def text_width(text: str) -> float:
    """The approximate width of a line in SVG: ideographs are wider than capitals, and these than other letters."""
    return FONT * sum(_em(c) for c in text)


def _em(c: str) -> float:
    if _columns(c) != 1:
        return float(_columns(c) // 2)
    return 0.95 if c in "MW@%mw" else 0.75 if c.isupper() else 0.6


def xml(text: str) -> str:
    """The text as it may stand between tags."""
    return escape(printable(text))


def document(box: tuple[float, float, float, float], title: str, content: Iterable[str], ground: str = FILE) -> str:
    """The SVG of the box (left, top, right, bottom) with this content, on a ground of this color.

    A file is black on white, for dark pages too; inside a page the lines have the color of the text around them.
    """
    left, top, right, bottom = box
    ink = ' color="black"' if ground == FILE else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right - left:.0f}" height="{bottom - top:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT:g}" text-anchor="middle" '
        f'fill="currentColor"{ink}>',
        f"<title>{xml(title)}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" fill="{ground}"/>',
        *content,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
