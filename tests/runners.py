"""A runner of tasks for tests."""

from collections.abc import Sequence
from typing import TypeVar

from graphkin.ingest.runners.base import Runner, Task
from graphkin.similarity.kind import Advance

T = TypeVar("T")


class InThisProcess(Runner):
    """Runs tasks one after the other, in the process of the test, which can replace what they call."""

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        return [task(number, False) for number in numbers]
