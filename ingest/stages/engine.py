"""The engine, which runs the stages of one job, and skips tasks that an earlier run finished."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from socket import gethostname
from typing import Any, TypeAlias

from graphkin.ingest.progress import Clock
from graphkin.ingest.provenance import versions
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages.job import Job
from graphkin.protocol.errors import InvalidInput

StageTask: TypeAlias = Callable[[Job, int], dict[str, Any]]
"""A task of a stage: a function of the job and of the number of the task.

It reads files of earlier stages, writes files that are named after its number, and returns a result, as JSON values,
for the planning of later stages.
"""


class Engine:
    """Runs the stages of one job.

    Args:
        runner: Runs the tasks.
        job: The job.
        clock: Measures and reports the progress.
    """

    def __init__(self, runner: Runner, job: Job, clock: Clock) -> None:
        self._runner, self._job, self._clock = runner, job, clock

    def run(self, stage: str, task: StageTask, tasks: int) -> list[dict[str, Any]]:
        """Run the unfinished tasks of a stage, and return the results of all its tasks in the order of their numbers.

        Args:
            stage: Name of the stage.
            task: The function to run.
            tasks: Number of tasks.

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
    _require_versions(job)
    job.save_result(stage, number, task(replace(job, is_retry=is_retry), number))


def _require_versions(job: Job) -> None:
    """Check that the machine of a task has the libraries of the machine that started the job.

    Raises:
        InvalidInput: A version differs.
    """
    here = versions(job.recipe)
    differing = [name for name, version in job.versions.items() if here.get(name) != version]
    if differing:
        raise InvalidInput(
            f"the machine {gethostname()} has other versions of libraries than the machine of the command",
            given=", ".join(f"{name} {here.get(name)}" for name in differing),
            expected=", ".join(f"{name} {job.versions[name]}" for name in differing),
            hint="install the same environment on every machine, for example from the same image",
        )
