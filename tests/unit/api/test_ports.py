"""Work of a request that is stopped: its client has left, or its time is up."""

import asyncio

import anyio
from anyio import from_thread, to_thread

from graphkin.api.ports import _cancellable


def test_work_in_a_thread_ends_at_its_next_advance_once_the_request_is_cancelled() -> None:
    begun: list[int] = []

    def work(request: anyio.CancelScope) -> None:
        with _cancellable("pick", 10, "items") as advance:
            for number in range(10):
                begun.append(number)
                if number == 2:
                    from_thread.run_sync(request.cancel)
                advance(1)

    async def answer() -> bool:
        with anyio.CancelScope() as request:
            await to_thread.run_sync(work, request)
        return request.cancelled_caught

    assert asyncio.run(answer())
    assert begun == [0, 1, 2]
