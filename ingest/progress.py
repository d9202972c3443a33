"""Reporting progress: the null object that reports nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """What a pipeline tells about itself. This one listens to nothing; front ends override its methods."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002
        """A stage of `total` units (None: unknown); the callable advances it."""
        yield lambda _: None

    def note(self, text: str) -> None:
        """Something that whoever waits should know, in one sentence."""
