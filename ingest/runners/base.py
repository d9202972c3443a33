"""The interface of runners, which run the tasks of a stage on one machine or on many."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from graphkin.similarity.kind import Advance

T = TypeVar("T")

Task: TypeAlias = Callable[[int, bool], T]
"""A task: a function that is pickled and sent to the process that runs it.

Its first argument is the number of the task. Its second argument is True if a process that ran the task before was
lost. The function must write its files atomically. If it runs again, it must write the same files and return the same
result.
"""


class Runner(ABC):
    """Runs the tasks of a stage.

    Order:
        Tasks run in any order, in any process, and at the same time.

    Lost processes:
        A task whose process was lost, for example because it ran out of memory, runs again a few times.
    """

    @abstractmethod
    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        """Run tasks, and return their results in the order of `numbers`.

        Args:
            stage: Name of the stage, for errors and displays.
            task: The function to run.
            numbers: Numbers of the tasks.
            advance: Called with the number of tasks that have ended since the last call.

        Raises:
            InvalidInput: A task raised it. If several did, the first one is raised.
            StoreError: A task raised it, or the process of a task was lost too often. A runner may also raise it if a
                task raised any other exception, or pass that exception on.
        """
