"""Parquet files, whose rows are records."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from graphkin.ingest.readers.arrow_tables import ArrowRecords, may_be_long, read_texts
from graphkin.ingest.readers.columns import OPTIONS, Columns, Decimal, Options
from graphkin.ingest.readers.records import Record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter

_MAX_ROWS_PER_READ = 1000
_BYTES_PER_READ = 4_000_000
_BUFFER = 1 << 18


class ParquetRecords:
    """The records of a Parquet file.

    Memory is bounded by the size of pages, not of row groups. A text that the file stores once for many rows is held
    only once.

    Attributes:
        rows: Number of rows.

    Args:
        source: Name of the file, for errors.
        file: The file.
        structure: Title of the structure column.
        name: Title of the name column; None to look for a usual title.
        options: Command-line options that choose other columns, for errors.
        fingerprint: Title of the fingerprint column, or None.
        notation: Notation of the structures.
        properties: Titles of the columns that become properties; None for all other columns.
        decimal: Decimal separator of numbers in texts.

    Raises:
        InvalidInput: The file is not Parquet, the structures have another type, or as `Columns.resolve` raises it.
    """

    def __init__(
        self,
        source: str,
        file: IO[bytes] | pa.NativeFile,
        structure: str,
        name: str | None,
        options: Options = OPTIONS,
        fingerprint: str | None = None,
        notation: str = "smiles",
        properties: Sequence[str] | None = None,
        decimal: Decimal = ".",
    ) -> None:
        self._file = _open(source, file)
        schema = self._file.schema_arrow
        columns = Columns.resolve(
            source,
            schema.names,
            structure,
            name,
            options,
            fingerprint=fingerprint,
            properties=properties,
            decimal=decimal,
        )
        self.rows: int = self._file.metadata.num_rows
        self._records = ArrowRecords(source, schema, columns, notation)

    def __iter__(self) -> Iterator[Record]:
        with self._file:
            yield from self._records.read(self._file.iter_batches(batch_size=self._rows_per_read()), 1)

    def _rows_per_read(self) -> int:
        metadata = self._file.metadata
        size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        return max(1, min(_MAX_ROWS_PER_READ, _BYTES_PER_READ * self.rows // max(size, 1)))


def read_beginning(
    source: str, file: IO[bytes] | pa.NativeFile, count: int
) -> tuple[list[str], list[list[str | None]], Callable[[Columns], Iterator[Record]]]:
    """Return the titles, the cells of the first rows, and a function that returns these rows as records.

    Args:
        source: Name of the file, for errors.
        file: The file.
        count: Maximum number of rows.

    Raises:
        InvalidInput: The file is not Parquet.
    """
    with _open(source, file) as opened:
        schema = opened.schema_arrow
        batches = []
        for batch in opened.iter_batches(batch_size=count):  # A batch ends at the end of a row group.
            batches.append(batch.slice(0, count))
            count -= batches[-1].num_rows
            if not count:
                break

    def records(columns: Columns) -> Iterator[Record]:
        return ArrowRecords(source, schema, columns, "smiles").read(batches, 1)

    return list(schema.names), read_texts(batches), records


def _open(source: str, file: IO[bytes] | pa.NativeFile) -> pq.ParquetFile:
    try:
        metadata = pq.read_metadata(file)
        shared = [field.name for field in metadata.schema.to_arrow_schema() if may_be_long(field.type)]
        file.seek(0)
        return pq.ParquetFile(file, metadata=metadata, read_dictionary=shared, buffer_size=_BUFFER, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"{source} is not a valid Parquet file",
            given=str(error)[:200],
            expected="a Parquet file",
            hint=f"copy the file again, or name its format with {parameter('--format')}",
        ) from error
