"""SD files: molblocks with data items, each record ended by a line that starts with $$$$ (BIOVIA, "CTFile Formats")."""

import re
from collections.abc import Iterator
from typing import IO

from ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decoded, faulted
from store.errors import InvalidInput

_LABEL = re.compile(r">[^<]*<(.+)>")


def read_sdf(source: str, stream: IO[bytes], name_item: str | None) -> Iterator[Record]:
    """Every record up to a $$$$ line, and a last one without it; blank lines at the end of the file are none.

    The name is the title line, or the data item `name_item` (exactly so, else in any case). Raises `InvalidInput` at
    the end if there were records and none of them had that item.
    """
    seen: dict[str, str] | None = None
    for line, data, cut in _split(stream):
        text, fault = decoded(data)
        if cut or fault is not None:
            yield faulted(line, text, TOO_LONG if cut else str(fault))
            continue
        text = text.replace("\r\n", "\n")
        items = data_items(text)
        seen = seen or items
        name = text.partition("\n")[0] if name_item is None else items.pop(_spelled(name_item, items), "")
        yield line, "" if text.isspace() else text, name.strip() or None, [*items], [*items.values()], None


def _split(stream: IO[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """(line number, bytes up to the $$$$ line, whether they are cut because the record is too long)"""
    start = number = 1
    kept: list[bytes] = []
    size = 0
    line_begins = True
    while data := stream.readline(MAX_RECORD):
        ended = data.endswith(b"\n")
        number += ended
        if line_begins and data.startswith(b"$$$$"):
            yield start, b"".join(kept), size > MAX_RECORD
            kept, size, start = [], 0, number
        else:
            if size <= MAX_RECORD:
                kept.append(data)
            size += len(data)
        line_begins = ended
    if (rest := b"".join(kept)).strip():
        yield start, rest, size > MAX_RECORD


def data_items(record: str) -> dict[str, str]:
    """The data items after the molblock: label -> value, its lines joined by a line feed; empty ones are left out.

    A data header is a line starting with > after a blank line or the molblock; it is called by what stands between
    its first < and its last >, or without such by its text. Of two items of one name the last counts, as in RDKit.
    """
    _, _, tail = record.partition("\nM  END")
    items: dict[str, list[str]] = {}
    value: list[str] = []
    header_may_follow = True
    for line in tail.split("\n")[1:]:
        if header_may_follow and line.startswith(">"):
            label = _LABEL.match(line)
            value = items[(label[1] if label else line[1:]).strip()] = []
        else:
            value.append(line)
        header_may_follow = not line or line.isspace()
    joined = {name: "\n".join(lines).strip() for name, lines in items.items()}
    return {name: text for name, text in joined.items() if text}


def _take(items: dict[str, str], wanted: str) -> str | None:
    """Remove and return one item."""
    if wanted in items:
        return items.pop(wanted)
    for name in items:
        if name.casefold() == wanted.casefold():
            return items.pop(name)
    return None
