"""The Neo4j fault of `tests.rigs.chaos`: the server is killed while an ingest writes and the API reads."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from time import perf_counter

from graphkin.store import open_store
from graphkin.store.neo4j.connection import PASSWORD, USER
from graphkin.store.transfer import copy_generation
from tests.conftest import Neo4jServer
from tests.rigs.faults import OTHER, STILL, Place
from tests.rigs.site import Site
from tests.rigs.truth import Ledger

_SIZE = 200  # molecules per ingest


@asynccontextmanager
async def struck(folder: Path, place: Place) -> AsyncIterator[Callable[[Random], Awaitable[tuple[bool, float]]]]:
    """Yield the fault for a Neo4j server with its data in `folder`.

    The server holds a copy of the collection that never changes, from the store of `place`. The API over it must give
    the same responses, byte for byte.
    """
    await asyncio.to_thread(Neo4jServer.build)
    server = await asyncio.to_thread(Neo4jServer, folder / "server")
    account = {USER: server.user, PASSWORD: server.password}
    os.environ |= account
    ledger = Ledger(place.ledger.truth)
    site = Site(server.url, folder / "cache", 1, account)
    usual = 5.0  # seconds of an ingest without a fault

    async def publish(members: list[int]) -> None:
        """Run an ingest without a fault."""
        nonlocal usual
        ended = await site.run(*place.ingesting(OTHER, members))
        if ended.code:
            raise RuntimeError(f"an ingest to Neo4j failed: {ended.err[-500:]}")
        usual = ended.seconds
        with open_store(server.url) as store:
            ledger.publish(OTHER, store.collection(OTHER).current, members)

    async def strike(random: Random) -> tuple[bool, float]:
        members = random.sample(range(len(ledger.truth.smiles)), _SIZE)
        writing = asyncio.create_task(site.run(*place.ingesting(OTHER, members)))
        await asyncio.sleep(usual * random.random())
        met = not writing.done()
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        begin = perf_counter()
        await witnesses.well()
        recovered = perf_counter() - begin
        await writing  # the ingest may have waited for the server, or may have failed
        await publish(members)
        if not await witnesses.everything():
            place.wrong.append("not everything was answered rightly over Neo4j")
        with open_store(server.url) as store:
            lost, wrong = await asyncio.to_thread(ledger.check, store)
        witnesses.settle()
        place.wrong += [*lost, *wrong, *witnesses.wrong]
        witnesses.wrong.clear()
        return met, recovered

    try:
        await asyncio.to_thread(_copy, place.store, server.url)
        await publish([*range(_SIZE)])
        await site.serve()
        witnesses = place.witnesses.of(site.address, ledger, OTHER)
        asking = asyncio.create_task(witnesses.work(Random(0)))
        try:
            yield strike
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
    finally:
        await site.close()
        await asyncio.to_thread(server.kill)


def _copy(store: Path, url: str) -> None:
    with open_store(store) as source, open_store(url, create=True) as target, source.open(STILL) as generation:
        copy_generation(generation, target)
