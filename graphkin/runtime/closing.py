"""Objects that release files and connections at the end of a `with` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closeable(ABC):
    """An object that the end of a `with` block closes."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
