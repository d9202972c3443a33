"""Ordered results from a thread pool."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_in_order(calls: Iterable[Callable[[], T]], threads: int) -> Generator[T]:
    """Yield the results of `calls` in their order, which does not depend on the number of threads.

    A few calls run ahead of the reader. Calls that have not started when the reader stops are never run.
    """
    pool = ThreadPoolExecutor(threads)
    ahead: deque[Future[T]] = deque()
    try:
        for call in calls:
            ahead.append(pool.submit(call))
            if len(ahead) > threads + 1:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
