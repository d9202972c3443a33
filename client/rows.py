"""Arrow streams that come in pieces and may break off anywhere, and numbered rows that several of them bring."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import GenerationChanged, ServerFault, Unavailable

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


class Stream:
    """One Arrow stream, without dictionaries. `schema` is None as long as nothing has come; `ended`: all has come."""

    def __init__(self) -> None:
        self.schema: pa.Schema | None = None
        self.ended = False
        self._held = bytearray()  # from the beginning of a message on

    def feed(self, piece: bytes) -> list[pa.RecordBatch]:
        """The next piece, of any size; gives the batches that it completes. Raises `Unavailable` for something else."""
        self._held += piece
        try:
            batches = [self._batch(message) for message in self._messages()]
        except (pa.ArrowException, OSError) as error:
            raise _broke_off() from error
        return [batch for batch in batches if batch is not None]

    def require_end(self) -> None:
        """Raises `Unavailable` if it broke off, or is no Arrow stream."""
        if not self.ended:
            raise _broke_off()

    def _messages(self) -> list[pa.ipc.Message]:
        """Those that are whole. They keep what they lie in, so that what follows them is copied."""
        reader, messages, end = pa.BufferReader(self._held), [], 0
        while end < len(self._held) and not self.ended:
            try:
                messages.append(pa.ipc.read_message(reader))
            except EOFError:
                self.ended = True
            except (pa.ArrowInvalid, OSError):  # it is not whole yet
                break
            end = reader.tell()
        if messages:
            self._held = self._held[end:]
        return messages

    def _batch(self, message: pa.ipc.Message) -> pa.RecordBatch | None:
        if self.schema is None:
            self.schema = pa.ipc.read_schema(message)
            return None
        return pa.ipc.read_record_batch(message, self.schema)


class Rows:
    """The rows whose `number` column holds the (n,) numbers `wanted`, in that order, as far as they have come.

    Streams may end anywhere: whole record batches are kept, and the next stream starts at the first that is missing.
    All must have one schema, metadata included, which names generation, policy, seed and epoch.
    """

    def __init__(self, number: str, wanted: NDArray[Any]) -> None:
        self.taken = 0
        self._number = number
        self._wanted = wanted
        self._schema: pa.Schema | None = None
        self._batches: list[pa.RecordBatch] = []
        self._stream = Stream()
        self._before = 0

    @property
    def missing(self) -> NDArray[Any]:
        """The numbers of the rows that have not come."""
        return self._wanted[self.taken :]

    @property
    def progressed(self) -> bool:
        """Whether this stream has brought rows."""
        return self.taken > self._before

    def begin(self) -> None:
        """A new stream."""
        self._stream = Stream()
        self._before = self.taken

    def feed(self, piece: bytes) -> None:
        """Its next piece. Raises `Unavailable` for what is no Arrow stream, `GenerationChanged` and `ServerFault`."""
        for batch in self._stream.feed(piece):
            self._require_same(batch.schema)
            self._append(batch)

    def end(self) -> None:
        """It is over. Raises `Unavailable` if it broke off before it brought anything, and `GenerationChanged`."""
        if self._stream.schema is None or (len(self.missing) and not self.progressed):
            raise _broke_off()
        self._require_same(self._stream.schema)

    def _require_same(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._schema = schema
        elif not schema.equals(self._schema, check_metadata=True):
            raise GenerationChanged(
                "the server continues with another draw",
                given=str(schema.metadata),
                expected=str(self._schema.metadata),
                hint="it was exchanged meanwhile; ask for all of it again",
            )

    def _append(self, batch: pa.RecordBatch) -> None:
        numbers, wanted = batch[self._number].to_numpy(), self.missing
        if not np.array_equal(numbers, wanted[: batch.num_rows]):
            raise ServerFault(
                f"the {self._number} numbers are not those asked for",
                given=f"{numbers[:1]} and {batch.num_rows - 1} more",
                expected=f"{wanted[:1]} and {len(wanted) - 1} more",
            )
        self._batches.append(batch)
        self.taken += batch.num_rows

    def table(self) -> pa.Table:
        """All of them, in one chunk."""
        return pa.Table.from_batches(self._batches, self._schema).combine_chunks()


def _broke_off() -> Unavailable:
    return Unavailable("the reply broke off, or is no Arrow stream")
