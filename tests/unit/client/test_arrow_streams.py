"""Arrow streams that are cut at any byte."""

import io
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest

from graphkin.client.arrow_streams import ArrowStream, RowCollector
from graphkin.protocol.errors import GenerationChanged, InvalidReply, Unavailable

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


def feed(rows: RowCollector, content: bytes, size: int = 100, generation: str = "one") -> None:
    """One stream, in pieces of so many bytes, with an empty one first."""
    rows.begin("/rows", generation)
    rows.feed(b"")
    for start in range(0, len(content), size):
        rows.feed(content[start : start + size])
    rows.end()


def numbered(start: int, end: int) -> RowCollector:
    return RowCollector("anchor", np.arange(start, end))


def test_a_stream_cut_anywhere_is_continued() -> None:
    whole = stream(10, *SIZES)
    expected = pa.ipc.open_stream(whole).read_all()
    ends = {sum(SIZES[:count]) for count in range(len(SIZES) + 1)}
    for cut in range(len(whole)):
        rows = numbered(10, 10 + sum(SIZES))
        with suppress(Unavailable):
            feed(rows, whole[:cut], 7)
        assert rows.count in ends
        if len(rows.missing):
            feed(rows, stream(rows.missing[0], len(rows.missing)))
        assert not len(rows.missing)
        assert rows.table().equals(expected.combine_chunks(), check_metadata=True)


def test_rows_come_in_any_order_that_was_asked_for() -> None:
    rows = RowCollector("anchor", np.array([7, 8, 3, 4, 3]))
    feed(rows, stream(7, 2))
    assert rows.missing.tolist() == [3, 4, 3]
    feed(rows, stream(3, 1, 1))
    feed(rows, stream(3, 1))
    assert rows.table()["value"].to_pylist() == [49, 64, 9, 16, 9]


def test_what_breaks_off_says_so() -> None:
    for content in (b"", b"<html>502 Bad Gateway</html>"):
        with pytest.raises(Unavailable, match="ended early"):
            feed(numbered(0, 5), content)
    with pytest.raises(Unavailable, match="not an Arrow stream"):
        feed(numbered(5, 5), b"")


def test_the_end_of_a_stream_is_told_from_a_break_between_two_batches() -> None:
    whole = stream(0, *SIZES)
    for cut in range(len(whole) + 1):
        read = ArrowStream("/rows")
        batches = [batch for start in range(0, cut, 11) for batch in read.feed(whole[start : min(start + 11, cut)])]
        assert read.ended == (cut == len(whole))
        if not read.ended:
            with pytest.raises(Unavailable, match="ended early"):
                read.require_end()
    assert pa.Table.from_batches(batches).equals(pa.ipc.open_stream(whole).read_all())


def test_no_rows_at_all_may_be_what_was_asked_for() -> None:
    rows = numbered(5, 5)
    feed(rows, stream(5))
    assert rows.table().num_rows == 0
    assert rows.table().schema.names == ["anchor", "value"]


def test_rows_that_were_not_asked_for_are_refused() -> None:
    for start, *sizes in ((1, 5), (0, 6), (0, 2, 4)):
        with pytest.raises(InvalidReply, match=r"reply to /rows .* anchor numbers"):
            feed(numbered(0, 5), stream(start, *sizes))


def test_a_complete_reply_without_the_rows_that_were_requested_is_refused() -> None:
    with pytest.raises(InvalidReply, match="anchor 0 is missing"):
        feed(numbered(0, 5), stream(0))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["0", "1"]),
        pa.array([0.0, 1.0]),
        pa.array([0, None], pa.int32()),
    ],
)
def test_numbers_that_are_no_integers_are_refused(column: pa.Array) -> None:
    sink = io.BytesIO()
    table = pa.table({"anchor": column})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InvalidReply, match="/rows"):
        feed(numbered(0, 2), sink.getvalue())


def test_rows_without_numbers_are_refused() -> None:
    with pytest.raises(InvalidReply, match="no column 'id' of integers"):
        feed(RowCollector("id", np.arange(5)), stream(0, 5))


def test_rows_of_another_generation_are_refused() -> None:
    with pytest.raises(GenerationChanged, match="/rows belongs to another generation"):
        feed(numbered(0, 5), stream(0, 5, metadata="two"))


def test_buffers_that_do_not_fit_together_are_refused() -> None:
    """A text whose offsets point behind its buffer would be read beyond the end of the reply."""
    texts = pa.record_batch([pa.array([0, 1], pa.int32()), pa.array(["first", "second"])], ["anchor", "text"])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, texts.schema) as writer:
        writer.write_batch(texts)
    ends = np.array([0, 5, 11], np.int32).tobytes()
    content = sink.getvalue()
    assert content.count(ends) == 1
    with pytest.raises(InvalidReply, match="/rows"):
        feed(numbered(0, 2), content.replace(ends, np.array([0, 5, 2**30], np.int32).tobytes()))


def test_two_draws_are_not_mixed() -> None:
    rows = numbered(0, 5)
    feed(rows, stream(0, 3))
    with pytest.raises(GenerationChanged) as changed:
        feed(rows, stream(3, 2, metadata="two"))
    assert "two" in changed.value.given
    assert "one" in str(changed.value.expected)
