"""Reporting progress: the null object that reports nothing, and a clock beside it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_SILENCE = 2.0  # seconds; what was compiled before is loaded sooner
_AGAIN = 4.0  # seconds
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
def beside(tell: Callable[[Event], None]) -> Iterator[None]:
    """`tell` runs in a thread of its own until the block is done, which the event says."""
    done = Event()
    teller = Thread(target=tell, args=(done,), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


@contextmanager
def compiling(progress: Progress, silence: float = _SILENCE, again: float = _AGAIN) -> Iterator[None]:
    """Kernels are compiled in the block, or loaded where they were before. What takes longer than `silence` is told,
    and then every few seconds that it goes on."""

    def tell(done: Event) -> None:
        begin = time.monotonic()
        if done.wait(silence):
            return
        progress.note(_COMPILING)
        while not done.wait(again):
            progress.note(f"still compiling, {time.monotonic() - begin:.0f} s")

    with beside(tell):
        yield


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
