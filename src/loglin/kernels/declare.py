"""The notation of the types that Python calls kernels with.

    int  float  bool  none      a number of Python, or None
    i8[]  u4[]  f4[,]  b1[,,]   an array: kind and size of its numbers as NumPy writes them, and its dimensions
    const f4[,]                 an array that the kernel does not write to, so that it may be read-only
    F[,]  F                     F is f4 or f8, the same wherever it stands in one declaration; F alone is a number
    I[,]                        I is i4 or i8, as wide as F
    Tokens                      a record, of the types that it declares; its F is that of the kernel
    (i8[] i8[])                 a tuple
    Trigrams|none               either

Declared arrays are C-contiguous and aligned. Other letters are said beside the types: K="i4 i8", or T="F" for the same
as F.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from loglin.kernels.compile import RECORDS, Declared

PRECISION = {"F": "f4 f8"}


class Number(NamedTuple):
    """A number of Python, None, or a number of NumPy: int, float, bool, none, f4."""

    kind: str


class Array(NamedTuple):
    """A C-contiguous array."""

    number: str  # i8, f4, …
    dimensions: int
    constant: bool


class Items(NamedTuple):
    """A tuple, or the record ``fields``."""

    items: tuple[Type, ...]
    fields: type | None


Type = Number | Array | Items
_TOKEN = re.compile(r"const |[()|]|[A-Za-z]\w*(?:\[,*\])?")
_NUMBERS = {"int": "i", "float": "d", "bool": "b", "none": "n", "f8": "d", "f4": "s"}


class _Reader:
    """Reads one declaration, its letters bound."""

    def __init__(self, text: str, letters: dict[str, str]):
        self.tokens, self.letters = _TOKEN.findall(text), letters
        if "".join(self.tokens).replace(" ", "") != text.replace(" ", ""):
            raise ValueError(f"types {text!r}: write them as loglin/kernels/declare.py says")

    def sequence(self) -> list[list[Type]]:
        """Every choice of types up to the end, or to the end of a tuple."""
        choices: list[list[Type]] = []
        while self.tokens and self.tokens[0] != ")":
            one = self.one()
            while self.tokens and self.tokens[0] == "|":
                self.tokens.pop(0)
                one += self.one()
            choices.append(one)
        return [list(chosen) for chosen in product(*choices)]

    def one(self) -> list[Type]:
        token = self.tokens.pop(0)
        constant = token == "const "
        if constant:
            token = self.tokens.pop(0)
        if token == "(":
            inside = self.sequence()
            self.tokens.pop(0)
            return [Items(tuple(items), None) for items in inside]
        name, bracket, dimensions = token.partition("[")
        name = self.letters.get(name, name)
        if bracket:
            return [Array(name, len(dimensions), constant)]
        if name in _NUMBERS:
            return [Number("float" if name == "f8" else name)]
        fields, types = RECORDS[name]
        return [Items(tuple(items), fields) for items in _Reader(types, self.letters).sequence()]


def _letters(declared: Declared) -> Iterator[dict[str, str]]:
    """What the letters of declarations stand for, in every way."""
    variables = PRECISION | declared.variables
    for values in product(*(choices.split() for choices in variables.values())):
        letters = dict(zip(variables, values, strict=True))
        letters = {name: letters.get(value, value) for name, value in letters.items()}
        yield {"I": letters["F"].replace("f", "i"), **letters}


def overloads(declared: Declared) -> list[tuple[Type, ...]]:
    """The types of the arguments of every declared overload."""
    found = {
        tuple(types): None
        for text in declared.types
        for letters in _letters(declared)
        for types in _Reader(text, letters).sequence()
    }
    arguments = declared.function.__code__.co_argcount
    for types in found:
        if len(types) != arguments:
            raise ValueError(f"{declared.module}.{declared.name}: {len(types)} types for {arguments} arguments")
    return list(found)


def pattern(kind: Type) -> str:
    """The type as kernels/dispatch.c compares it with an argument."""
    if isinstance(kind, Number):
        return _NUMBERS[kind.kind]
    if isinstance(kind, Array):
        return f"a{kind.number}{kind.dimensions}{'r' if kind.constant else 'w'}"
    return f"t{chr(ord('0') + len(kind.items))}" + "".join(map(pattern, kind.items))
