"""Result tables: Arrow tables that notebooks show with depictions, and that pandas, Polars and DuckDB can read."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import pyarrow as pa

from graphkin.protocol.errors import InvalidInput, require_package

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_ROWS_PER_BATCH = 1000  # rows that iteration converts at a time
_MAX_ROWS = 24  # rows that a notebook shows
_MAX_CHARACTERS = 120  # characters per cell
_MAX_SMILES = 300  # characters of a SMILES that is depicted: RDKit takes seconds to draw the largest molecules
_WIDTH, _HEIGHT = 160, 110  # size of a depiction in pixels


class Table:
    """A table of results.

    `len`, slices, row numbers, column names and iteration over the rows work as the example shows. A notebook shows the
    first rows and depicts molecules.

    A `Table` implements the Arrow PyCapsule interface, so that other libraries can read it: `polars.DataFrame(table)`,
    `pyarrow.table(table)` or `duckdb.from_arrow(table.arrow)`.

    Attributes:
        arrow: The same table as a `pyarrow.Table`.
        note: Facts about the result as a whole, such as the share of singletons of a clustering, or None. Parts of the
            table have no note.

    Example:
        ```python
        table = mine.search("CCO", limit=5)
        print(len(table), table.columns, table["similarity"], table[0]["smiles"])
        names = [row["names"] for row in table[:3]]
        frame = table.to_pandas()
        ```
    """

    def __init__(self, arrow: pa.Table, note: str | None = None) -> None:
        self.arrow = arrow
        self.note = note

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dictionaries, whose keys are the names of the columns."""
        for batch in self.arrow.to_batches(max_chunksize=_ROWS_PER_BATCH):
            yield from batch.to_pylist()

    @overload
    def __getitem__(self, key: str) -> pa.ChunkedArray: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | list[str]) -> "Table": ...

    def __getitem__(self, key: str | SupportsIndex | slice | list[str]) -> "pa.ChunkedArray | dict[str, Any] | Table":
        """Return one column by its name, one row as a dictionary by its number, or a table of rows or columns.

        `table["smiles"]` is a column, `table[0]` and `table[-1]` are rows, `table[:10]` and `table[["id", "smiles"]]`
        are tables.

        Args:
            key: Name of a column, number of a row, slice of rows, or list of column names.

        Returns:
            The column as an Arrow array, the row, or a table.

        Raises:
            InvalidInput: If there is no such column. The error lists the columns.
            IndexError: If there is no such row.
        """
        if isinstance(key, str):
            return self.select([key]).arrow[key]
        if isinstance(key, list):
            return self.select(key)
        if isinstance(key, slice):
            rows = range(len(self))[key]
            if rows.step == 1:
                return Table(self.arrow.slice(rows.start, len(rows)))
            return Table(self.arrow.take(pa.array(rows, pa.int64())))
        try:
            number = range(len(self))[key]
        except IndexError:
            raise IndexError(f"there is no row {key}: the table has {len(self):,} rows") from None
        except TypeError:
            raise InvalidInput(
                "a table has no such rows or columns",
                given=f"a value of type {type(key).__name__}",
                expected="the name of a column, a list of names, the number of a row, or a slice",
                hint="use to_pandas() or to_polars() for other selections",
            ) from None
        (row,) = self.arrow.slice(number, 1).to_pylist()
        return dict(row)

    def select(self, columns: Sequence[str]) -> "Table":
        """Return a table with some of the columns.

        Args:
            columns: Names of the columns, in the order of the result.

        Returns:
            The table with these columns.

        Raises:
            InvalidInput: If there is no such column. The error lists the columns.
        """
        for name in columns:
            if name not in self.columns:
                raise InvalidInput(
                    "the table has no column of this name",
                    given=name,
                    expected=f"one of {', '.join(self.columns)}",
                    hint="use one of the names in columns",
                )
        return Table(self.arrow.select(list(columns)))

    def head(self, count: int = 5) -> "Table":
        """Return the first rows.

        Args:
            count: Number of rows. A negative number leaves out so many of the last rows, as in pandas and Polars.

        Returns:
            The table of these rows, with all rows if there are fewer.
        """
        return self[:count]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.arrow.column_names)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self), self.arrow.num_columns

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame.

        Returns:
            A data frame with the columns of the table. Lists, such as names, are NumPy arrays.

        Raises:
            InvalidInput: If pandas is not installed.
        """
        with require_package("pandas", "data frames need"):
            return self.arrow.to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a Polars data frame.

        Returns:
            A data frame with the columns of the table. Lists, such as names, are lists.

        Raises:
            InvalidInput: If Polars is not installed.
        """
        with require_package("polars", "data frames need"):
            import polars

            return polars.DataFrame(self.arrow)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries.

        Returns:
            A list with one dictionary per row, whose keys are the names of the columns.
        """
        return list(self.arrow.to_pylist())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"{type(self).__name__}({len(self):,} rows: {', '.join(self.columns)}{note})"

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, for notebooks. It needs no other files, and all text in it is escaped."""
        titles = [name for name in self.columns if name in ("smiles", "scaffold") or name.endswith("_smiles")]
        structures = [name for name in titles if pa.types.is_string(self.arrow.schema.field(name).type)]
        head = "".join(f"<th>{escape(name)}</th>" for name in [*("" for _ in structures), *self.columns])
        rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in self._cells(structures))
        excerpt = f"the first {_MAX_ROWS} of " if len(self) > _MAX_ROWS else ""
        note = f"; {escape(self.note)}" if self.note else ""
        caption = f"<p>{excerpt}{len(self):,} rows{note}</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{caption}"

    def _cells(self, structures: list[str]) -> Iterator[list[str]]:
        for row in self.arrow.slice(0, _MAX_ROWS).to_pylist():
            depictions = [f"<td>{depict(row[column])}</td>" for column in structures]
            yield [*depictions, *(f"<td>{escape(_text(value))}</td>" for value in row.values())]


def _text(value: Any) -> str:
    """Return a value as text, cut after `_MAX_CHARACTERS` characters."""
    if isinstance(value, dict):
        text = ", ".join(f"{name}: {_text(each)}" for name, each in value.items() if each is not None)
    elif isinstance(value, list):
        text = ", ".join(_text(each) for each in value[:_MAX_CHARACTERS])
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = "" if value is None else str(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def depict(smiles: str | None) -> str:
    """Return the depiction of a molecule as an HTML image, or empty text if the SMILES is missing, invalid or long."""
    from graphkin.depiction.molecule import draw_molecule

    if not smiles or len(smiles) > _MAX_SMILES:
        return ""
    try:
        svg = draw_molecule(smiles, smiles, "", _WIDTH, _HEIGHT)
    except ValueError:
        return ""
    source = b64encode(svg.encode()).decode()
    return f'<img width="{_WIDTH}" height="{_HEIGHT}" alt="{escape(smiles)}" src="data:image/svg+xml;base64,{source}">'
