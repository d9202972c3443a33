"""Handing out tasks: Spark runs them, and runs them again where an executor is lost."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from graphkin.ingest.progress import Clock
from graphkin.ingest.spark.job import Job
from graphkin.protocol.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from pyspark import SparkContext

Task: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A pure function of its number and of what earlier stages wrote. What it writes goes by its number; it says of itself
what later stages are planned by."""

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
                self._spread(stage, task, missing)
                advance(len(missing))
            return [self._job.said(stage, number) for number in range(tasks)]

    def _spread(self, stage: str, task: Task, numbers: list[int]) -> None:
        self._context.setJobDescription(stage)
        spread = self._context.parallelize(numbers, len(numbers))
        try:
            refused = spread.map(_finished(self._job, stage, task)).collect()
        except Exception as error:  # of Java
            lines = str(error).splitlines()
            told = next((line for line in lines if _RAISED.match(line)), lines[0])
            raise StoreError(
                f"Spark gave up at stage {stage}: {told[:500]}",
                hint="start the same command again: it goes on with the tasks that were not finished",
            ) from error
        for context in refused:
            if context is not None:
                raise InvalidInput(**context)


def _finished(job: Job, stage: str, task: Task) -> Callable[[int], dict[str, Any] | None]:
    def finish(number: int) -> dict[str, Any] | None:
        """What is wrong with the input, if anything is: trying again would not help."""
        try:
            said = task(job, number)
        except InvalidInput as error:
            return {"detail": error.detail, "given": error.given, "expected": error.expected, "hint": error.hint}
        job.say(stage, number, said)
        return None

    return finish
