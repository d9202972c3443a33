"""Arrow streams and Parquet files as chunks of bytes."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_ROW_GROUP_BYTES = 8 << 20  # minimum size of a row group in memory, except the last one


class ChunkBuffer(io.RawIOBase):
    """A write-only file in memory, whose content the reader removes with `drain`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def drain(self) -> bytes:
        """Return the bytes written since the last call, and remove them from the buffer."""
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content


def arrow(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield an Arrow IPC stream, one chunk per batch."""
    buffer = ChunkBuffer()
    with pa.ipc.new_stream(buffer, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield buffer.drain()
    yield buffer.drain()


def parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield a Parquet file, one chunk per row group of about 8 MiB."""
    buffer = ChunkBuffer()
    with pq.ParquetWriter(buffer, schema) as writer:
        for table in _row_groups(batches):
            writer.write_table(table)
            yield buffer.drain()
    yield buffer.drain()


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine batches into tables of at least `_ROW_GROUP_BYTES`. The last one may be smaller."""
    collected: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        collected.append(batch)
        size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield pa.Table.from_batches(collected)
            collected, size = [], 0
    if collected:
        yield pa.Table.from_batches(collected)
