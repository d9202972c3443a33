"""Functions that poll until a condition holds. Only the time limit of the test ends them otherwise."""

import time
from collections.abc import Callable
from typing import Literal, TypeVar

import httpx

T = TypeVar("T")

_POLL_SECONDS = 0.02


def until(look: Callable[[], T | Literal[False] | None]) -> T:
    """Call `look` until its result is true, and return the result."""
    while not (result := look()):
        time.sleep(_POLL_SECONDS)
    return result


def until_available(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Send a request until the status of its reply is not 503, and return the reply."""
    while (reply := send()).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        time.sleep(_POLL_SECONDS)
    return reply
