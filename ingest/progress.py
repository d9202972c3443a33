"""Reporting progress: the null object that reports nothing, and a clock beside it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """What a pipeline tells about itself. This one listens to nothing; front ends override `stage`."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002
        """A stage of `total` units (None: unknown); the callable advances it."""
        yield lambda _: None


class Clock:
    """Seconds by stage."""

    def __init__(self, progress: Progress) -> None:
        self.times: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        with self._progress.stage(name, total, unit) as advance:
            yield advance
        self.times[name] = round(time.perf_counter() - begin, 3)
