"""Reporting progress: the null object that reports nothing."""

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
