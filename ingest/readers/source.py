"""Sources: a file, a folder or standard input as a stream of record batches."""

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

from graphkin.ingest.readers.columns import Delimiter
from graphkin.ingest.readers.raw import Raw, translate_read_errors
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Input

STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading sources. The columns apply to the formats that have them.

    Attributes:
        format: None selects the format by extension.
        structure_column: None selects the column named after the structure's writing, such as "smiles".
        name_column: None selects "id", or the name that other programs use, if there is one. In SD files it selects the
            title line.
        fingerprint_column: Column of tables of molecules that holds a fingerprint of each.
        source_column: Column of a big graph's table, "source" by default.
        target_column: Column of a big graph's table, "target" by default.
        label_column: Column of the label table, "label" by default.
        delimiter: Delimiter of text tables, by name. None lets the format or the header decide.
    """

    format: str | None = None
    structure_column: str | None = None
    name_column: str | None = None
    fingerprint_column: str | None = None
    source_column: str | None = None
    target_column: str | None = None
    label_column: str | None = None
    delimiter: Delimiter | None = None


class Source:
    """One source being read. It can be iterated once, yields batches of `RECORD_SCHEMA`, and closes itself at the end.

    Attributes:
        name: The path as the caller passed it.
        writing: How the batches' `text` is written.
        bytes_total: Size of the file, None for standard input and pipes.

    Raises:
        InvalidInput: Iteration reaches damaged content.
    """

    def __init__(
        self,
        name: str,
        notation: str,
        bytes_total: int | None,
        batches: Iterator[pa.RecordBatch],
        raw: Raw,
        resources: ExitStack,
        companions: Sequence[tuple[str, Raw]] = (),
    ) -> None:
        self.name = name
        self.notation = notation
        self.bytes_total = bytes_total
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
        """Return the size and SHA-256 of the stored bytes. They are complete only after the iteration."""
        return self._raw.digest(self.name)

    def inputs(self) -> list[Input]:
        """Return the digest of this file and those of its companion files."""
        return [self.digest(), *(raw.digest(name) for name, raw in self._companions)]

    def close(self) -> None:
        """Stop reading early. Harmless after the iteration."""
        self._resources.close()


def open_raw(path: str, stdin: BinaryIO | None, resources: ExitStack) -> tuple[Raw, int | None]:
    """Return the raw stream of a file or of standard input, and its size, None if it is not a regular file.

    `resources` will close the file.

    Raises:
        InvalidInput: The file cannot be opened.
    """
    if path == STDIN:
        return Raw(stdin or sys.stdin.buffer), None
    try:
        file = resources.enter_context(Path(path).open("rb"))  # noqa: SIM115 - `resources` closes it
    except OSError as error:
        raise InvalidInput(f"cannot open {path}", given=error.strerror, expected="a readable file") from error
    status = os.fstat(file.fileno())
    return Raw(file), status.st_size if stat.S_ISREG(status.st_mode) else None


def open_raw_folder(path: str, resources: ExitStack) -> tuple[Raw, None]:
    """Return the concatenated bytes of all files in a folder, in the order of their names."""
    files = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
    return Raw(resources.enter_context(io.BufferedReader(_Joined(files)))), None


class _Joined(io.RawIOBase):
    """Concatenation of several files as one stream."""

    def __init__(self, files: list[Path]) -> None:
        self._rest = iter(files)
        self._file: io.BufferedIOBase = io.BytesIO()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (count := self._file.readinto(buffer)):
            following = next(self._rest, None)
            if following is None:
                return 0
            self._file.close()
            self._file = following.open("rb")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
