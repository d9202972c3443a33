"""Retries while the server is unreachable or busy: the time limit, and the pauses between attempts."""

from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time

from tenacity import RetryCallState
from tenacity.wait import wait_random, wait_random_exponential

RETRY_SECONDS = 600.0
"""Default number of seconds for which a request is retried.

It is long enough for a restart of the server or the computation of positive sets.
"""

_jitter = wait_random(0, 0.5)
_backoff = wait_random_exponential(multiplier=0.1, max=10)


def pause(state: RetryCallState) -> float:
    """Return the seconds until the next attempt.

    The pause is the server's Retry-After plus jitter. Without Retry-After, it is a random exponential backoff.
    """
    error = state.outcome.exception() if state.outcome else None
    retry_after = getattr(error, "retry_after", None)
    return _backoff(state) if retry_after is None else retry_after + _jitter(state)


def parse_retry_after(retry_after: str | None) -> float | None:
    """Parse a Retry-After header: a number of seconds or a date (RFC 9110, section 10.2.3).

    Returns:
        Seconds from now, or None if the header is missing or malformed.
    """
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    return None
