"""Items as rows and as typed columns."""

import csv
import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from store.base import Generation
from store.records import STRUCTURE, Int32, Manifest

_RESERVED = ("id", "smiles", "structure", "names", "inchikey")
_JSON = json.JSONEncoder(ensure_ascii=False)
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


class Column(NamedTuple):
    """One exported property: `title` is what it is called in the export, `name` in the store."""

    title: str
    name: str
    kind: Literal["number", "text"]


def property_columns(manifest: Manifest) -> list[Column]:
    """The properties by name, each with a title of its own."""
    taken = set(_RESERVED)
    columns = []
    for name, kind in sorted(manifest.properties.items()):
        title = name or "unnamed"
        while title in taken:
            title = f"property.{title}"
        taken.add(title)
        columns.append(Column(title, name, kind))
    return columns


def fixed_titles(manifest: Manifest) -> list[str]:
    """The columns before the properties."""
    return ["id", STRUCTURE[manifest.kind], "names", *(["inchikey"] if manifest.recipe.get("inchikey") else [])]


def rows(generation: Generation, ids: Int32 | None) -> Iterator[list[list[Any]]]:
    """Batches of rows: the values of `fixed_titles` and `property_columns`, None where an item has none."""
    fixed = fixed_titles(generation.manifest)
    names = [column.name for column in property_columns(generation.manifest)]
    for batch in generation.scan(ids):
        columns = [batch[title].to_pylist() for title in fixed]
        properties = map(json.loads, batch["properties"].to_pylist())
        yield [[*row, *map(own.get, names)] for *row, own in zip(*columns, properties, strict=True)]


def text(value: Any) -> str:
    """A value as text: strings as they are, numbers and lists as JSON."""
    return value if isinstance(value, str) else _JSON.encode(value)


def schema(manifest: Manifest) -> pa.Schema:
    """The typed columns: names a list, numeric properties float64."""
    types = {"id": pa.int32(), "names": pa.list_(pa.string())}
    fixed = [(title, types.get(title, pa.string())) for title in fixed_titles(manifest)]
    kinds = {"number": pa.float64(), "text": pa.string()}
    return pa.schema([*fixed, *((column.title, kinds[column.kind]) for column in property_columns(manifest))])


def typed(generation: Generation, ids: Int32 | None) -> Iterator[pa.RecordBatch]:
    """Batches of `schema`."""
    of = schema(generation.manifest)
    fixed = len(fixed_titles(generation.manifest))
    for batch in rows(generation, ids):
        columns = [list(column) for column in zip(*batch, strict=True)]
        for at in range(fixed, len(of)):
            convert = float if pa.types.is_floating(of.field(at).type) else text
            columns[at] = [None if value is None else convert(value) for value in columns[at]]
        yield pa.record_batch(columns, schema=of)


def csv_lines(generation: Generation, ids: Int32 | None) -> Iterator[bytes]:
    """A header and one line an item, a piece per batch."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    fixed = fixed_titles(generation.manifest)
    writer.writerow([*fixed, *(_unrun(column.title) for column in property_columns(generation.manifest))])
    yield lines.drain()
    for batch in rows(generation, ids):
        for id, structure, *others in batch:
            writer.writerow([id, structure, *("" if value is None else _cell(value) for value in others)])
        yield lines.drain()


def _cell(value: Any) -> str:
    return _unrun(value) if isinstance(value, str) else text(value)


def _unrun(value: str) -> str:
    """Text that a spreadsheet shows and does not run (OWASP, "CSV Injection")."""
    return f"'{value}" if value.startswith(_RUN_BY_SPREADSHEETS) else value


class _Lines:
    """Collects what a csv writer writes, ending lines with a line feed.

    The writer itself is told CR LF: only then does it quote cells that hold a carriage return.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r\n") + "\n")

    def drain(self) -> bytes:
        written = "".join(self._lines).encode()
        self._lines.clear()
        return written
