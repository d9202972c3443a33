"""Arrow streams and Parquet files, written in chunks."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_ROW_GROUP = 8 << 20  # bytes in memory per row group


class Outbox(io.RawIOBase):
    """A write-only file whose content is taken out with `drain`."""

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
        """Return the bytes written since the last call."""
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content


def arrow(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield an Arrow IPC stream, one chunk per batch."""
    outbox = Outbox()
    with pa.ipc.new_stream(outbox, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield outbox.drain()
    yield outbox.drain()


def parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield a Parquet file, one chunk per row group of about 8 MB."""
    outbox = Outbox()
    with pq.ParquetWriter(outbox, schema) as writer:
        for table in _row_groups(batches):
            writer.write_table(table)
            yield outbox.drain()
    yield outbox.drain()


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Collect batches into tables of one row group each."""
    collected: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        collected.append(batch)
        size += batch.nbytes
        if size >= _ROW_GROUP:
            yield pa.Table.from_batches(collected)
            collected, size = [], 0
    if collected:
        yield pa.Table.from_batches(collected)
