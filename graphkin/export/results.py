"""A table of molecules as a file: CSV, Parquet, an SD file or an Excel workbook."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa

from graphkin.export import columnar
from graphkin.export.cells import csv_lines
from graphkin.export.sdf import LayOut, records
from graphkin.export.xlsx import workbook
from graphkin.protocol.errors import require

ResultFormat = Literal["csv", "parquet", "sdf", "xlsx"]

RESULT_MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "sdf": "chemical/x-mdl-sdfile",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Media types of files of results, by format."""


def export_result(
    table: pa.Table,
    format: ResultFormat,
    structures: Collection[str],
    *,
    heat: str | None = None,
    lay_out: LayOut | None = None,
) -> Iterator[bytes]:
    """Return the bytes of a file with one row or record for each row of a table.

    Args:
        table: Columns id, smiles, names and any others.
        format: File format.
        structures: Columns with structures, in which CSV escapes no formulas.
        heat: A column of numbers whose cells an Excel workbook colors by value.
        lay_out: Gives the molecule of a row 2D coordinates in an SD file. By default, RDKit lays it out alone.

    Raises:
        InvalidInput: Excel workbooks need an extra that is not installed.
    """
    if format == "csv":
        return csv_lines([table], plain=structures)
    if format == "parquet":
        return columnar.parquet(table.schema, iter(table.to_batches()))
    if format == "sdf":
        return records(table, lay_out)
    return iter([workbook(table, heat)])


def file_format(path: Path, formats: Collection[str]) -> str:
    """Return the format of a file, which is the end of its name.

    Raises:
        InvalidInput: The end of the name is none of the formats.
    """
    format = path.suffix[1:].lower()
    require(
        format in formats,
        "name of the file",
        str(path),
        f"a name that ends with {', '.join(f'.{each}' for each in formats)}",
        hint="the end of the name selects the format, as in rgroups.xlsx",
    )
    return format
