"""Physical lines of a byte stream, each bounded in length."""

from collections.abc import Iterator
from itertools import count
from typing import IO, TypeAlias

from graphkin.ingest.readers.records import MAX_RECORD, decode, too_long
from graphkin.protocol.errors import InvalidInput

Line: TypeAlias = tuple[int, str, str | None]
"""1-based number, text with its line end, and fault. The text of an overlong line is its beginning."""

MAX_BLANK = 100_000
"""Maximum number of consecutive blank lines. Hundreds of millions of them compress to a few kilobytes."""

_LINE_END = len(b"\r\n")


def read_lines(source: str, stream: IO[bytes], longest: int = MAX_RECORD) -> Iterator[Line]:
    """Yield every line of the stream. A line of more than `longest` bytes is one faulted line, whatever its length.

    Raises:
        InvalidInput: There are more than `MAX_BLANK` consecutive blank lines. The message names `source`.
    """
    blank = 0
    for number in count(1):
        data = stream.readline(longest + _LINE_END)
        if not data:
            return
        blank = count_blank(source, number, data, blank)
        text, fault = decode(data)
        if len(data) > longest and not _fits(data, stream, longest):
            fault = too_long(longest)
        yield number, text, fault


def count_blank(source: str, number: int, data: bytes, before: int) -> int:
    """Return the number of consecutive blank lines that end with this line, given the number before it.

    Raises:
        InvalidInput: There are more than `MAX_BLANK`.
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
    """Return whether a line that nearly fills the buffer is short enough without its line end.

    If not, skip its rest.
    """
    if data.endswith(b"\n"):
        return len(data.rstrip(b"\r\n")) <= longest
    while data and not data.endswith(b"\n"):
        data = stream.readline(longest)
    return False
