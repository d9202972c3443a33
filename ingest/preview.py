"""How a file of molecules would be read: `python -m graphkin.ingest.preview FILE FIELDS` prints a `Preview` as JSON.

The server runs this program for a client that is about to upload a file. FIELDS is a JSON object with the fields of
`graphkin.protocol.uploads.PreviewForm` that the client has set.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from rdkit import Chem, rdBase

from graphkin.ingest.readers import EXTENSIONS, ReadOptions, open_source
from graphkin.ingest.readers.columns import Columns, has_decimal_comma
from graphkin.ingest.readers.formats import choose_format
from graphkin.ingest.readers.headers import TABLES, read_titles
from graphkin.ingest.readers.records import NOT_UTF8
from graphkin.ingest.values import ReadColumn, is_missing
from graphkin.protocol.descriptors import Activity, ActivityName
from graphkin.protocol.errors import GraphkinError, InvalidInput
from graphkin.protocol.parameters import name_fields
from graphkin.protocol.uploads import Preview, PreviewColumn, PreviewRow
from graphkin.protocol.values import PREVIEW_MEMORY
from graphkin.runtime.workers.worker import limit_memory
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
    titles: Sequence[str] = ()
    if options.format in TABLES:
        options, titles = _resolve_columns(path, options, is_partial, fields.get("decimal"))
        if options.structure_column is None:  # The client has to name the column.
            cells, is_complete = _cells(path, options, titles, is_partial)
            return _without_structures(options, titles, cells, is_complete)
    records, is_complete = _read(path, options, is_partial)
    if options.encoding is None and any(record.fault == NOT_UTF8 for record in records):
        return preview(path, {**fields, "encoding": "cp1252"})
    rows, count = _describe(records, MoleculeKind.file_formats[options.format or ""])
    properties = titles or [*dict.fromkeys(name for record in records for name in record.properties)]
    columns = [
        _column(title, [record.properties.get(title) for record in records[:count]])
        for title in properties
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
        columns=[by_title[title] for title in (titles or by_title)],
        rows=rows[:_ROWS],
        read=count,
        accepted=accepted,
        rejected=count - accepted,
        complete=is_complete and count == len(records),
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


def _resolve_columns(
    path: str, options: ReadOptions, is_partial: bool, decimal: Any
) -> tuple[ReadOptions, Sequence[str]]:
    """Return the options with the columns that are found in a table, and the titles of all columns."""
    assert options.format is not None
    try:
        titles, delimiter = read_titles(path, options.format, options, options.structure_column or "smiles")
    except InvalidInput as error:
        if options.encoding is not None or NOT_UTF8 not in error.detail:
            raise
        return _resolve_columns(path, replace(options, encoding="cp1252"), is_partial, decimal)
    options = replace(options, delimiter=delimiter)
    cells, _ = _cells(path, options, titles, is_partial)
    structure = options.structure_column or _find_structures(titles, cells)
    if structure is None:
        return options, titles
    columns = Columns.resolve(path, titles, structure, options.name_column)
    name = None if columns.name is None else titles[columns.name]
    options = replace(options, structure_column=titles[columns.structure], name_column=name)
    if decimal is None and delimiter in ("semicolon", "tab"):
        numbers = [value for _, title in columns.properties for value in cells[title] if value]
        commas = sum(map(has_decimal_comma, numbers))
        if commas > sum(value.count(".") == 1 and value.replace(".", "").isdigit() for value in numbers):
            options = replace(options, decimal=",")
    return options, titles


def _cells(
    path: str, options: ReadOptions, titles: Sequence[str], is_partial: bool
) -> tuple[dict[str, list[str | None]], bool]:
    """Return the values of each column, and whether these are all of the file."""
    if not titles:
        raise InvalidInput(
            f"{path} has no columns",
            expected="a header line that names the columns",
            hint="add a header, or name the right format",
        )
    first = titles[0]
    # With the first column in both roles, all other columns are properties.
    plain = replace(options, structure_column=first, name_column=first, decimal=".")
    records, is_complete = _read(path, plain, is_partial)
    columns: dict[str, list[str | None]] = {first: [record.text or None for record in records]}
    columns |= {title: [record.properties.get(title) for record in records] for title in titles[1:]}
    return columns, is_complete


def _read(path: str, options: ReadOptions, is_partial: bool) -> tuple[list[_Record], bool]:
    """Return the first records, and whether these are all records of the file."""
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
    if len(records) > RECORDS:
        return records[:RECORDS], False
    return (records[:-1] or records, False) if is_partial else (records, True)


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


def _column(title: str, values: Sequence[str | None], role: Any = "property") -> PreviewColumn:
    texts = pa.array(values, pa.string())
    counts = ReadColumn.from_texts(texts).values
    is_number = role == "property" and counts.texts == 0 and counts.numbers + counts.censored > 0
    activity = ActivityName.from_source(title) if is_number else None
    match = _UNIT.search(title)
    unit = activity.unit if activity is not None else match[1] if match is not None and is_number else None
    return PreviewColumn(
        name=title,
        role=role,
        type="number" if is_number else "text",
        unit=unit,
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
    )


def main(path: str, fields: str) -> None:
    """Print the preview of a file, or the error as an object with the name of its class."""
    try:
        print(preview(path, json.loads(fields)).model_dump_json())
    except GraphkinError as error:
        context = {name: getattr(error, name) for name in ("detail", "given", "expected", "hint")}
        print(json.dumps({"kind": type(error).__name__, **context}, default=str))
    except MemoryError:
        os.abort()  # as libraries do, which do not raise an error


if __name__ == "__main__":
    name_fields()
    limit_memory(PREVIEW_MEMORY)
    main(*sys.argv[1:])
