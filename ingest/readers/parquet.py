"""Parquet files: one record a row, columns by name."""

import json
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graphkin.ingest.readers.columns import OPTIONS, Columns, Options
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decoded, faulted
from graphkin.protocol.errors import InvalidInput

_READ_ROWS = 1000
_READ_BYTES = 4_000_000
_BUFFER = 1 << 18


class ParquetRecords:
    """The records of a Parquet file, `rows` in all; memory is bounded by pages, not by row groups.

    A text that the file holds once for many rows is held once. Numbers and dates become their shortest text and nested
    values JSON; nulls and NaN are left out; bytes of binary columns that are not UTF-8 are shown as `\\xff`. With
    `binary` those of the structure are hexadecimal, and those `beside` it always are. Raises `InvalidInput` for a file
    that is not Parquet, for structures of another type, and as `Columns.resolve` does.
    """

    def __init__(
        self,
        source: str,
        file: IO[bytes] | pa.NativeFile,
        structure: str,
        name: str | None,
        options: Options = OPTIONS,
        beside: str | None = None,
        *,
        binary: bool = False,
    ) -> None:
        try:
            metadata = pq.read_metadata(file)
            shared = [field.name for field in metadata.schema.to_arrow_schema() if _may_be_long(field.type)]
            file.seek(0)
            self._file = pq.ParquetFile(
                file, metadata=metadata, read_dictionary=shared, buffer_size=_BUFFER, pre_buffer=False
            )
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{source} is not a Parquet file", given=str(error)) from error
        schema = self._file.schema_arrow
        self._columns = Columns.resolve(source, schema.names, structure, name, options, beside)
        self.rows: int = self._file.metadata.num_rows
        held = schema.field(self._columns.structure).type
        may_be = {self._columns.beside, *([self._columns.structure] if binary else [])} - {None}
        self._binary = [at for at, field in enumerate(schema) if at in may_be and _is_binary(field.type)]
        if not (_is_text(held) or self._columns.structure in self._binary):
            column = schema.names[self._columns.structure]
            what, expected = ("fingerprints", "text or binary") if binary else ("SMILES", "text")
            raise InvalidInput(
                f"column {column!r} of {source} does not hold {what}", given=str(held), expected=expected
            )

    def __iter__(self) -> Iterator[Record]:
        with self._file:
            number = 0
            for batch in self._file.iter_batches(batch_size=self._rows_at_once()):
                cells = [*map(_encoded, batch.columns)]
                for at in self._binary:
                    cells[at] = _hexadecimal(batch.column(at))
                for row in zip(*cells, strict=True):
                    number += 1
                    yield self._record(number, row)

    def _rows_at_once(self) -> int:
        metadata = self._file.metadata
        size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        return max(1, min(_READ_ROWS, _READ_BYTES * self.rows // max(size, 1)))

    def _record(self, number: int, row: tuple[bytes | None, ...]) -> Record:
        cells = [(None, None) if value is None else decoded(value) for value in row]
        fault = next((fault for _, fault in cells if fault), None)
        if sum(len(value) for value in row if value) > MAX_RECORD:
            fault = TOO_LONG
        if fault is not None:
            return faulted(number, cells[self._columns.structure][0] or "", fault)
        return self._columns.record(number, [text for text, _ in cells])


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _may_be_long(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _encoded(column: pa.Array) -> list[bytes | None]:
    """The values of a column as UTF-8 text."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        return _shared(column)
    if pa.types.is_nested(column.type):
        values = column.to_pylist()
        return [None if v is None else json.dumps(v, ensure_ascii=False, default=str).encode() for v in values]
    if _is_binary(column.type):
        values = column.to_pylist()
        return [
            None if v is None else v.decode(errors="backslashreplace").replace("\0", "\\x00").encode() for v in values
        ]
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.string()).cast(pa.binary()).to_pylist()


def _hexadecimal(column: pa.Array) -> list[bytes | None]:
    return [None if value is None else value.hex().encode() for value in column.to_pylist()]


def _shared(column: pa.DictionaryArray) -> list[bytes | None]:
    """The same of a column that holds each value once: so does the list."""
    used = column.indices.drop_null().unique()
    values = dict(zip(used.to_pylist(), _encoded(column.dictionary.take(used)), strict=True))
    return [values.get(place) for place in column.indices.to_pylist()]
