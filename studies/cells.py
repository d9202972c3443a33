"""Parts of a long measurement: kept on disk, so that a command that was killed goes on with the next; and timed."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


class Stopwatch:
    """Seconds since it was made: on the wall, and of this process's processor time, which other work changes little."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def read(self, scale: float = 1.0) -> Cell:
        """Both, times `scale`."""
        return {
            "seconds": scale * (time.perf_counter() - self._wall),
            "processor_seconds": scale * (time.process_time() - self._processor),
        }


def finished(path: Path, make: Callable[[], Cell]) -> Cell:
    """What the JSON file holds; where there is none yet, what `make` returns, which is written to it whole."""
    if path.exists():
        found: Cell = json.loads(path.read_text())
        return found
    made = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".partial")
    draft.write_text(json.dumps(made, indent=1))
    draft.rename(path)
    print(f"finished {path}", flush=True)
    return made


def minutes(cells: Sequence[Cell], share: float = 1) -> str:
    """What they took in all, divided by `share`: wall, and in brackets processor time, where all cells know it."""

    def total(name: str) -> str:
        known = all(name in cell for cell in cells)
        return f"{sum(cell[name] for cell in cells) / 60 / share:.1f}" if cells and known else ""

    wall, processor = total("seconds"), total("processor_seconds")
    return f"{wall} ({processor})" if processor else wall
