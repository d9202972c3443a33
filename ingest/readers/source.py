"""Sources: files, folders or standard input, which are read as streams of record batches."""

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from graphkin.ingest.readers.columns import Decimal, Delimiter
from graphkin.ingest.readers.raw import Content, Raw, translate_read_errors
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Input
from graphkin.runtime.files import is_url

STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading sources. Options for columns apply only to formats with columns.

    Attributes:
        format: Format of the files; None for the format of their extensions.
        structure_column: Column of the structures; None for the one with the name of their notation, such as "smiles".
        name_column: Column, or data item of an SD file, with the names; None to look for a usual title of a column, or
            for the title line of an SD file.
        fingerprint_column: Column of a table of molecules with their precomputed fingerprints, or None.
        source_column: Column of a table of edges with the first nodes; None for "source".
        target_column: Column of a table of edges with the second nodes; None for "target".
        label_column: Column of a table of node labels; None for "label".
        delimiter: Delimiter of text tables; None for the one of the format, or to detect it in the header.
        properties: Names of the columns or data items that become properties; None for all.
        encoding: Encoding of text files, as Python names it; None for UTF-8.
        decimal: Decimal separator of numbers in the texts of tables.
        titles: New titles of columns or data items that become properties, by the titles in the files. A new title
            names the unit of the column (`graphkin.protocol.units`).
    """

    format: str | None = None
    structure_column: str | None = None
    name_column: str | None = None
    fingerprint_column: str | None = None
    source_column: str | None = None
    target_column: str | None = None
    label_column: str | None = None
    delimiter: Delimiter | None = None
    properties: tuple[str, ...] | None = None
    encoding: str | None = None
    decimal: Decimal = "."
    titles: tuple[tuple[str, str], ...] = ()


class Source:
    """An open source.

    It can be iterated once, yields batches of records (`RECORD_SCHEMA`), and closes itself at the end. The iteration
    raises `InvalidInput` if the content is damaged.

    Attributes:
        name: The path as the caller passed it.
        notation: Notation of the records.
        bytes_total: Size of the file in bytes; None for standard input and pipes.
        is_in_memory: Whether the source is data in memory, whose records are numbered by their position, from 0.
    """

    def __init__(
        self,
        name: str,
        notation: str,
        bytes_total: int | None,
        batches: Iterator[pa.RecordBatch],
        raw: Content,
        resources: ExitStack,
        companions: Sequence[tuple[str, Raw]] = (),
        *,
        is_in_memory: bool = False,
    ) -> None:
        self.name = name
        self.notation = notation
        self.bytes_total = bytes_total
        self.is_in_memory = is_in_memory
        self._batches = batches
        self._raw = raw
        self._resources = resources
        self._companions = companions

    @property
    def bytes_read(self) -> int:
        """Number of stored bytes read so far, for progress reports."""
        return self._raw.count

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with self._resources, translate_read_errors(self.name, self._raw):
            yield from self._batches
            self._raw.read_to(None)

    def digest(self) -> Input:
        """Return the size and the SHA-256 hash of the bytes read so far. Call it after the iteration."""
        return self._raw.digest(self.name)

    def inputs(self) -> list[Input]:
        """Return the digests of this file and of its companion files, such as a file of names."""
        return [self.digest(), *(raw.digest(name) for name, raw in self._companions)]

    def close(self) -> None:
        """Close the source before the end. After the iteration, this does nothing."""
        self._resources.close()


def open_raw(path: str, stream: BinaryIO | None, resources: ExitStack) -> tuple[Raw, int | None]:
    """Return the raw stream of a file or of standard input, and its size in bytes, or None if the size is unknown.

    Args:
        path: Path of the file, or "-" for standard input.
        stream: Stream to read instead, or None.
        resources: Closes the file.

    Raises:
        InvalidInput: The file cannot be opened.
    """
    if stream is not None or path == STDIN:
        return Raw(stream or sys.stdin.buffer), None
    try:
        file = resources.enter_context(Path(path).open("rb"))  # noqa: SIM115 - `resources` closes it
    except OSError as error:
        raise InvalidInput(
            f"cannot open {path}",
            given=error.strerror,
            expected="a readable file",
            hint="copy the file to this machine, or read the URL with `--engine tasks`"
            if is_url(path)
            else "check the path and the permissions of the file",
        ) from error
    status = os.fstat(file.fileno())
    return Raw(file), status.st_size if stat.S_ISREG(status.st_mode) else None


def open_raw_folder(path: str, resources: ExitStack) -> tuple[Raw, None]:
    """Return the raw stream of all files in a folder, concatenated in the order of their names. Its size is unknown."""
    files = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
    return Raw(resources.enter_context(io.BufferedReader(_ConcatenatedFiles(files)))), None


class _ConcatenatedFiles(io.RawIOBase):
    """Stream of the bytes of several files, one after the other."""

    def __init__(self, files: list[Path]) -> None:
        self._next_files = iter(files)
        self._file: io.BufferedIOBase = io.BytesIO()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (count := self._file.readinto(buffer)):
            next_file = next(self._next_files, None)
            if next_file is None:
                return 0
            self._file.close()
            self._file = next_file.open("rb")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
