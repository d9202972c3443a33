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
from graphkin.ingest.readers.raw import Raw, readable
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Input

STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """How to read sources. `format` None: by extension. The columns apply to the formats that have them.

    `structure_column` None: as its writing is called, such as "smiles". `name_column` None: "id", or as other programs
    call it, if there is one; in SD files the title line. `fingerprint_column`: of tables of molecules, that with a
    fingerprint of each. `delimiter` of tables of text, by name; None: the header
    tells, or the format. `source_column`, `target_column` and `label_column`: of big graphs and their
    labels, by default called so.
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
    """One source being read. Iterating, once, yields batches of `RECORD_SCHEMA` and then closes it.

    `name` is the path as given and `writing` how the batches' `text` is written. `bytes_total` is None for standard
    input and pipes. Iterating raises `InvalidInput` where the file turns out to be damaged.
    """

    def __init__(
        self,
        name: str,
        writing: str,
        bytes_total: int | None,
        batches: Iterator[pa.RecordBatch],
        raw: Raw,
        resources: ExitStack,
        also: Sequence[tuple[str, Raw]] = (),
    ) -> None:
        self.name = name
        self.writing = writing
        self.bytes_total = bytes_total
        self._batches = batches
        self._raw = raw
        self._resources = resources
        self._also = also

    @property
    def bytes_read(self) -> int:
        """How many of the stored bytes have been read, for progress."""
        return self._raw.count

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with self._resources, readable(self.name, self._raw):
            yield from self._batches
            self._raw.read_to(None)

    def digest(self) -> Input:
        """The size and SHA-256 of the bytes as stored; complete only after the iteration has finished."""
        return self._raw.digest(self.name)

    def inputs(self) -> list[Input]:
        """Its digest, and those of the files that were read beside it."""
        return [self.digest(), *(raw.digest(name) for name, raw in self._also)]

    def close(self) -> None:
        """Stop reading early. Harmless after the iteration."""
        self._resources.close()


def opened(path: str, stdin: BinaryIO | None, resources: ExitStack) -> tuple[Raw, int | None]:
    """A file, which `resources` will close, or standard input; and its bytes, None for what is no regular file.

    Raises `InvalidInput`.
    """
    if path == STDIN:
        return Raw(stdin or sys.stdin.buffer), None
    try:
        file = resources.enter_context(Path(path).open("rb"))  # noqa: SIM115 - `resources` closes it
    except OSError as error:
        raise InvalidInput(f"cannot open {path}", given=error.strerror, expected="a readable file") from error
    status = os.fstat(file.fileno())
    return Raw(file), status.st_size if stat.S_ISREG(status.st_mode) else None


def opened_folder(path: str, resources: ExitStack) -> tuple[Raw, None]:
    """The bytes of all files in a folder, in the order of their names."""
    files = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
    return Raw(resources.enter_context(io.BufferedReader(_Joined(files)))), None


class _Joined(io.RawIOBase):
    """The bytes of several files, one after the other."""

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
