"""Physical lines of a byte stream, each bounded in length."""

from collections.abc import Iterator
from itertools import count
from typing import IO, TypeAlias

from graphkin.ingest.readers.records import MAX_RECORD, decoded, too_long
from graphkin.protocol.errors import InvalidInput

Line: TypeAlias = tuple[int, str, str | None]
"""(1-based number, text with its line end, fault). The text of a line that is too long is its beginning."""

MAX_BLANK = 100_000
"""Blank lines in a row that a file may have. Hundreds of millions of them compress to a few kilobytes."""

_LINE_END = len(b"\r\n")


def read_lines(source: str, stream: IO[bytes], longest: int = MAX_RECORD) -> Iterator[Line]:
    """Every line of the stream. One of more than `longest` bytes is one faulted line, whatever its length.

    Raises `InvalidInput`, naming `source`, for more than `MAX_BLANK` blank lines in a row.
    """
    blank = 0
    for number in count(1):
        data = stream.readline(longest + _LINE_END)
        if not data:
            return
        blank = count_blank(source, number, data, blank)
        text, fault = decoded(data)
        if len(data) > longest and not _fits(data, stream, longest):
            fault = too_long(longest)
        yield number, text, fault


def count_blank(source: str, number: int, data: bytes, before: int) -> int:
    """The number of blank lines in a row that end with this line, where `before` end with the line before it.

    Raises `InvalidInput` for more than `MAX_BLANK`.
    """
    if not data.isspace():
        return 0
    if before >= MAX_BLANK:
        raise InvalidInput(
            f"{source} has more than {MAX_BLANK:,} blank lines in a row",
            given=f"blank lines from line {number - before:,} to line {number:,}",
            expected=f"at most {MAX_BLANK:,} of them",
            hint="remove the blank lines, and check that the file is what you meant",
        )
    return before + 1


def _fits(data: bytes, stream: IO[bytes], longest: int) -> bool:
    """Whether a line that nearly fills the buffer is short enough without its end; skips what is left of it if not."""
    if data.endswith(b"\n"):
        return len(data.rstrip(b"\r\n")) <= longest
    while data and not data.endswith(b"\n"):
        data = stream.readline(longest)
    return False
