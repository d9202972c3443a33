"""Parquet files, whose rows are records."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graphkin.ingest.readers.columns import OPTIONS, Columns, Options
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decode, faulty_record
from graphkin.protocol.errors import InvalidInput

_MAX_ROWS_PER_READ = 1000
_BYTES_PER_READ = 4_000_000
_BUFFER = 1 << 18


class ParquetRecords:
    """The records of a Parquet file.

    Memory is bounded by the size of pages, not of row groups. A text that the file stores once for many rows is held
    only once. Numbers and dates become their shortest text, and nested values become JSON. Nulls and NaN are left out.
    Invalid UTF-8 in binary columns is replaced by escapes such as `\\xff`.

    The notation decides which types the structure column may have. Binary fingerprints become hexadecimal.

    Attributes:
        rows: Number of rows.

    Args:
        source: Name of the file, for errors.
        file: The file.
        structure: Title of the structure column.
        name: Title of the name column; None to look for a usual title.
        options: Command-line options that choose other columns, for errors.
        fingerprint: Title of the fingerprint column, or None.
        notation: Notation of the structures.

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
            raise InvalidInput(
                f"{source} is not a valid Parquet file",
                given=str(error)[:200],
                expected="a Parquet file",
                hint="copy the file again, or name its format with --format",
            ) from error
        schema = self._file.schema_arrow
        self._columns = Columns.resolve(source, schema.names, structure, name, options, fingerprint=fingerprint)
        self.rows: int = self._file.metadata.num_rows
        structure_field = schema.field(self._columns.structure)
        content, expected, is_accepted = _STRUCTURE_TYPES.get(notation, _STRUCTURE_TYPES["smiles"])
        if not is_accepted(structure_field.type):
            raise InvalidInput(
                f"column {structure_field.name!r} of {source} does not hold {content}",
                given=str(structure_field.type),
                expected=expected,
                hint=f"write the column as {expected}, or name another column",
            )
        fingerprints = (self._columns.structure, self._columns.fingerprint)
        self._binary = [
            position for position in fingerprints if position is not None and _is_binary(schema.field(position).type)
        ]

    def __iter__(self) -> Iterator[Record]:
        with self._file:
            number = 0
            for batch in self._file.iter_batches(batch_size=self._rows_per_read()):
                cells = [*map(_encode_column, batch.columns)]
                for position in self._binary:
                    cells[position] = _hexadecimal(batch.column(position))
                for row in zip(*cells, strict=True):
                    number += 1
                    yield self._record(number, row)

    def _rows_per_read(self) -> int:
        metadata = self._file.metadata
        size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        return max(1, min(_MAX_ROWS_PER_READ, _BYTES_PER_READ * self.rows // max(size, 1)))

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
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _may_be_long(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


_STRUCTURE_TYPES: Mapping[str, tuple[str, str, Callable[[pa.DataType], bool]]] = {
    "smiles": ("SMILES", "text", _is_text),
    "fingerprint": ("fingerprints", "text or binary", lambda kind: _is_text(kind) or _is_binary(kind)),
    "vector": ("vectors", "lists of numbers", _is_list),
}
"""Accepted types of the structure column by notation: content and types in words, for errors, and a test of a type."""


def _encode_column(column: pa.Array) -> list[bytes | None]:
    """Return the values of a column as UTF-8 texts."""
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
    """Return the values of a dictionary column as UTF-8 texts. Each distinct value is encoded only once."""
    used = column.indices.drop_null().unique()
    values = dict(zip(used.to_pylist(), _encode_column(column.dictionary.take(used)), strict=True))
    return [values.get(index) for index in column.indices.to_pylist()]
