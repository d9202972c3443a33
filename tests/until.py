"""Waiting for others, which leaves them the processor. The test's own time limit ends it."""

import time
from collections.abc import Callable
from typing import TypeVar

import httpx

T = TypeVar("T")

_BETWEEN = 0.02  # seconds between two looks


def until(look: Callable[[], T]) -> T:
    """What `look` gives, once that is true."""
    while not (found := look()):
        time.sleep(_BETWEEN)
    return found


def once_ready(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """The reply, once it is no longer that one should come again."""
    while (reply := ask()).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        time.sleep(_BETWEEN)
    return reply
