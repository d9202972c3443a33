"""The lines of a byte stream, whose length is limited."""

from collections.abc import Iterator
from itertools import count
from typing import IO, TypeAlias

from graphkin.ingest.readers.records import MAX_RECORD, decode, too_long
from graphkin.protocol.errors import InvalidInput

Line: TypeAlias = tuple[int, str, str | None]
"""A line: its number, counted from 1, its text with the line end, and its fault, or None.

If the line is too long, the text is its beginning.
"""

MAX_BLANK = 100_000
"""Maximum number of consecutive blank lines. Millions of them can come from a small compressed file."""

_LINE_END = len(b"\r\n")


def read_lines(source: str, stream: IO[bytes], max_length: int = MAX_RECORD) -> Iterator[Line]:
    """Yield each line of the stream. A line of more than `max_length` bytes has a fault.

    Raises:
        InvalidInput: There are more than `MAX_BLANK` consecutive blank lines. The message names `source`.
    """
    blank = 0
    for number in count(1):
        data = stream.readline(max_length + _LINE_END)
        if not data:
            return
        blank = count_blank(source, number, data, blank)
        text, fault = decode(data)
        if len(data) > max_length and not _fits(data, stream, max_length):
            fault = too_long(max_length)
        yield number, text, fault


def count_blank(source: str, number: int, data: bytes, before: int) -> int:
    """Return the number of consecutive blank lines up to and including this line.

    Args:
        source: Name of the file, for errors.
        number: Number of the line.
        data: The line.
        before: Number of consecutive blank lines before it.

    Raises:
        InvalidInput: There are more than `MAX_BLANK` of them.
    """
    if not data.isspace():
        return 0
    if before >= MAX_BLANK:
        raise InvalidInput(
            f"{source} has more than {MAX_BLANK:,} blank lines in a row",
            given=f"blank lines from line {number - before:,} to line {number:,}",
            expected=f"at most {MAX_BLANK:,} of them",
            hint="check the file, and remove the blank lines",
        )
    return before + 1


def _fits(data: bytes, stream: IO[bytes], max_length: int) -> bool:
    """Return whether a line is short enough if its line end does not count. If it is not, skip the rest of the line.

    `data` is the beginning of the line, which fills the buffer or nearly fills it.
    """
    if data.endswith(b"\n"):
        return len(data.rstrip(b"\r\n")) <= max_length
    while data and not data.endswith(b"\n"):
        data = stream.readline(max_length)
    return False
