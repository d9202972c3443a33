"""Progress reporting: a null object that reports nothing, and a clock for stage times."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_SILENCE = 2.0  # seconds; kernels that were compiled before load faster than this
_AGAIN = 4.0  # seconds between two notes
_COMPILING = "compiling for this processor: half a minute at most, and once on this machine"


class Progress:
    """Progress reports of a pipeline. This class discards them, and front ends override its methods."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002
        """Report a stage of `total` units (None if unknown), and yield a function that advances it."""
        yield lambda _: None

    def note(self, text: str) -> None:
        """Report one sentence that the user should read while waiting."""


@contextmanager
def run_alongside(tell: Callable[[Event], None]) -> Iterator[None]:
    """Run `tell` in a thread while the block runs. The event that it gets is set when the block ends."""
    done = Event()
    thread = Thread(target=tell, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def report_compilation(progress: Progress, silence: float = _SILENCE, again: float = _AGAIN) -> Iterator[None]:
    """Report that kernels are being compiled in the block, if that takes longer than `silence` seconds.

    Loading kernels that were compiled before is faster. After the first note, another follows every `again` seconds.
    """

    def tell(done: Event) -> None:
        begin = time.monotonic()
        if done.wait(silence):
            return
        progress.note(_COMPILING)
        while not done.wait(again):
            progress.note(f"still compiling, {time.monotonic() - begin:.0f} s")

    with run_alongside(tell):
        yield


class Clock:
    """Stopwatch that records the seconds of each stage."""

    def __init__(self, progress: Progress) -> None:
        self.times: dict[str, float] = {}
        self.progress = progress

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        with self.progress.stage(name, total, unit) as advance:
            yield advance
        self.times[name] = round(time.perf_counter() - begin, 3)
