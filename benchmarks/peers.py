"""Measurements in processes of their own, which survive a peer that crashes."""

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, NamedTuple

Join = Callable[..., tuple[float, int]]
"""Gives seconds and pairs."""

TRIES = 5
"""How often a measurement is started at most."""


class Measured(NamedTuple):
    """A measurement: `peak` is in MiB of its process, `crashes` counts the tries before it."""

    seconds: float
    pairs: int
    peak: float
    crashes: int = 0


class Crashed(Exception):
    """The process of a measurement ended in all of its tries."""


def measure(join: Join, *arguments: Any, tries: int = TRIES) -> Measured:
    """Measure `join` in a process of its own, and try again in another one where that ends before it replies.

    Raises `Crashed` after so many tries, and whatever `join` raises.
    """
    for crashes in range(tries):
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                return pool.submit(_measured, join, *arguments).result()._replace(crashes=crashes)
        except BrokenProcessPool:
            continue
    raise Crashed(f"crashed in {tries} of {tries} tries")


def _measured(join: Join, *arguments: Any) -> Measured:
    return Measured(*join(*arguments), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
