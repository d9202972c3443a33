"""How long, and how often, a server that is away or busy is asked again."""

from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time

from tenacity import RetryCallState
from tenacity.wait import wait_random, wait_random_exponential

PATIENCE = 600.0
"""Seconds for which a request is tried again by default: enough for a restart, or for positive sets to be drawn."""

_jitter = wait_random(0, 0.5)
_backoff = wait_random_exponential(multiplier=0.1, max=10)


def pause(state: RetryCallState) -> float:
    """Seconds until the next try: what the server asks for, else more from try to try; with jitter."""
    error = state.outcome.exception() if state.outcome else None
    asked = getattr(error, "retry_after", None)
    return _backoff(state) if asked is None else asked + _jitter(state)


def seconds_of(retry_after: str | None) -> float | None:
    """What a Retry-After header asks for: a number of seconds, or a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    return None
