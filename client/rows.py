"""Numbered rows that come in as Arrow streams, of which each may break off."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import GenerationChanged, ServerFault, Unavailable

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


class Rows:
    """The rows whose `number` column runs from `begin` to `end` - 1, as far as they have come.

    Streams may end anywhere: whole record batches are kept, and the next stream starts at `next`. All must have one
    schema, metadata included, which names generation, policy, seed and epoch.
    """

    def __init__(self, number: str, begin: int, end: int) -> None:
        self.next = begin
        self._number = number
        self._end = end
        self._schema: pa.Schema | None = None
        self._batches: list[pa.RecordBatch] = []

    @property
    def missing(self) -> int:
        return self._end - self.next

    def take(self, chunks: Iterator[bytes]) -> None:
        """Take in one stream. Raises `Unavailable` if it breaks off or brings nothing, and `GenerationChanged`."""
        before = self.next
        for schema, batch in stream_of(chunks):
            self._require_same(schema)
            if batch is not None:
                self._append(batch)
        if self.missing and self.next == before:
            raise Unavailable("the reply broke off before its first rows")

    def _require_same(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._schema = schema
        if not schema.equals(self._schema, check_metadata=True):
            raise GenerationChanged(
                "the server continues with another draw",
                given=str(schema.metadata),
                expected=str(self._schema.metadata),
                hint="it was exchanged meanwhile; ask for all of it again",
            )

    def _append(self, batch: pa.RecordBatch) -> None:
        numbers = batch[self._number].to_numpy()
        if batch.num_rows > self.missing or not np.array_equal(numbers, self.next + np.arange(batch.num_rows)):
            raise ServerFault(
                f"the {self._number} numbers are not those asked for",
                given=f"{numbers[:1]} and {batch.num_rows - 1} more",
                expected=f"{self.next} to {self._end - 1}, one after the other",
            )
        self._batches.append(batch)
        self.next += batch.num_rows

    def table(self) -> pa.Table:
        """All of them, in one chunk."""
        return pa.Table.from_batches(self._batches, self._schema).combine_chunks()


def stream_of(chunks: Iterator[bytes]) -> Iterator[tuple[pa.Schema, pa.RecordBatch | None]]:
    """The schema of an Arrow stream, alone, then with each of its batches. Raises `Unavailable` if it breaks off.

    A stream that ends between two batches looks whole: who reads it must know how many rows there are.
    """
    try:
        with pa.ipc.open_stream(io.BufferedReader(_Body(chunks))) as stream:
            yield stream.schema, None
            for batch in stream:
                yield stream.schema, batch
    except (pa.ArrowException, OSError) as error:
        raise Unavailable(f"the reply broke off, or is no Arrow stream: {error}") from error


class _Body(io.RawIOBase):
    """The bytes of a reply as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
