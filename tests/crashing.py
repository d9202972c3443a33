"""Stand-ins for a join whose process crashes. Needs the standard library alone, so that a process starts quickly."""

import os
import signal
from pathlib import Path


class CrashAtFirst:
    """A join that ends its process by a segmentation fault so many times, then needs 0.5 s and gives 7 pairs.

    It notes each try by a file in its folder.
    """

    def __init__(self, folder: Path, crashes: int) -> None:
        self._folder = folder
        self._crashes = crashes

    def __call__(self, *_: object) -> tuple[float, int]:
        tries = len(list(self._folder.iterdir()))
        (self._folder / str(tries)).touch()
        if tries < self._crashes:
            os.kill(os.getpid(), signal.SIGSEGV)
        return 0.5, 7


def fail(*_: object) -> tuple[float, int]:
    """A join with an error of its own."""
    raise ValueError("no join")
