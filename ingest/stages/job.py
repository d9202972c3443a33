"""Job: the settings that every task of an ingest receives, and the files between its stages."""

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
from graphkin.store.identity import BLOCK_SIZE
from graphkin.store.lake.layout import RUN_DIGITS
from graphkin.store.lake.parts import ROWS
from graphkin.store.lake.place import WORK, Place


@dataclass(frozen=True)
class Sizes:
    """Sizes that divide the work. None of them affects the edges. They bound the memory of a task.

    Attributes:
        records: Minimum number of records in a parsed part. A part has less than twice as many.
        group: Number of records among which one task looks for equal items.
        rows: Items in a part of the export, a multiple of 4,096.
        owners: Items in a shard of the graph.
        block: Fingerprints in a block of the join.
        columns: Blocks that a task compares with one block.
        room: Pairs that a task's top-k selection may accumulate in addition to those it keeps.
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
        require(
            self.rows % BLOCK_SIZE == 0,
            "size of rows",
            self.rows,
            f"a multiple of {BLOCK_SIZE}, which are hashed together",
        )


@dataclass(frozen=True)
class Job:
    """Settings of one ingest, sent with every task.

    Attributes:
        url: Where the export is written.
        key: Hash of everything that decides the output of the tasks. Files of other jobs have another key.
        folder: The folder that relative file names refer to.
        files: Each file, with the file that holds the names of its rows, if it has one.
        recipe: The recipe.
        options: Options of the run.
        sizes: How the work is divided.
        is_retry: Whether a process that tried this task before was lost with it.
    """

    url: str
    key: str
    folder: str
    files: tuple[tuple[str, str | None], ...]
    recipe: Recipe
    options: IngestOptions
    sizes: Sizes
    is_retry: bool = False

    @cached_property
    def place(self) -> Place:
        return Place(self.url)

    @cached_property
    def kind(self) -> Kind[Recipe]:
        return kind_of_recipe(self.recipe)

    @property
    def run(self) -> str:
        """Token in the names of the parts that this job's tasks write."""
        return self.key[:RUN_DIGITS]

    @property
    def top_k(self) -> int:
        """Top-k limit. Without a limit, the largest int32."""
        return self.recipe.top_k or 2**31 - 1

    def name(self, stage: str, task: int, suffix: str = "") -> str:
        """Return the name of a file that a task writes."""
        return f"{WORK}/{self.key}/{stage}/{task:06d}{suffix}"

    def write(self, stage: str, task: int, table: pa.Table) -> None:
        self.place.write(self.name(stage, task), _encode(table))

    def read(self, stage: str, task: int) -> pa.Table:
        return _decode(self.place.read(self.name(stage, task)))

    def write_arrays(self, stage: str, task: int, **arrays: NDArray[Any]) -> None:
        sink = io.BytesIO()
        np.savez(sink, allow_pickle=False, **arrays)
        self.place.write(self.name(stage, task), sink.getvalue())

    def read_arrays(self, stage: str, task: int) -> dict[str, NDArray[Any]]:
        with np.load(io.BytesIO(self.place.read(self.name(stage, task))), allow_pickle=False) as arrays:
            return dict(arrays)

    def scatter(self, stage: str, task: int, rows: pa.Table, to: NDArray[Any], tasks: int) -> None:
        """Write rows for the tasks of the next stage, each task's rows in their given order.

        `to` (N,) is the receiving task of each row.
        """
        order = np.argsort(to.astype(np.min_scalar_type(tasks)), kind="stable")  # radix sort, for up to 16 bits
        ends = np.searchsorted(to[order], np.arange(tasks + 1))
        sorted_rows = rows.take(pa.array(order))
        sections = [
            _encode(sorted_rows.slice(begin, end - begin)) if end > begin else b""
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        places = np.cumsum([8 * (tasks + 1), *map(len, sections)]).astype("<i8")
        self.place.write(self.name(stage, task), places.tobytes() + b"".join(sections))

    def gather(self, stage: str, tasks: int, to: int) -> Iterator[pa.Table]:
        """Yield the rows that the tasks of a stage scattered to one task, in the order of the sending tasks."""
        for task in range(tasks):
            name = self.name(stage, task)
            start, stop = np.frombuffer(self.place.read_range(name, 8 * to, 8 * to + 16), "<i8").tolist()
            if stop > start:
                yield _decode(self.place.read_range(name, start, stop))

    def finished_tasks(self, stage: str) -> set[int]:
        """Return the finished tasks of a stage."""
        names = self.place.names(f"{WORK}/{self.key}/{stage}")
        return {int(name.rpartition("/")[2].removesuffix(".json")) for name in names if name.endswith(".json")}

    def result(self, stage: str, task: int) -> dict[str, Any]:
        """Return the result of a finished task.

        Raises:
            FileNotFoundError: The task has not finished.
        """
        result_of_task: dict[str, Any] = json.loads(self.place.read(self.name(stage, task, ".json")))
        return result_of_task

    def save_result(self, stage: str, task: int, result: Mapping[str, Any]) -> None:
        """Save the result of a task, which marks it as finished.

        This is its last write, so all its other files are complete.
        """
        self.place.write(self.name(stage, task, ".json"), json.dumps(result).encode())


def job_key(*made_from: Any) -> str:
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:32]


def _encode(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _decode(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()
