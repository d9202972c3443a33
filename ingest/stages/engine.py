"""The stages of one job, by whoever runs tasks: what an earlier run has finished is not done again."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from graphkin.ingest.progress import Clock
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages.job import Job

StageTask: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A pure function of its number and of what earlier stages wrote. What it writes goes by its number; it says of itself
what later stages are planned by."""


class Engine:
    """Has the stages of one job run."""

    def __init__(self, runner: Runner, job: Job, clock: Clock) -> None:
        self._runner, self._job, self._clock = runner, job, clock

    def run(self, stage: str, task: StageTask, tasks: int) -> list[dict[str, Any]]:
        """What the tasks of a stage say, by number. Those that an earlier run of the job has finished are not run.

        Raises as `Runner.run`.
        """
        with self._clock.stage(stage, tasks, "tasks") as advance:
            done = self._job.done(stage)
            missing = [number for number in range(tasks) if number not in done]
            advance(tasks - len(missing))
            if missing:
                self._runner.run(stage, partial(_finish, self._job, stage, task), missing, advance)
            return [self._job.said(stage, number) for number in range(tasks)]


def _finish(job: Job, stage: str, task: StageTask, number: int, again: bool) -> None:
    job.say(stage, number, task(replace(job, again=again), number))
