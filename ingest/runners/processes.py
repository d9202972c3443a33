"""A runner that runs tasks in processes of this machine."""

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

_MAX_ATTEMPTS = 4


class Processes(Runner):
    """Runs as many tasks at a time as there are worker processes.

    As a context manager, it starts the processes, and ends them when the block is left. If an error leaves the block,
    the processes end at once. An unfinished task has written nothing.

    Args:
        workers: Number of processes.
        preload: Names of the modules that tasks need, which are imported once for all processes.
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
            path.write_bytes(pickle.dumps(task))  # only once, because the task can hold the large plan of a stage
            while missing := [number for number in numbers if number not in results]:
                # Tasks that ran when a process was lost are suspects. Each then runs alone, to find the culprit.
                suspects = [number for number in missing if lost[number]]
                self._run_until_loss(path, suspects[:1] or missing, lost, results, advance)
                lost_too_often = [number for number, times in lost.items() if times == _MAX_ATTEMPTS]
                if lost_too_often:
                    raise StoreError(
                        f"worker processes ended {_MAX_ATTEMPTS} times at task {lost_too_often[0]} of stage {stage}",
                        hint="free memory, or use fewer --workers; then start the same command again",
                    )
        return [results[number] for number in numbers]

    def _run_until_loss(
        self, task: Path, numbers: Sequence[int], lost: Counter[int], results: dict[int, T], advance: Advance
    ) -> None:
        """Run tasks until all have results, or until a process is lost. All tasks running then count as lost.

        Args:
            task: File with the pickled function.
            numbers: Numbers of the tasks to run.
            lost: Number of lost processes by task, which is updated.
            results: Results by task, which are added.
            advance: Advances the progress bar.
        """
        waiting, running = deque(numbers), dict[Future[T], int]()
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    number = waiting.popleft()
                    running[self._executor.submit(_run_task, task, number, lost[number] > 0)] = number
                ended = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(ended, key=lambda future: future.exception() is not None):
                    results[running[future]] = future.result()
                    del running[future]
                    advance(1)
        except BrokenProcessPool:
            lost.update(running.values())
            self._executor.shutdown()
            self._start()


def _run_task(task: Path, number: int, is_retry: bool) -> Any:
    return _read_task(task)(number, is_retry)


@lru_cache(maxsize=1)
def _read_task(task: Path) -> Task[Any]:
    task_function: Task[Any] = pickle.loads(task.read_bytes())  # noqa: S301 - written by the parent process
    return task_function
