"""Items as an SD file with 2D coordinates (BIOVIA, "CTFile Formats")."""

import re
from collections.abc import Iterator
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor

from graphkin.export.table import ItemTable, text

_LINE_ENDS = re.compile(r"[\r\n]+")


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


def _record(data_titles: list[str | None], row: list[Any]) -> str:
    """Return one item as an SD record.

    Args:
        data_titles: The title of the data item of each cell; None for a cell that is not exported.
        row: The cells. The first ones are id, SMILES and names.
    """
    id, smiles, names, *_ = row
    data = "".join(
        f">  <{_LINE_ENDS.sub(' ', title)}>\n{value}\n\n"
        for title, cell in zip(data_titles, row, strict=True)
        if title is not None and cell is not None and (value := _value(cell))
    )
    return f"{_molblock(smiles, names[0] if names else str(id))}{data}$$$$\n"


def _molblock(smiles: str, title: str) -> str:
    molecule = Chem.MolFromSmiles(smiles) or Chem.Mol()  # an empty molecule if this RDKit cannot parse the SMILES
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
