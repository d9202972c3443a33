"""Parquet files: one record per row, columns by name."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graphkin.ingest.readers.columns import OPTIONS, Columns, Options
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decode, faulty_record
from graphkin.protocol.errors import InvalidInput

_READ_ROWS = 1000
_READ_BYTES = 4_000_000
_BUFFER = 1 << 18


class ParquetRecords:
    """Records of a Parquet file with `rows` rows. Pages, not row groups, bound the memory use.

    A text that the file stores once for many rows is held once. Numbers and dates become their shortest text, and
    nested values become JSON. Nulls and NaN are left out. Invalid UTF-8 in binary columns is shown as `\\xff`.

    The writing of the structures decides the accepted type of their column. Fingerprints may be binary and are then
    converted to hexadecimal, as are those of the column `fingerprint`. Vectors are lists.

    Raises:
        InvalidInput: The file is not Parquet, the structures have another type, or as `Columns.resolve` raises it.
    """

    def __init__(
        self,
        source: str,
        file: IO[bytes] | pa.NativeFile,
        structure: str,
        name: str | None,
        options: Options = OPTIONS,
        fingerprint: str | None = None,
        notation: str = "smiles",
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
        self._columns = Columns.resolve(source, schema.names, structure, name, options, fingerprint=fingerprint)
        self.rows: int = self._file.metadata.num_rows
        structure_field = schema.field(self._columns.structure)
        content, expected, may_hold = _HOLD.get(notation, _HOLD["smiles"])
        if not may_hold(structure_field.type):
            raise InvalidInput(
                f"column {structure_field.name!r} of {source} does not hold {content}",
                given=str(structure_field.type),
                expected=expected,
            )
        fingerprints = (self._columns.structure, self._columns.fingerprint)
        self._binary = [at for at in fingerprints if at is not None and _is_binary(schema.field(at).type)]

    def __iter__(self) -> Iterator[Record]:
        with self._file:
            number = 0
            for batch in self._file.iter_batches(batch_size=self._rows_at_once()):
                cells = [*map(_encode_column, batch.columns)]
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
        cells = [(None, None) if value is None else decode(value) for value in row]
        fault = next((fault for _, fault in cells if fault), None)
        if sum(len(value) for value in row if value) > MAX_RECORD:
            fault = TOO_LONG
        if fault is not None:
            return faulty_record(number, cells[self._columns.structure][0] or "", fault)
        return self._columns.record(number, [text for text, _ in cells])


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _may_be_long(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


_HOLD: Mapping[str, tuple[str, str, Callable[[pa.DataType], bool]]] = {
    "smiles": ("SMILES", "text", _is_text),
    "fingerprint": ("fingerprints", "text or binary", lambda kind: _is_text(kind) or _is_binary(kind)),
    "vector": ("vectors", "lists of numbers", _is_list),
}
"""Content of a structure column by writing: its name and accepted types for error messages, and a test of a type."""


def _encode_column(column: pa.Array) -> list[bytes | None]:
    """Return the values of a column as UTF-8 text."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        return _encode_dictionary(column)
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


def _encode_dictionary(column: pa.DictionaryArray) -> list[bytes | None]:
    """Return the values of a dictionary column as UTF-8 text, with each distinct value encoded once and shared."""
    used = column.indices.drop_null().unique()
    values = dict(zip(used.to_pylist(), _encode_column(column.dictionary.take(used)), strict=True))
    return [values.get(place) for place in column.indices.to_pylist()]
