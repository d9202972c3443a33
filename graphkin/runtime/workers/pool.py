"""Processes that work for the server: what takes too long, or too much memory, costs its process and nothing else."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

from graphkin.api.work.errors import unpacked
from graphkin.protocol.errors import StoreBusy, StoreError
from graphkin.runtime.workers.fork_server import Nursery
from graphkin.runtime.workers.worker import ERROR, HEADER, PIECE

PATIENCE = 10.0
"""Seconds after which somebody is told to come back, whose question the processors were too busy for."""

_WAITING = 256  # questions that may wait for a process


class Ended(StoreError):
    """The process ended before it had answered."""


class Failed(StoreError):
    """The task ended in an error that none of ours is."""


def busy(what: str) -> StoreBusy:
    """For whom the processors have no time."""
    return StoreBusy(f"{what}: the processors are busy", retry_after=2)


class Pool:
    """At most `count` processes at work, each forked when it is first needed; more questions wait their turn.

    niceness  how far their work steps back behind the server's own, 0 to 19.
    memory    bytes that one may take beyond what it has when it starts; 0: any.
    idle      seconds without work after which a process is ended; None: never.
    """

    def __init__(
        self, nursery: Nursery, count: int, *, niceness: int = 0, memory: int = 0, idle: float | None = None
    ) -> None:
        options = {"niceness": niceness, "memory": memory}
        self._workers = [Worker(nursery, options, idle) for _ in range(count)]
        self._resting: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()  # the one that has just worked works again
        self._asking = 0

    async def __aenter__(self) -> Self:
        for worker in self._workers:
            self._resting.put_nowait(worker)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for worker in self._workers:
            await worker.close()

    async def start(self) -> None:
        """Start all processes now, so that nobody has to wait for that."""
        await asyncio.gather(*(worker.ready() for worker in self._workers))

    @asynccontextmanager
    async def worker(self) -> AsyncIterator["Worker"]:
        """One that is ready to be asked. If it has not answered by the end, its process is ended.

        Raises `StoreBusy` where too many wait for one already.
        """
        if self._asking >= _WAITING:
            raise StoreBusy("too many requests wait for such work", retry_after=2)
        self._asking += 1
        try:
            worker = await self._resting.get()
        finally:
            self._asking -= 1
        try:
            await worker.ready()
            yield worker
        finally:
            worker.rest()
            self._resting.put_nowait(worker)


class Worker:
    """One process at a time, which answers one question at a time."""

    def __init__(self, nursery: Nursery, options: dict[str, Any], idle: float | None) -> None:
        self._nursery = nursery
        self._options = options
        self._patience = idle
        self._life: _Life | None = None
        self._starting: asyncio.Task[None] | None = None
        self._retirement: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._busy = False

    @property
    def pid(self) -> int | None:
        """Of its process, if it has one."""
        return None if self._life is None else self._life.pid

    async def ready(self) -> None:
        """Start the process where there is none. Raises `StoreError` if that fails."""
        if self._retirement is not None:
            self._retirement.cancel()
            self._retirement = None
        if self._starting is None and (self._life is None or self._life.over):
            self._starting = asyncio.create_task(self._start())
        if self._starting is not None:
            await asyncio.shield(self._starting)  # who waits may go away, what was begun goes on

    async def _start(self) -> None:
        try:
            self._end()
            pid, asking = await asyncio.to_thread(self._nursery.fork, **self._options)
            self._life = _Life(pid, *await asyncio.open_unix_connection(sock=asking))
            await self._life.frame()
        finally:
            self._starting = None

    async def ask(self, task: str, limit: float, *, processor: float | None = None, **arguments: Any) -> Any:
        """The task's result.

        Raises `TimeoutError` after `limit` seconds, what the task raised of `protocol.errors`, `Failed`, and `Ended`,
        as after `processor` seconds of one: others may keep the processors busy.
        """
        async with asyncio.timeout(limit):
            self._put(task, arguments, limit, processor)
            _, said = await self._next()
        return json.loads(said)

    async def stream(self, task: str, **arguments: Any) -> AsyncGenerator[bytes]:
        """The pieces that the task yields, as they come; no more are made than are taken. Raises as `ask` does."""
        self._put(task, arguments)
        while True:
            kind, said = await self._next()
            if kind != PIECE:
                return
            yield said

    def _put(
        self, task: str, arguments: dict[str, Any], limit: float | None = None, processor: float | None = None
    ) -> None:
        assert self._life is not None
        self._busy = True
        self._life.writer.write(json.dumps([task, arguments, limit, processor]).encode() + b"\n")

    async def _next(self) -> tuple[bytes, bytes]:
        """The next piece, or the result."""
        assert self._life is not None
        try:
            kind, said = await self._life.frame()
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Ended("the process that did this ended") from error
        self._busy = kind == PIECE
        if kind == ERROR:
            told = json.loads(said)
            raise unpacked(told) or Failed(told["detail"])
        return kind, said

    def rest(self) -> None:
        """It has nothing to do: its process is ended after a while, unless it is asked again; one that has not answered
        at once, for another is there in less time than an answer may take that nobody waits for."""
        if self._busy:
            self._end()
        elif self._patience is not None:
            self._retirement = asyncio.get_running_loop().call_later(self._patience, self._end)

    def _end(self) -> None:
        life, self._life = self._life, None
        self._busy = False
        if life is not None:
            task = asyncio.create_task(self._ended(life))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _ended(self, life: "_Life") -> None:
        await asyncio.to_thread(self._nursery.kill, life.pid)
        await life.close()

    async def close(self) -> None:
        """End the process, also one that is being started."""
        if self._retirement is not None:
            self._retirement.cancel()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self._end()
        if self._ending:
            await asyncio.wait(self._ending)


class _Life:
    """One process of a worker."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.writer = writer
        self._reader = reader

    @property
    def over(self) -> bool:
        """Whether the process has closed its side."""
        return self._reader.at_eof()

    async def frame(self) -> tuple[bytes, bytes]:
        """The next one's kind and content."""
        kind, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
        return kind, await self._reader.readexactly(length)

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
