"""Tasks run by processes of this machine."""

from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import Pipe, get_context
from typing import Self, TypeVar

from graphkin.ingest import forking, processes
from graphkin.ingest.runners.base import Runner, Task
from graphkin.protocol.errors import StoreError
from graphkin.similarity.kind import Advance

T = TypeVar("T")

_TRIES = 4  # of a task


class Processes(Runner):
    """Runs as many tasks at a time as there are `workers`, and those again whose process was lost.

    preload: modules that tasks need, imported once. Processes start when this is entered and end when it is left, at
    once where that is by an error: a task half done has written nothing.
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
        forking.begin("graphkin.ingest.stages.pipeline", *self._preload)
        stopped, self._stop = Pipe(duplex=False)
        self._executor = processes.Processes(
            self._workers, get_context("forkserver"), initializer=processes.end_with_parent, initargs=(stopped,)
        )

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        told: dict[int, T] = {}
        lost: Counter[int] = Counter()
        while missing := [number for number in numbers if number not in told]:
            self._run(task, missing, lost, told, advance)
            often = [number for number, times in lost.items() if times == _TRIES]
            if often:
                raise StoreError(
                    f"processes were lost at stage {stage}, the last of them {_TRIES} times at task {often[0]}",
                    hint="there may be too little memory for so many workers; the same command, started again, goes on",
                )
        return [told[number] for number in numbers]

    def _run(
        self, task: Task[T], numbers: Sequence[int], lost: Counter[int], told: dict[int, T], advance: Advance
    ) -> None:
        """Until all are told of, or a process is lost: then all tasks are that were running."""
        waiting, running = deque(numbers), dict[Future[T], int]()
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    number = waiting.popleft()
                    running[self._executor.submit(task, number, lost[number] > 0)] = number
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    told[running[ended]] = ended.result()
                    del running[ended]
                    advance(1)
        except BrokenProcessPool:
            lost.update(running.values())
            self._executor.shutdown()
            self._start()
