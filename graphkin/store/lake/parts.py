"""Encoding of the parts of a lake: tables as Parquet and arrays as .npy."""

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
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.layout import Group, Part, part_name
from graphkin.store.records import EDGE_SCHEMA, Edges

ROWS = 65_536
"""The number of items per part, and of CSR rows per shard of the graph."""

FOREST_ROWS = 1 << 20
"""The number of edges per part of the forest."""

Rows = TypeVar("Rows", bound=Sized)

_ROW_GROUP = 8_192  # items, the smallest unit that a page of items reads


def write_table(export_folder: ExportFolder, run: str, group: Group, number: int, table: pa.Table) -> Part:
    """Write a table as Parquet. Equal tables have equal bytes."""
    sink = io.BytesIO()
    pq.write_table(table.combine_chunks(), sink, compression="zstd", row_group_size=_ROW_GROUP)
    return _write_part(export_folder, part_name(group, number, run), len(table), sink.getvalue())


def write_array(export_folder: ExportFolder, run: str, group: Group, number: int, array: NDArray[Any]) -> Part:
    """Write an array as .npy. Equal arrays have equal bytes."""
    sink = io.BytesIO()
    npy.write_array(sink, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return _write_part(export_folder, part_name(group, number, run), len(array), sink.getvalue())


def _write_part(export_folder: ExportFolder, name: str, rows: int, content: bytes) -> Part:
    part = Part(name=name, rows=rows, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    export_folder.write(part.name, content)
    return part


def read_table(content: Any, columns: Sequence[str] | None = None) -> pa.Table:
    """Return columns of a table, by default all, in the order of `columns`.

    Raises:
        ValueError: The bytes are not a Parquet table.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table = file.read(columns)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"no whole table: {error}") from error
    return table if columns is None else table.select(columns)  # Parquet may read more: "a.b" also names a part of "a"


def read_array(content: Any) -> NDArray[Any]:
    """Return an array over these bytes, without a copy.

    Raises:
        ValueError: The bytes are not a plain .npy array.
    """
    view = io.BytesIO(content[: 4 * npy.ARRAY_ALIGN * npy.ARRAY_ALIGN])
    try:
        shape, fortran, dtype = read_header(view)
        if fortran or dtype.hasobject:
            raise ValueError("not a plain array")
        return np.frombuffer(content, dtype, int(np.prod(shape)), view.tell()).reshape(shape)
    except Exception as error:  # a damaged header may name any type and shape
        raise ValueError(f"no whole array: {error}") from error


class PartBuffer(Generic[Rows]):
    """A buffer of rows that writes a part whenever it holds `ROWS` rows.

    Args:
        concatenate: A function that concatenates blocks of rows.
        slice_at: A function that returns at most `ROWS` rows, starting at an offset.
        write: A function that writes one part.
    """

    def __init__(
        self,
        concatenate: Callable[[list[Rows]], Rows],
        slice_at: Callable[[Rows, int], Rows],
        write: Callable[[Rows], object],
    ) -> None:
        self._concatenate, self._slice_at, self._write = concatenate, slice_at, write
        self._pieces: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> None:
        self._pieces.append(rows)
        self._count += len(rows)
        if self._count >= ROWS:
            self._flush(self._count - self._count % ROWS)

    def finish(self) -> None:
        """Write the remaining rows."""
        if self._count:
            self._flush(self._count)

    def _flush(self, rows: int) -> None:
        buffer = self._concatenate(self._pieces)
        for start in range(0, rows, ROWS):
            self._write(self._slice_at(buffer, start))
        self._pieces, self._count = [self._slice_at(buffer, rows)], self._count - rows


def table_buffer(write: Callable[[pa.Table], object]) -> PartBuffer[pa.Table]:
    """Return a buffer for tables."""
    return PartBuffer(pa.concat_tables, lambda table, start: table.slice(start, ROWS), write)


def add_ids(items: pa.Table, first: int) -> pa.Table:
    """Return rows of the item table with a column of ids that starts at `first`."""
    return items.add_column(0, ID, pa.array(np.arange(first, first + len(items), dtype=np.int32)))


def edge_table(edges: Edges) -> pa.Table:
    return pa.table([edges.source, edges.target, edges.similarity], schema=EDGE_SCHEMA)
