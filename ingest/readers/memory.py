"""Data in memory, which is read like a file. Records are numbered by their position, from 0."""

import hashlib
import json
import math
from binascii import hexlify
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rdkit import Chem

from graphkin.ingest.readers.arrow_tables import ArrowRecords
from graphkin.ingest.readers.columns import OPTIONS, Columns
from graphkin.ingest.readers.records import (
    MAX_RECORD,
    RECORD_SCHEMA,
    TOO_LONG,
    Record,
    batches,
    faulty_record,
    keep_properties,
    text_fault,
)
from graphkin.ingest.readers.source import ReadOptions, Source
from graphkin.protocol import manifest
from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.parameters import parameter
from graphkin.similarity.describer import Rejected, failure_reason
from graphkin.similarity.molecules.fingerprint_text import WITH_FINGERPRINT
from graphkin.similarity.molecules.objects import molecule_name, molecule_properties, molecule_text

_ROWS_PER_BATCH = 1000
_KINDS = {"fingerprint": "fingerprints", "vector": "vectors", "graph": "graphs"}  # by notation


class Data(Protocol):
    """Data in memory that can be opened as a source.

    Attributes:
        name: What the data is, such as "data frame", for errors and the manifest.
    """

    @property
    def name(self) -> str: ...

    def open(self, notations: Mapping[str, str], options: ReadOptions) -> Source:
        """Open the data as a source.

        Args:
            notations: Formats of the kind of items, each with the notation of its records.
            options: Options for reading.

        Raises:
            InvalidInput: The kind of items has no such data, or a column is missing.
        """
        ...


@dataclass(frozen=True, eq=False)
class FileData:
    """The content of an open file.

    Attributes:
        name: Name of the file, or "file object".
        content: The content. Text is encoded in UTF-8.
        is_text: Whether the file was open in text mode, so that the content is in UTF-8 whatever the file has.
    """

    name: str
    content: bytes
    is_text: bool

    @classmethod
    def from_file(cls, file: Any) -> "FileData":
        """Read a file object, in binary or text mode, to its end."""
        name = getattr(file, "name", None)
        try:
            content = file.read()
        except ValueError as error:  # also io.UnsupportedOperation
            raise InvalidInput(
                "this file object cannot be read",
                given=str(error),
                expected="a file that is open for reading",
                hint='open it again with open(path, "rb")',
            ) from error
        is_text = isinstance(content, str)
        encoded = content.encode(errors="backslashreplace") if isinstance(content, str) else bytes(content)
        return cls(name if isinstance(name, str) else "file object", encoded, is_text)


Input: TypeAlias = str | FileData | Data
"""The path of a file, the content of an open file, or data in memory."""


def input_name(each: Input) -> str:
    """Return the path of a file, or what the data is."""
    return each if isinstance(each, str) else each.name


@dataclass(frozen=True, eq=False)
class TableData:
    """A table in memory.

    Attributes:
        name: What the data is, such as "data frame".
        table: The table.
    """

    name: str
    table: pa.Table

    def open(self, notations: Mapping[str, str], options: ReadOptions) -> Source:
        if "parquet" not in notations:
            raise InvalidInput(
                "items of this kind are not read from tables",
                given=self.name,
                expected=f"files: {', '.join(notations)}",
                hint="write the items to a file",
            )
        notation = notations["parquet"]
        columns = Columns.resolve(
            f"the {self.name}",
            self.table.column_names,
            options.structure_column or notation,
            options.name_column,
            (f"--{notation}-column", OPTIONS[1]),
            fingerprint=options.fingerprint_column,
            properties=options.properties,
            decimal=options.decimal,
        )
        rows = ArrowRecords(f"the {self.name}", self.table.schema, columns, notation)
        records = rows.read(self.table.to_batches(max_chunksize=_ROWS_PER_BATCH), 0)
        used_notation = notation if options.fingerprint_column is None else WITH_FINGERPRINT
        return _source(self.name, used_notation, self.table.num_rows, self.table.nbytes, batches(records))


@dataclass(frozen=True, eq=False)
class RecordData:
    """Records in memory.

    Attributes:
        name: What the data is, such as "list of SMILES".
        notation: Notation of the records.
        records: The records, in batches of `RECORD_SCHEMA`.
    """

    name: str
    notation: str
    records: Sequence[pa.RecordBatch]

    def with_names(self, names: Sequence[Any]) -> "RecordData":
        """Return the records with these names, or the same records if there are no names.

        Raises:
            InvalidInput: The numbers of records and of names differ.
        """
        if not names:
            return self
        rows = sum(batch.num_rows for batch in self.records)
        require(
            len(names) == rows,
            "number of names",
            f"{len(names):,} names for {rows:,} records",
            "one name for each record",
            hint=f"pass as many names as records as {parameter('--names')}",
        )
        texts = pa.array([None if is_missing(each) else str(each) or None for each in names], pa.string())
        position = RECORD_SCHEMA.get_field_index("name")
        named, start = [], 0
        for batch in self.records:
            named.append(batch.set_column(position, RECORD_SCHEMA.field("name"), texts.slice(start, batch.num_rows)))
            start += batch.num_rows
        return replace(self, records=named)

    def open(self, notations: Mapping[str, str], options: ReadOptions) -> Source:
        if self.notation not in notations.values() or options.fingerprint_column is not None:
            raise InvalidInput(
                "items of another kind are needed here",
                given=self.name,
                expected=" or ".join(sorted({*notations.values()})),
                hint=f'pass kind="{_KINDS.get(self.notation, "molecules")}" to graphkin.ingest '
                "to build a collection of them",
            )
        rows = sum(batch.num_rows for batch in self.records)
        size = sum(batch.nbytes for batch in self.records)
        return _source(self.name, self.notation, rows, size, _keep(self.name, self.records, options.properties))


