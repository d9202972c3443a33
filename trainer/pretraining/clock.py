"""Share of the training time that is spent waiting for data."""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """Measures the share of the time since its creation that was spent waiting for sampled ids and batches.

    The training loop creates the clock just before it requests the first sampled ids. The time to compute
    features and pairs is not measured, because they are computed before training and cached.
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
