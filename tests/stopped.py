"""A process that has to wait, as where others use the processors."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def held_up(pid: int, asking: Coroutine[Any, Any, T], seconds: float) -> T:
    """What comes of asking a process that stands still for so long, which nobody answers meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.create_task(asking)
    await asyncio.wait([task], timeout=seconds)
    assert not task.done()
    os.kill(pid, signal.SIGCONT)
    return await task
