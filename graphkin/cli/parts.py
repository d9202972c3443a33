"""Files of records that are divided into several files of the same format, with all records unchanged."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RecordFile:
    """The records of a file of molecules.

    Attributes:
        path: The file, which may be compressed.
        format: Its format, which is also the extension of its parts.
        starts: (n,) int64 line, counted from 1, on which each record begins. In Parquet it is the row.
        values: The value of a column in each record, or None if no column was read.
    """

    path: str
    format: str
    starts: "NDArray[np.int64]"
    values: list[str | None] | None

    @classmethod
    def read(cls, path: str, structure_column: str | None, column: str | None) -> "RecordFile":
        """Read where the records of a file begin, and the values of a column.

        Args:
            path: The file.
            structure_column: Column with the SMILES, or None for the usual one.
            column: A column to read, or None.

        Raises:
            InvalidInput: The file cannot be read as molecules, is a workbook, or has no value in the column.
        """
        from graphkin.ingest.readers import EXTENSIONS, ReadOptions, open_source
        from graphkin.ingest.readers.formats import choose_format
        from graphkin.protocol.errors import InvalidInput, suggest
        from graphkin.similarity.molecules.kind import MoleculeKind

        formats = MoleculeKind.file_formats
        format = choose_format(path, None, formats, EXTENSIONS)
        if format == "xlsx":  # a compressed archive, whose records are no lines
            raise InvalidInput(
                "a workbook cannot be divided into workbooks",
                given=path,
                expected="a SMILES, CSV, TSV, SDF or Parquet file",
                hint="save the sheet as CSV, and split that file",
            )
        starts, values, titles = [np.empty(0, np.int64)], list[str | None](), set[str]()
        with closing(open_source(path, formats, ReadOptions(structure_column=structure_column))) as source:
            for batch in source:
                starts.append(np.asarray(batch["line"]))
                if column is not None:
                    rows = [dict(row or ()) for row in batch["properties"].to_pylist()]
                    values += [row.get(column) for row in rows]
                    titles.update(*rows)
        if column is not None and column not in titles:
            raise InvalidInput(
                f"no record of {path} has a value in this column",
                given=column,
                expected=f"one of {', '.join(sorted(titles))}"
                if titles
                else "a file with more columns than the SMILES",
                hint=suggest(column, titles, "name a column of the file in --stratify"),
            )
        return cls(path, format, np.concatenate(starts), values if column is not None else None)

    def write_parts(self, folder: Path, names: Sequence[str], part: "NDArray[np.int8]") -> None:
        """Write each record to one of several files, in the order of the input.

        Args:
            folder: The folder of the files.
            names: Name of each file, without extension.
            part: (n,) int8 number of the file of each record, or -1 for a record that is not written.
        """
        from graphkin.ingest.readers.raw import open_decompressed, spool_to_disk
        from graphkin.ingest.readers.source import open_raw

        paths = [folder / f"{name}.{self.format}" for name in names]
        with ExitStack() as stack:
            raw, _ = open_raw(self.path, None, stack)
            stream, _ = open_decompressed(self.path, raw, "at least one record")
            if self.format == "parquet":
                _write_rows(spool_to_disk(stream, stack), paths, part, stack)
            else:
                self._write_lines(stream, [stack.enter_context(path.open("wb")) for path in paths], part)

    def _write_lines(self, stream: IO[bytes], files: Sequence[IO[bytes]], part: "NDArray[np.int8]") -> None:
        """Write each line to the file of its record, and the lines before the first record to all files."""
        starts, parts = iter([*self.starts.tolist(), 0]), iter(part.tolist())
        next_start, targets = next(starts), files
        for number, line in enumerate(stream, 1):
            if number == next_start:
                file, next_start = next(parts), next(starts)
                targets = files[file : file + 1] if file >= 0 else []
            for target in targets:
                target.write(line if line.endswith(b"\n") else line + b"\n")


def _write_rows(file: IO[bytes], paths: Sequence[Path], part: "NDArray[np.int8]", stack: ExitStack) -> None:
    """Write each row of a Parquet file to the file of its record."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.ParquetFile(file)
    writers = [stack.enter_context(pq.ParquetWriter(path, table.schema_arrow)) for path in paths]
    begin = 0
    for batch in table.iter_batches():
        parts = part[begin : begin + len(batch)]
        for number, writer in enumerate(writers):
            writer.write_batch(batch.filter(pa.array(parts == number)))
        begin += len(batch)
