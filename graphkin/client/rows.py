"""Arrow streams that arrive in chunks and may break off, and tables assembled from several of them."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import GenerationChanged, InvalidReply, Unavailable

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


class Stream:
    """Incremental reader of one Arrow stream without dictionaries.

    Batches are fully validated: their buffers fit their lengths.

    Attributes:
        reply: Path of the request, for error messages.
        schema: The schema, or None until it has been received.
        ended: Whether the end of the stream has been received.
    """

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.schema: pa.Schema | None = None
        self.ended = False
        self._buffer = bytearray()  # received bytes, from the start of an incomplete message

    def feed(self, piece: bytes) -> list[pa.RecordBatch]:
        """Process the next chunk, of any size, and return the batches that it completes.

        Raises:
            Unavailable: The data is not an Arrow stream.
            InvalidReply: The buffers of a batch do not fit together.
        """
        self._buffer += piece
        try:
            batches = [self._batch(message) for message in self._messages()]
        except (pa.ArrowException, OSError) as error:
            raise _broken_stream_error() from error
        return [batch for batch in batches if batch is not None]

    def require_end(self) -> None:
        """Check that the stream has ended.

        Raises:
            Unavailable: The stream broke off or is not an Arrow stream.
        """
        if not self.ended:
            raise _broken_stream_error()

    def _messages(self) -> list[pa.ipc.Message]:
        """Return the complete messages and remove them from the buffer.

        Messages refer to the buffer's memory, so the remaining bytes are copied to a new buffer.
        """
        reader, messages, end = pa.BufferReader(self._buffer), [], 0
        while end < len(self._buffer) and not self.ended:
            try:
                messages.append(pa.ipc.read_message(reader))
            except EOFError:
                self.ended = True
            except (pa.ArrowInvalid, OSError):  # the message is incomplete
                break
            end = reader.tell()
        if messages:
            self._buffer = self._buffer[end:]
        return messages

    def _batch(self, message: pa.ipc.Message) -> pa.RecordBatch | None:
        if self.schema is None:
            self.schema = pa.ipc.read_schema(message)
            return None
        batch = pa.ipc.read_record_batch(message, self.schema)
        try:
            batch.validate(full=True)
        except pa.ArrowException as error:
            raise InvalidReply.from_problem(self.reply, str(error)) from error
        return batch


class Rows:
    """A table assembled from several streams, whose `number` column must hold `numbers` (n,) in this order.

    A stream may end anywhere. Complete record batches are kept, and the next stream starts at the first missing row.
    All streams must have the same schema, including its metadata, which identifies generation, policy, seed and epoch.

    Args:
        number: Name of the column.
        numbers: (n,) expected values of the column.

    Attributes:
        count: Number of rows received.
    """

    def __init__(self, number: str, numbers: NDArray[Any]) -> None:
        self.count = 0
        self._number = number
        self._numbers = numbers
        self._schema: pa.Schema | None = None
        self._batches: list[pa.RecordBatch] = []
        self._stream = Stream("")
        self._generation = ""
        self._count_before = 0

    @property
    def missing(self) -> NDArray[Any]:
        """Numbers of the rows that have not been received."""
        return self._numbers[self.count :]

    @property
    def has_progressed(self) -> bool:
        """True if the current stream has added rows."""
        return self.count > self._count_before

    def begin(self, reply: str, generation: str) -> None:
        """Start a new stream: the reply to a request for the path `reply`, of this generation."""
        self._stream = Stream(reply)
        self._generation = generation
        self._count_before = self.count

    def feed(self, piece: bytes) -> None:
        """Process the next chunk of the stream.

        Raises:
            Unavailable: The data is not an Arrow stream.
            GenerationChanged: The stream is of another generation or sample.
            InvalidReply: The stream holds other rows than those that are missing.
        """
        for batch in self._stream.feed(piece):
            self._require_same(batch.schema)
            self._append(batch)

    def end(self) -> None:
        """End the stream.

        Raises:
            Unavailable: The stream broke off before it added rows.
            InvalidReply: The stream is complete and added none of the missing rows.
            GenerationChanged: The stream is of another generation or sample.
        """
        idle = len(self.missing) and not self.has_progressed
        if self._stream.schema is None or (idle and not self._stream.ended):
            raise _broken_stream_error()
        self._require_same(self._stream.schema)
        if idle:
            raise self._invalid(f"it has no row, and {self._number} {self.missing[0]} is missing")

    def _require_same(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._require_numbered(schema)
            self._schema = schema
        elif not schema.equals(self._schema, check_metadata=True):
            raise GenerationChanged(
                "the server continues with another draw",
                given=str(schema.metadata),
                expected=str(self._schema.metadata),
                hint="it was exchanged meanwhile; ask for all of it again",
            )

    def _require_numbered(self, schema: pa.Schema) -> None:
        """Check that the first schema has the number column and names the requested generation."""
        if schema.get_field_index(self._number) < 0 or not pa.types.is_integer(schema.field(self._number).type):
            raise self._invalid(
                f"it has no column {self._number!r} of integers",
                given=", ".join(f"{field.name} {field.type}" for field in schema),
            )
        generation = (schema.metadata or {}).get(b"generation", self._generation.encode()).decode(errors="replace")
        if generation != self._generation:
            raise GenerationChanged(
                f"the reply to {self._stream.reply} is of another generation",
                given=generation,
                expected=self._generation,
                hint="nothing between client and server may answer from a cache of its own",
            )

    def _append(self, batch: pa.RecordBatch) -> None:
        column, expected = batch[self._number], self.missing
        if column.null_count:
            raise self._invalid(f"{column.null_count} of its {self._number} numbers are null")
        numbers = column.to_numpy()
        if not np.array_equal(numbers, expected[: batch.num_rows]):
            raise self._invalid(
                f"its {self._number} numbers are not those that were requested",
                given=f"{numbers[:1]} and {batch.num_rows - 1} more",
                expected=f"{expected[:1]} and {len(expected) - 1} more",
            )
        self._batches.append(batch)
        self.count += batch.num_rows

    def _invalid(self, problem: str, given: str | None = None, expected: str | None = None) -> InvalidReply:
        return InvalidReply.from_problem(self._stream.reply, problem, given=given, expected=expected)

    def table(self) -> pa.Table:
        """Return all rows as a table with one chunk per column."""
        return pa.Table.from_batches(self._batches, self._schema).combine_chunks()


def _broken_stream_error() -> Unavailable:
    return Unavailable("the reply broke off, or is no Arrow stream")
