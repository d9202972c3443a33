"""Runner port: execution of tasks on one machine or many."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from graphkin.similarity.kind import Advance

T = TypeVar("T")

Task: TypeAlias = Callable[[int, bool], T]
"""A pure function of its number, pickled and sent to the process that runs it.

It must write its output atomically, and write the same output each time. Its second argument is whether a process that
tried the task before was lost.
"""


class Runner(ABC):
    """Runs the tasks of a stage in any order and in any process, and retries tasks whose process was lost."""

    @abstractmethod
    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        """Run the tasks with these numbers, and return their results in the same order.

        Args:
            stage: Name of the stage, for errors and displays.
            task: The function to run.
            numbers: The numbers to call it with.
            advance: Called with the number of tasks that have ended since the last call.

        Raises:
            InvalidInput: The first that a task raises.
            StoreError: A task raised it, the process of a task was lost repeatedly, or a task failed otherwise. A
                runner may instead let that task's exception pass.
        """
