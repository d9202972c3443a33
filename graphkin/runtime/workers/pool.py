"""A pool of worker processes. A task that exceeds its time or memory limit costs only its own process."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

from graphkin.runtime.workers.fork_server import CannotStart, ForkServer
from graphkin.runtime.workers.messages import ERROR, PIECE, read_frame, request

_MAX_WAITING = 256  # requests that may wait for a worker


class PoolFull(Exception):
    """Too many requests wait for a worker."""


class WorkerEnded(Exception):
    """The worker process ended before it had responded."""


class TaskFailed(Exception):
    """The task raised an error: `packed`, as the `PackError` of the fork server makes it."""

    def __init__(self, packed: dict[str, Any]) -> None:
        super().__init__(packed["detail"])
        self.packed = packed


class WorkerPool:
    """A pool of `count` workers, each of which starts on first use. Further requests wait for a free worker.

    A subclass that overrides `translate` raises the errors of its own package instead of those below.

    Args:
        fork_server: Starts the processes.
        count: Number of workers.
        niceness: Niceness of the workers relative to the server, 0 to 19.
        memory: Bytes that a worker may allocate beyond those it has at its start. 0 is unlimited.
        idle: Seconds without work after which a process ends. None means never.

    Raises:
        CannotStart: If a process cannot be started.
        PoolFull: If too many requests wait for a worker.
        WorkerEnded: If a process ends before it has responded.
        TaskFailed: If a task raises an error.
    """

    def __init__(
        self, fork_server: ForkServer, count: int, *, niceness: int = 0, memory: int = 0, idle: float | None = None
    ) -> None:
        def fork() -> tuple[int, socket.socket]:
            return fork_server.fork(niceness=niceness, memory=memory)

        self._workers = [Worker(fork, fork_server.kill, self.translate, idle) for _ in range(count)]
        self._free = [*self._workers]  # the last one that worked works again
        self._turns = asyncio.Semaphore(count)  # requests get their workers in the order in which they came
        self._waiting = 0

    def translate(self, error: Exception) -> Exception:
        """Return the error that callers get for one of the pool's own."""
        return error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._workers:
            await worker.close()

    async def start(self) -> None:
        """Start all processes now, so that no request waits for that."""
        await asyncio.gather(*(worker.ready() for worker in self._workers))

    @asynccontextmanager
    async def worker(self) -> AsyncIterator["Worker"]:
        """Wait for a worker that is ready. If it has not responded when the block ends, its process is ended.

        Raises `PoolFull`.
        """
        if self._waiting >= _MAX_WAITING:
            raise self.translate(PoolFull())
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        worker = self._free.pop()
        try:
            await worker.ready()
            yield worker
        finally:
            worker.rest()
            self._free.append(worker)
            self._turns.release()


class Worker:
    """One process at a time, which runs one task at a time."""

    def __init__(
        self,
        fork: Callable[[], tuple[int, socket.socket]],
        kill: Callable[[int], None],
        translate: Callable[[Exception], Exception],
        idle: float | None,
    ) -> None:
        self._fork = fork
        self._kill = kill
        self._translate = translate
        self._idle = idle
        self._process: _Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._retirement: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_busy = False

    @property
    def pid(self) -> int | None:
        """The process id of the worker, if it has a process."""
        return None if self._process is None else self._process.pid

    async def ready(self) -> None:
        """Start the process where there is none. Raises `CannotStart`."""
        if self._retirement is not None:
            self._retirement.cancel()
            self._retirement = None
        if self._starting is None and (self._process is None or self._process.has_ended):
            self._starting = asyncio.create_task(self._start())
        if self._starting is not None:
            await asyncio.shield(self._starting)  # a start goes on where the request is cancelled

    async def _start(self) -> None:
        try:
            self._end()
            pid, connection = await asyncio.to_thread(self._fork)
            self._process = _Process(pid, *await asyncio.open_unix_connection(sock=connection))
            await read_frame(self._process.reader)
        except CannotStart as error:
            raise self._translate(error) from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise self._translate(CannotStart("the process ended at once")) from error
        finally:
            self._starting = None

    async def ask(self, task: str, limit: float, *, processor: float | None = None, **arguments: Any) -> Any:
        """Run a task and return its result.

        Raises `TimeoutError` after `limit` seconds, `TaskFailed`, and `WorkerEnded`, also after `processor` seconds of
        one processor: others may keep the processors busy.
        """
        async with asyncio.timeout(limit):
            self._request(task, arguments, limit, processor)
            _, content = await self._next()
        return json.loads(content)

    async def stream(self, task: str, **arguments: Any) -> AsyncGenerator[bytes]:
        """Run a task and yield its pieces as they come. It makes no more than are taken. Raises as `ask` does."""
        self._request(task, arguments)
        while True:
            kind, content = await self._next()
            if kind != PIECE:
                return
            yield content

    def _request(
        self, task: str, arguments: dict[str, Any], limit: float | None = None, processor: float | None = None
    ) -> None:
        assert self._process is not None
        self._is_busy = True
        self._process.writer.write(request(task, arguments, limit, processor))

    async def _next(self) -> tuple[bytes, bytes]:
        """Return the kind and the content of the next piece, or of the result."""
        assert self._process is not None
        try:
            kind, content = await read_frame(self._process.reader)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise self._translate(WorkerEnded()) from error
        self._is_busy = kind == PIECE
        if kind == ERROR:
            raise self._translate(TaskFailed(json.loads(content)))
        return kind, content

    def rest(self) -> None:
        """End the process after a while without work, or at once if it has not responded.

        A new process is ready in less time than the rest of an unwanted task may take.
        """
        if self._is_busy:
            self._end()
        elif self._idle is not None:
            self._retirement = asyncio.get_running_loop().call_later(self._idle, self._end)

    def _end(self) -> None:
        process, self._process = self._process, None
        self._is_busy = False
        if process is not None:
            task = asyncio.create_task(self._end_process(process))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end_process(self, process: "_Process") -> None:
        await asyncio.to_thread(self._kill, process.pid)
        await process.close()

    async def close(self) -> None:
        """End the process, also one that is being started."""
        if self._retirement is not None:
            self._retirement.cancel()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self._end()
        if self._ending:
            await asyncio.wait(self._ending)


class _Process:
    """One process of a worker."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.reader = reader
        self.writer = writer

    @property
    def has_ended(self) -> bool:
        """True once the process has closed its end of the socket."""
        return self.reader.at_eof()

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
