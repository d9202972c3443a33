"""The port of whoever runs tasks, on one machine or many."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from graphkin.similarity.kind import Advance

T = TypeVar("T")

Task: TypeAlias = Callable[[int, bool], T]
"""A pure function of its number, pickled to wherever it runs: what it writes it writes whole or not at all, and equal
each time. It is told, too, whether a process that tried it before was lost."""


class Runner(ABC):
    """Runs the tasks of a stage in any order, at any place, and those again that were lost."""

    @abstractmethod
    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        """What a task says of each of these numbers, in their order. `advance` is told of tasks as they end.

        Raises the first `InvalidInput` that a task raises; where one fails otherwise, what it raises or a `StoreError`
        that tells of it; and `StoreError` where one is lost time and again.
        """
