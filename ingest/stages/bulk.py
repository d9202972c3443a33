"""Tasks that write the files for an import by `neo4j-admin`."""

from functools import partial
from typing import TypeVar

from graphkin.ingest.runners.base import Runner
from graphkin.runtime.files import absolute_location
from graphkin.store import open_cached
from graphkin.store.base import Generation
from graphkin.store.neo4j.bulk import PartTask, TaskRunner
from graphkin.store.transfer import Stage

T = TypeVar("T")

_GenerationKey = tuple[str, str, str]


def task_runner(runner: Runner, location: str, generation: Generation, stage: Stage) -> TaskRunner:
    """Return a function for `write_import` that runs its tasks by a runner.

    Args:
        runner: Runs the tasks.
        location: Location of the store. Every task opens the store there.
        generation: The generation to write.
        stage: Reports the progress.

    Raises:
        InvalidInput, StoreError: As `Runner.run` raises them.
    """
    location_key = absolute_location(location), generation.collection, generation.id

    def run(name: str, task: PartTask[T], tasks: int) -> list[T]:
        with stage(name, tasks, "parts") as advance:
            return runner.run(name, partial(_run_part, location_key, task), range(tasks), advance)

    return run


def _run_part(location_key: _GenerationKey, task: PartTask[T], number: int, is_retry: bool) -> T:  # noqa: ARG001 - no part crashes its process
    return task(open_cached(*location_key), number)
