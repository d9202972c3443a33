"""What every task of an ingest knows, and the files between its stages."""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.ingest.options import IngestOptions
from graphkin.protocol.errors import require
from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.identity import BLOCK
from graphkin.store.lake.layout import RUN
from graphkin.store.lake.parts import ROWS
from graphkin.store.lake.place import WORK, Place


@dataclass(frozen=True)
class Sizes:
    """How work is cut, none of it deciding the edges; what a task holds is so many of these at once.

    records: to a part that is parsed, at least, and less than twice as many; group: records among which one task looks
    for equal items; rows: items to a part of the lake, a multiple of 4,096; owners: to a shard of the graph; block:
    fingerprints that are compared with those of another block; columns: blocks that a task compares with one; room:
    pairs that its cap holds beside what it keeps.
    """

    records: int = 16_384
    group: int = 1 << 20
    rows: int = ROWS
    owners: int = ROWS
    block: int = 32_768
    columns: int = 4
    room: int = 1 << 22

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            require(value >= 1, f"size of {name}", value, "at least 1")
        require(self.rows % BLOCK == 0, "size of rows", self.rows, f"a multiple of {BLOCK}, which are hashed together")


@dataclass(frozen=True)
class Job:
    """It travels with every task. `key` stands for all that decides what tasks write; pieces of another job are not
    found under it. `folder` is the one that names of files are relative to; beside each of `files` stands the file with
    names of its rows, if it has one. `again`: whether a process that tried this task before was lost with it."""

    url: str
    key: str
    folder: str
    files: tuple[tuple[str, str | None], ...]
    recipe: Recipe
    options: IngestOptions
    sizes: Sizes
    again: bool = False

    @cached_property
    def place(self) -> Place:
        return Place(self.url)

    @cached_property
    def kind(self) -> Kind[Recipe]:
        return kind_of_recipe(self.recipe)

    @property
    def run(self) -> str:
        """In the names of the parts that its tasks write."""
        return self.key[:RUN]

    @property
    def top_k(self) -> int:
        """Of the cap; without one as many as there can be."""
        return self.recipe.top_k or 2**31 - 1

    def name(self, stage: str, task: int, what: str = "") -> str:
        """Of a piece that a task writes."""
        return f"{WORK}/{self.key}/{stage}/{task:06d}{what}"

    def write(self, stage: str, task: int, table: pa.Table) -> None:
        self.place.write(self.name(stage, task), _encoded(table))

    def read(self, stage: str, task: int) -> pa.Table:
        return _decoded(self.place.read(self.name(stage, task)))

    def write_arrays(self, stage: str, task: int, **arrays: NDArray[Any]) -> None:
        sink = io.BytesIO()
        np.savez(sink, allow_pickle=False, **arrays)
        self.place.write(self.name(stage, task), sink.getvalue())

    def read_arrays(self, stage: str, task: int) -> dict[str, NDArray[Any]]:
        with np.load(io.BytesIO(self.place.read(self.name(stage, task))), allow_pickle=False) as arrays:
            return dict(arrays)

    def scatter(self, stage: str, task: int, rows: pa.Table, to: NDArray[Any], tasks: int) -> None:
        """Write rows for the tasks of the next stage, `to` (N,) says which, each in the order they have here."""
        order = np.argsort(to.astype(np.min_scalar_type(tasks)), kind="stable")  # by radix, up to 16 bits
        ends = np.searchsorted(to[order], np.arange(tasks + 1))
        sorted_rows = rows.take(pa.array(order))
        sections = [
            _encoded(sorted_rows.slice(begin, end - begin)) if end > begin else b""
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        places = np.cumsum([8 * (tasks + 1), *map(len, sections)]).astype("<i8")
        self.place.write(self.name(stage, task), places.tobytes() + b"".join(sections))

    def gather(self, stage: str, tasks: int, to: int) -> Iterator[pa.Table]:
        """What the tasks of a stage have scattered to one, in the order of their numbers."""
        for task in range(tasks):
            name = self.name(stage, task)
            start, stop = np.frombuffer(self.place.read_range(name, 8 * to, 8 * to + 16), "<i8").tolist()
            if stop > start:
                yield _decoded(self.place.read_range(name, start, stop))

    def done(self, stage: str) -> set[int]:
        """The tasks of a stage that have said so."""
        names = self.place.names(f"{WORK}/{self.key}/{stage}")
        return {int(name.rpartition("/")[2].removesuffix(".json")) for name in names if name.endswith(".json")}

    def said(self, stage: str, task: int) -> dict[str, Any]:
        """What a finished task has said of itself. Raises `FileNotFoundError`."""
        said: dict[str, Any] = json.loads(self.place.read(self.name(stage, task, ".json")))
        return said

    def say(self, stage: str, task: int, said: Mapping[str, Any]) -> None:
        """Last of all, so that what a task has written is whole where this is there."""
        self.place.write(self.name(stage, task, ".json"), json.dumps(said).encode())


def key_of(*made_from: Any) -> str:
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:32]


def _encoded(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _decoded(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()
