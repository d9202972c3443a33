"""Result tables: Arrow tables that pandas, Polars and DuckDB can read, with depictions in a notebook."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

_MAX_ROWS = 24  # in a notebook
_MAX_CHARACTERS = 120  # per cell, at most
_MAX_SMILES = 300  # characters of a SMILES, at most: RDKit takes seconds to draw the largest molecules
_WIDTH, _HEIGHT = 160, 110  # pixels of a depiction


class Table:
    """A table of results.

    `arrow` is the `pyarrow.Table`. Every reader of the Arrow C interface accepts a `Table` directly:
    `polars.from_arrow(table)`, `duckdb.from_arrow(table.arrow)`, `pyarrow.table(table)`. A notebook shows the first
    rows and depicts molecules.
    """

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """Return one column. Raises `InvalidInput` with the names of the columns if there is no such column."""
        return self.select([column]).arrow[column]

    def select(self, columns: Sequence[str]) -> "Table":
        """Return a table with some of the columns, in this order.

        Raises:
            InvalidInput: If there is no such column. The error lists those that exist.
        """
        for name in columns:
            if name not in self.columns:
                raise InvalidInput("there is no such column", given=name, expected=f"one of {', '.join(self.columns)}")
        return Table(self.arrow.select(list(columns)))

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.arrow.column_names)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a data frame. Raises `InvalidInput` if pandas is not installed."""
        try:
            return self.arrow.to_pandas()
        except ModuleNotFoundError as error:
            raise InvalidInput("data frames need pandas", hint="pip install pandas") from error

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as a list with one mapping per row."""
        return list(self.arrow.to_pylist())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        """Return the first rows as self-contained HTML. All text in it is escaped."""
        structures = ["smiles"] if "smiles" in self.columns else []
        head = "".join(f"<th>{escape(name)}</th>" for name in [*("" for _ in structures), *self.columns])
        rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in self._cells(structures))
        excerpt = f"the first {_MAX_ROWS} of " if len(self) > _MAX_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{excerpt}{len(self):,} rows</p>"

    def _cells(self, structures: list[str]) -> Iterator[list[str]]:
        for row in self.arrow.slice(0, _MAX_ROWS).to_pylist():
            depictions = [f"<td>{_depiction(row[column])}</td>" for column in structures]
            yield [*depictions, *(f"<td>{escape(_text(value))}</td>" for value in row.values())]


def _text(value: Any) -> str:
    """Return a value as text of at most `_MAX_CHARACTERS` characters."""
    if isinstance(value, dict):
        text = ", ".join(f"{name}: {_text(each)}" for name, each in value.items() if each is not None)
    elif isinstance(value, list):
        text = ", ".join(_text(each) for each in value[:_MAX_CHARACTERS])
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = "" if value is None else str(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _depiction(smiles: str | None) -> str:
    """Return the depiction of a molecule as an HTML image, or nothing if the molecule is large or unreadable."""
    from graphkin.api.depiction.molecule import draw_molecule

    if not smiles or len(smiles) > _MAX_SMILES:
        return ""
    try:
        svg = draw_molecule(smiles, smiles, "", _WIDTH, _HEIGHT)
    except ValueError:
        return ""
    source = b64encode(svg.encode()).decode()
    return f'<img width="{_WIDTH}" height="{_HEIGHT}" alt="{escape(smiles)}" src="data:image/svg+xml;base64,{source}">'
