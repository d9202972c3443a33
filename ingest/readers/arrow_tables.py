"""Arrow tables, whose rows are records."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.readers.columns import Columns
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decode, faulty_record
from graphkin.protocol.errors import InvalidInput


class ArrowRecords:
    """The records of an Arrow table.

    Numbers and dates become their shortest text, and nested values become JSON. Nulls and NaN are left out. Invalid
    UTF-8 in binary columns is replaced by escapes such as `\\xff`. Binary fingerprints become hexadecimal.

    Args:
        source: Name of the table, for errors.
        schema: Schema of the table.
        columns: The columns by their role.
        notation: Notation of the structures, which decides the types that the structure column may have.

    Raises:
        InvalidInput: The structures have another type.
    """

    def __init__(self, source: str, schema: pa.Schema, columns: Columns, notation: str) -> None:
        self._columns = columns
        structure = schema.field(columns.structure)
        content, expected, is_accepted = _STRUCTURE_TYPES.get(notation, _STRUCTURE_TYPES["smiles"])
        if not is_accepted(structure.type):
            raise InvalidInput(
                f"column {structure.name!r} of {source} does not hold {content}",
                given=str(structure.type),
                expected=expected,
                hint=f"write the column as {expected}, or name another column",
            )
        fingerprints = (columns.structure, columns.fingerprint)
        self._binary = [
            position for position in fingerprints if position is not None and _is_binary(schema.field(position).type)
        ]

    def read(self, batches: Iterable[pa.RecordBatch], first: int) -> Iterator[Record]:
        """Yield the rows of some batches as records.

        Args:
            batches: The batches.
            first: Number of the first row.
        """
        number = first
        for batch in batches:
            cells = [*map(_encode_column, batch.columns)]
            for position in self._binary:
                cells[position] = _hexadecimal(batch.column(position))
            for row in zip(*cells, strict=True):
                yield self._record(number, row)
                number += 1

    def _record(self, number: int, row: tuple[bytes | None, ...]) -> Record:
        cells = [(None, None) if value is None else decode(value) for value in row]
        fault = next((fault for _, fault in cells if fault), None)
        if sum(len(value) for value in row if value) > MAX_RECORD:
            fault = TOO_LONG
        if fault is not None:
            return faulty_record(number, cells[self._columns.structure][0] or "", fault)
        return self._columns.record(number, [text for text, _ in cells])


def read_texts(batches: Iterable[pa.RecordBatch]) -> list[list[str | None]]:
    """Return the cells of the rows of some batches as texts, None for nulls."""
    return [
        [None if cell is None else decode(cell)[0] for cell in row]
        for batch in batches
        for row in zip(*map(_encode_column, batch.columns), strict=True)
    ]


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


def may_be_long(kind: pa.DataType) -> bool:
    """Return whether values of this type can be so long that equal ones should be held only once."""
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
    return column.cast(pa.string()).view(pa.binary()).to_pylist()


def _hexadecimal(column: pa.Array) -> list[bytes | None]:
    return [None if value is None else value.hex().encode() for value in column.to_pylist()]


def _encode_dictionary(column: pa.DictionaryArray) -> list[bytes | None]:
    """Return the values of a dictionary column as UTF-8 texts. Each distinct value is encoded only once."""
    used = column.indices.drop_null().unique()
    dictionary = column.dictionary
    if pa.types.is_string_view(dictionary.type):  # a categorical column of Polars; Arrow takes no elements from views
        dictionary = dictionary.cast(pa.large_string())
    values = dict(zip(used.to_pylist(), _encode_column(dictionary.take(used)), strict=True))
    return [values.get(index) for index in column.indices.to_pylist()]
