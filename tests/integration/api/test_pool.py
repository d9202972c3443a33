"""Worker pools with real processes."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from graphkin.api.work.errors import pack, unpack
from graphkin.api.work.pool import Pool, TaskError, WorkerLost, new_fork_server
from graphkin.protocol import errors
from graphkin.protocol.errors import GraphkinError, InvalidInput, NotFound, StoreBusy
from graphkin.runtime.workers.fork_server import ForkServer
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from tests.fused import fused

T = TypeVar("T")

MOLECULES: dict[str, Any] = {"kind": "molecule", "recipe": resolve().model_dump()}
GRAPHS: dict[str, Any] = {"kind": "graph", "recipe": resolve_graphs().model_dump()}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(fork_server: ForkServer, session: Callable[[Pool], Awaitable[T]], **options: Any) -> T:
    async def run_session() -> T:
        async with Pool(fork_server, 1, **options) as pool:
            return await session(pool)

    return asyncio.run(run_session())


async def canonical(pool: Pool, smiles: str, seconds: float = 20) -> str:
    async with pool.worker() as worker:
        reply = await worker.run("read_query", seconds, **MOLECULES, smiles=smiles)
    return str(reply["text"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_fork_server_has_one_thread() -> None:
    """A fork copies only one thread, with the locks that others hold. Python 3.12 and later warn of that."""
    with closing(new_fork_server()) as fork_server:
        _, connection = fork_server.fork(niceness=0, memory=2**33)
        with closing(connection):
            assert len(list(Path(f"/proc/{fork_server.pid}/task").iterdir())) == 1


def test_slow_task_only_ends_its_process(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> list[str]:
        results = [await canonical(pool, "OCC")]
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await canonical(pool, fused(998), 0.3)
            results.append(await canonical(pool, "OCCC"))
        return results

    assert run(fork_server, session) == ["CCO", "CCCO", "CCCO"]


def test_task_beyond_the_memory_limit_fails_alone(fork_server: ForkServer) -> None:
    edges = json.dumps({"edges": [[node, node + 1] for node in range(90_000)]})

    async def session(pool: Pool) -> str:
        async with pool.worker() as worker:
            with pytest.raises((TaskError, WorkerLost)):
                await worker.run("read_query", 60, **GRAPHS, graph=edges)
        return await canonical(pool, "OCC")

    assert run(fork_server, session, memory=8 * 2**20) == "CCO"


def test_result_of_a_canceled_task_is_discarded(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> list[str]:
        await canonical(pool, "C")
        results = []
        for carbons in range(2, 30):
            task = asyncio.create_task(canonical(pool, "N" + "C" * carbons))
            await asyncio.sleep(0.0002 * carbons)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            results.append(await canonical(pool, "O" + "C" * carbons))
        return results

    assert run(fork_server, session) == ["C" * carbons + "O" for carbons in range(2, 30)]


def test_starting_process_of_a_canceled_task_serves_others(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> str:
        task = asyncio.create_task(canonical(pool, "CC"))
        await asyncio.sleep(0.05)
        task.cancel()
        return await canonical(pool, "OCC")

    assert run(fork_server, session) == "CCO"


def test_killed_process_is_replaced(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> list[Any]:
        results: list[Any] = []
        for smiles in ("OCC", "OCCC"):
            async with pool.worker() as worker:
                pid = worker.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            try:
                results.append(await canonical(pool, smiles))
            except WorkerLost:  # The pool had not noticed the kill yet.
                results.append(await canonical(pool, smiles))
        return results

    assert run(fork_server, session) == ["CCO", "CCCO"]


def test_idle_process_is_ended_and_restarted(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> str:
        await canonical(pool, "C")
        async with pool.worker() as worker:
            pid = worker.pid
        while worker.pid is not None:
            await asyncio.sleep(0.01)
        assert pid is not None
        while is_alive(pid):
            await asyncio.sleep(0.01)
        return await canonical(pool, "OCC")

    assert run(fork_server, session, idle=0.2) == "CCO"


def test_errors_of_workers_keep_their_class(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> InvalidInput:
        with pytest.raises(InvalidInput) as error_info:
            await canonical(pool, "C((")
        assert await canonical(pool, "OCC") == "CCO"
        return error_info.value

    error = run(fork_server, session)
    assert (error.given, error.expected) == ("C((", "a valid SMILES")


def test_stream_raises_errors_before_its_first_piece(fork_server: ForkServer, tmp_path: Path) -> None:
    async def session(pool: Pool) -> None:
        async with pool.worker() as worker:
            pieces = worker.stream(
                "export", store=str(tmp_path), collection="c", generation="g", what="items", format="csv"
            )
            with pytest.raises(NotFound, match="there is no store in this folder"):
                await anext(pieces)

    run(fork_server, session)


def test_too_many_waiting_tasks_raise_store_busy(fork_server: ForkServer) -> None:
    async def session(pool: Pool) -> int:
        async with pool.worker():
            tasks = [asyncio.create_task(canonical(pool, "C")) for _ in range(256)]
            await asyncio.sleep(0)
            with pytest.raises(StoreBusy):
                await canonical(pool, "C")
        return len(await asyncio.gather(*tasks))

    assert run(fork_server, session) == 256


def test_waiting_request_gets_the_next_free_worker(fork_server: ForkServer) -> None:
    """A batch returns its worker after some structures and immediately requests one again."""

    async def session(pool: Pool) -> list[str]:
        order: list[str] = []

        async def read(smiles: str, times: int) -> None:
            for _ in range(times):
                text = await canonical(pool, smiles)
                order.append(text)

        await asyncio.gather(read("C", times=20), read("N", times=1))
        return order

    assert run(fork_server, session).index("N") == 1


def test_workers_have_pandas_imported(fork_server: ForkServer) -> None:
    """Importing pandas takes most of the 2 s of processor time that a worker has to read a vector."""
    assert run(fork_server, lambda pool: canonical(pool, "OCC")) == "CCO"
    assert "/pandas/" in Path(f"/proc/{fork_server.pid}/maps").read_text()


def test_killed_fork_server_is_replaced() -> None:
    with closing(new_fork_server()) as own_fork_server:

        async def session(pool: Pool) -> list[str]:
            results = [await canonical(pool, "OCC")]
            assert own_fork_server.pid is not None
            os.kill(own_fork_server.pid, signal.SIGKILL)
            async with pool.worker() as worker:
                await worker.close()
            results.append(await canonical(pool, "OCCC"))
            return results

        assert run(own_fork_server, session) == ["CCO", "CCCO"]


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GraphkinError)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_survives_packing(kind: type[GraphkinError]) -> None:
    if kind is errors.StoreDamaged:
        error: GraphkinError = errors.StoreDamaged(errors.Damage("indptr.npy", "cut short", "nci", "0" * 64))
    else:
        error = kind("what happened", given={"a": [1]}, expected="b", hint="c")
    unpacked = unpack(json.loads(json.dumps(pack(error))))
    assert type(unpacked) is kind
    assert str(unpacked) == str(error)
    assert vars(unpacked) == vars(error)
