"""Jobs: the settings that all tasks of an ingest receive, and the files that pass data from stage to stage."""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
from graphkin.store.lake.export_folder import WORK, ExportFolder
from graphkin.store.lake.layout import RUN_DIGITS
from graphkin.store.lake.parts import ROWS


@dataclass(frozen=True)
class Sizes:
    """Sizes of the tasks, which bound their memory. They do not affect the edges.

    Attributes:
        records: Minimum number of records in a part. A part has less than twice as many.
        group: Number of records among which one task looks for equal items.
        rows: Number of items in a part of the export, a multiple of 4,096.
        owners: Number of items in a shard of the graph.
        block: Number of fingerprints in a block of the join. A large collection has up to 8 times as many.
        columns: Maximum number of blocks that a task compares with one block.
        room: Number of pairs that the top-k selection of a task may hold in addition to those that it keeps.
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
            require(value >= 1, f"size of {name}", value, "at least 1", hint="choose 1 or more")
        require(
            self.rows % BLOCK_SIZE == 0,
            "number of rows in a task",
            self.rows,
            f"a multiple of {BLOCK_SIZE}",
            hint=f"round the number up to a multiple of {BLOCK_SIZE}",
        )


@dataclass(frozen=True)
class Job:
    """Settings of one ingest, which are sent with every task.

    Attributes:
        url: URL of the export to write.
        key: Hash of everything that decides the output of the tasks. It is part of the names of the job's files.
        folder: Folder to which relative file names refer.
        files: Each file, with the file that holds the names of its rows, or None.
        recipe: The recipe.
        options: Options of the run.
        sizes: Sizes of the tasks.
        versions: Versions of the libraries that decide the output, by name. Every machine must have them.
        is_retry: Whether a process that ran this task before was lost.
    """

    url: str
    key: str
    folder: str
    files: tuple[tuple[str, str | None], ...]
    recipe: Recipe
    options: IngestOptions
    sizes: Sizes
    versions: dict[str, str]
    is_retry: bool = False

    @cached_property
    def export_folder(self) -> ExportFolder:
        return ExportFolder(self.url)

    @cached_property
    def kind(self) -> Kind[Recipe]:
        return kind_of_recipe(self.recipe)

    @property
    def run(self) -> str:
        """Part of the key that is in the names of the export's files."""
        return self.key[:RUN_DIGITS]

    @property
    def top_k(self) -> int:
        """The top-k limit; the largest int32 if there is none."""
        return self.recipe.top_k or 2**31 - 1

    def name(self, stage: str, task: int, suffix: str = "") -> str:
        """Return the name of the file that a task of a stage writes."""
        return f"{WORK}/{self.key}/{stage}/{task:06d}{suffix}"

    def write(self, stage: str, task: int, table: pa.Table) -> None:
        """Write the table of a task."""
        self.export_folder.write(self.name(stage, task), _encode(table))

    def read(self, stage: str, task: int) -> pa.Table:
        """Return the table that a task wrote with `write`."""
        return _decode(self.export_folder.read(self.name(stage, task)))

    def write_arrays(self, stage: str, task: int, **arrays: NDArray[Any]) -> None:
        """Write the arrays of a task."""
        sink = io.BytesIO()
        np.savez(sink, allow_pickle=False, **arrays)
        self.export_folder.write(self.name(stage, task), sink.getvalue())

    def read_arrays(self, stage: str, task: int) -> dict[str, NDArray[Any]]:
        """Return the arrays that a task wrote with `write_arrays`, by name."""
        with np.load(io.BytesIO(self.export_folder.read(self.name(stage, task))), allow_pickle=False) as arrays:
            return dict(arrays)

    def scatter(self, stage: str, task: int, rows: pa.Table, to: NDArray[Any], tasks: int) -> None:
        """Write N rows, each of which one task of the next stage receives (`gather`), in their order.

        Args:
            stage: Name of the stage that sends the rows.
            task: Number of the task that sends the rows.
            rows: The rows.
            to: (N,) number of the task that receives each row.
            tasks: Number of tasks of the next stage.
        """
        order = np.argsort(to.astype(np.min_scalar_type(tasks)), kind="stable")  # radix sort, for up to 16 bits
        ends = np.searchsorted(to[order], np.arange(tasks + 1))
        sections = [
            _encode(rows.take(pa.array(order[begin:end]))) if end > begin else b""
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        offsets = np.cumsum([8 * (tasks + 1), *map(len, sections)]).astype("<i8")
        self.export_folder.write(self.name(stage, task), offsets.tobytes() + b"".join(sections))

    def gather(self, stage: str, tasks: int, to: int) -> Iterator[pa.Table]:
        """Yield the rows that one task receives (`scatter`), in the order of the tasks that sent them.

        Args:
            stage: Name of the stage that sent the rows.
            tasks: Number of its tasks.
            to: Number of the task that receives the rows.
        """
        for task in range(tasks):
            name = self.name(stage, task)
            start, stop = np.frombuffer(self.export_folder.read_range(name, 8 * to, 8 * to + 16), "<i8").tolist()
            if stop > start:
                yield _decode(self.export_folder.read_range(name, start, stop))

    def discard(self, stage: str) -> None:
        """Remove all files that the tasks of a stage wrote, once nothing reads them any more."""
        with suppress(FileNotFoundError):  # an earlier run has removed them
            self.export_folder.remove_folder(f"{WORK}/{self.key}/{stage}")

    def finished_tasks(self, stage: str) -> set[int]:
        """Return the numbers of the finished tasks of a stage."""
        names = self.export_folder.names(f"{WORK}/{self.key}/{stage}")
        return {int(name.rpartition("/")[2].removesuffix(".json")) for name in names if name.endswith(".json")}

    def result(self, stage: str, task: int) -> dict[str, Any]:
        """Return the result of a finished task.

        Raises:
            FileNotFoundError: The task has not finished.
        """
        result_of_task: dict[str, Any] = json.loads(self.export_folder.read(self.name(stage, task, ".json")))
        return result_of_task

    def save_result(self, stage: str, task: int, result: Mapping[str, Any]) -> None:
        """Save the result of a task, which marks the task as finished.

        It must be the last file that the task writes.
        """
        self.export_folder.write(self.name(stage, task, ".json"), json.dumps(result).encode())


def job_key(*settings: Any) -> str:
    """Return a hash of settings, which must be JSON values, as 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]


def _encode(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _decode(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()
