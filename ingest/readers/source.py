"""Sources: a file or standard input in any of the formats of molecules, as a stream of record batches."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Literal

import pyarrow as pa

from graphkin.ingest.readers.delimited import read_delimited
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.parquet import ParquetRecords
from graphkin.ingest.readers.records import Record, batches
from graphkin.ingest.readers.sdf import read_sdf
from graphkin.ingest.readers.smi import read_smi
from graphkin.ingest.readers.stored import Stored, inflate, readable, spooled
from graphkin.store.errors import InvalidInput
from graphkin.store.records import Input

TextFormat = Literal["smiles", "molblock", "graph"]

FORMATS = ("smi", "csv", "tsv", "sdf", "parquet")
EXTENSIONS = {
    ".smi": "smi",
    ".smiles": "smi",
    ".txt": "smi",
    ".csv": "csv",
    ".tsv": "tsv",
    ".sdf": "sdf",
    ".sd": "sdf",
    ".parquet": "parquet",
}
"""File extension, in any case and with or without a further .gz -> format."""

STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """How to read sources. `format` None: by extension. The columns apply to the formats that have them.

    `smiles_column` None: "smiles". `name_column` None: "id" if there is one; in SD files the title line.
    """

    format: str | None = None
    smiles_column: str | None = None
    name_column: str | None = None


class Source:
    """One source being read. Iterating, once, yields batches of `RECORD_SCHEMA` and then closes it.

    `name` is the path as given and `text_format` what the batches' `text` holds. `bytes_total` is None for standard
    input and pipes. Iterating raises `InvalidInput` where the file turns out to be damaged.
    """

    def __init__(
        self,
        name: str,
        text_format: TextFormat,
        bytes_total: int | None,
        batches: Iterator[pa.RecordBatch],
        stored: Stored,
        resources: ExitStack,
    ) -> None:
        self.name = name
        self.text_format = text_format
        self.bytes_total = bytes_total
        self._batches = batches
        self._stored = stored
        self._resources = resources

    @property
    def bytes_read(self) -> int:
        """How many of the stored bytes have been read, for progress."""
        return self._stored.count

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with self._resources, readable(self.name, self._stored):
            yield from self._batches
            self._stored.read_to(None)

    def digest(self) -> Input:
        """The size and SHA-256 of the bytes as stored; complete only after the iteration has finished."""
        return self._stored.digest(self.name)

    def close(self) -> None:
        """Stop reading early. Harmless after the iteration."""
        self._resources.close()


def open_source(path: str, options: ReadOptions, stdin: BinaryIO | None = None) -> Source:
    """Open a file, or `stdin` (default: the process's) for "-", and read its header.

    Gzip is recognised by its first bytes whatever the name. Raises `InvalidInput` for a file that cannot be opened, is
    empty, of no known format or not of the format it should be, and for columns that are missing.
    """
    format = told_format(path, options.format, FORMATS, EXTENSIONS)
    with ExitStack() as resources:
        stored, bytes_total = opened(path, stdin, resources)
        with readable(path, stored):
            stream, gzipped = inflate(path, stored, "at least one record or a header", whole=format == "parquet")
            if format == "parquet":
                seekable = bytes_total is not None and not gzipped
                content = resources.enter_context(pa.OSFile(path)) if seekable else spooled(stream, resources)
                parquet = ParquetRecords(path, content, options.smiles_column, options.name_column)
                read = _followed(batches(parquet), stored, bytes_total, parquet.rows)
            else:
                read = batches(_records(path, format, stream, options))
        text_format: TextFormat = "molblock" if format == "sdf" else "smiles"
        return Source(path, text_format, bytes_total, read, stored, resources.pop_all())


def told_format(path: str, given: str | None, formats: Sequence[str], extensions: Mapping[str, str]) -> str:
    """The format given, or that of the file's extension. Raises `InvalidInput`."""
    if given is None and path == STDIN:
        raise InvalidInput("standard input needs a format", hint=f"add --format with one of {', '.join(formats)}")
    format = given or extensions.get(Path(path.lower().removesuffix(".gz")).suffix)
    if format is None:
        raise InvalidInput(
            f"the name of {path} does not tell its format",
            expected=f"{', '.join(extensions)}, with or without .gz",
            hint=f"rename it, or add --format with one of {', '.join(formats)}",
        )
    if format not in formats:
        raise InvalidInput("no such input format", given=format, expected=f"one of {', '.join(formats)}")
    return format


def opened(path: str, stdin: BinaryIO | None, resources: ExitStack) -> tuple[Stored, int | None]:
    """A file, which `resources` will close, or standard input; and its bytes, None for what is no regular file.

    Raises `InvalidInput`.
    """
    if path == STDIN:
        return Stored(stdin or sys.stdin.buffer), None
    try:
        file = resources.enter_context(Path(path).open("rb"))  # noqa: SIM115 - `resources` closes it
    except OSError as error:
        raise InvalidInput(f"cannot open {path}", given=error.strerror, expected="a readable file") from error
    status = os.fstat(file.fileno())
    return Stored(file), status.st_size if stat.S_ISREG(status.st_mode) else None


def _followed(
    batches: Iterator[pa.RecordBatch], stored: Stored, bytes_total: int | None, rows: int
) -> Iterator[pa.RecordBatch]:
    """The batches, while the stored bytes are hashed at the pace of the rows."""
    for batch in batches:
        yield batch
        if bytes_total is not None:
            stored.read_to(bytes_total * batch["line"][-1].as_py() // rows)


def _records(path: str, format: str, stream: IO[bytes], options: ReadOptions) -> Iterator[Record]:
    if format == "sdf":
        return read_sdf(path, stream, options.name_column)
    lines = read_lines(stream)
    if format == "smi":
        return read_smi(lines)
    return read_delimited(path, lines, "," if format == "csv" else "\t", options.smiles_column, options.name_column)
