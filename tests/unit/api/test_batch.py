"""Who goes away is not searched for any longer."""

import asyncio
from collections.abc import Generator

import anyio
import anyio.from_thread

from graphkin.api.routes.batch import _all
from graphkin.similarity.hits import NOTHING, Matches


def test_what_has_not_begun_when_the_client_leaves_is_not_begun() -> None:
    begun: list[int] = []
    ended: list[bool] = []

    def parts(working: anyio.CancelScope) -> Generator[Matches]:
        try:
            for number in range(10):
                begun.append(number)
                if number == 2:
                    anyio.from_thread.run_sync(working.cancel)
                yield Matches.of(number, NOTHING)
        finally:
            ended.append(True)

    async def search() -> bool:
        with anyio.CancelScope() as working:
            await _all(parts(working))
        return working.cancelled_caught

    assert asyncio.run(search())
    assert (begun, ended) == ([0, 1, 2], [True])


def test_all_is_gathered_for_who_stays() -> None:
    parts = (Matches.of(number, NOTHING) for number in range(3))
    assert len(asyncio.run(_all(parts))) == 3
