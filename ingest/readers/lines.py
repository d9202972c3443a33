"""Physical lines of a byte stream, each bounded in length."""

from collections.abc import Iterator
from itertools import count
from typing import IO, TypeAlias

from ingest.readers.records import MAX_RECORD, TOO_LONG, decoded

Line: TypeAlias = tuple[int, str, str | None]
"""(1-based number, text with its line end, fault). The text of a line that is too long is its beginning."""

_LONGEST = MAX_RECORD + len(b"\r\n")


def read_lines(stream: IO[bytes]) -> Iterator[Line]:
    """Every line of the stream. A line longer than a record may be is one faulted line, whatever its length."""
    for number in count(1):
        data = stream.readline(_LONGEST)
        if not data:
            return
        text, fault = decoded(data)
        if len(data) > MAX_RECORD and not _fits(data, stream):
            fault = TOO_LONG
        yield number, text, fault


def _fits(data: bytes, stream: IO[bytes]) -> bool:
    """Whether a line that nearly fills the buffer is short enough without its end; skips what is left of it if not."""
    if data.endswith(b"\n"):
        return len(data.rstrip(b"\r\n")) <= MAX_RECORD
    while data and not data.endswith(b"\n"):
        data = stream.readline(_LONGEST)
    return False
