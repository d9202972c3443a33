"""Worker processes that parse chunks. A worker may die or hang without ending the run.

Workers write their results into files of the workspace; only the names of these files travel between processes.
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
from graphkin.runtime.workers.context import CONTEXT
from graphkin.similarity.describer import Describer
from graphkin.similarity.recipe import Recipe
from graphkin.store.disk import translate_disk_errors

PATIENCE = 60.0  # seconds that one record may take
_AHEAD = 2  # chunks waiting per worker


class ParserPool:
    """Worker processes that parse chunks; results come in the order of the chunks, whatever the number of workers.

    The processes start when the pool is entered and parse from `begin` on. They end when all chunks are parsed or the
    pool is left.
    """

    def __init__(
        self,
        describer: type[Describer[Recipe]],
        recipe: Recipe,
        max_size: int,
        workers: int,
        workspace: Workspace,
        patience: float = PATIENCE,
    ) -> None:
        self._describer = describer
        self._describer_arguments = (recipe, max_size)
        self._workers = workers
        self._workspace = workspace
        self._patience = patience
        self._again: deque[Chunk] = deque()
        self._tasks: deque[_Task] = deque()
        self._numbers = count()

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1)
        self._executor = self._thread.submit(self._start, self._workers)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._thread.shutdown()
        if self._executor.exception() is None:
            self._executor.result().shutdown(cancel_futures=True)
        with suppress(StoreError):  # The next run removes marks that cannot be removed now.
            _Mark.collect(self._workspace)

    def start(self, chunks: Iterable[Chunk]) -> None:
        """Give the workers the first chunks; they get the others as results are taken."""
        self._unread = iter(chunks)
        self._fill()

    def results(self, review: Callable[[Chunk, Parsed], Parsed] = lambda _, parsed: parsed) -> Iterator[Parsed]:
        """Yield the result of each chunk in order, passed through `review`.

        A record is rejected if a worker dies on it or needs more than `patience` seconds for it. It is parsed twice;
        no other record is lost.
        """
        while self._tasks:
            try:
                piece = self._tasks[0].future.result()
            except BrokenProcessPool:
                self._executor.result().shutdown()
                self._again.extendleft(reversed(self._remaining_chunks()))
                self._executor = self._thread.submit(self._start, self._workers)
            else:
                yield review(self._tasks.popleft().chunk, Parsed.read(piece))
            self._fill()
        self._close()

    def _fill(self) -> None:
        executor = self._executor.result()
        while len(self._tasks) < self._workers * (1 + _AHEAD):
            chunk = self._again.popleft() if self._again else next(self._unread, None)
            if chunk is None:
                return
            self._tasks.append(_submit(executor, next(self._numbers), chunk))

    def _start(self, workers: int) -> ProcessPoolExecutor:
        forking.start_fork_server(self._describer.__module__, *self._describer.preload)
        arguments = (self._describer, self._describer_arguments, self._workspace, self._patience)
        executor = Workers(workers, CONTEXT, initializer=_start_worker, initargs=arguments)
        try:
            executor.submit(os.getpid).result()  # A process that cannot start must not look like a fatal record.
        except BrokenProcessPool as error:
            raise StoreError("worker processes cannot be started", hint="is there enough memory?") from error
        return executor

    def _remaining_chunks(self) -> list[Chunk]:
        """Return the chunks to parse again after workers died.

        Each record at which a worker was is parsed alone first. Finished chunks have their files already.
        """
        first, *_ = tasks = list(self._tasks)
        self._tasks.clear()
        # Without a mark the first record of the first task is parsed alone, so that the run makes progress.
        rows = _Mark.collect(self._workspace) or {first.number: 0}
        chunks: list[Chunk] = []
        for task in tasks:
            if (row := rows.get(task.number)) is None:
                chunks.append(task.chunk)
                continue
            before, record, after = task.chunk.slice(0, row), task.chunk.slice(row, 1), task.chunk.slice(row + 1)
            self._settle(record)
            chunks += [part for part in (before, record, after) if part.records.num_rows]
        return chunks

    def _settle(self, record: Chunk) -> None:
        """Parse one record in a process of its own. Reject it if this process dies too."""
        begin = time.monotonic()
        with self._start(1) as executor:
            try:
                executor.submit(_parse_in_worker, 0, record).result()
            except BrokenProcessPool:
                stuck = time.monotonic() - begin >= self._patience
                reason = f"took longer than {self._patience:g} s" if stuck else "the parser process died on this record"
                describer = self._describer(*self._describer_arguments)
                parsed = Parsed.rejected(record, reason, describer.schema)
                with self._workspace.write_atomically(_piece(self._workspace, describer.key, record)) as path:
                    parsed.write(path)
        _Mark.collect(self._workspace)


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


class _Mark:
    """The position of a worker, as the number of a task and a record, in a file that outlives the worker."""

    _FORMAT = struct.Struct("=qq")
    _IDLE = -1

    def __init__(self, workspace: Workspace) -> None:
        path = workspace.temporary_file(f"worker-{os.getpid()}")
        with translate_disk_errors(workspace.folder), path.open("w+b") as file:
            file.write(self._FORMAT.pack(self._IDLE, 0))
            file.flush()
            os.fsync(
                file.fileno()
            )  # Reserve the space now: a page of a map without space on the disk kills the process.
            self._map = mmap(file.fileno(), self._FORMAT.size)

    def set(self, number: int, row: int) -> None:
        self._FORMAT.pack_into(self._map, 0, number, row)

    def clear(self) -> None:
        self.set(self._IDLE, 0)

    @classmethod
    def collect(cls, workspace: Workspace) -> dict[int, int]:
        """The row by number of task, where dead workers were; their marks are removed. Raises `StoreError`."""
        rows: dict[int, int] = {}
        with translate_disk_errors(workspace.folder):
            for path in workspace.temporary_files("worker-*"):
                if len(mark := path.read_bytes()) == cls._FORMAT.size:
                    number, row = cls._FORMAT.unpack(mark)
                    rows[number] = row
                path.unlink()
        rows.pop(cls._IDLE, None)
        return rows


class Timer:
    """Ends this process, without its doing, when a record has taken `patience` seconds, or little more: a library that
    is stuck may never let Python do it. It is set at intervals only, for a system call a record would be felt."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._slack = patience / 60
        self._patience = patience + self._slack
        self._set = 0.0
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whatever it was in the process that all this was started from

    def next(self) -> None:
        now = time.monotonic()
        if now - self._set >= self._slack:
            signal.setitimer(signal.ITIMER_REAL, self._patience)
            self._set = now

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._set = 0.0


