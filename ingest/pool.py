"""Worker processes that parse chunks. If a worker dies or hangs, only the record that it was parsing is rejected.

Workers write their results to pieces of the workspace, and only the paths of the pieces are sent between processes.
"""

import os
import signal
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Self

import pyarrow as pa

from graphkin.ingest import forking
from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.processes import Workers, end_with_parent
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import StoreError
from graphkin.protocol.parameters import parameter
from graphkin.runtime.workers.context import CONTEXT
from graphkin.similarity.describer import Describer
from graphkin.similarity.recipe import Recipe
from graphkin.store.disk import translate_disk_errors

RECORD_TIMEOUT = 60.0
"""Maximum time for parsing one record, in seconds."""

_WAITING_PER_WORKER = 2  # number of chunks that wait for each worker


class ParserPool:
    """Worker processes that parse chunks.

    As a context manager, the pool starts the processes, and ends them when the block is left. Between the two, call
    `start` with the chunks, and then iterate over `results`.

    Args:
        describer: Class that describes the records.
        recipe: The recipe of the items.
        max_size: Maximum number of atoms or nodes of an item.
        workers: Number of processes.
        workspace: The folder for results.
        record_timeout: Maximum time for parsing one record, in seconds.
    """

    def __init__(
        self,
        describer: type[Describer[Recipe]],
        recipe: Recipe,
        max_size: int,
        workers: int,
        workspace: Workspace,
        record_timeout: float = RECORD_TIMEOUT,
    ) -> None:
        self._describer = describer
        self._describer_arguments = (recipe, max_size)
        self._workers = workers
        self._workspace = workspace
        self._record_timeout = record_timeout
        self._retries: deque[Chunk] = deque()
        self._tasks: deque[_Task] = deque()
        self._numbers = count()

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1)
        self._executor = self._thread.submit(self._start_processes, self._workers)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._thread.shutdown()
        if self._executor.exception() is None:
            self._executor.result().shutdown(cancel_futures=True)
        with suppress(StoreError):  # the next run removes position files that cannot be removed now
            _PositionFile.collect(self._workspace)

    def start(self, chunks: Iterable[Chunk]) -> None:
        """Send the first chunks to the workers. The other chunks are read while `results` is iterated."""
        self._unread = iter(chunks)
        self._fill()

    def results(self, review: Callable[[Chunk, Parsed], Parsed] = lambda _, parsed: parsed) -> Iterator[Parsed]:
        """Yield the result of each chunk, in the order of the chunks. The workers end after the last one.

        A record is rejected if two workers die while they parse it, or if it takes too long twice. No other record is
        lost.

        Args:
            review: Called with each chunk and its result. It returns the result to yield.
        """
        while self._tasks:
            try:
                piece = self._tasks[0].future.result()
            except BrokenProcessPool:
                self._executor.result().shutdown()
                self._retries.extendleft(reversed(self._remaining_chunks()))
                self._executor = self._thread.submit(self._start_processes, self._workers)
            else:
                yield review(self._tasks.popleft().chunk, Parsed.read(piece))
            self._fill()
        self._stop()

    def _fill(self) -> None:
        executor = self._executor.result()
        while len(self._tasks) < self._workers * (1 + _WAITING_PER_WORKER):
            chunk = self._retries.popleft() if self._retries else next(self._unread, None)
            if chunk is None:
                return
            self._tasks.append(_submit(executor, next(self._numbers), chunk))

    def _start_processes(self, workers: int) -> ProcessPoolExecutor:
        forking.start_fork_server(self._describer.__module__, *self._describer.preload)
        arguments = (self._describer, self._describer_arguments, self._workspace, self._record_timeout)
        executor = Workers(workers, CONTEXT, initializer=_start_worker, initargs=arguments)
        try:
            executor.submit(os.getpid).result()  # so that a process that cannot start is not blamed on a record
        except BrokenProcessPool as error:
            raise StoreError(
                "worker processes cannot be started",
                hint=f"free memory, or lower the number of workers with {parameter('--workers')}",
            ) from error
        return executor

    def _remaining_chunks(self) -> list[Chunk]:
        """Return the chunks to parse again after a worker has died.

        The records that the workers were parsing are parsed first, each in a process of its own. Results of finished
        chunks are in the workspace, so those chunks are not parsed again.
        """
        first, *_ = tasks = list(self._tasks)
        self._tasks.clear()
        # If no position is known, the first record of the first task is parsed alone, so that the run makes progress.
        rows = _PositionFile.collect(self._workspace) or {first.number: 0}
        chunks: list[Chunk] = []
        for task in tasks:
            if (row := rows.get(task.number)) is None:
                chunks.append(task.chunk)
                continue
            before, record, after = task.chunk.slice(0, row), task.chunk.slice(row, 1), task.chunk.slice(row + 1)
            self._parse_alone(record)
            chunks += [part for part in (before, record, after) if part.records.num_rows]
        return chunks

    def _parse_alone(self, record: Chunk) -> None:
        """Parse one record in a process of its own, and reject it if this process dies too."""
        begin = time.monotonic()
        with self._start_processes(1) as executor:
            try:
                executor.submit(_parse_in_worker, 0, record).result()
            except BrokenProcessPool:
                is_timeout = time.monotonic() - begin >= self._record_timeout
                reason = (
                    f"took longer than {self._record_timeout:g} s"
                    if is_timeout
                    else "the parser process died on this record"
                )
                describer = self._describer(*self._describer_arguments)
                parsed = Parsed.rejected(record, reason, describer.schema)
                with self._workspace.write_atomically(_piece(self._workspace, describer.key, record)) as path:
                    parsed.write(path)
        _PositionFile.collect(self._workspace)


