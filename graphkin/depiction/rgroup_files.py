"""An R-group table as a file: a table, an SD file with aligned molecules, an Excel workbook or a picture."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, cast

import pyarrow as pa

from graphkin.depiction.rgroup_table import draw_rgroup_table
from graphkin.depiction.rgroups import align_row
from graphkin.export.results import RESULT_MEDIA_TYPES, ResultFormat, export_result, file_format

RGroupFormat = ResultFormat | Literal["svg", "png"]

RGROUP_MEDIA_TYPES = {**RESULT_MEDIA_TYPES, "svg": "image/svg+xml", "png": "image/png"}
"""Media types of the files, by format."""


def export_rgroups(
    table: pa.Table, positions: Sequence[str], property: str | None, format: RGroupFormat
) -> Iterator[bytes]:
    """Return the bytes of a file with the rows of an R-group table.

    In an SD file, molecules are aligned with their core. An Excel workbook and a picture color the property by value.

    Args:
        table: Result of `graphkin.collection.sar.rgroups.rgroups_table`.
        positions: Names of the columns with R groups.
        property: Name of the property, whose column follows the ids; None for none.
        format: File format.

    Raises:
        InvalidInput: Excel workbooks need an extra that is not installed, or a picture has nothing to show.
    """
    heat = None if property is None else table.column_names[1]
    if format == "svg" or format == "png":
        return iter([draw_rgroup_table(table, positions, heat, format)])
    structures = ("smiles", "core", *positions)
    return export_result(table, format, structures, heat=heat, lay_out=partial(align_row, positions))


def rgroup_format(path: Path) -> RGroupFormat:
    """Return the format of a file by the end of its name. Raises `InvalidInput` if there is no such format."""
    return cast(RGroupFormat, file_format(path, RGROUP_MEDIA_TYPES))
