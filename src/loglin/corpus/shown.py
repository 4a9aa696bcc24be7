"""What notebooks show as a page: the way from an object to the later stage that draws it."""

from __future__ import annotations

from importlib import import_module


class Shown:
    """An object that notebooks show as HTML, as ``loglin.drawing.pages`` draws it.

    That module stands behind all stages whose objects it draws, so it is named here and imported when a notebook asks.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return import_module("loglin.drawing.pages").page_of(self)
