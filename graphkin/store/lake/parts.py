"""The files of a lake as bytes: tables as Parquet, arrays as .npy, and what is read back of either."""

import hashlib
import io
from collections.abc import Callable, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphkin.runtime.files import read_header
from graphkin.store.columns import ID
from graphkin.store.lake.layout import Group, Part, name_of
from graphkin.store.lake.place import Place
from graphkin.store.records import EDGE_SCHEMA, Edges

ROWS = 65_536
"""Items to a part, and owners to a shard of the graph."""

FOREST = 1 << 20
"""Edges to a part of the forest."""

Rows = TypeVar("Rows", bound=Sized)

_ROW_GROUP = 8_192  # items that a page of them reads at least


def write_table(place: Place, run: str, group: Group, number: int, table: pa.Table) -> Part:
    """Write it as Parquet. Its name follows from run and number, its bytes from the table alone."""
    sink = io.BytesIO()
    pq.write_table(table.combine_chunks(), sink, compression="zstd", row_group_size=_ROW_GROUP)
    return _written(place, name_of(group, number, run), len(table), sink.getvalue())


def write_array(place: Place, run: str, group: Group, number: int, array: NDArray[Any]) -> Part:
    """Write it as .npy, likewise."""
    sink = io.BytesIO()
    npy.write_array(sink, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return _written(place, name_of(group, number, run), len(array), sink.getvalue())


def _written(place: Place, name: str, rows: int, content: bytes) -> Part:
    part = Part(name=name, rows=rows, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    place.write(part.name, content)
    return part


def read_table(content: Any, columns: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a table, by default all, in the order asked for. Raises `ValueError` for what is none."""
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table = file.read(columns)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"no whole table: {error}") from error
    return table if columns is None else table.select(columns)  # Parquet may give more: "a.b" is a part of "a", too


def read_array(content: Any) -> NDArray[Any]:
    """An array over these bytes. Raises `ValueError` for what is none."""
    view = io.BytesIO(content[: 4 * npy.ARRAY_ALIGN * npy.ARRAY_ALIGN])
    try:
        shape, fortran, dtype = read_header(view)
        if fortran or dtype.hasobject:
            raise ValueError("not a plain array")
        return np.frombuffer(content, dtype, int(np.prod(shape)), view.tell()).reshape(shape)
    except Exception as error:  # a damaged header may name any type and shape
        raise ValueError(f"no whole array: {error}") from error


class Filling(Generic[Rows]):
    """Rows that are written whenever a part is full. `joined` makes one of several, `cut` takes some of one."""

    def __init__(
        self, joined: Callable[[list[Rows]], Rows], cut: Callable[[Rows, int], Rows], write: Callable[[Rows], object]
    ) -> None:
        self._joined, self._cut, self._write = joined, cut, write
        self._held: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> None:
        self._held.append(rows)
        self._count += len(rows)
        if self._count >= ROWS:
            self._flush(self._count - self._count % ROWS)

    def finish(self) -> None:
        """Write what is left."""
        if self._count:
            self._flush(self._count)

    def _flush(self, rows: int) -> None:
        whole = self._joined(self._held)
        for start in range(0, rows, ROWS):
            self._write(self._cut(whole, start))
        self._held, self._count = [self._cut(whole, rows)], self._count - rows


def tables(write: Callable[[pa.Table], object]) -> Filling[pa.Table]:
    """Of tables."""
    return Filling(pa.concat_tables, lambda table, start: table.slice(start, ROWS), write)


def with_ids(items: pa.Table, first: int) -> pa.Table:
    """Rows of the item table with their ids, from `first` on."""
    return items.add_column(0, ID, pa.array(np.arange(first, first + len(items), dtype=np.int32)))


def edge_table(edges: Edges) -> pa.Table:
    return pa.table([edges.source, edges.target, edges.similarity], schema=EDGE_SCHEMA)
