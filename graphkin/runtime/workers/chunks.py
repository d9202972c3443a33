"""Functions applied to chunks of data by worker processes."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from graphkin.runtime.workers.context import CONTEXT

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class ProcessEnded(Exception):
    """A worker process ended, or could not be started."""

    def __init__(self) -> None:
        super().__init__("a worker process ended, or could not be started")


def map_chunks(
    function: Callable[[Chunk], Result], chunks: Iterable[Chunk], processes: int
) -> Generator[Result, None, None]:
    """Apply a function to chunks in worker processes, and yield the results in the order of the chunks.

    The processes are forked from a fork server, not from this process, whose threads could deadlock its children. At
    most `processes` + 2 chunks are submitted ahead of the result that is read. Closing the generator waits for the
    chunks that processes work on, and drops the others.

    Args:
        function: of a module's top level. Its module is imported once for all processes.
        chunks: read in the calling thread.
        processes: at least one.

    Raises:
        ProcessEnded: if the system ends a process, for instance because memory is short.
    """
    CONTEXT.set_forkserver_preload([function.__module__])
    executor = ProcessPoolExecutor(processes, CONTEXT)
    ahead: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            ahead.append(executor.submit(function, chunk))
            if len(ahead) > processes + 1:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    except BrokenProcessPool as error:
        raise ProcessEnded from error
    finally:
        executor.shutdown(cancel_futures=True)
