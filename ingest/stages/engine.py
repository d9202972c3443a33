"""Engine that runs the stages of one job and skips tasks that an earlier run finished."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from graphkin.ingest.progress import Clock
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages.job import Job

StageTask: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A pure function of its number and of the output of earlier stages.

Its output files are named after its number. It returns a result that later stages use for planning.
"""


class Engine:
    """Runs the stages of one job."""

    def __init__(self, runner: Runner, job: Job, clock: Clock) -> None:
        self._runner, self._job, self._clock = runner, job, clock

    def run(self, stage: str, task: StageTask, tasks: int) -> list[dict[str, Any]]:
        """Run the unfinished tasks of a stage, and return the results of all of its tasks by number.

        Raises:
            InvalidInput, StoreError: As `Runner.run` raises them.
        """
        with self._clock.stage(stage, tasks, "tasks") as advance:
            finished_tasks = self._job.finished_tasks(stage)
            missing = [number for number in range(tasks) if number not in finished_tasks]
            advance(tasks - len(missing))
            if missing:
                self._runner.run(stage, partial(_finish, self._job, stage, task), missing, advance)
            return [self._job.result(stage, number) for number in range(tasks)]


def _finish(job: Job, stage: str, task: StageTask, number: int, is_retry: bool) -> None:
    job.save_result(stage, number, task(replace(job, is_retry=is_retry), number))
