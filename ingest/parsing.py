"""Records to described items, in worker processes that may die without ending the run.

Workers leave what they parsed in files of the workspace; only the names of these travel between processes.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

from ingest.describer import Describer, Rejected
from ingest.readers import RECORD_SCHEMA
from ingest.recipe import Recipe
from ingest.workspace import Workspace
from store.errors import StoreError
from store.records import REJECTION_SCHEMA

P = ParamSpec("P")
T = TypeVar("T")

_KEPT_INPUT = 4096
_CARRIED = ["name", "properties"]
_AHEAD = 2  # chunks waiting per worker


@dataclass(frozen=True)
class Chunk:
    """Records of one source as the readers yield them (`ingest.readers.RECORD_SCHEMA`)."""

    source: str
    text_format: str
    records: pa.RecordBatch

    def slice(self, start: int, length: int) -> "Chunk":
        return Chunk(self.source, self.text_format, self.records.slice(start, length))


@dataclass(frozen=True)
class Parsed:
    """The items of a chunk, column by column in record order, and the records that are none."""

    items: pa.RecordBatch
    rejections: pa.RecordBatch

    def write(self, path: Path) -> None:
        with pa.OSFile(str(path), "wb") as file:
            for batch in (self.items, self.rejections):
                with pa.ipc.new_stream(file, batch.schema) as stream:
                    stream.write_batch(batch)

    @staticmethod
    def read(path: Path) -> "Parsed":
        """Raises `OSError` or `pa.ArrowInvalid` for a file that is not whole."""
        with pa.OSFile(str(path)) as file:
            (items,) = pa.ipc.open_stream(file)
            (rejections,) = pa.ipc.open_stream(file)
            return Parsed(items, rejections)


class ChunkParser:
    """Parses chunks in this process."""

    def __init__(self, describer: Describer) -> None:
        self._describer = describer

    def parse(self, chunk: Chunk) -> Parsed:
        records = chunk.records
        kept: list[int] = []
        described: list[Sequence[object]] = []
        rejected: list[tuple[int, str]] = []
        columns = (records[name].to_pylist() for name in ("text", "name", "fault"))
        for row, (text, name, fault) in enumerate(zip(*columns, strict=True)):
            try:
                if fault is not None:
                    raise Rejected(fault)
                described.append(self._describer.describe(text or "", chunk.text_format, name))
                kept.append(row)
            except Rejected as reason:
                rejected.append((row, str(reason)))
        schema = self._describer.schema
        values = list(zip(*described, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
        carried = records.select(_CARRIED).take(pa.array(kept, pa.int64()))
        items = pa.RecordBatch.from_arrays([*arrays, *carried.columns], schema=item_schema(schema))
        return Parsed(items, rejections(chunk, rejected))


def item_schema(described: pa.Schema) -> pa.Schema:
    """Columns of `Parsed.items`: what a describer says, then what the record said of itself."""
    return pa.schema([*described, *(RECORD_SCHEMA.field(name) for name in _CARRIED)])


def rejections(chunk: Chunk, rejected: list[tuple[int, str]]) -> pa.RecordBatch:
    """`REJECTION_SCHEMA` rows for (row in chunk, reason)."""
    rows = [row for row, _ in rejected]
    picked = chunk.records.take(pa.array(rows, pa.int64()))
    inputs = [(text or "")[:_KEPT_INPUT] for text in picked["text"].to_pylist()]
    reasons = [reason for _, reason in rejected]
    return pa.record_batch([[chunk.source] * len(rows), picked["line"], inputs, reasons], schema=REJECTION_SCHEMA)


class _Processes(ProcessPoolExecutor):
    """Worker processes that never hear ctrl-C, which a terminal sends to all: it is their parent's to answer.

    They are started by a thread that blocks the signal. So they inherit the block, and none is left half started where
    the main thread is interrupted.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._starter = ThreadPoolExecutor(
            1, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, {signal.SIGINT})
        )

    def submit(self, task: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> Future[T]:
        return self._starter.submit(super().submit, task, *arguments, **options).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._starter.shutdown()
        super().shutdown(wait, cancel_futures=cancel_futures)


class ParserPool:
    """Worker processes that parse chunks; results come in the order of the chunks, whatever the number of workers."""

    def __init__(
        self, describer: type[Describer], recipe: Recipe, max_size: int, workers: int, workspace: Workspace
    ) -> None:
        self._describer = describer
        self._made_with = (recipe, max_size)
        self._workers = workers
        self._workspace = workspace

    def _executor(self, workers: int) -> ProcessPoolExecutor:
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__, self._describer.__module__])
        given = (self._describer, self._made_with, self._workspace)
        executor = _Processes(workers, context, initializer=_start_worker, initargs=given)
        try:
            executor.submit(os.getpid).result()  # one that cannot even start must not pass for a record that kills
        except BrokenProcessPool as error:
            raise StoreError(
                "worker processes cannot be started",
                hint='in a script, start the ingest under `if __name__ == "__main__":`',
            ) from error
        return executor

    def parse(self, chunks: Iterable[Chunk]) -> Iterator[Parsed]:
        """Parse every chunk. A worker that dies costs the record that killed it, nothing else."""
        chunks = iter(chunks)
        waiting: deque[tuple[Chunk, Future[Path]]] = deque()
        executor = self._executor(self._workers)
        try:
            while self._fill(executor, waiting, chunks):
                _, future = waiting[0]
                try:
                    yield Parsed.read(future.result())
                    waiting.popleft()
                except BrokenProcessPool:
                    suspects = [chunk for chunk, _ in waiting]
                    waiting.clear()
                    executor.shutdown()
                    for suspect in suspects:
                        yield from self._parse_alone(suspect)
                    executor = self._executor(self._workers)
        finally:
            executor.shutdown(cancel_futures=True)

    def _fill(
        self, executor: ProcessPoolExecutor, waiting: deque[tuple[Chunk, Future[Path]]], chunks: Iterator[Chunk]
    ) -> bool:
        while len(waiting) < self._workers * (1 + _AHEAD) and (chunk := next(chunks, None)) is not None:
            try:
                waiting.append((chunk, executor.submit(_parse_in_worker, chunk)))
            except BrokenProcessPool as error:
                future: Future[Path] = Future()
                future.set_exception(error)
                waiting.append((chunk, future))
        return bool(waiting)

    def _parse_alone(self, chunk: Chunk) -> Iterator[Parsed]:
        """Parse one suspect chunk in a process of its own, halving it until the record that kills is found."""
        with self._executor(1) as executor:
            try:
                yield Parsed.read(executor.submit(_parse_in_worker, chunk).result())
                return
            except BrokenProcessPool:
                pass
        size = chunk.records.num_rows
        if size == 1:
            reason = "the parser process died on this record"
            yield Parsed(self._nothing(), rejections(chunk, [(0, reason)]))
            return
        yield from self._parse_alone(chunk.slice(0, size // 2))
        yield from self._parse_alone(chunk.slice(size // 2, size - size // 2))

    def _nothing(self) -> pa.RecordBatch:
        schema = item_schema(self._describer(*self._made_with).schema)
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


@dataclass(frozen=True)
class _Worker:
    """Parses chunks into pieces of the workspace, unless an earlier run has left them there."""

    parser: ChunkParser
    workspace: Workspace
    key: bytes

    def parse(self, chunk: Chunk) -> Path:
        text = f"{chunk.source}\0{chunk.text_format}".encode()
        records = chunk.records
        piece = self.workspace.piece(self.key, text, records.schema.serialize(), records.serialize())
        if not _is_whole(piece):
            with self.workspace.writing(piece) as path:
                self.parser.parse(chunk).write(path)
        return piece


def _is_whole(piece: Path) -> bool:
    try:
        Parsed.read(piece)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


_worker: _Worker


def _start_worker(describer: type[Describer], made_with: tuple[Recipe, int], workspace: Workspace) -> None:
    global _worker  # a worker process has one, made once
    Thread(target=_end_with_parent, daemon=True).start()
    made = describer(*made_with)
    _worker = _Worker(ChunkParser(made), workspace, made.key)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)  # the parent was killed: nobody is left to hand results to


def _parse_in_worker(chunk: Chunk) -> Path:
    return _worker.parse(chunk)
