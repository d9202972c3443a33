"""Handing out tasks: Spark runs them, and runs them again where an executor is lost."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from graphkin.ingest.progress import Clock, beside
from graphkin.ingest.spark.job import Job
from graphkin.protocol.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from pyspark import SparkContext

Task: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A pure function of its number and of what earlier stages wrote. What it writes goes by its number; it says of itself
what later stages are planned by."""

T = TypeVar("T")

_LOOKED = 0.5  # seconds from one look at how far Spark is to the next

_RAISED = re.compile(r"^(?!org\.|java\.)(\w+\.)*\w+(Error|Exception|Damaged): ")


class Engine:
    """Runs the stages of one job."""

    def __init__(self, context: "SparkContext", job: Job, clock: Clock) -> None:
        self._context, self._job, self._clock = context, job, clock

    def run(self, stage: str, task: Task, tasks: int) -> list[dict[str, Any]]:
        """What the tasks of a stage say, by number. Those that an earlier run of the job has finished are not run.

        Raises the first `InvalidInput` of a task, and `StoreError` where Spark gives up.
        """
        with self._clock.stage(stage, tasks, "tasks") as advance:
            done = self._job.done(stage)
            missing = [number for number in range(tasks) if number not in done]
            advance(tasks - len(missing))
            if missing:
                with _watched(self._context, len(missing), advance):
                    spread(self._context, stage, partial(_finish, self._job, stage, task), missing)
            return [self._job.said(stage, number) for number in range(tasks)]


@contextmanager
def _watched(context: "SparkContext", tasks: int, advance: Callable[[int], object]) -> Iterator[None]:
    """The block runs so many tasks, and nothing else does; `advance` is told of them as they end."""
    tracker, told = context.statusTracker(), 0

    def tell(done: Event) -> None:
        nonlocal told
        while not done.wait(_LOOKED):
            with suppress(Exception):  # of Java: the block will say so
                stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
                ended = sum(each.numCompletedTasks for each in stages if each is not None)
                advance(max(0, ended - told))
                told = max(told, ended)

    with beside(tell):
        yield
    advance(tasks - told)


def spread(context: "SparkContext", stage: str, task: Callable[[int], T], numbers: Sequence[int]) -> list[T]:
    """What a task says of each of these numbers. Raises as `Engine.run`."""
    context.setJobDescription(stage)
    try:
        told = context.parallelize(numbers, len(numbers)).map(_refusing(task)).collect()
    except Exception as error:  # of Java
        lines = str(error).splitlines()
        raised = next((line for line in lines if _RAISED.match(line)), lines[0])
        raise StoreError(
            f"Spark gave up at stage {stage}: {raised[:500]}",
            hint="start the same command again: it goes on with the tasks that were not finished",
        ) from error
    for refused in (each for each in told if isinstance(each, _Refused)):
        raise InvalidInput(**vars(refused))
    return [each for each in told if not isinstance(each, _Refused)]


@dataclass(frozen=True)
class _Refused:
    """What is wrong with the input: trying again would not help."""

    detail: str
    given: Any
    expected: str | None
    hint: str | None


def _refusing(task: Callable[[int], T]) -> Callable[[int], T | _Refused]:
    def refusing(number: int) -> T | _Refused:
        try:
            return task(number)
        except InvalidInput as error:
            return _Refused(error.detail, error.given, error.expected, error.hint)

    return refusing


def _finish(job: Job, stage: str, task: Task, number: int) -> None:
    from pyspark import TaskContext

    context = TaskContext.get()
    again = context is not None and context.attemptNumber() > 0
    job.say(stage, number, task(replace(job, again=again), number))