class _Worker:
    """Parses chunks into pieces of the workspace, unless an earlier run has left them there."""

    def __init__(self, describer: Describer[Recipe], workspace: Workspace, patience: float) -> None:
        self._parser = ChunkParser(describer)
        self._key = describer.key
        self._workspace = workspace
        self._timer = Timer(patience)

    @cached_property
    def _mark(self) -> _Mark:
        return _Mark(self._workspace)

    def parse(self, number: int, chunk: Chunk) -> Path:
        piece = _piece(self._workspace, self._key, chunk)
        if not _is_whole(piece):
            mark, timer = self._mark, self._timer

            def at(row: int) -> None:
                mark.set(number, row)
                timer.next()

            with self._workspace.write_atomically(piece) as path:
                try:
                    parsed = self._parser.parse(chunk, at)
                finally:
                    timer.stop()
                parsed.write(path)
            mark.clear()
        return piece


def _piece(workspace: Workspace, key: bytes, chunk: Chunk) -> Path:
    text = f"{chunk.source}\0{chunk.notation}".encode()
    return workspace.piece(key, text, chunk.records.schema.serialize(), chunk.records.serialize())


def _is_whole(piece: Path) -> bool:
    try:
        Parsed.read(piece)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


_worker: _Worker


def _start_worker(
    describer: type[Describer[Recipe]], made_with: tuple[Recipe, int], workspace: Workspace, patience: float
) -> None:
    global _worker  # a worker process has one, made once
    end_with_parent()
    _worker = _Worker(describer(*made_with), workspace, patience)


def _parse_in_worker(number: int, chunk: Chunk) -> Path:
    return _worker.parse(number, chunk)
