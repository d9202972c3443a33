"""Stand-ins for a join whose process crashes.

The module imports only the standard library, so that a process with it starts quickly.
"""

import os
import signal
from pathlib import Path


class CrashAtFirst:
    """A join that ends its process by a segmentation fault `crashes` times, and then reports 0.5 s and 7 pairs.

    It records each try by a file in its folder.
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
    """Fail as a join that raises an exception."""
    raise ValueError("no join")