def _source(name: str, notation: str, rows: int, size: int, records: Iterator[pa.RecordBatch]) -> Source:
    content = _HashedRecords(records, rows, size)
    return Source(name, notation, size, iter(content), content, ExitStack(), is_in_memory=True)


class _HashedRecords:
    """Record batches that are counted and hashed while they are read.

    Attributes:
        count: Approximate number of bytes read so far.
    """

    def __init__(self, records: Iterator[pa.RecordBatch], rows: int, size: int) -> None:
        self._records, self._total, self._size = records, rows, size
        self._hash = hashlib.sha256()
        self._rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._records:
            self._hash.update(batch.serialize())
            self._rows += batch.num_rows
            yield batch

    @property
    def count(self) -> int:
        return self._size * self._rows // max(self._total, 1)

    def read_to(self, position: int | None) -> None:
        """Do nothing: all records are hashed when they are read."""

    def digest(self, name: str) -> manifest.Input:
        """Return the size of the data and the SHA-256 of its records."""
        return manifest.Input(name=name, bytes=self._size, sha256=self._hash.hexdigest())


def structure_records(items: Iterable[Any]) -> list[pa.RecordBatch]:
    """Return SMILES and RDKit molecules as records. None and NaN become empty records.

    A molecule brings its title as the name, and its properties.
    """
    return [*batches(_structure_record(position, item) for position, item in enumerate(items))]


def graph_records(items: Iterable[Any]) -> list[pa.RecordBatch]:
    """Return graphs of NetworkX and of PyTorch Geometric as records. None becomes an empty record."""
    return [*batches(_graph_record(position, item) for position, item in enumerate(items))]


def _graph_record(position: int, item: Any) -> Record:
    if is_missing(item):
        return position, "", None, (), (), None
    if hasattr(item, "edge_index"):
        content = {"num_nodes": int(item.num_nodes), "edges": item.edge_index.T.tolist()}
        return position, json.dumps(content), None, (), (), None
    if hasattr(item, "number_of_nodes"):
        from graphkin.ingest.readers.graphml import graph_record  # importing NetworkX is slow

        record = graph_record(position, item)
        fault = text_fault("".join([record[2] or "", *record[3], *record[4]]))
        return record if fault is None else faulty_record(position, record[1], f"its name or a property {fault}")
    return faulty_record(position, repr(item), f"is of type {type(item).__name__}, not a graph of NetworkX or PyG")


def _structure_record(position: int, item: Any) -> Record:
    if isinstance(item, str):
        return text_record(position, item)
    if is_missing(item):
        return position, "", None, (), (), None
    if isinstance(item, Chem.Mol):
        return _molecule_record(position, item)
    return faulty_record(position, repr(item), f"is of type {type(item).__name__}, not a SMILES or an RDKit molecule")


def _molecule_record(position: int, molecule: Chem.Mol) -> Record:
    name, properties = molecule_name(molecule), molecule_properties(molecule)
    try:
        text = molecule_text(molecule)
    except Rejected as reason:
        return faulty_record(position, name or "", str(reason))
    except Exception as error:
        return faulty_record(position, name or "", failure_reason(error))
    if fault := text_fault("".join([name or "", *properties, *properties.values()])):
        return faulty_record(position, text, f"its name or a property {fault}")
    return position, text, name, [*properties], [*properties.values()], None


def text_record(position: int, text: str) -> Record:
    """Return the record of a structure as text."""
    fault = text_fault(text)
    if fault is None and len(text) > MAX_RECORD:
        fault = TOO_LONG
    if fault is not None:
        return faulty_record(position, text.encode(errors="backslashreplace").decode(), fault)
    return position, text.strip(), None, (), (), None


def is_missing(item: Any) -> bool:
    """Return whether an element of a list is None, NaN or the missing value of pandas."""
    return item is None or type(item).__name__ == "NAType" or (isinstance(item, float) and math.isnan(item))


def bit_records(content: NDArray[np.uint8]) -> list[pa.RecordBatch]:
    """Return packed fingerprints, (n, bytes) uint8, as records in hexadecimal."""
    parts = (content[start : start + _ROWS_PER_BATCH] for start in range(0, len(content), _ROWS_PER_BATCH))
    return [_bit_batch(part, number * _ROWS_PER_BATCH) for number, part in enumerate(parts)]


def _bit_batch(content: NDArray[np.uint8], first: int) -> pa.RecordBatch:
    rows, width = content.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * (2 * width)
    texts = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(hexlify(content.tobytes())))
    columns = {"line": pa.array(np.arange(first, first + rows)), "text": texts}
    none = {field.name: pa.nulls(rows, field.type) for field in RECORD_SCHEMA}
    none["properties"] = pa.MapArray.from_arrays(np.zeros(rows + 1, np.int32), *[pa.array([], pa.string())] * 2)
    return pa.record_batch({**none, **columns}, RECORD_SCHEMA)


def vector_records(vectors: NDArray[np.floating[Any]]) -> list[pa.RecordBatch]:
    """Return vectors, (n, numbers), as records in JSON."""
    texts = (json.dumps(row.tolist()) for row in vectors)
    return [*batches((position, text, None, (), (), None) for position, text in enumerate(texts))]


def _keep(name: str, records: Sequence[pa.RecordBatch], properties: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    if properties is None:
        return iter(records)
    return batches(keep_properties(f"the {name}", _records(records), properties))


def _records(records: Sequence[pa.RecordBatch]) -> Iterator[Record]:
    for batch in records:
        for row in batch.to_pylist():
            pairs = row["properties"]
            keys, values = [key for key, _ in pairs], [value for _, value in pairs]
            yield row["line"], row["text"], row["name"], keys, values, row["fault"]
