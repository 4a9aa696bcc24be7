"""HTML primitives: text that is escaped where it is put into a page, tables, and a frame that every theme can read.

No style sheet and no script: colors are those of the notebook around, where it names them (JupyterLab, VS Code), and
else the browser's own for light or dark, as the user prefers (``color-scheme``). Ground and ink always come from the
same theme, and what is tinted is tinted with a translucent color, so that letters can be read on both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from loglin.drawing.svg import printable

GROUND = "var(--jp-layout-color0,var(--vscode-editor-background,Canvas))"
INK = "var(--jp-content-font-color1,var(--vscode-editor-foreground,CanvasText))"
LINE = "rgba(128,128,128,.35)"
FRAME = (
    f"color-scheme:light dark;background:{GROUND};color:{INK};font:13px/1.5 system-ui,sans-serif;padding:6px 8px;"
    "overflow-x:auto;max-width:100%"
)
FOR, AGAINST = "31,119,200", "230,120,20"  # blue and orange, which color-blind people tell apart
_NAME = "text-align:left;white-space:nowrap"
STRONGEST = 0.55  # opacity of the strongest tint


class Html(str):
    """Text that is HTML already; any other text is escaped when it becomes part of an element."""


def element(name: str, *content: Any, **attributes: Any) -> Html:
    """An element with its content, of which all that is not HTML is escaped; an attribute that is None is left out."""
    given = "".join(f' {k}="{escape(printable(str(v)))}"' for k, v in attributes.items() if v is not None)
    return Html(f"<{name}{given}>{''.join(map(written, content))}</{name}>")


def written(value: Any) -> Html:
    """A value as HTML."""
    return value if isinstance(value, Html) else Html(escape(printable(str(value))))


def frame(*content: Any) -> Html:
    """A part of a notebook, in the colors of its theme."""
    return element("div", *content, style=FRAME)


def heading(text: Any) -> Html:
    return element("div", text, style="font-weight:600;margin:6px 0 3px")


def remark(text: Any) -> Html:
    return element("div", text, style="opacity:.75;margin:2px 0")


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], numbers: bool = True) -> Html:
    """A table whose first column has names, and whose others have numbers, or else texts that may be long."""
    others = "text-align:right;white-space:nowrap" if numbers else "text-align:left;white-space:normal"
    lines = [element("tr", *(_cell("th", cell, others if i else _NAME) for i, cell in enumerate(head)))] if head else []
    lines += [element("tr", *(_cell("td", cell, others if i else _NAME) for i, cell in enumerate(row))) for row in rows]
    return element("table", *lines, style=f"border-collapse:collapse;margin:2px 0 6px;color:{INK};background:none")


def _cell(name: str, content: Any, style: str) -> Html:
    style += f";padding:2px 8px;border:0;border-bottom:1px solid {LINE};font-variant-numeric:tabular-nums"
    if isinstance(content, Tinted):
        return element(name, content.text, style=f"{style};background:{content.color}")
    return element(name, content, style=style)


class Tinted:
    """The text of a cell on a tint: blue for what speaks for something, orange for what speaks against it."""

    def __init__(self, text: str, value: float, largest: float):
        share = min(1.0, abs(value) / largest) if largest > 0 else 0.0
        self.text, self.color = text, f"rgba({FOR if value > 0 else AGAINST},{STRONGEST * share:.2f})"


def bar(share: float, text: str) -> Html:
    """A share from 0 to 1 as a bar with its number on it."""
    full = f"{100 * min(1.0, max(0.0, share)):.1f}%"
    tint = f"rgba({FOR},.3)"
    style = "display:inline-block;min-width:7em;text-align:left;padding:0 4px"
    ground = f"background:linear-gradient(90deg,{tint} {full},transparent {full})"
    return element("span", text, style=f"{style};{ground}")


def hue_of(place: int) -> str:
    """The hue of the color of the type at a place in a list of types: neighbors are far apart."""
    return f"{round(210 + 137.508 * place) % 360}"


def tint(place: int, opacity: float = 0.25) -> str:
    """The translucent color of the type at a place in a list of types."""
    return f"hsla({hue_of(place)},70%,50%,{opacity:g})"
