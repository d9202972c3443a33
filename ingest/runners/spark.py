"""A runner that runs tasks on a Spark cluster."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event
from typing import TypeAlias, TypeVar

from pyspark import SparkConf, SparkContext, TaskContext

from graphkin.ingest.progress import run_alongside
from graphkin.ingest.runners.base import Runner, Task
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.similarity.kind import Advance

T = TypeVar("T")

_DEFAULTS = {
    "spark.app.name": "graphkin",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",  # the UI would listen on every address
    "spark.ui.showConsoleProgress": "false",
}

_LOCAL = re.compile(r"local(\[(?P<threads>\w+|\*)\])?")
_MAX_ATTEMPTS = 4  # set for local Spark too, whose default of one would end the job if a record crashes its process
_POLL_PERIOD = 0.5  # seconds between two queries of Spark's progress

_EXCEPTION_LINE = re.compile(r"^(?!org\.|java\.)(\w+\.)*\w+(Error|Exception|Damaged): ")


@contextmanager
def session(master: str | None) -> Iterator["Spark"]:
    """Start a Spark application, and stop it at the end of the block.

    Settings in Spark's own configuration override those of this module.

    Args:
        master: Spark's master URL; None for the one of `spark-submit`.

    Raises:
        InvalidInput: Spark does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf()
    if master is not None:
        local = _LOCAL.fullmatch(master)
        conf.setMaster(f"local[{local['threads'] or 1},{_MAX_ATTEMPTS}]" if local else master)
    for name, value in _DEFAULTS.items():
        conf.setIfMissing(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about pandas, which this runner does not use
            context = SparkContext(conf=conf)
    except Exception as error:  # Java raised it, or was not found
        raise InvalidInput(
            f"Spark cannot be started: {str(error).splitlines()[0]}",
            given=master,
            expected="local[N], spark://HOST:PORT or another master of Spark, and Java 17",
            hint="check --master, and that JAVA_HOME names an installed Java 17",
        ) from error
    try:
        yield Spark(context)
    finally:
        context.stop()


class Spark(Runner):
    """Runs tasks on the executors of a Spark application."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        self._context.setJobDescription(stage)
        try:
            with self._report_progress(len(numbers), advance):
                results = self._context.parallelize(numbers, len(numbers)).map(_catch_refusals(task)).collect()
        except Exception as error:  # raised by Java
            lines = str(error).splitlines()
            raised = next((line for line in lines if _EXCEPTION_LINE.match(line)), lines[0])
            raise StoreError(
                f"Spark failed at stage {stage}: {raised[:500]}",
                hint="correct the cause, then start the same command again: finished tasks are not repeated",
            ) from error
        for refused in (each for each in results if isinstance(each, _RefusedInput)):
            raise refused.error
        return [each for each in results if not isinstance(each, _RefusedInput)]

    @contextmanager
    def _report_progress(self, tasks: int, advance: Advance) -> Iterator[None]:
        """Report the progress of `tasks` tasks while the block runs them.

        No other job may run on the application in the meantime.
        """
        tracker, reported = self._context.statusTracker(), 0

        def poll(done: Event) -> None:
            nonlocal reported
            while not done.wait(_POLL_PERIOD):
                with suppress(Exception):  # raised by Java; the block will raise it as well
                    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
                    ended = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                    advance(max(0, ended - reported))
                    reported = max(reported, ended)

        with run_alongside(poll):
            yield
        advance(tasks - reported)


@dataclass(frozen=True)
class _RefusedInput:
    """An input error that a task returns instead of raising it, because Spark would retry the task."""

    error: InvalidInput


_SparkTask: TypeAlias = Callable[[int], T | _RefusedInput]


def _catch_refusals(task: Task[T]) -> _SparkTask[T]:
    def run_task(number: int) -> T | _RefusedInput:
        context = TaskContext.get()
        is_retry = context is not None and context.attemptNumber() > 0
        try:
            return task(number, is_retry)
        except InvalidInput as error:
            return _RefusedInput(error)

    return run_task
