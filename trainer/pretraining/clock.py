"""Share of the training time that is spent waiting for data."""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """Measures the share of time spent waiting for ids and batches, since its creation.

    The loop creates it when it requests the first ids. Features and pairs, which are computed once per generation and
    cached, exist by then and count neither as waiting nor as time.
    """

    def __init__(self) -> None:
        self._start_time = perf_counter()
        self._wait_time = 0.0

    def wait_share(self) -> float:
        return self._wait_time / (perf_counter() - self._start_time)

    def wait(self, get: Callable[[], T]) -> T:
        """Return the result of `get`, and count its duration as waiting."""
        start_time = perf_counter()
        try:
            return get()
        finally:
            self._wait_time += perf_counter() - start_time

    def waiting(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and count the time until each arrives as waiting."""
        iterator = iter(items)
        while True:
            try:
                yield self.wait(lambda: next(iterator))
            except StopIteration:
                return
