"""Edge lists: `source target [weight]`, separated by spaces or tabs. Lines that begin with # are comments."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.readers.records import HAS_NUL, MAX_RECORD, NOT_UTF8
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.store.records import Int64

Fault = tuple[int, str, str]
"""A line that is not an edge: its number, counted from 1, its text, and the reason."""

NO_EDGE = "is no edge, `source target [weight]`"
"""Beginning of the reason for a line that has other columns than an edge, or whose weight is not a number."""

_BLOCK = 1 << 22  # bytes
_NEWLINE, _SPACES = 10, (9, 11, 12, 13, 32)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|nan)$"


@dataclass(frozen=True)
class NamedEdges:
    """Some edges of a file.

    Attributes:
        line: (E,) int64 line of each edge, counted from 1.
        source: (E,) name of the first node of each edge.
        target: (E,) name of the second node of each edge.
        faults: The lines that are not edges.
    """

    line: Int64
    source: pa.StringArray
    target: pa.StringArray
    faults: list[Fault] = field(default_factory=list)


def read_edgelist(path: str, stream: IO[bytes], line: int = 1, comment: bytes = b"#") -> Iterator[NamedEdges]:
    """Yield the edges of a stream in blocks. A weight must be a number, and is discarded.

    Args:
        path: Name of the file, for errors.
        stream: The stream.
        line: Number of the stream's first line.
        comment: First character of comment lines.

    Raises:
        InvalidInput: A line is too long to be an edge.
    """
    rest = b""
    while data := stream.read(_BLOCK):
        head, newline, rest = (rest + data).rpartition(b"\n")
        if len(rest) > MAX_RECORD:
            raise InvalidInput(
                f"{path} is not an edge list",
                given=f"a line of more than {MAX_RECORD:,} bytes",
                expected=f"two node names on each line, in at most {MAX_RECORD:,} bytes",
                hint=f"check the file, or name its format with {parameter('--format')}",
            )
        if newline:
            yield _parse_block(head + newline, line, comment)
            line += head.count(b"\n") + 1
    if rest:
        yield _parse_block(rest + b"\n", line, comment)


def _parse_block(block: bytes, first_line: int, comment: bytes) -> NamedEdges:
    """Parse whole lines, each with its line end. `first_line` is the number of the first line."""
    block, faults = _blank_invalid_lines(block, first_line)
    content = np.frombuffer(block, np.uint8)
    newline = content == _NEWLINE
    is_separator = newline | np.isin(content, _SPACES)
    begins = np.flatnonzero(~is_separator & np.append(True, is_separator[:-1]))
    ends = np.flatnonzero(is_separator & np.append(False, ~is_separator[:-1]))
    line = (np.cumsum(newline) - newline)[begins]
    numbers, first_token, tokens = np.unique(line, return_index=True, return_counts=True)
    is_data = content[begins[first_token]] != comment[0]
    numbers, first_token, tokens = numbers[is_data], first_token[is_data], tokens[is_data]
    is_edge = (tokens == 2) | (tokens == 3)
    weighted = np.flatnonzero(tokens == 3)
    weights = _texts(content, begins[first_token[weighted] + 2], ends[first_token[weighted] + 2])
    is_edge[weighted[~np.asarray(pc.match_substring_regex(weights, _NUMBER))]] = False
    lines = block.split(b"\n") if not is_edge.all() else []
    for number, count in zip(numbers[~is_edge].tolist(), tokens[~is_edge].tolist(), strict=True):
        reason = "its weight is no number" if count == 3 else f"has {count} columns"
        faults.append((first_line + number, lines[number].decode(), f"{NO_EDGE}: {reason}"))
    first = first_token[is_edge]
    return NamedEdges(
        first_line + numbers[is_edge],
        _texts(content, begins[first], ends[first]),
        _texts(content, begins[first + 1], ends[first + 1]),
        sorted(faults),
    )


def _blank_invalid_lines(block: bytes, first_line: int) -> tuple[bytes, list[Fault]]:
    """Replace invalid lines by empty ones, and return the block and the faults of the invalid lines.

    A line is invalid if it is not UTF-8, or if it contains a NUL byte.
    """
    try:
        block.decode()
        if b"\0" not in block:
            return block, []
    except UnicodeDecodeError:
        pass
    lines, faults = block.split(b"\n"), []
    for number, line in enumerate(lines):
        text = line.decode(errors="backslashreplace")
        if "\0" in text or text.encode() != line:
            faults.append((first_line + number, text.replace("\0", "\\x00"), HAS_NUL if b"\0" in line else NOT_UTF8))
            lines[number] = b""
    return b"\n".join(lines), faults


def _texts(content: np.ndarray, begin: Int64, end: Int64) -> pa.StringArray:
    """Return the bytes content[begin[i] : end[i]] as the text i, for (n,) begins and ends."""
    lengths = end - begin
    offsets = np.append(0, np.cumsum(lengths))
    indices = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content[indices])]
    return pa.StringArray.from_buffers(len(begin), buffers[1], buffers[2])
