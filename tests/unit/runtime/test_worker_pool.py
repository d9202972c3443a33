import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import TypeVar

import pytest

from graphkin.runtime.workers.fork_server import CannotStart, ForkServer
from graphkin.runtime.workers.pool import TaskFailed, WorkerEnded, WorkerPool

T = TypeVar("T")

TASKS = {"loads": "json", "_exit": "os"}
"""Functions of the standard library."""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with closing(ForkServer(TASKS, "graphkin.api.work.errors:pack_error")) as server:
        yield server


class Stillborn(ForkServer):
    """A fork server whose processes end at once."""

    def fork(self, *, niceness: int, memory: int) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        theirs.close()
        return 0, ours

    def kill(self, pid: int) -> None:
        assert pid == 0


def run(server: ForkServer, session: Callable[[WorkerPool], Awaitable[T]]) -> T:
    async def whole() -> T:
        async with WorkerPool(server, 1) as pool:
            return await session(pool)

    return asyncio.run(whole())


async def loads(pool: WorkerPool, text: str) -> object:
    async with pool.worker() as worker:
        return await worker.run("loads", 20, s=text)


def test_worker_survives_the_error_of_a_task(server: ForkServer) -> None:
    async def session(pool: WorkerPool) -> object:
        with pytest.raises(TaskFailed, match="JSONDecodeError") as error:
            await loads(pool, "[")
        assert error.value.packed["kind"] is None
        return await loads(pool, "[1]")

    assert run(server, session) == [1]


def test_crashed_worker_is_replaced(server: ForkServer) -> None:
    async def session(pool: WorkerPool) -> object:
        with pytest.raises(WorkerEnded):
            async with pool.worker() as worker:
                await worker.run("_exit", 20, status=1)
        return await loads(pool, "[1]")

    assert run(server, session) == [1]


def test_worker_that_ends_at_its_start_raises_cannot_start() -> None:
    async def session(pool: WorkerPool) -> None:
        with pytest.raises(CannotStart, match="the process ended at once"):
            await loads(pool, "[1]")

    run(Stillborn(TASKS, ""), session)
