"""Retries while the server is unreachable or busy: pauses between attempts, and when to give up."""

from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time

from tenacity import RetryCallState
from tenacity.wait import wait_random, wait_random_exponential

PATIENCE = 600.0
"""Default time in seconds for which a request is retried.

It covers a restart of the server or the computation of positive sets.
"""

_jitter = wait_random(0, 0.5)
_backoff = wait_random_exponential(multiplier=0.1, max=10)


def pause(state: RetryCallState) -> float:
    """Return the seconds until the next attempt.

    They are the server's Retry-After plus jitter, or else a random exponential backoff.
    """
    error = state.outcome.exception() if state.outcome else None
    retry_after = getattr(error, "retry_after", None)
    return _backoff(state) if retry_after is None else retry_after + _jitter(state)


def parse_retry_after(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header states, as a number or a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    return None
