"""Arrow streams that are cut at any byte."""

import io
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest

from graphkin.client.rows import Rows
from graphkin.protocol.errors import GenerationChanged, ServerFault, Unavailable

SIZES = (5, 1, 7)


def stream(start: int, *sizes: int, metadata: str = "one") -> bytes:
    """Rows numbered from `start`, in batches of these sizes."""
    schema = pa.schema([pa.field("anchor", pa.int32()), pa.field("value", pa.int32())], {"generation": metadata})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for size in sizes:
            numbers = np.arange(start, start + size, dtype=np.int32)
            writer.write_batch(pa.record_batch([numbers, numbers**2], schema=schema))
            start += size
    return sink.getvalue()


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    """In pieces of so many bytes, with an empty one first."""
    yield b""
    for start in range(0, len(content), size):
        yield content[start : start + size]


def test_a_stream_cut_anywhere_is_continued() -> None:
    whole = stream(10, *SIZES)
    expected = pa.ipc.open_stream(whole).read_all()
    ends = {10 + sum(SIZES[:count]) for count in range(len(SIZES) + 1)}
    for cut in range(len(whole)):
        rows = Rows("anchor", 10, 10 + sum(SIZES))
        with suppress(Unavailable):
            rows.take(pieces(whole[:cut], 7))
        assert rows.next in ends
        if rows.missing:
            rows.take(pieces(stream(rows.next, rows.missing), 100))
        assert rows.missing == 0
        assert rows.table().equals(expected.combine_chunks(), check_metadata=True)


def test_what_breaks_off_says_so() -> None:
    for content in (b"", b"<html>502 Bad Gateway</html>", stream(0)):
        with pytest.raises(Unavailable, match="broke off"):
            Rows("anchor", 0, 5).take(iter([content]))


def test_no_rows_at_all_may_be_what_was_asked_for() -> None:
    rows = Rows("anchor", 5, 5)
    rows.take(iter([stream(5)]))
    assert rows.table().num_rows == 0
    assert rows.table().schema.names == ["anchor", "value"]


def test_rows_that_were_not_asked_for_are_refused() -> None:
    for start, *sizes in ((1, 5), (0, 6), (0, 2, 4)):
        with pytest.raises(ServerFault, match="anchor numbers"):
            Rows("anchor", 0, 5).take(iter([stream(start, *sizes)]))


def test_two_draws_are_not_mixed() -> None:
    rows = Rows("anchor", 0, 5)
    rows.take(iter([stream(0, 3)]))
    with pytest.raises(GenerationChanged) as changed:
        rows.take(iter([stream(3, 2, metadata="two")]))
    assert "two" in changed.value.given
    assert "one" in str(changed.value.expected)
