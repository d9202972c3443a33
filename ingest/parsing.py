"""Records to described items, chunk by chunk: see `ingest.pool` for the processes that do it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from graphkin.ingest.readers import RECORD_SCHEMA
from graphkin.similarity.describer import Describer, Rejected, broken_off
from graphkin.similarity.recipe import Recipe
from graphkin.store.records import KEPT_INPUT, REJECTION_SCHEMA

_CARRIED = ["name", "properties"]


@dataclass(frozen=True)
class Chunk:
    """Records of one source as the readers yield them (`ingest.readers.RECORD_SCHEMA`)."""

    source: str
    writing: str
    records: pa.RecordBatch

    def slice(self, start: int, length: int | None = None) -> "Chunk":
        return Chunk(self.source, self.writing, self.records.slice(start, length))


@dataclass(frozen=True)
class Parsed:
    """The items of a chunk, column by column in record order, and the records that are none."""

    items: pa.RecordBatch
    rejections: pa.RecordBatch

    @staticmethod
    def rejected(chunk: Chunk, reason: str, described: pa.Schema) -> "Parsed":
        """No item of the chunk, for one reason."""
        nothing = pa.RecordBatch.from_pylist([], schema=item_schema(described))
        return Parsed(nothing, rejections(chunk, [(row, reason) for row in range(chunk.records.num_rows)]))

    def write(self, path: Path) -> None:
        with pa.OSFile(str(path), "wb") as file:
            for batch in (self.items, self.rejections):
                with pa.ipc.new_stream(file, batch.schema) as stream:
                    stream.write_batch(batch)

    @staticmethod
    def read(path: Path) -> "Parsed":
        """Raises `OSError` or `pa.ArrowInvalid` for a file that is not whole."""
        with pa.OSFile(str(path)) as file:
            (items,) = pa.ipc.open_stream(file)
            (rejections,) = pa.ipc.open_stream(file)
            return Parsed(items, rejections)


class ChunkParser:
    """Parses chunks in this process."""

    def __init__(self, describer: Describer[Recipe]) -> None:
        self._describer = describer

    def parse(self, chunk: Chunk, at: Callable[[int], object] = lambda _: None) -> Parsed:
        """Whatever is raised where a record is described rejects that record. `at` is told each row before it is."""
        records = chunk.records
        kept: list[int] = []
        described: list[Sequence[object]] = []
        rejected: list[tuple[int, str]] = []
        columns = (records[name].to_pylist() for name in ("text", "name", "fault"))
        for row, (text, name, fault) in enumerate(zip(*columns, strict=True)):
            at(row)
            try:
                if fault is not None:
                    raise Rejected(fault)
                described.append(self._describer.describe(text or "", chunk.writing, name))
                kept.append(row)
            except Rejected as reason:
                rejected.append((row, str(reason)))
            except Exception as error:
                rejected.append((row, broken_off(error)))
        schema = self._describer.schema
        values = list(zip(*described, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
        carried = records.select(_CARRIED).take(pa.array(kept, pa.int64()))
        items = pa.RecordBatch.from_arrays([*arrays, *carried.columns], schema=item_schema(schema))
        return Parsed(items, rejections(chunk, rejected))


def item_schema(described: pa.Schema) -> pa.Schema:
    """Columns of `Parsed.items`: what a describer says, then what the record said of itself."""
    return pa.schema([*described, *(RECORD_SCHEMA.field(name) for name in _CARRIED)])


def rejections(chunk: Chunk, rejected: list[tuple[int, str]]) -> pa.RecordBatch:
    """`REJECTION_SCHEMA` rows for (row in chunk, reason)."""
    rows = [row for row, _ in rejected]
    picked = chunk.records.take(pa.array(rows, pa.int64()))
    inputs = [(text or "")[:KEPT_INPUT] for text in picked["text"].to_pylist()]
    reasons = [reason for _, reason in rejected]
    return pa.record_batch([[chunk.source] * len(rows), picked["line"], inputs, reasons], schema=REJECTION_SCHEMA)
