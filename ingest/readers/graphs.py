"""Sources of graphs: TUDataset collections, GraphML and JSON Lines."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, BinaryIO

from graphkin.ingest.readers.jsonl import read_jsonl
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.records import Record, batches
from graphkin.ingest.readers.source import STDIN, ReadOptions, Source, opened, told_format
from graphkin.ingest.readers.stored import Stored, inflate, readable
from graphkin.ingest.readers.tu import read_tu
from graphkin.store.errors import InvalidInput

GRAPH_FORMATS = ("tu", "graphml", "jsonl")
GRAPH_EXTENSIONS = {".zip": "tu", ".graphml": "graphml", ".xml": "graphml", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""File extension, in any case and with or without a further .gz -> format. A folder is of the format tu."""

MAX_GRAPH = 16_000_000
"""Bytes of the longest line of JSON that is read."""


def open_graphs(path: str, options: ReadOptions, stdin: BinaryIO | None = None) -> Source:
    """Open a file, a folder of files in TUDataset's layout, or `stdin` (default: the process's) for "-".

    Raises `InvalidInput` for what cannot be opened, is empty, or of no known format.
    """
    folder = path != STDIN and Path(path).is_dir()
    format = told_format(path, options.format or ("tu" if folder else None), GRAPH_FORMATS, GRAPH_EXTENSIONS)
    if format == "tu" and path == STDIN:
        raise InvalidInput("a collection in TUDataset's layout is a folder or a zip archive", given=path)
    if format != "tu" and folder:
        raise InvalidInput("a folder is read in TUDataset's layout", given=f"{path} as {format}", expected="a file")
    with ExitStack() as resources:
        if folder:
            files = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
            stored, bytes_total = Stored(resources.enter_context(io.BufferedReader(_Joined(files)))), None
        else:
            stored, bytes_total = opened(path, stdin, resources)
        if format == "tu":
            return Source(path, "graph", bytes_total, batches(read_tu(path)), stored, resources.pop_all())
        with readable(path, stored):
            stream, _ = inflate(path, stored, "at least one graph", whole=format == "graphml")
        return Source(path, "graph", bytes_total, batches(_records(path, format, stream)), stored, resources.pop_all())


def _records(path: str, format: str, stream: IO[bytes]) -> Iterator[Record]:
    if format == "jsonl":
        return read_jsonl(read_lines(stream, MAX_GRAPH))
    from graphkin.ingest.readers.graphml import read_graphml  # NetworkX takes its time to be imported

    return read_graphml(path, stream)


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
