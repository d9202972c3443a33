"""Items as an SD file with 2D coordinates (BIOVIA, "CTFile Formats")."""

import re
from collections.abc import Iterator
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor

from api.export.items import fixed_titles, property_columns, rows, text
from store.base import Generation
from store.records import Int32

_LINE_ENDS = re.compile(r"[\r\n]+")


def items(generation: Generation, ids: Int32 | None) -> Iterator[bytes]:
    """One record an item, titled with its first name, or its id if it has none.

    Data items are the columns of `export_items`. Blank lines of a value, which would end it, are left out.
    """
    manifest = generation.manifest
    titles = [*fixed_titles(manifest), *(column.title for column in property_columns(manifest))]
    for batch in rows(generation, ids):
        with rdBase.BlockLogs():
            records = [_record(titles, row) for row in batch]
        yield "".join(records).encode()


def _record(titles: list[str], row: list[Any]) -> str:
    id, smiles, names, *_ = row
    data = "".join(
        f">  <{_LINE_ENDS.sub(' ', title)}>\n{value}\n\n"
        for title, cell in zip(titles, row, strict=True)
        if cell is not None and (value := _value(text(cell)))
    )
    return f"{_molblock(smiles, names[0] if names else str(id))}{data}$$$$\n"


def _molblock(smiles: str, title: str) -> str:
    molecule = Chem.MolFromSmiles(smiles) or Chem.Mol()  # no atoms rather than no record, should RDKit not read it back
    rdDepictor.Compute2DCoords(molecule)
    molecule.SetProp("_Name", _kept_apart(_LINE_ENDS.sub(" ", title)))
    return str(Chem.MolToMolBlock(molecule))


def _value(value: str) -> str:
    return "\n".join(_kept_apart(line) for line in _LINE_ENDS.split(value) if line.strip())


def _kept_apart(line: str) -> str:
    """A line that would end the record, indented so that it does not."""
    return f" {line}" if line.startswith("$$$$") else line
