"""How a file of molecules would be read. A server shows this to a client that is about to upload a file."""

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from rdkit import Chem, rdBase

from graphkin.ingest.readers import EXTENSIONS, ReadOptions, open_source
from graphkin.ingest.readers.columns import Columns, Decimal, has_decimal_comma
from graphkin.ingest.readers.formats import choose_format
from graphkin.ingest.readers.headers import TABLES, open_beginning
from graphkin.ingest.readers.records import NOT_UTF8, Record
from graphkin.ingest.values import ReadColumn, is_missing
from graphkin.protocol.descriptors import Activity, ActivityName
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import name_fields
from graphkin.protocol.units import ColumnUnit, parse_units, title_with_unit
from graphkin.protocol.uploads import Preview, PreviewColumn, PreviewRow
from graphkin.similarity.describer import Rejected, failure_reason
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import resolve

RECORDS = 200
"""Maximum number of records that a preview reads."""

_ROWS = 10  # records that a preview shows
_SECONDS = 5.0  # time after which no further record is described
_MAX_TEXT = 4096  # characters of a structure
_MAX_CELL = 200  # characters of a property
_EXAMPLES = 3

_LIKELY = re.compile(r"^(?:cx)?smiles$|smiles|^(?:structure|molecule|mol)$", re.IGNORECASE)
"""Titles that suggest a column of structures."""

_LEAST_SHARE = 0.5  # of the values of a column of structures, those that are SMILES
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,15})[)\]]\s*$")
"""A unit in brackets at the end of a title."""


class _Record(NamedTuple):
    line: int
    text: str
    name: str | None
    properties: dict[str, str]
    fault: str | None

    @classmethod
    def from_reader(cls, record: Record) -> "_Record":
        """Return a record of a reader."""
        line, text, name, titles, values, fault = record
        return cls(line, text, name, dict(zip(titles, values, strict=True)), fault)


class _NotUtf8(Exception):
    """The text of a file is not UTF-8, and no other encoding is set."""


