"""Work that several threads do ahead of whoever reads what comes of it."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_order(calls: Iterable[Callable[[], T]], threads: int) -> Generator[T]:
    """What the calls return, in their order, whatever the number of threads.

    A few are made ahead of the one being read. Those that have not begun when reading ends never are.
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
