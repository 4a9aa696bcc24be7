"""The notation in which kernels say the types that Python calls them with."""

from typing import NamedTuple

import numpy as np
import pytest

from loglin.kernels.build import declarations, kernel_modules
from loglin.kernels.compile import CONTRACT, RECORDS, Declared, record
from loglin.kernels.declare import overloads, pattern


def patterns(*types, arguments=1, **variables):
    function = eval(f"lambda {', '.join(f'a{i}' for i in range(arguments))}: None")
    found = overloads(Declared(function, CONTRACT, False, types, variables))
    return ["".join(map(pattern, one)) for one in found]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("int", ["i"]),
        ("float", ["d"]),
        ("bool", ["b"]),
        ("none", ["n"]),
        ("i8[]", ["ai81w"]),
        ("const u2[,,]", ["au23r"]),
        ("F[,]", ["af42w", "af82w"]),
        ("F", ["s", "d"]),
        ("(i8[] int)", ["t2ai81wi"]),
        ("i4[]|none", ["ai41w", "n"]),
    ],
)
def test_types(types, expected):
    assert patterns(types) == expected


def test_a_letter_is_the_same_wherever_it_stands():
    assert patterns("F[] I[] F", arguments=3) == ["af41wai41ws", "af81wai81wd"]
    assert patterns("K[] K[]", arguments=2, K="i4 u4") == ["ai41wai41w", "au41wau41w"]
    assert patterns("F[] T[]", arguments=2, T="F") == ["af41waf41w", "af81waf81w"]


def test_records_are_declared_once():
    @record("i8[] F[]")
    class Pair(NamedTuple):
        first: np.ndarray
        second: np.ndarray

    try:
        assert patterns("Pair|none int", arguments=2, F="f8") == ["t2ai81waf81wi", "ni"]
    finally:
        del RECORDS["Pair"]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="2 types for 1 arguments"):
        patterns("int int")
    with pytest.raises(ValueError, match=r"declare\.py"):
        patterns("i8[;]")


@pytest.mark.parametrize("module", kernel_modules())
def test_every_declaration_can_be_read(module):
    for declared in declarations(module):
        found = overloads(declared)
        assert found
        assert len(set("".join(map(pattern, one)) for one in found)) == len(found), declared.name
