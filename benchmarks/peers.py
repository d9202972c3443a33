"""Measurements in child processes, so that a peer may crash."""

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, NamedTuple

Join = Callable[..., tuple[float, int]]
"""Function that returns seconds and pairs."""

TRIES = 5
"""Maximum number of tries of a measurement."""


class Measured(NamedTuple):
    """A measurement. `peak` is in MiB of its process, and `crashes` counts the failed tries before it."""

    seconds: float
    pairs: int
    peak: float
    crashes: int = 0


class Crashed(Exception):
    """The process of a measurement crashed in all of its tries."""


def measure(join: Join, *arguments: Any, tries: int = TRIES) -> Measured:
    """Measure `join` in a child process, and try again in a new one if it crashes.

    Raises:
        Crashed: all tries crashed.
        Exception: `join` raised it.
    """
    for crashes in range(tries):
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                return pool.submit(_measure_here, join, *arguments).result()._replace(crashes=crashes)
        except BrokenProcessPool:
            continue
    raise Crashed(f"crashed in {tries} of {tries} tries")


def _measure_here(join: Join, *arguments: Any) -> Measured:
    return Measured(*join(*arguments), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
