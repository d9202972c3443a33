"""Reading of untrusted structures on busy processors."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
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
from tests.stopped import request_while_suspended

T = TypeVar("T")

SECONDS = 0.3  # Processor time.
PAUSE = 3 * SECONDS  # Time for which a process is stopped.


def run_session(fork_server: ForkServer, session: Callable[[StructureReader, int], Awaitable[T]]) -> T:
    """Run a session with a structure reader and the id of its process."""

    async def run_with_pool() -> T:
        async with Pool(fork_server, 1) as pool:
            await pool.start()
            async with pool.worker() as worker:
                pid = worker.pid
            assert pid is not None
            return await session(StructureReader(pool, SECONDS), pid)

    return asyncio.run(run_with_pool())


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generation]:
    with open_store(tmp_path_factory.mktemp("structures") / "store", create=True) as store:
        replace(MOLECULES, recipe=resolve().model_dump(mode="json")).publish(store, "c")
        with store.open("c") as generation:
            yield generation


@pytest.fixture(params=["read", "read_each"])
def read_text(
    request: pytest.FixtureRequest, molecules: Generation
) -> Callable[[StructureReader, str], Awaitable[Any]]:
    """Return a function that reads a molecule, alone or in a batch, and returns its text."""

    async def text(reader: StructureReader, smiles: str) -> str:
        if request.param == "read":
            return (await reader.read(molecules, smiles=smiles)).text
        (result,) = await reader.read_each(molecules, [{"smiles": smiles}])
        if isinstance(result, Exception):
            raise result
        return result.text

    return text


def test_waiting_for_a_processor_does_not_count_as_reading(
    fork_server: ForkServer, read_text: Callable[..., Any]
) -> None:
    """The time limit applies to the reading, not to the wait for a processor."""

    async def session(reader: StructureReader, pid: int) -> Any:
        return await request_while_suspended(pid, read_text(reader, "OCC"), PAUSE)

    assert run_session(fork_server, session) == "CCO"


def test_long_wait_for_a_processor_raises_store_busy(
    fork_server: ForkServer, read_text: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structures, "PATIENCE", PAUSE)

    async def session(reader: StructureReader, pid: int) -> Any:
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(StoreBusy, match="busy"):
            await read_text(reader, "OCC")
        return await read_text(reader, "OCC")  # Another process reads this one.

    assert run_session(fork_server, session) == "CCO"


def test_slow_structure_is_refused(fork_server: ForkServer, read_text: Callable[..., Any]) -> None:
    async def session(reader: StructureReader, _: object) -> Any:
        with pytest.raises(InvalidInput, match=rf"more than {SECONDS} s of a processor"):
            await read_text(reader, fused(998))
        return await read_text(reader, "OCC")

    assert run_session(fork_server, session) == "CCO"


def test_enumeration_of_tautomers_stops_at_the_time_limit(fork_server: ForkServer, tmp_path: Path) -> None:
    guanines = "Nc1nc2c(ncn2C)c(=O)[nH]1." * 8 + "C"  # RDKit lists their tautomers in ten seconds
    recipe = resolve(standardise=["tautomer"]).model_dump(mode="json")

    async def session(reader: StructureReader, _: int) -> Any:
        with open_store(tmp_path / "store", create=True) as store:
            replace(MOLECULES, recipe=recipe).publish(store, "c")
            with store.open("c") as generation:
                with pytest.raises(InvalidInput, match="reading it takes more than"):
                    await reader.read(generation, smiles=guanines)
                return (await reader.read(generation, smiles="Oc1ccccn1")).text

    assert run_session(fork_server, session) == "O=c1cccc[nH]1"
