"""Rows of Parquet, Feather and Arrow files, read and written batch by batch by pyarrow, imported here alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loglin.corpus.files import open_binary
from loglin.corpus.frames import plain_values
from loglin.corpus.limits import limits, raising
from loglin.errors import LoglinError

ROWS_AT_ONCE = 10_000


class _Written(io.RawIOBase):
    """A stream that keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found


class _Writer:
    """Writes tables one behind the other into a file of the kind that was read."""

    def __init__(self, kind: str):
        self.kind, self._sink = kind, _Written()
        self._writer: Any = None

    def written(self, table: Any, last: bool) -> bytes:
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table)
        if last:
            self._writer.close()
        return self._sink.take()

    def _opened(self, schema: Any) -> Any:
        import pyarrow

        if self.kind == "parquet":
            from pyarrow.parquet import ParquetWriter

            return ParquetWriter(self._sink, schema)
        opened = pyarrow.ipc.new_file if self.kind == "feather" else pyarrow.ipc.new_stream
        return opened(self._sink, schema, options=pyarrow.ipc.IpcWriteOptions(compression="lz4"))


@dataclass
class ArrowRows:
    """Some rows of a file."""

    table: Any
    path: str
    first: int  # the number of the first row, from 1
    last: bool  # whether the file ends with them
    writer: _Writer
    as_lists: bool  # whether a row may be a sentence

    @property
    def names(self) -> list[str]:
        return self.table.column_names

    @property
    def n_rows(self) -> int:
        return self.table.num_rows

    @property
    def blank(self) -> list[bool] | None:
        return None if self.as_lists else [False] * self.n_rows

    def column(self, name: str) -> list:
        return plain_values(self.table[name])

    def at(self, row: int) -> str:
        return f"{self.path}, row {self.first + row}"

    def between(self, begin: int, end: int | None) -> ArrowRows:
        table = self.table.slice(begin, None if end is None else end - begin)
        whole = self.last and (end is None or end == self.n_rows)
        return ArrowRows(table, self.path, self.first + begin, whole, self.writer, self.as_lists)

    def joined(self, behind: Any) -> ArrowRows:
        import pyarrow

        table = pyarrow.concat_tables([self.table, behind.table])
        return ArrowRows(table, self.path, self.first, behind.last, self.writer, self.as_lists)

    def written(self, more: dict[str, list]) -> bytes:
        import pyarrow

        table = self.table
        for name, values in more.items():
            if name in table.column_names:
                raise LoglinError(f"{self.path} has a column {name!r} already; rename it")
            table = table.append_column(name, pyarrow.array(values, _type_of(values, pyarrow)))
        return self.writer.written(table, self.last)


def _type_of(values: list, pyarrow: Any) -> Any:
    """The same type in every part, also where it has nothing but what is missing."""
    inside = next((v for value in values for v in (value if isinstance(value, list) else [value]) if v is not None), "")
    kind = pyarrow.string() if isinstance(inside, str) else pyarrow.float64()
    return pyarrow.list_(kind) if any(isinstance(value, list) for value in values) else kind


def rows(path: str, encoding: str) -> Iterator[ArrowRows]:
    """The rows of a file in order, at least one part, which may be empty."""
    try:
        import pyarrow
    except ImportError:
        raise LoglinError(
            f"{path} is a Parquet or Feather file, for which pyarrow is needed; install loglin[tables], or give CSV"
        ) from None
    with open_binary(path) as stream:
        if not stream.seekable():
            most = limits().whole
            content = stream.read(most + 1)
            if len(content) > most:
                raise LoglinError(f"{path} has more than {most:,} bytes; {raising('whole', most)}")
            stream = io.BytesIO(content)
        try:
            kind, schema, batches = _opened(stream)
            as_lists, writer, first = any(_is_list(field.type, pyarrow) for field in schema), _Writer(kind), 1
            waiting = pyarrow.Table.from_batches([], schema)
            for batch in batches:
                table = pyarrow.Table.from_batches([batch], schema)
                if waiting.num_rows:
                    yield ArrowRows(waiting, str(path), first, False, writer, as_lists)
                    first += waiting.num_rows
                waiting = table
            yield ArrowRows(waiting, str(path), first, True, writer, as_lists)
        except (pyarrow.ArrowException, OSError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise LoglinError(f"{path} is damaged, or no {kind_of(path)} file: {why:.120}; write it again") from None


def kind_of(path: str) -> str:
    return "Parquet" if str(path).endswith(".parquet") else "Feather"


def _opened(stream: Any) -> tuple[str, Any, Iterator[Any]]:
    """The kind of a file, its schema, and its batches."""
    import pyarrow

    start = stream.read(6)
    stream.seek(0)
    if start.startswith(b"PAR1"):
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(stream)
        return "parquet", file.schema_arrow, file.iter_batches(ROWS_AT_ONCE)
    if start == b"ARROW1":
        opened = pyarrow.ipc.open_file(stream)
        return "feather", opened.schema, (opened.get_batch(n) for n in range(opened.num_record_batches))
    reader = pyarrow.ipc.open_stream(stream)
    return "arrow", reader.schema, iter(reader)


def _is_list(kind: Any, pyarrow: Any) -> bool:
    types = pyarrow.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
