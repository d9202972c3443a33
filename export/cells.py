"""Tables of any columns as CSV."""

import io
from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(tables: Iterable[pa.Table], plain: Collection[str]) -> Iterator[bytes]:
    """A header and one line a row, a piece per table; all have the same columns: numbers, texts and lists of texts.

    Text is written so that a spreadsheet shows and does not run it (OWASP, "CSV Injection"), but for the columns
    `plain`. Lists are joined by `; `, as all exports do.
    """
    for number, table in enumerate(tables):
        texts = {
            name: _text(column, shown=name not in plain)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        piece, written = pa.table(texts), io.BytesIO()
        with CSVWriter(written, piece.schema, write_options=WriteOptions(include_header=number == 0)) as writer:
            writer.write_table(piece)
        yield written.getvalue()


def _text(column: pa.ChunkedArray, *, shown: bool) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    elif not pa.types.is_string(column.type):
        return column.cast(pa.string())
    if not shown:
        return column
    run = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), pa.array(RUN_BY_SPREADSHEETS))
    return pc.if_else(run, pc.binary_join_element_wise("'", column, ""), column)
