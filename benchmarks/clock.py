"""Adjustable time of day for child processes, by preloading `clock.c`. The machine's clock does not change."""

import mmap
import shutil
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")
_SIZE = 8


class Clock:
    """A preloaded library compiled in a folder. Without a C compiler, `environment` is empty and no time can be set."""

    def __init__(self, folder: Path) -> None:
        self.environment: dict[str, str] = {}
        self._file = folder / "clock"
        compiler, library = shutil.which("cc"), folder / "clock.so"
        if compiler is not None:
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], check=True)
            self._file.write_bytes(bytes(_SIZE))
            self.environment = {"LD_PRELOAD": str(library), "BENCHMARK_CLOCK": str(self._file)}

    def set(self, seconds: int) -> None:
        """Shift the time of day of all running processes by this many seconds from the machine's clock."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), _SIZE) as mapped:
            mapped[:] = seconds.to_bytes(_SIZE, "little", signed=True)