@dataclass(frozen=True)
class _Task:
    number: int
    chunk: Chunk
    future: Future[Path]


def _submit(executor: ProcessPoolExecutor, number: int, chunk: Chunk) -> _Task:
    try:
        return _Task(number, chunk, executor.submit(_parse_in_worker, number, chunk))
    except BrokenProcessPool as error:
        future: Future[Path] = Future()
        future.set_exception(error)
        return _Task(number, chunk, future)


class _PositionFile:
    """The number of the task and of the row that a worker is parsing, in a file that remains if the worker dies.

    Raises:
        StoreError: The file cannot be written.
    """

    _FORMAT = struct.Struct("=qq")
    _IDLE = -1

    def __init__(self, workspace: Workspace) -> None:
        path = workspace.temporary_file(f"worker-{os.getpid()}")
        with translate_disk_errors(workspace.folder), path.open("w+b") as file:
            file.write(self._FORMAT.pack(self._IDLE, 0))
            file.flush()
            # A write to the map kills the process if the disk has no space, so the space is reserved now.
            os.fsync(file.fileno())
            self._map = mmap(file.fileno(), self._FORMAT.size)

    def set(self, number: int, row: int) -> None:
        """Store the number of the task and the row."""
        self._FORMAT.pack_into(self._map, 0, number, row)

    def clear(self) -> None:
        """Store that the worker is idle."""
        self.set(self._IDLE, 0)

    @classmethod
    def collect(cls, workspace: Workspace) -> dict[int, int]:
        """Remove the files of dead workers, and return the row that each was parsing, by number of the task.

        Raises:
            StoreError: A file cannot be read or removed.
        """
        rows: dict[int, int] = {}
        with translate_disk_errors(workspace.folder):
            for path in workspace.temporary_files("worker-*"):
                if len(content := path.read_bytes()) == cls._FORMAT.size:
                    number, row = cls._FORMAT.unpack(content)
                    rows[number] = row
                path.unlink()
        rows.pop(cls._IDLE, None)
        return rows


class RecordTimer:
    """Ends this process if a record takes too long.

    The timer is one of the operating system, because a library that hangs may never return to Python. Setting it for
    each record would cost a system call per record, so it is set at intervals, and a record may take a little longer.

    Args:
        record_timeout: Maximum time for one record, in seconds.
    """

    def __init__(self, record_timeout: float = RECORD_TIMEOUT) -> None:
        self._slack = record_timeout / 60
        self._record_timeout = record_timeout + self._slack
        self._set_at = 0.0
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the parent process may have set another handler

    def next(self) -> None:
        """Start the time of the next record."""
        now = time.monotonic()
        if now - self._set_at >= self._slack:
            signal.setitimer(signal.ITIMER_REAL, self._record_timeout)
            self._set_at = now

    def stop(self) -> None:
        """Stop the timer after the last record."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._set_at = 0.0


class _Worker:
    """Parses chunks in a worker process."""

    def __init__(self, describer: Describer[Recipe], workspace: Workspace, record_timeout: float) -> None:
        self._parser = ChunkParser(describer)
        self._key = describer.key
        self._workspace = workspace
        self._timer = RecordTimer(record_timeout)

    @cached_property
    def _position_file(self) -> _PositionFile:
        return _PositionFile(self._workspace)

    def parse(self, number: int, chunk: Chunk) -> Path:
        """Parse a chunk unless the workspace has its result, and return the path of the result.

        Args:
            number: Number of the task.
            chunk: The records.
        """
        piece = _piece(self._workspace, self._key, chunk)
        if not _is_complete(piece):
            position_file, timer = self._position_file, self._timer

            def before_row(row: int) -> None:
                position_file.set(number, row)
                timer.next()

            with self._workspace.write_atomically(piece) as path:
                try:
                    parsed = self._parser.parse(chunk, before_row)
                finally:
                    timer.stop()
                parsed.write(path)
            position_file.clear()
        return piece


def _piece(workspace: Workspace, key: bytes, chunk: Chunk) -> Path:
    text = f"{chunk.source}\0{chunk.notation}".encode()
    return workspace.piece(key, text, chunk.records.schema.serialize(), chunk.records.serialize())


def _is_complete(piece: Path) -> bool:
    try:
        Parsed.read(piece)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


_worker: _Worker


def _start_worker(
    describer: type[Describer[Recipe]], arguments: tuple[Recipe, int], workspace: Workspace, record_timeout: float
) -> None:
    global _worker  # each worker process creates one when it starts
    end_with_parent()
    _worker = _Worker(describer(*arguments), workspace, record_timeout)


def _parse_in_worker(number: int, chunk: Chunk) -> Path:
    return _worker.parse(number, chunk)
