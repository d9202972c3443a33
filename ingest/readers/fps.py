"""Fingerprints in chemfp's FPS format: a header, then one fingerprint per line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.protocol.errors import InvalidInput

_VERSION = "#FPS1"
_MAX_TYPE_LENGTH = 1000  # types are cut to so many characters


@dataclass(frozen=True)
class Header:
    """Header of an FPS file.

    Attributes:
        bits: Number of bits, or None if the header does not state it.
        type: Type of the fingerprints, or "".
    """

    bits: int | None = None
    type: str = ""


def read_header(source: str, lines: Iterable[Line]) -> tuple[Header, Iterator[Line]]:
    """Return the header and the lines after it. A file without a header has an empty one.

    Raises:
        InvalidInput: The file has another version, or its number of bits is not a number.
    """
    fields: dict[str, str] = {}
    rest = iter(lines)
    for line in rest:
        number, text, _ = line
        if not text.startswith("#"):
            rest = chain([line], rest)
            break
        if number == 1 and text.rstrip() != _VERSION:
            raise InvalidInput(
                f"{source} has a version of FPS that graphkin does not read",
                given=text[:40],
                expected=_VERSION,
                hint=f"write the file as FPS version 1, with {_VERSION} as its first line",
            )
        key, _, value = text[1:].partition("=")
        fields.setdefault(key.strip(), value.strip())
    bits = fields.get("num_bits")
    if bits is not None and not (bits.isdecimal() and 0 < len(bits) < 10):
        raise InvalidInput(
            f"the header of {source} has no valid number of bits",
            given=bits[:40],
            expected="#num_bits=N",
            hint="correct #num_bits in the header, or remove the line",
        )
    return Header(None if bits is None else int(bits), fields.get("type", "")[:_MAX_TYPE_LENGTH]), rest


def read_fps(source: str, lines: Iterable[Line]) -> Iterator[Record]:
    """Read an FPS file. The header is read immediately.

    Each line after the header is a record: the fingerprint in hexadecimal, a tab, and an identifier, which is its name.
    Text after another tab is discarded.

    Raises:
        InvalidInput: As `read_header` raises it.
    """
    _, rest = read_header(source, lines)
    return map(_record, rest)


def _record(line: Line) -> Record:
    number, text, fault = line
    bits, *fields = text.rstrip("\r\n").split("\t")
    if fault is None and not fields:
        fault = "has no identifier after a tab"
    if fault is not None:
        return faulty_record(number, text, fault)
    return number, bits, fields[0].strip() or None, (), (), None
