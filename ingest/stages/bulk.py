"""Files for `neo4j-admin` import, written by tasks."""

from functools import partial
from typing import TypeVar

from graphkin.ingest.runners.base import Runner
from graphkin.runtime.files import absolute_location
from graphkin.store import open_cached
from graphkin.store.base import Generation
from graphkin.store.neo4j.bulk import PartTask, TaskRunner
from graphkin.store.transfer import Stage

T = TypeVar("T")

Where = tuple[str, str, str]


def task_runner(runner: Runner, location: str, generation: Generation, stage: Stage) -> TaskRunner:
    """Return the callback for `write_import` that runs a task for each part.

    Every task opens the generation of the store at `location`.

    Raises:
        InvalidInput, StoreError: As `Runner.run` raises them.
    """
    location_key = absolute_location(location), generation.collection, generation.id

    def run(name: str, task: PartTask[T], tasks: int) -> list[T]:
        with stage(name, tasks, "parts") as advance:
            return runner.run(name, partial(_on, location_key, task), range(tasks), advance)

    return run


def _on(location_key: Where, task: PartTask[T], number: int, is_retry: bool) -> T:  # noqa: ARG001 - no part crashes its process
    return task(open_cached(*location_key), number)
