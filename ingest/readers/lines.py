"""Physical lines of a byte stream, each bounded in length."""

from collections.abc import Iterator
from itertools import count
from typing import IO, TypeAlias

from graphkin.ingest.readers.records import MAX_RECORD, decoded, too_long

Line: TypeAlias = tuple[int, str, str | None]
"""(1-based number, text with its line end, fault). The text of a line that is too long is its beginning."""

_LINE_END = len(b"\r\n")


def read_lines(stream: IO[bytes], longest: int = MAX_RECORD) -> Iterator[Line]:
    """Every line of the stream. One of more than `longest` bytes is one faulted line, whatever its length."""
    for number in count(1):
        data = stream.readline(longest + _LINE_END)
        if not data:
            return
        text, fault = decoded(data)
        if len(data) > longest and not _fits(data, stream, longest):
            fault = too_long(longest)
        yield number, text, fault


def _fits(data: bytes, stream: IO[bytes], longest: int) -> bool:
    """Whether a line that nearly fills the buffer is short enough without its end; skips what is left of it if not."""
    if data.endswith(b"\n"):
        return len(data.rstrip(b"\r\n")) <= longest
    while data and not data.endswith(b"\n"):
        data = stream.readline(longest)
    return False
