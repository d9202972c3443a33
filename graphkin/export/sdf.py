"""Items as an SD file with 2D coordinates (BIOVIA, "CTFile Formats")."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor

from graphkin.export.table import ItemTable, text

LayOut: TypeAlias = Callable[[Chem.Mol, Mapping[str, Any]], object]
"""A function that gives the molecule of a row 2D coordinates, or leaves it without any."""

_LINE_ENDS = re.compile(r"[\r\n]+")
_ROWS = 256  # rows per chunk


def items(table: ItemTable) -> Iterator[bytes]:
    """Yield the items as an SD file, one chunk per batch.

    The title line of a record is the first name of the item, or its id if it has no name. The data items are the
    columns of `export_items`. Missing values are omitted. Blank lines inside a value are removed, because a blank line
    ends a data item.
    """
    # Records need the id, structure and names of items even if these columns are not exported.
    full_table = table.including("id", "smiles", "names")
    selected = {*table.titles, *(column.title for column in table.properties)}
    data_titles = [
        title if title in selected else None
        for title in (*full_table.titles, *(column.title for column in full_table.properties))
    ]
    for batch in full_table.rows():
        with rdBase.BlockLogs():
            records = [_record(data_titles, row) for row in batch]
        yield "".join(records).encode()


def records(table: pa.Table, lay_out: LayOut | None = None) -> Iterator[bytes]:
    """Yield the rows of a table as an SD file, one chunk per batch. Titles and values are those of `items`.

    Args:
        table: Columns id, smiles, names and any others.
        lay_out: Gives the molecule of a row its coordinates. By default, RDKit lays it out alone.
    """
    titles = list(dict.fromkeys(["id", "smiles", "names", *table.column_names]))
    for batch in table.select(titles).to_batches(_ROWS):
        with rdBase.BlockLogs():
            yield "".join(_record(titles, [*row.values()], lay_out) for row in batch.to_pylist()).encode()


def _record(data_titles: Sequence[str | None], row: list[Any], lay_out: LayOut | None = None) -> str:
    """Return one item as an SD record.

    Args:
        data_titles: The title of the data item of each cell; None for a cell that is not exported.
        row: The cells. The first ones are id, SMILES and names.
        lay_out: Gives the molecule its coordinates.
    """
    id, smiles, names, *_ = row
    data = "".join(
        f">  <{_LINE_ENDS.sub(' ', title)}>\n{value}\n\n"
        for title, cell in zip(data_titles, row, strict=True)
        if title is not None and cell is not None and (value := _value(cell))
    )
    molecule = Chem.MolFromSmiles(smiles) or Chem.Mol()  # an empty molecule if this RDKit cannot parse the SMILES
    if lay_out is not None:
        lay_out(molecule, {title: cell for title, cell in zip(data_titles, row, strict=True) if title is not None})
    return f"{_molblock(molecule, names[0] if names else str(id))}{data}$$$$\n"


def _molblock(molecule: Chem.Mol, title: str) -> str:
    if not molecule.GetNumConformers():
        rdDepictor.Compute2DCoords(molecule)
    molecule.SetProp("_Name", _escape_delimiter(_LINE_ENDS.sub(" ", title)))
    return str(Chem.MolToMolBlock(molecule))


def _value(cell: Any) -> str:
    """Return a cell as the value of a data item, without blank lines. A list becomes one line per entry."""
    lines = [_LINE_ENDS.sub(" ", name) for name in cell] if isinstance(cell, list) else _LINE_ENDS.split(text(cell))
    return "\n".join(_escape_delimiter(line) for line in lines if line.strip())


def _escape_delimiter(line: str) -> str:
    """Indent the line if it begins with `$$$$`, because this would end the record."""
    return f" {line}" if line.startswith("$$$$") else line
