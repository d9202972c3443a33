"""Progress reports of a pipeline, and a clock for the times of its stages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_FIRST_NOTE_AFTER = 2.0  # seconds
_NOTE_PERIOD = 4.0  # seconds
_COMPILING = "compiling for this processor: half a minute at most, and once on this machine"


def duration(seconds: float) -> str:
    """Return a duration as text: "0.4 s", "12 s", "3 min 12 s" or "2 h 5 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Progress:
    """Receives the progress reports of a pipeline. This class discards them. Front ends override its methods."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002
        """Report a stage, and yield a function that reports the number of units completed since the last call.

        Args:
            name: Name of the stage.
            total: Number of units; None if it is unknown.
            unit: Name of the units, in the plural.
        """
        yield lambda _: None

    def note(self, text: str) -> None:
        """Report one sentence that the user should read while waiting."""


@contextmanager
def run_alongside(function: Callable[[Event], None]) -> Iterator[None]:
    """Run a function in a thread while the block runs. Its argument is an event that is set when the block ends."""
    done = Event()
    thread = Thread(target=function, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def report_compilation(
    progress: Progress, first_note_after: float = _FIRST_NOTE_AFTER, note_period: float = _NOTE_PERIOD
) -> Iterator[None]:
    """Report that kernels are being compiled while the block runs, if it takes long.

    Args:
        progress: Receives the notes.
        first_note_after: Seconds until the first note. Loading kernels that were compiled before takes less.
        note_period: Seconds between further notes.
    """

    def report(done: Event) -> None:
        begin = time.monotonic()
        if done.wait(first_note_after):
            return
        progress.note(_COMPILING)
        while not done.wait(note_period):
            progress.note(f"still compiling, {duration(time.monotonic() - begin)}")

    with run_alongside(report):
        yield


class Clock:
    """Reports the progress of each stage, and measures its time.

    Attributes:
        times: Seconds by stage.
        progress: Receives the reports.
    """

    def __init__(self, progress: Progress) -> None:
        self.times: dict[str, float] = {}
        self.progress = progress

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        with self.progress.stage(name, total, unit) as advance:
            yield advance
        self.times[name] = round(time.perf_counter() - begin, 3)
