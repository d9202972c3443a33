"""A pool of worker processes. A task that crashes or exceeds a limit ends only its own process."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

from graphkin.runtime.workers.fork_server import CannotStart, ForkServer
from graphkin.runtime.workers.messages import ERROR, PIECE, encode_request, read_frame

_MAX_WAITING = 256  # maximum number of requests that wait for a worker


class PoolFull(Exception):
    """Too many requests wait for a worker."""


class WorkerEnded(Exception):
    """The worker process ended before it sent the result."""


class TaskFailed(Exception):
    """The task raised an error.

    Attributes:
        packed: The error as a JSON object, as the function `pack_error` of the `ForkServer` returned it.
    """

    def __init__(self, packed: dict[str, Any]) -> None:
        super().__init__(packed["detail"])
        self.packed = packed


class WorkerPool:
    """A pool of workers. Processes start on first use. If all workers are busy, requests wait in order of arrival.

    Errors:
        The pool and its workers raise `PoolFull`, `CannotStart`, `WorkerEnded` and `TaskFailed`. A subclass can
        override `translate` to raise the errors of its own package instead.

    Args:
        fork_server: Starts the processes.
        count: Number of workers.
        niceness: Niceness of the workers relative to this process, 0 to 19.
        memory: Bytes that a worker may allocate in addition to those that it has when it starts. 0 means no limit.
        idle: Seconds without work after which a process ends. None means never.
    """

    def __init__(
        self, fork_server: ForkServer, count: int, *, niceness: int = 0, memory: int = 0, idle: float | None = None
    ) -> None:
        def fork() -> tuple[int, socket.socket]:
            return fork_server.fork(niceness=niceness, memory=memory)

        self._workers = [Worker(fork, fork_server.kill, self.translate, idle) for _ in range(count)]
        self._free = [*self._workers]  # a stack: the worker that was used last is the next to be used
        self._slots = asyncio.Semaphore(count)  # a semaphore wakes waiting requests in order of arrival
        self._waiting = 0

    def translate(self, error: Exception) -> Exception:
        """Return the error to raise instead of an error of the pool."""
        return error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._workers:
            await worker.close()

    async def start(self) -> None:
        """Start all processes, so that no request waits for a start."""
        await asyncio.gather(*(worker.ensure_started() for worker in self._workers))

    @asynccontextmanager
    async def worker(self) -> AsyncIterator["Worker"]:
        """Wait for a free worker with a running process, and reserve it for the block.

        If the block ends before the worker has sent its result, the process is killed.

        Raises:
            PoolFull: Too many requests wait for a worker.
            CannotStart: The process of the worker cannot be started.
        """
        if self._waiting >= _MAX_WAITING:
            raise self.translate(PoolFull())
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        worker = self._free.pop()
        try:
            await worker.ensure_started()
            yield worker
        finally:
            worker.release()
            self._free.append(worker)
            self._slots.release()


class Worker:
    """A worker, which runs one task at a time in a process. A process that has ended is replaced.

    Args:
        fork: Starts a process, and returns its id and a socket connected to it.
        kill: Kills the process with an id.
        translate: The method of the pool.
        idle: Seconds without work after which the process ends. None means never.
    """

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
        self._idle_timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_busy = False

    @property
    def pid(self) -> int | None:
        """The id of the process, or None if none is running."""
        return None if self._process is None else self._process.pid

    async def ensure_started(self) -> None:
        """Start a process if none is running.

        Raises:
            CannotStart: The process cannot be started.
        """
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._starting is None and (self._process is None or self._process.has_ended):
            self._starting = asyncio.create_task(self._start())
        if self._starting is not None:
            await asyncio.shield(self._starting)  # the start continues if the request is canceled

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

    async def run(self, task: str, timeout: float, *, cpu_seconds: float | None = None, **arguments: Any) -> Any:
        """Run a task and return its result.

        Args:
            task: Name of the task.
            timeout: Seconds until `TimeoutError`.
            cpu_seconds: Seconds of processor time after which the process ends; default: no limit. Unlike `timeout`,
                this limit does not depend on how busy the processors are with other work.
            **arguments: Arguments of the task.

        Raises:
            TimeoutError: The task took longer than `timeout`.
            WorkerEnded: The process ended, for example because the task took longer than `cpu_seconds`.
            TaskFailed: The task raised an error.
        """
        async with asyncio.timeout(timeout):
            self._send_request(task, arguments, timeout, cpu_seconds)
            _, content = await self._receive()
        return json.loads(content)

    async def stream(self, task: str, **arguments: Any) -> AsyncGenerator[bytes]:
        """Run a task that is a generator, and yield its pieces.

        The task makes only a few pieces in advance: as many as the buffers of the connection hold.

        Raises:
            WorkerEnded: The process ended.
            TaskFailed: The task raised an error.
        """
        self._send_request(task, arguments)
        while True:
            kind, content = await self._receive()
            if kind != PIECE:
                return
            yield content

    def _send_request(
        self, task: str, arguments: dict[str, Any], timeout: float | None = None, cpu_seconds: float | None = None
    ) -> None:
        assert self._process is not None
        self._is_busy = True
        self._process.writer.write(encode_request(task, arguments, timeout, cpu_seconds))

    async def _receive(self) -> tuple[bytes, bytes]:
        """Return the kind and the content of the next frame."""
        assert self._process is not None
        try:
            kind, content = await read_frame(self._process.reader)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise self._translate(WorkerEnded()) from error
        self._is_busy = kind == PIECE
        if kind == ERROR:
            raise self._translate(TaskFailed(json.loads(content)))
        return kind, content

    def release(self) -> None:
        """Kill the process if it has not sent its result. Otherwise let it end after `idle` seconds without work.

        Waiting for the result of an abandoned task may take longer than starting a new process.
        """
        if self._is_busy:
            self._end()
        elif self._idle is not None:
            self._idle_timer = asyncio.get_running_loop().call_later(self._idle, self._end)

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
        """End the process, even if it is still starting."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self._end()
        if self._ending:
            await asyncio.wait(self._ending)


class _Process:
    """A process and the streams of its socket."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.reader = reader
        self.writer = writer

    @property
    def has_ended(self) -> bool:
        """Whether the process has closed its end of the socket."""
        return self.reader.at_eof()

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
