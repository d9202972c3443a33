"""Parsing of records into items, chunk by chunk. `ingest.pool` runs it in worker processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from graphkin.ingest.readers import RECORD_SCHEMA
from graphkin.similarity.describer import Describer, Rejected, failure_reason
from graphkin.similarity.recipe import Recipe
from graphkin.store.records import MAX_REJECTED_INPUT, REJECTION_SCHEMA

_COPIED_COLUMNS = ["name", "properties"]


@dataclass(frozen=True)
class Chunk:
    """Records of one source.

    Attributes:
        source: Name of the source.
        notation: Notation of the texts.
        records: The records (`ingest.readers.RECORD_SCHEMA`).
    """

    source: str
    notation: str
    records: pa.RecordBatch

    def slice(self, start: int, length: int | None = None) -> "Chunk":
        """Return the records from `start` on, at most `length` of them."""
        return Chunk(self.source, self.notation, self.records.slice(start, length))


@dataclass(frozen=True)
class Parsed:
    """The result of parsing a chunk.

    Attributes:
        items: The items in the order of their records (`item_schema`).
        rejections: The rejected records (`REJECTION_SCHEMA`).
    """

    items: pa.RecordBatch
    rejections: pa.RecordBatch

    @staticmethod
    def rejected(chunk: Chunk, reason: str, described: pa.Schema) -> "Parsed":
        """Return a result in which every record of the chunk is rejected for the same reason.

        Args:
            chunk: The records.
            reason: The reason.
            described: Schema of the describer.
        """
        no_items = pa.RecordBatch.from_pylist([], schema=item_schema(described))
        return Parsed(no_items, rejection_rows(chunk, [(row, reason) for row in range(chunk.records.num_rows)]))

    def write(self, path: Path) -> None:
        """Write the result to a file."""
        with pa.OSFile(str(path), "wb") as file:
            for batch in (self.items, self.rejections):
                with pa.ipc.new_stream(file, batch.schema) as stream:
                    stream.write_batch(batch)

    @staticmethod
    def read(path: Path) -> "Parsed":
        """Read a result from a file.

        Raises:
            OSError, pa.ArrowInvalid: The file is incomplete.
        """
        with pa.OSFile(str(path)) as file:
            (items,) = pa.ipc.open_stream(file)
            (rejections,) = pa.ipc.open_stream(file)
            return Parsed(items, rejections)


class ChunkParser:
    """Parses chunks in the current process."""

    def __init__(self, describer: Describer[Recipe]) -> None:
        self._describer = describer

    def parse(self, chunk: Chunk, before_row: Callable[[int], object] = lambda _: None) -> Parsed:
        """Describe the records of a chunk. A record is rejected if the describer raises any exception.

        Args:
            chunk: The records.
            before_row: Called with the number of each row before the row is described.
        """
        records = chunk.records
        item_rows: list[int] = []
        described: list[Sequence[object]] = []
        rejected: list[tuple[int, str]] = []
        columns = (records[name].to_pylist() for name in ("text", "name", "fault"))
        for row, (text, name, fault) in enumerate(zip(*columns, strict=True)):
            before_row(row)
            try:
                if fault is not None:
                    raise Rejected(fault)
                described.append(self._describer.describe(text or "", chunk.notation, name))
                item_rows.append(row)
            except Rejected as reason:
                rejected.append((row, str(reason)))
            except Exception as error:
                rejected.append((row, failure_reason(error)))
        schema = self._describer.schema
        values = list(zip(*described, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
        copied = records.select(_COPIED_COLUMNS).take(pa.array(item_rows, pa.int64()))
        items = pa.RecordBatch.from_arrays([*arrays, *copied.columns], schema=item_schema(schema))
        return Parsed(items, rejection_rows(chunk, rejected))


def item_schema(described: pa.Schema) -> pa.Schema:
    """Return the schema of `Parsed.items`: the columns of the describer, then the columns copied from the records."""
    return pa.schema([*described, *(RECORD_SCHEMA.field(name) for name in _COPIED_COLUMNS)])


def kept_rows(chunk: Chunk, parsed: Parsed) -> list[int]:
    """Return the rows of the items of `parsed` in the chunk."""
    rejected = set(parsed.rejections["line"].to_pylist())
    return [row for row, line in enumerate(chunk.records["line"].to_pylist()) if line not in rejected]


def rejection_rows(chunk: Chunk, rejected: list[tuple[int, str]]) -> pa.RecordBatch:
    """Return the rejections (`REJECTION_SCHEMA`) of records, given as pairs of a row in the chunk and a reason."""
    rows = [row for row, _ in rejected]
    rejected_records = chunk.records.take(pa.array(rows, pa.int64()))
    inputs = [(text or "")[:MAX_REJECTED_INPUT] for text in rejected_records["text"].to_pylist()]
    reasons = [reason for _, reason in rejected]
    return pa.record_batch(
        [[chunk.source] * len(rows), rejected_records["line"], inputs, reasons], schema=REJECTION_SCHEMA
    )
