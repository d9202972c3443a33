"""Work on chunks of molecules in worker processes."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TypeVar

from graphkin.protocol.errors import StoreError
from graphkin.runtime.workers.chunks import ProcessEnded, map_chunks

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def map_in_processes(
    function: Callable[[Chunk], Result], chunks: Iterable[Chunk], processes: int, results: str
) -> Generator[Result, None, None]:
    """Yield the results of a function of each chunk, as `map_chunks` does.

    Args:
        function: A function at the top level of a module.
        chunks: The chunks.
        processes: The number of worker processes.
        results: Name of the results in the error, in the plural.

    Raises:
        StoreError: The operating system ended a worker process, for example for lack of memory.
    """
    try:
        with closing(map_chunks(function, chunks, processes)) as mapped:
            yield from mapped
    except ProcessEnded as error:
        raise StoreError(
            f"the {results} were not computed: {error}", hint="free memory, or use fewer workers"
        ) from error
