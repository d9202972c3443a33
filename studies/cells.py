"""Cells: parts of a long measurement, saved as they finish so that a killed command can continue, and timed."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


class Stopwatch:
    """Wall-clock and processor seconds since its creation.

    Processor time counts this process only, and hardly depends on other load.
    """

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def read(self, scale: float = 1.0) -> Cell:
        """Return both times, multiplied by `scale`."""
        return {
            "seconds": scale * (time.perf_counter() - self._wall),
            "processor_seconds": scale * (time.process_time() - self._processor),
        }


def load_or_make(path: Path, make: Callable[[], Cell]) -> Cell:
    """Return the content of the JSON file. If it does not exist, call `make` and write its result atomically first."""
    if path.exists():
        cell: Cell = json.loads(path.read_text())
        return cell
    result = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".partial")
    draft.write_text(json.dumps(result, indent=1))
    draft.rename(path)
    print(f"finished {path}", flush=True)
    return result


def minutes(cells: Sequence[Cell], share: float = 1) -> str:
    """Format the total wall time of cells divided by `share`, with processor time in brackets if all cells have it."""

    def total(name: str) -> str:
        is_complete = all(name in cell for cell in cells)
        return f"{sum(cell[name] for cell in cells) / 60 / share:.1f}" if cells and is_complete else ""

    wall, processor = total("seconds"), total("processor_seconds")
    return f"{wall} ({processor})" if processor else wall
