"""Tasks run by processes of this machine."""

import pickle
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing import Pipe
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar

from graphkin.ingest import forking
from graphkin.ingest.processes import Workers, end_with_parent
from graphkin.ingest.runners.base import Runner, Task
from graphkin.protocol.errors import StoreError
from graphkin.runtime.workers.context import CONTEXT
from graphkin.similarity.kind import Advance

T = TypeVar("T")

_TRIES = 4  # of a task


class Processes(Runner):
    """Runs as many tasks at a time as there are `workers`, and those again whose process was lost.

    preload: modules that tasks need, imported once for all processes. These end when the block is left, at once where
    that is by an error: a task half done has written nothing.
    """

    def __init__(self, workers: int, *preload: str) -> None:
        self._workers = workers
        self._preload = preload

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._stop.close()
        self._executor.shutdown(cancel_futures=True)
        self._stop.close()

    def _start(self) -> None:
        forking.start_fork_server(*self._preload)
        stopped, self._stop = Pipe(duplex=False)
        self._executor = Workers(self._workers, CONTEXT, initializer=end_with_parent, initargs=(stopped,))

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        results: dict[int, T] = {}
        lost: Counter[int] = Counter()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "task"
            path.write_bytes(pickle.dumps(task))  # once, for it may hold the plan of a stage
            while missing := [number for number in numbers if number not in results]:
                suspects = [number for number in missing if lost[number]]  # each alone, to tell which it is
                self._run(path, suspects[:1] or missing, lost, results, advance)
                often = [number for number, times in lost.items() if times == _TRIES]
                if often:
                    raise StoreError(
                        f"processes were lost at stage {stage}, {_TRIES} times at task {often[0]}",
                        hint="there may be too little memory for it",
                    )
        return [results[number] for number in numbers]

    def _run(
        self, task: Path, numbers: Sequence[int], lost: Counter[int], results: dict[int, T], advance: Advance
    ) -> None:
        """Run tasks until all have results or a process is lost, which also loses all tasks that were running."""
        waiting, running = deque(numbers), dict[Future[T], int]()
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    number = waiting.popleft()
                    running[self._executor.submit(_run, task, number, lost[number] > 0)] = number
                ended = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(ended, key=lambda future: future.exception() is not None):
                    results[running[future]] = future.result()
                    del running[future]
                    advance(1)
        except BrokenProcessPool:
            lost.update(running.values())
            self._executor.shutdown()
            self._start()


def _run(task: Path, number: int, is_retry: bool) -> Any:
    return _read(task)(number, is_retry)


@lru_cache(maxsize=1)
def _read(task: Path) -> Task[Any]:
    loaded: Task[Any] = pickle.loads(task.read_bytes())  # noqa: S301 - written by the process that we end with
    return loaded
