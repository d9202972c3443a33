"""Incremental readers of Arrow streams, and of tables that several streams deliver in parts.

A connection may break at any byte. A reader keeps the complete record batches, so that a new request can ask for the
missing rows alone.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import GenerationChanged, InvalidReply, Unavailable

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


class ArrowStream:
    """Incremental reader of one Arrow stream without dictionaries.

    Every batch is fully validated, because a damaged batch could make Arrow read outside its buffers.

    Args:
        path: Path of the request, for error messages.

    Attributes:
        schema: The schema, or None until it has been received.
        ended: Whether the end of the stream has been received.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.schema: pa.Schema | None = None
        self.ended = False
        self._buffer = bytearray()  # received bytes, from the start of an incomplete message

    def feed(self, piece: bytes) -> list[pa.RecordBatch]:
        """Process the next chunk of bytes, of any size, and return the batches that it completes.

        Raises:
            Unavailable: The data is not an Arrow stream.
            InvalidReply: A batch is not valid.
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

        The remaining bytes are copied to a new buffer, because the messages share the memory of the old one.
        """
        reader, messages, end = pa.BufferReader(self._buffer), [], 0
        while end < len(self._buffer) and not self.ended:
            try:
                messages.append(pa.ipc.read_message(reader))
            except EOFError:
                self.ended = True
            except (pa.ArrowInvalid, OSError):  # the last message is incomplete
                break
            end = reader.tell()
        if messages:
            self._buffer = self._buffer[end:]
        return messages

    def _batch(self, message: pa.ipc.Message) -> pa.RecordBatch | None:
        """Return the record batch in a message, or None for the first message, which is the schema."""
        if self.schema is None:
            self.schema = pa.ipc.read_schema(message)
            return None
        batch = pa.ipc.read_record_batch(message, self.schema)
        try:
            batch.validate(full=True)
        except pa.ArrowException as error:
            raise InvalidReply.from_problem(self.path, str(error)) from error
        return batch


class RowCollector:
    """A table that is assembled from one or more streams.

    An integer column numbers the rows, and its expected values are known in advance. A stream may end anywhere: its
    complete record batches are kept, and the next stream starts at the first missing row. All streams must have the
    same schema, including its metadata, which identifies generation, policy, seed and epoch.

    Args:
        number: Name of the column that numbers the rows, such as `anchor`.
        numbers: (n,) expected values of this column, in order.

    Attributes:
        count: Number of rows received.
    """

    def __init__(self, number: str, numbers: NDArray[Any]) -> None:
        self.count = 0
        self._number = number
        self._numbers = numbers
        self._schema: pa.Schema | None = None
        self._batches: list[pa.RecordBatch] = []
        self._stream = ArrowStream("")
        self._generation = ""
        self._count_at_begin = 0

    @property
    def missing(self) -> NDArray[Any]:
        """The numbers of the rows that have not been received yet."""
        return self._numbers[self.count :]

    @property
    def has_progressed(self) -> bool:
        """Whether the current stream has added rows."""
        return self.count > self._count_at_begin

    def begin(self, path: str, generation: str) -> None:
        """Start a new stream.

        Args:
            path: Path of the request, for error messages.
            generation: Id of the requested generation.
        """
        self._stream = ArrowStream(path)
        self._generation = generation
        self._count_at_begin = self.count

    def feed(self, piece: bytes) -> None:
        """Process the next chunk of bytes of the stream.

        Raises:
            Unavailable: The data is not an Arrow stream.
            GenerationChanged: The generation, policy, seed or epoch differs from that of the earlier rows.
            InvalidReply: The stream holds other rows than the missing ones.
        """
        for batch in self._stream.feed(piece):
            self._require_same_schema(batch.schema)
            self._append(batch)

    def end(self) -> None:
        """End the stream.

        Raises:
            Unavailable: The stream broke off before it added a row.
            InvalidReply: The stream is complete, but rows are missing and it added none.
            GenerationChanged: The generation, policy, seed or epoch differs from that of the earlier rows.
        """
        is_without_rows = len(self.missing) and not self.has_progressed
        if self._stream.schema is None or (is_without_rows and not self._stream.ended):
            raise _broken_stream_error()
        self._require_same_schema(self._stream.schema)
        if is_without_rows:
            raise self._invalid_reply_error(f"it has no row, and {self._number} {self.missing[0]} is missing")

    def _require_same_schema(self, schema: pa.Schema) -> None:
        """Check the schema of the first stream, and that all later streams have the same one."""
        if self._schema is None:
            self._require_numbered(schema)
            self._schema = schema
        elif not schema.equals(self._schema, check_metadata=True):
            raise GenerationChanged(
                "the server continued this reply with another sample",
                given=str(schema.metadata),
                expected=str(self._schema.metadata),
                hint="request all of it again: the server was replaced in the meantime",
            )

    def _require_numbered(self, schema: pa.Schema) -> None:
        """Check that the first schema has the column of row numbers and is of the requested generation."""
        if schema.get_field_index(self._number) < 0 or not pa.types.is_integer(schema.field(self._number).type):
            raise self._invalid_reply_error(
                f"it has no column {self._number!r} of integers",
                given=", ".join(f"{field.name} {field.type}" for field in schema),
            )
        generation = (schema.metadata or {}).get(b"generation", self._generation.encode()).decode(errors="replace")
        if generation != self._generation:
            raise GenerationChanged(
                f"the reply to {self._stream.path} belongs to another generation",
                given=generation,
                expected=self._generation,
                hint="check that no proxy between client and server answers from its own cache",
            )

    def _append(self, batch: pa.RecordBatch) -> None:
        """Append a batch after a check that its row numbers are the next missing ones."""
        column, expected = batch[self._number], self.missing
        if column.null_count:
            raise self._invalid_reply_error(f"{column.null_count} of its {self._number} numbers are null")
        numbers = column.to_numpy()
        if not np.array_equal(numbers, expected[: batch.num_rows]):
            raise self._invalid_reply_error(
                f"its {self._number} numbers are not those that were requested",
                given=f"{numbers[:1]} and {batch.num_rows - 1} more",
                expected=f"{expected[:1]} and {len(expected) - 1} more",
            )
        self._batches.append(batch)
        self.count += batch.num_rows

    def _invalid_reply_error(self, problem: str, given: str | None = None, expected: str | None = None) -> InvalidReply:
        return InvalidReply.from_problem(self._stream.path, problem, given=given, expected=expected)

    def table(self) -> pa.Table:
        """Return the received rows as a table with one chunk per column."""
        return pa.Table.from_batches(self._batches, self._schema).combine_chunks()


def _broken_stream_error() -> Unavailable:
    return Unavailable(
        "the reply ended early, or is not an Arrow stream",
        hint="try again; if it happens again, check the proxies between client and server",
    )
