"""Records that readers yield, and the Arrow record batches that collect them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter

RECORD_SCHEMA = pa.schema(
    [
        pa.field("line", pa.int64()),  # 1-based line (row for Parquet) where the record starts
        pa.field("text", pa.string()),  # the SMILES, the whole SD record, or a graph as JSON; "" for an empty record
        pa.field("name", pa.string()),
        pa.field("properties", pa.map_(pa.string(), pa.string())),  # other non-empty columns or data items
        pa.field("fault", pa.string()),  # why the reader rejects the record; `text` is then an excerpt
    ]
)

MAX_RECORD = 1_000_000
"""Maximum length of a record, in bytes."""

NOT_UTF8 = "is not UTF-8"
NOT_UNICODE = "is not Unicode text"
HAS_NUL = "contains a NUL byte"

Record: TypeAlias = tuple[int, str, str | None, Sequence[str], Sequence[str], str | None]
"""A record: its line, text, name, names of properties, values of properties, and fault.

Name and fault can be None. The fault is the reason why the reader rejects the record.
"""

_EXCERPT_LENGTH = 4096  # characters
_BATCH_RECORDS = 1000
_BATCH_CHARACTERS = 4_000_000


def too_long(limit: int) -> str:
    """Return the fault of a record with more than `limit` bytes."""
    return f"is longer than {limit:,} bytes"


TOO_LONG = too_long(MAX_RECORD)


def faulty_record(line: int, text: str, fault: str) -> Record:
    """Return a record that the reader rejects because of `fault`. It keeps the first 4,096 characters of `text`."""
    return line, text[:_EXCERPT_LENGTH].rstrip("\r\n").replace("\0", "\\x00"), None, (), (), fault


def decode(data: bytes) -> tuple[str, str | None]:
    """Decode UTF-8, and return the text and its fault, or None.

    NUL bytes and invalid bytes are faults. Invalid bytes are replaced by escapes such as `\\xff`.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="backslashreplace"), NOT_UTF8
    return text, HAS_NUL if "\0" in text else None


def text_fault(text: str) -> str | None:
    """Return the fault of a text that cannot be stored, or None.

    Texts from JSON can contain lone surrogates, which UTF-8 cannot encode, and NUL characters.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return NOT_UNICODE
    return HAS_NUL if "\0" in text else None


def keep_properties(source: str, records: Iterable[Record], properties: Sequence[str]) -> Iterator[Record]:
    """Yield records with only some of their properties.

    Args:
        source: Name of the source, for errors.
        records: The records.
        properties: Names of the properties to keep.

    Raises:
        InvalidInput: At the end, no record had one of the properties.
    """
    missing, others = dict.fromkeys(properties), dict[str, None]()
    for line, text, name, keys, values, fault in records:
        kept = [(key, value) for key, value in zip(keys, values, strict=True) if key in properties]
        others |= dict.fromkeys(keys)
        yield line, text, name, [key for key, _ in kept], [value for _, value in kept], fault
    missing = {name: None for name in missing if name not in others}
    if missing:
        raise InvalidInput(
            f"no record of {source} has a property {next(iter(missing))!r}",
            given=", ".join(missing),
            expected=f"one of {', '.join(others)}" if others else "records with properties",
            hint=f"correct {parameter('--properties')}, or leave it out to keep all properties",
        )


def rename_properties(source: str, records: Iterable[Record], titles: Mapping[str, str]) -> Iterator[Record]:
    """Yield records with new names of some properties.

    Args:
        source: Name of the source, for errors.
        records: The records.
        titles: The new names by the names in the source.

    Raises:
        InvalidInput: A record already has a property with a new name. At the end: no record had one of the properties.
    """
    missing = dict(titles)
    for line, text, name, keys, values, fault in records:
        renamed = [titles.get(key, key) for key in keys]
        if len({*renamed}) < len(renamed):
            clash = next(key for key in renamed if renamed.count(key) > 1)
            raise InvalidInput(
                f"{source} has a column {clash!r} already",
                given=clash,
                expected="a unit by which each column keeps a title of its own",
                hint=f"leave the column out with {parameter('--properties')}, or correct {parameter('--unit')}",
            )
        for key in keys:
            missing.pop(key, None)
        yield line, text, name, renamed, values, fault
    if missing:
        raise InvalidInput(
            f"no record of {source} has a value in a column {next(iter(missing))!r}",
            given=", ".join(missing),
            expected="columns that become properties",
            hint=f"correct {parameter('--unit')}",
        )


def batches(records: Iterable[Record]) -> Iterator[pa.RecordBatch]:
    """Collect records into batches of `RECORD_SCHEMA`.

    A batch ends after 1,000 records, or after the record with which its texts and property values reach 4 million
    characters.
    """
    buffer: list[Record] = []
    size = 0
    for record in records:
        buffer.append(record)
        size += len(record[1])
        if values := record[4]:
            size += sum(map(len, values))
        if len(buffer) == _BATCH_RECORDS or size >= _BATCH_CHARACTERS:
            yield _batch(buffer)
            buffer, size = [], 0
    if buffer:
        yield _batch(buffer)


def _batch(records: Sequence[Record]) -> pa.RecordBatch:
    lines, texts, names, keys, values, faults = zip(*records, strict=True)
    offsets = np.zeros(len(records) + 1, np.int32)
    np.cumsum([len(record_keys) for record_keys in keys], out=offsets[1:])
    keys_and_values = (pa.array(list(chain.from_iterable(column)), pa.string()) for column in (keys, values))
    properties = pa.MapArray.from_arrays(pa.array(offsets), *keys_and_values)
    return pa.record_batch([lines, texts, names, properties, faults], schema=RECORD_SCHEMA)
