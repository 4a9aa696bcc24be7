"""Tables with named columns as sentences: frames of pandas and polars, Arrow tables, datasets of Hugging Face, files.

a row is a sentence    tokens ["2", "cups"]   ner ["QTY", "UNIT"]
a row is a token       id 7   word 2   pos CD   ner QTY            rows of one sentence stand together

Nothing here imports the libraries that frames are from: a frame is what has named columns and gives one by its name.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from loglin.corpus.columns import Corpus
from loglin.errors import LoglinError

TOKENS = "tokens"  # the column that is taken where a row is a sentence and none is named
_INDEX = ("__index_level_", "Unnamed: ")  # how pandas names a column that was the index


def is_frame(given: Any) -> bool:
    """Whether an object is a table with named columns."""
    if isinstance(given, Corpus | Mapping | str | type) or not hasattr(type(given), "__getitem__"):
        return False
    known = {*dir(type(given)), *getattr(given, "__dict__", ())}  # asking a query of polars itself would run it
    return bool(known & {"column_names", "columns"})


def plain_values(given: Any) -> list:
    """The values of a column, or any other items, as Python has them; what is missing is None."""
    for method in ("to_pylist", "to_list"):
        if hasattr(given, method):
            return [_present(value) for value in getattr(given, method)()]
    return [_present(value) for value in given]


def _present(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's arrays and numbers
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return None if type(value).__name__ in ("NAType", "NaTType") else value  # of pandas


class Frame:
    """A table of any library as columns of Python values."""

    def __init__(self, given: Any, name: str = "X"):
        given = given.collect() if hasattr(type(given), "collect") else given  # a query of polars
        self.given, self.name = given, name
        self.names = [str(key) for key in self._keys()]

    def _keys(self) -> list:
        """What columns are got by, mostly their names."""
        return list(getattr(self.given, "column_names", None) or self.given.columns)

    def column(self, name: str) -> list:
        """The values of a column; names in the place of the numbers of Hugging Face's class labels."""
        if name not in self.names:
            raise LoglinError(f"{self.name} has no column {name!r}, only {', '.join(map(repr, self.names))}; name one")
        values = plain_values(self.given[self._keys()[self.names.index(name)]])
        features = getattr(self.given, "features", None)
        classes = _class_names(features[name]) if isinstance(features, Mapping) and name in features else None
        return values if classes is None else [_named(value, classes) for value in values]

    def without(self, name: str) -> Any:
        """The table of the same library without a column."""
        return self.selected([other for other in self.names if other != name])

    def selected(self, names: list[str]) -> Any:
        """The table of the same library with these columns alone."""
        if names == self.names:
            return self.given
        others = [self._keys()[self.names.index(name)] for name in names]
        for method in ("select_columns", "select"):  # of Hugging Face; of Arrow and polars
            if hasattr(self.given, method):
                return getattr(self.given, method)(others)
        return self.given[others]

    @property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers; what is missing counts as one."""
        dtypes = list(getattr(self.given, "dtypes", ()))
        if dtypes and all(hasattr(dtype, "kind") for dtype in dtypes):
            return all(dtype.kind in "biuf" for dtype in dtypes)
        values = (value for name in self.names for value in self.column(name))
        return all(value is None or isinstance(value, int | float) for value in values)

    def with_column(self, name: str, values: list) -> Any:
        """The table of the same library with one more column."""
        if name in self.names:
            raise LoglinError(f"{self.name} has a column {name!r} already; give another name for the new one")
        given = self.given
        if hasattr(given, "assign"):
            return given.assign(**{name: values})
        if hasattr(given, "hstack"):
            return given.hstack(type(given)({name: values}))
        if hasattr(given, "append_column"):
            return given.append_column(name, sys.modules["pyarrow"].array(values))
        return given.add_column(name, values)


def _class_names(feature: Any) -> list | None:
    """The names of a feature of class labels, or of lists of these."""
    while feature is not None and not hasattr(feature, "names"):
        feature = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
    return None if feature is None else list(feature.names)


def _named(value: Any, names: list) -> Any:
    if isinstance(value, list):
        return [_named(one, names) for one in value]
    return names[value] if type(value) is int and 0 <= value < len(names) else None if value == -1 else value


# ---------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Names:
    """Which columns of a table are what."""

    columns: tuple[str, ...] = ()  # of tokens; (): ``tokens``, or all that are neither label nor sentence
    label: str | None = None
    sentence: tuple[str, ...] = ()  # whose values tell sentences apart; (): a row is a sentence

    @classmethod
    def of(cls, columns: Any = None, label: str | None = None, sentence: Any = None) -> Names:
        """Names as users give them: one, or a list of them."""
        return cls(_listed(columns, "columns"), label, _listed(sentence, "sentence"))

    @classmethod
    def kept(cls, record: Mapping) -> Names:
        """The names that the record of a model keeps; none where it was trained on something else."""
        found = record.get("table")
        if not isinstance(found, dict):
            return cls()
        try:
            return cls.of(found.get("columns"), found.get("label"), found.get("sentence"))
        except LoglinError:
            return cls()

    def as_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "label": self.label, "sentence": list(self.sentence)}

    def over(self, others: Names) -> Names:
        """These names, and where none is given those of ``others``."""
        return Names(self.columns or others.columns, self.label or others.label, self.sentence or others.sentence)

    def chosen(self, available: Sequence[str], place: str, label: str | None = None) -> Names:
        """The same with all columns of tokens by name, and a label; refuses names that the table lacks."""
        for role, names in (("columns", self.columns), ("sentence", self.sentence)):
            for name in names:
                if name not in available:
                    raise LoglinError(
                        f"{place} has no column {name!r} ({role}), only {', '.join(map(repr, available))}; name others"
                    )
        label = label or self.label
        if self.columns:
            return replace(self, label=label)
        others = {label, *self.sentence}
        left = [n for n in available if n and n not in others and not n.startswith(_INDEX)]
        if not self.sentence and TOKENS in left:
            left = [TOKENS]
        if not left:
            raise LoglinError(f"{place} has no column of tokens besides {', '.join(sorted(map(str, others)))}; add one")
        return Names(tuple(left), label, self.sentence)


def _listed(given: Any, role: str) -> tuple[str, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise LoglinError(f"{role} is {given!r:.60}; give the name of a column, or a list that names each once")
    return found


# ---------------------------------------------------------------------- rows


def sentences_of_rows(
    names: Names, column: Callable[[str], list], at: Callable[[int], str], cuts: list[int] | None = None
) -> tuple[list[list], list[int] | None]:
    """The tokens of every sentence, and where sentences begin and end among the rows; None: a row is a sentence.

    Tokens are strings, or with several columns tuples of strings. ``at`` says where a row stands, and ``cuts`` where
    sentences begin and end, if that is known.
    """
    values = [column(name) for name in names.columns]
    if cuts is None and names.sentence:
        cuts = boundaries([column(name) for name in names.sentence], len(values[0]), at)
    if cuts is None:
        return _of_lists(names, values, at), None
    for name, of_column in zip(names.columns, values, strict=True):
        for row, value in enumerate(of_column):
            if not isinstance(value, str):
                raise _no_word(at(row), name, value)
    rows = values[0] if len(values) == 1 else list(zip(*values, strict=True))
    return [rows[b:e] for b, e in pairwise(cuts)], cuts


def _of_lists(names: Names, values: list[list], at: Callable[[int], str]) -> list[list]:
    """The sentences of rows that each hold lists of tokens."""
    found = []
    for row, parts in enumerate(zip(*values, strict=True)):
        for name, part in zip(names.columns, parts, strict=True):
            if not isinstance(part, list | tuple):
                raise LoglinError(
                    f"{at(row)}: the column {name!r} holds {part!r:.40}, no list of tokens; where a row is a token "
                    "name the column that tells sentences apart, such as sentence='id'"
                )
            if len(part) != len(parts[0]):
                raise LoglinError(
                    f"{at(row)}: {len(part)} values of {name!r} but {len(parts[0])} of {names.columns[0]!r}; give one "
                    "for each token"
                )
            for token in part:
                if not isinstance(token, str):
                    raise _no_word(at(row), name, token)
        found.append(list(parts[0]) if len(parts) == 1 else list(zip(*parts, strict=True)))
    return found


def _no_word(place: str, column: str, value: Any) -> LoglinError:
    if value is None:
        return LoglinError(
            f"{place}, column {column!r}: there is no word; fill it in, or, where pandas read the file, give read_csv "
            "keep_default_na=False, which keeps words such as NA and null"
        )
    return LoglinError(
        f"{place}, column {column!r} holds {value!r:.40}, which is no string; name the columns of tokens with columns"
    )


def boundaries(keys: list[list], n_rows: int, at: Callable[[int], str], seen: set | None = None) -> list[int]:
    """Where sentences begin and the last one ends: rows with the same keys, of which missing ones go on as before.

    ``seen`` are the keys of sentences before these rows, to which those of these are added.
    """
    cuts, known = [], set[tuple]() if seen is None else seen
    last: tuple | None = None
    for row, key in enumerate(zip(*keys, strict=True)):
        if key == last or (last is not None and all(part is None for part in key)):
            continue
        if key in known:
            shown = ", ".join(map(repr, key))
            raise LoglinError(
                f"{at(row)}: the rows of sentence {shown} do not stand together; sort them, or, where numbers begin "
                "anew in every document, name both columns of sentence"
            )
        known.add(key)
        cuts.append(row)
        last = key
    return [*cuts, n_rows]


def labels_of_rows(values: list, cuts: list[int] | None) -> list:
    """The labels of every sentence from a column of lists, or from one label a row."""
    return values if cuts is None else [values[b:e] for b, e in pairwise(cuts)]
