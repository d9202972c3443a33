"""Tables on disk: Arrow files of a single batch, whose columns allow access to any row."""

import mmap
from io import BufferedReader
from pathlib import Path

import pyarrow as pa

from graphkin.store.columns import to_one_batch


class TableWriter:
    """A writer that collects batches in a spool file and merges them into one batch at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spool = path.with_name(f"spool.{path.name}")
        self._file = self._spool.open("wb")
        self._stream: pa.RecordBatchStreamWriter | None = None

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch. All batches have the columns of the first one."""
        if self._stream is None:
            self._stream = pa.ipc.new_stream(self._file, batch.schema)
        self._stream.write_batch(batch)

    def finish(self, if_empty: pa.Schema) -> pa.RecordBatch:
        """Write the table and return it. `if_empty` is the schema of a table without batches."""
        if self._stream is None:
            self.append(pa.RecordBatch.from_pylist([], schema=if_empty))
        self.close()
        with pa.memory_map(str(self._spool)) as spool:
            table = pa.ipc.open_stream(spool).read_all()
            batch = to_one_batch(table)
        with self._path.open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        self._spool.unlink()
        return batch

    def close(self) -> None:
        """Close the spool file, even if writing its end fails because the disk is full."""
        if not self._file.closed:
            with self._file:
                if self._stream is not None:
                    self._stream.close()


def map_table(file: BufferedReader) -> pa.RecordBatch:
    """Return the table in a file as a memory map.

    Raises:
        ValueError: The file was not written by `TableWriter`.
    """
    try:
        mapped = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        with pa.ipc.open_file(mapped) as reader:
            batch = reader.get_batch(0)
        batch.validate()
    except (pa.ArrowException, ValueError) as error:
        raise ValueError(f"not a complete table: {error}") from error
    return batch
