"""Parallel mapping of a function over chunks of data, in worker processes."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from graphkin.runtime.workers.context import CONTEXT

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class ProcessEnded(Exception):
    """A worker process ended unexpectedly, or could not be started."""

    def __init__(self) -> None:
        super().__init__("a worker process ended, or could not be started")


def map_chunks(
    function: Callable[[Chunk], Result], chunks: Iterable[Chunk], processes: int
) -> Generator[Result, None, None]:
    """Apply a function to chunks in worker processes, and yield the results in the order of the chunks.

    The processes are forked from a fork server, because forking this process, which may have threads, could deadlock
    its children. At most `processes` + 2 chunks are in progress or waiting to be yielded, which bounds the memory.
    Closing the generator waits for the chunks in progress and discards the others.

    Args:
        function: A function at the top level of a module. The fork server imports the module once for all processes.
        chunks: The chunks. The calling thread iterates over them.
        processes: Number of processes, at least 1.

    Raises:
        ProcessEnded: A process ended unexpectedly, for example because memory was short, or could not be started.
    """
    CONTEXT.set_forkserver_preload([function.__module__])
    executor = ProcessPoolExecutor(processes, CONTEXT)
    pending: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            pending.append(executor.submit(function, chunk))
            if len(pending) > processes + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise ProcessEnded from error
    finally:
        executor.shutdown(cancel_futures=True)
