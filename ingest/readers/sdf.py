"""SD files: molblocks with data items, each record ended by a $$$$ line (BIOVIA, "CTFile Formats")."""

from collections.abc import Iterator
from typing import IO

from graphkin.ingest.readers.lines import count_blank
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, decode, faulty_record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter


def read_sdf(source: str, stream: IO[bytes], name_item: str | None) -> Iterator[Record]:
    """Yield each record of an SD file. The last one need not end with a $$$$ line. Blank lines at the end are ignored.

    Args:
        source: Name of the file, for errors.
        stream: The content of the file.
        name_item: Label of the data item that is the name, if need be regardless of case; None for the title line.

    Raises:
        InvalidInput: At the end, no record had the data item. Or there are too many blank lines (`count_blank`).
    """
    missing: dict[str, str] | None = None
    has_name = False
    for line, data, cut in _split(source, stream):
        text, fault = decode(data)
        if cut or fault is not None:
            yield faulty_record(line, text, TOO_LONG if cut else str(fault))
            continue
        text = text.replace("\r\n", "\n")
        items = data_items(text)
        if name_item is None:
            name: str | None = text.partition("\n")[0].strip()
        else:
            name = _take(items, name_item)
            has_name = has_name or name is not None
            missing = missing or items
        yield line, "" if text.isspace() else text, name or None, [*items], [*items.values()], None
    if missing is not None and not has_name:
        raise InvalidInput(
            f"no record of {source} has a data item {name_item!r}",
            given=name_item,
            expected=f"one of {', '.join(missing)}" if missing else "records with data items",
            hint=f"leave {parameter('--name-column')} out to use the title line as the name",
        )


def _split(source: str, stream: IO[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the first line of each record, its bytes before the $$$$ line, and whether they were cut for being long."""
    start = number = 1
    blank = 0
    lines: list[bytes] = []
    size = 0
    line_begins = True
    while data := stream.readline(MAX_RECORD):
        blank = count_blank(source, number, data, blank)
        ended = data.endswith(b"\n")
        number += ended
        if line_begins and data.startswith(b"$$$$"):
            yield start, b"".join(lines), size > MAX_RECORD
            lines, size, start = [], 0, number
        else:
            if size <= MAX_RECORD:
                lines.append(data)
            size += len(data)
        line_begins = ended
    if (rest := b"".join(lines)).strip():
        yield start, rest, size > MAX_RECORD


def data_items(record: str) -> dict[str, str]:
    """Return the data items of a record by label, without empty items. Lines of a value are joined by line feeds.

    A data header is a line that starts with > after a blank line or after the molblock. Its label is the text between
    the first < and the last >, or the whole text after the first > if there is no such text. If two items have the same
    label, the last one counts, as in RDKit.
    """
    _, _, tail = record.partition("\nM  END")
    items: dict[str, list[str]] = {}
    value: list[str] = []
    header_may_follow = True
    for line in tail.split("\n")[1:]:
        if header_may_follow and line.startswith(">"):
            value = items[_label(line)] = []
        else:
            value.append(line)
        header_may_follow = not line or line.isspace()
    joined = {name: "\n".join(lines).strip() for name, lines in items.items()}
    return {name: text for name, text in joined.items() if text}


def _label(header: str) -> str:
    start, end = header.find("<"), header.rfind(">")
    return header[start + 1 : end].strip() or header[1:].strip() or header


def _take(items: dict[str, str], label: str) -> str | None:
    """Remove and return the item with this label, if need be regardless of case; None if there is none."""
    if label in items:
        return items.pop(label)
    for name in items:
        if name.casefold() == label.casefold():
            return items.pop(name)
    return None
