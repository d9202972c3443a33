"""Handing out tasks: Spark runs them, and runs them again where an executor is lost."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pyspark import SparkContext

from graphkin.ingest.progress import Clock
from graphkin.ingest.spark.job import Job

Task: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A pure function of its number and of what earlier stages wrote. What it writes goes by its number; it says of itself
what later stages are planned by."""


class Engine:
    """Runs the stages of one job."""

    def __init__(self, context: SparkContext, job: Job, clock: Clock) -> None:
        self._context, self._job, self._clock = context, job, clock

    def run(self, stage: str, task: Task, tasks: int) -> list[dict[str, Any]]:
        """What the tasks of a stage say, by number. Those that an earlier run of the job has finished are not run."""
        with self._clock.stage(stage, tasks, "tasks") as advance:
            done = self._job.done(stage)
            missing = [number for number in range(tasks) if number not in done]
            advance(tasks - len(missing))
            if missing:
                self._context.setJobDescription(stage)
                self._context.parallelize(missing, len(missing)).foreach(_finished(self._job, stage, task))
                advance(len(missing))
            return [self._job.said(stage, number) for number in range(tasks)]


def _finished(job: Job, stage: str, task: Task) -> Callable[[int], None]:
    def finish(number: int) -> None:
        job.say(stage, number, task(job, number))

    return finish
