"""A process that is suspended for some time, as if other processes used all cores."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def request_while_suspended(pid: int, request: Coroutine[Any, Any, T], seconds: float) -> T:
    """Suspend the process for `seconds` while a request to it waits, and return the result of the request."""
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.create_task(request)
    await asyncio.wait([task], timeout=seconds)
    assert not task.done()
    os.kill(pid, signal.SIGCONT)
    return await task
