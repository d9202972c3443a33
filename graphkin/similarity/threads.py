"""Function calls in a thread pool, with results in the order of the calls."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_in_order(calls: Iterable[Callable[[], T]], threads: int) -> Generator[T]:
    """Run functions in a thread pool, and yield their results in the order of `calls`.

    A few functions run ahead of the caller. If the caller stops iterating, functions that have not started are never
    run.

    Args:
        calls: Functions without arguments.
        threads: Number of threads.
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
