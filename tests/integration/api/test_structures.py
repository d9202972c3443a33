"""Structures that strangers write, on processors that others use."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from graphkin.api.work import structures
from graphkin.api.work.pool import Pool
from graphkin.api.work.structures import StructureReader
from graphkin.protocol.errors import InvalidInput, StoreBusy
from graphkin.runtime.workers.fork_server import ForkServer
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import MOLECULES
from tests.fused import fused
from tests.stopped import held_up

T = TypeVar("T")

SECONDS = 0.3  # of a processor
WHILE = 3 * SECONDS  # that a process has to wait


def reading(fork_server: ForkServer, session: Callable[[StructureReader, int], Awaitable[T]]) -> T:
    """A session with the reader of structures, and the id of its process."""

    async def whole() -> T:
        async with Pool(fork_server, 1) as pool:
            await pool.start()
            async with pool.worker() as worker:
                pid = worker.pid
            assert pid is not None
            return await session(StructureReader(pool, SECONDS), pid)

    return asyncio.run(whole())


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generation]:
    with open_store(tmp_path_factory.mktemp("structures") / "store", create=True) as store:
        replace(MOLECULES, recipe=resolve().model_dump(mode="json")).publish(store, "c")
        with store.open("c") as generation:
            yield generation


@pytest.fixture(params=["read", "read_each"])
def ask(request: pytest.FixtureRequest, molecules: Generation) -> Callable[[StructureReader, str], Awaitable[Any]]:
    """The text of a molecule as it is read, alone or among others."""

    async def text(given: StructureReader, smiles: str) -> str:
        if request.param == "read":
            return (await given.read(molecules, smiles=smiles)).text
        (read,) = await given.read_each(molecules, [{"smiles": smiles}])
        if isinstance(read, Exception):
            raise read
        return read.text

    return text


def test_who_has_to_wait_for_others_is_answered(fork_server: ForkServer, ask: Callable[..., Any]) -> None:
    """It is the reading that must not take long, not the wait for a processor."""

    async def session(given: StructureReader, pid: int) -> Any:
        return await held_up(pid, ask(given, "OCC"), WHILE)

    assert reading(fork_server, session) == "CCO"


def test_who_would_wait_for_too_long_is_told_to_come_back(
    fork_server: ForkServer, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structures, "PATIENCE", WHILE)

    async def session(given: StructureReader, pid: int) -> Any:
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(StoreBusy, match="busy"):
            await ask(given, "OCC")
        return await ask(given, "OCC")  # by another process

    assert reading(fork_server, session) == "CCO"


def test_what_takes_too_long_is_refused(fork_server: ForkServer, ask: Callable[..., Any]) -> None:
    async def session(given: StructureReader, _: object) -> Any:
        with pytest.raises(InvalidInput, match=rf"more than {SECONDS} s of a processor"):
            await ask(given, fused(998))
        return await ask(given, "OCC")

    assert reading(fork_server, session) == "CCO"
