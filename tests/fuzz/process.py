"""A process that is watched from outside: what it says, and how much memory it and all that it starts hold."""

import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks.machine import proportional

COMMAND = Path(sys.executable).with_name("graphkin")

PRIVATE = re.compile(r"/(usr|home|root|tmp)/|site-packages|\.(cpp|hpp|h|pyx?|so)\b|Traceback|Violation")
"""What nobody outside is told: paths, and what libraries say of their own code."""

_EVERY = 0.5  # seconds between two looks at the memory, each of which takes the kernel some 50 ms


class Watched:
    """A running command. `peak`: the most memory that it and its descendants held at one time, what they share once."""

    def __init__(self, command: Sequence[str | Path], log: Path, **how: Any) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, **how
            )
        self.peak = 0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="watcher")

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()
        with self.process:
            self.process.terminate()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        """All of its standard error up to now."""
        return self._log.read_text(errors="replace")

    def line(self) -> str:
        """The next line of its standard output; "" when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, line: str) -> None:
        """A line for its standard input."""
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY):
            self.peak = max(self.peak, proportional(self.process.pid))
