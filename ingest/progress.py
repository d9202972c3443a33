"""Reporting progress: the null object that reports nothing, and a clock beside it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_SILENCE = 2.0  # seconds; what was compiled before is loaded sooner
_COMPILING = "compiling for this processor: half a minute at most, and once on this machine"


class Progress:
    """What a pipeline tells about itself. This one listens to nothing; front ends override its methods."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002
        """A stage of `total` units (None: unknown); the callable advances it."""
        yield lambda _: None

    def note(self, text: str) -> None:
        """Something that whoever waits should know, in one sentence."""


@contextmanager
def compiling(progress: Progress, silence: float = _SILENCE) -> Iterator[None]:
    """Kernels are compiled in the block, or loaded where they were before. What takes longer than `silence` is told."""
    told = Timer(silence, progress.note, [_COMPILING])
    told.daemon = True
    told.start()
    try:
        yield
    finally:
        told.cancel()


class Clock:
    """Seconds by stage."""

    def __init__(self, progress: Progress) -> None:
        self.times: dict[str, float] = {}
        self.progress = progress

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        with self.progress.stage(name, total, unit) as advance:
            yield advance
        self.times[name] = round(time.perf_counter() - begin, 3)