def preview_file(folder: str, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preview of a file as a JSON object. This is a task of the server's workers.

    Args:
        folder: Folder of the file. Messages do not contain it.
        name: Name of the file.
        fields: Fields of `PreviewForm` that are set.

    Raises:
        InvalidInput: The file cannot be read.
    """
    name_fields()
    with chdir(folder):
        try:
            return preview(name, fields).model_dump(mode="json")
        except MemoryError:
            os.abort()  # as libraries do, which do not raise an error


def preview(path: str, fields: Mapping[str, Any]) -> Preview:
    """Return how a file would be read.

    Args:
        path: Path of the file.
        fields: Fields of `PreviewForm` that are set. The file decides the others.

    Raises:
        InvalidInput: The file cannot be read.
    """
    is_partial = bool(fields.get("partial"))
    options = ReadOptions(
        format=choose_format(path, fields.get("format"), MoleculeKind.file_formats, EXTENSIONS),
        structure_column=fields.get("smiles_column"),
        name_column=fields.get("name_column"),
        delimiter=fields.get("delimiter"),
        encoding=fields.get("encoding") or _marked_encoding(path),
        decimal=fields.get("decimal") or ".",
    )
    try:
        if options.format in TABLES:
            return _preview_table(path, options, fields, is_partial=is_partial)
        records, is_complete = _read(path, options, is_partial)
        _require_utf8(options, records)
    except _NotUtf8:
        return preview(path, {**fields, "encoding": "cp1252"})
    titles = [*dict.fromkeys(name for record in records for name in record.properties)]
    return _preview_records(options, titles, records, is_complete, parse_units(fields.get("unit", ())))


def _preview_table(path: str, options: ReadOptions, fields: Mapping[str, Any], *, is_partial: bool) -> Preview:
    """Return the preview of a table, whose columns are found by their titles and values."""
    assert options.format is not None
    likely_title = options.structure_column or "smiles"
    try:
        beginning = open_beginning(path, options.format, options, likely_title, RECORDS + 1, is_partial=is_partial)
    except InvalidInput as error:
        if options.encoding is None and NOT_UTF8 in error.detail:
            raise _NotUtf8 from error
        raise
    titles = beginning.titles
    cells = {title: beginning.column(title) for title in titles}
    options = replace(options, delimiter=beginning.delimiter)
    structure = options.structure_column or _find_structures(titles, cells)
    # Without a column of structures, which the client then has to name, the first column takes its place.
    columns = Columns.resolve(path, titles, structure or titles[0], options.name_column)
    if fields.get("decimal") is None:
        options = replace(options, decimal=_find_decimal(beginning.delimiter, columns, cells))
    read = [_Record.from_reader(each) for each in beginning.records(replace(columns, decimal=options.decimal))]
    records, is_complete = _without_last(read, is_partial)
    _require_utf8(options, records)
    if structure is None:
        found = {title: cells[title][: len(records)] for title in titles}
        return _without_structures(options, titles, found, is_complete)
    name = None if columns.name is None else titles[columns.name]
    options = replace(options, structure_column=titles[columns.structure], name_column=name)
    return _preview_records(options, titles, records, is_complete, parse_units(fields.get("unit", ())))


def _preview_records(
    options: ReadOptions,
    titles: Sequence[str],
    records: Sequence[_Record],
    is_complete: bool,
    units: Mapping[str, ColumnUnit],
) -> Preview:
    """Return the preview of a file whose first records are known, with columns of these titles."""
    rows, count = _describe(records, MoleculeKind.file_formats[options.format or ""])
    columns = [
        _column(title, [record.properties.get(title) for record in records[:count]], unit=units.get(title))
        for title in titles
        if title not in (options.structure_column, options.name_column)
    ]
    known = ((options.structure_column, "structure"), (options.name_column, "name"))
    special = {
        title: _column(title, [record.text if role == "structure" else record.name for record in records], role)
        for title, role in known
        if title is not None
    }
    by_title = {column.name: column for column in columns} | special
    accepted = sum(row.reason is None for row in rows)
    return Preview(
        **_reading(options),
        columns=[by_title[title] for title in (titles if options.format in TABLES else by_title)],
        rows=rows[:_ROWS],
        read=count,
        accepted=accepted,
        rejected=count - accepted,
        complete=is_complete and count == len(records),
        note=_header_note(rows, columns, records) if options.format in TABLES else None,
    )


def _header_note(
    rows: Sequence[PreviewRow], columns: Sequence[PreviewColumn], records: Sequence[_Record]
) -> str | None:
    """Return advice on a table whose first record is another line of titles or units: it has texts above numbers."""
    if not rows or rows[0].reason is None:
        return None
    first = records[0].properties
    above = [column.name for column in columns if column.texts == 1 and column.numbers + column.censored > 0]
    titles = [title for title in above if ReadColumn.from_texts(pa.array([first.get(title)], pa.string())).values.texts]
    if not titles:
        return None
    return (
        f"Line {rows[0].line} looks like a second line of titles or units, with {first[titles[0]][:_MAX_CELL]!r} above "
        "numbers. Keep one line of titles, which names the units too, such as IC50 (nM)."
    )


def _reading(options: ReadOptions) -> dict[str, Any]:
    return {
        "format": options.format,
        "delimiter": options.delimiter,
        "encoding": options.encoding,
        "decimal": options.decimal,
        "smiles_column": options.structure_column,
        "name_column": options.name_column,
    }


def _marked_encoding(path: str) -> str | None:
    """Return the encoding that the first bytes of a file mark, as some programs write tables."""
    with Path(path).open("rb") as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else None


def _find_decimal(delimiter: str | None, columns: Columns, cells: Mapping[str, Sequence[str | None]]) -> Decimal:
    """Return the decimal separator of a table. Only separators of cells that are no commas go with a comma."""
    if delimiter not in ("semicolon", "tab"):
        return "."
    numbers = [value for _, title in columns.properties for value in cells[title] if value]
    commas = sum(map(has_decimal_comma, numbers))
    points = sum(value.count(".") == 1 and value.replace(".", "").isdigit() for value in numbers)
    return "," if commas > points else "."


def _read(path: str, options: ReadOptions, is_partial: bool) -> tuple[list[_Record], bool]:
    """Return the first records of a file that is no table, and whether these are all records of the file."""
    records: list[_Record] = []
    with closing(open_source(path, MoleculeKind.file_formats, options)) as source:
        try:
            for batch in source:
                rows = zip(*(batch[name].to_pylist() for name in batch.schema.names), strict=True)
                left = RECORDS + 1 - len(records)
                records += (
                    _Record(line, text or "", name, dict(pairs or ()), fault)
                    for line, text, name, pairs, fault in islice(rows, left)
                )
                if len(records) > RECORDS:
                    break
        except InvalidInput:
            if not (is_partial and records):
                raise
    return _without_last(records, is_partial)


def _without_last(records: list[_Record], is_partial: bool) -> tuple[list[_Record], bool]:
    """Return the records that a preview shows, and whether these are all records of the file.

    Args:
        records: At most `RECORDS` + 1 records.
        is_partial: Whether the last one may be cut.
    """
    if len(records) > RECORDS:
        return records[:RECORDS], False
    return (records[:-1] or records, False) if is_partial else (records, True)


def _require_utf8(options: ReadOptions, records: Iterable[_Record]) -> None:
    """Raise `_NotUtf8` if the encoding is unknown and a record is not UTF-8."""
    if options.encoding is None and any(record.fault == NOT_UTF8 for record in records):
        raise _NotUtf8


def _find_structures(titles: Sequence[str], cells: Mapping[str, Sequence[str | None]]) -> str | None:
    """Return the column whose values are SMILES. Columns with a usual title come first."""
    likely = [title for title in titles if _LIKELY.search(title)]
    likely.sort(key=lambda title: title.casefold() != "smiles")
    for title in (*likely, *(title for title in titles if title not in likely)):
        if _share_of_smiles(cells[title]) >= _LEAST_SHARE:
            return title
    return next(iter(likely), None)


def _share_of_smiles(values: Iterable[str | None]) -> float:
    """Return the share of the values that RDKit reads as SMILES. Numbers and missing markers are none."""
    texts = pa.array(values, pa.string()).drop_null()
    present = [text for text, missing in zip(texts.to_pylist(), is_missing(texts), strict=True) if not missing]
    if not present:
        return 0.0
    with rdBase.BlockLogs():
        parsed = sum(any(map(str.isalpha, text)) and Chem.MolFromSmiles(text) is not None for text in present)
    return parsed / len(present)


def _describe(records: Sequence[_Record], notation: str) -> tuple[list[PreviewRow], int]:
    """Return the records as they would be stored, and how many there are. Describing stops after `_SECONDS`."""
    describer, deadline = MoleculeDescriber(resolve(), MoleculeKind.max_size), time.monotonic() + _SECONDS
    rows: list[PreviewRow] = []
    for record in records:
        smiles, reason = None, record.fault
        if reason is None:
            try:
                smiles = str(describer.describe(record.text, notation, record.name)[0])
            except Rejected as error:
                reason = str(error)
            except Exception as error:
                reason = failure_reason(error)
        properties = {name: value[:_MAX_CELL] for name, value in record.properties.items()}
        rows.append(
            PreviewRow(
                line=record.line,
                text=record.text[:_MAX_TEXT],
                name=record.name,
                smiles=smiles,
                reason=reason,
                properties=properties,
            )
        )
        if time.monotonic() > deadline:
            break
    return rows, len(rows)


def _column(
    title: str, values: Sequence[str | None], role: Any = "property", unit: ColumnUnit | None = None
) -> PreviewColumn:
    texts = pa.array(values, pa.string())
    counts = ReadColumn.from_texts(texts).values
    is_number = role == "property" and counts.texts == 0 and counts.numbers + counts.censored > 0
    new_title = title if unit is None else title_with_unit(title, unit)
    activity = ActivityName.from_source(new_title) if is_number else None
    match = _UNIT.search(new_title)
    shown_unit = activity.unit if activity is not None else match[1] if match is not None and is_number else None
    return PreviewColumn(
        name=title,
        role=role,
        type="number" if is_number else "text",
        unit=shown_unit,
        activity=None if activity is None else Activity.from_name(activity).label,
        numbers=counts.numbers,
        missing=counts.missing + texts.null_count,
        censored=counts.censored,
        texts=counts.texts,
        examples=[text[:_MAX_CELL] for text in islice(dict.fromkeys(filter(None, values)), _EXAMPLES)],
    )


def _without_structures(
    options: ReadOptions, titles: Sequence[str], cells: Mapping[str, Sequence[str | None]], is_complete: bool
) -> Preview:
    """Return the preview of a table in which no column of structures is found."""
    return Preview(
        **_reading(options),
        columns=[_column(title, cells[title]) for title in titles],
        rows=[],
        read=len(cells[titles[0]]),
        accepted=0,
        rejected=0,
        complete=is_complete,
        note=_inchi_note(titles, cells),
    )


def _inchi_note(titles: Sequence[str], cells: Mapping[str, Sequence[str | None]]) -> str | None:
    """Return advice on a table that has InChIs instead of SMILES."""
    for title in titles:
        if any(value is not None and value.strip().startswith("InChI=") for value in cells[title]):
            return (
                f"The column {title!r} holds InChIs. Add a column of SMILES: the program that wrote the InChIs can "
                "write them too, and so can RDKit and Open Babel."
            )
    return None
