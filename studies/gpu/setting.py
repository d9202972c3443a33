"""The machine, the folders and the time of one run."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from studies.cells import Cell

MOLECULES = 300
"""The number of molecules of a tiny run."""


class Piece(NamedTuple):
    """A part of a job that one process does, and that a later run need not repeat.

    unit: the result that it belongs to. parts: the names of the cells that it makes. after: a piece that must be done
    before, as (unit, part). core: it needs one core and no GPU.
    """

    unit: str
    parts: tuple[str, ...]
    after: tuple[str, str] | None = None
    core: bool = False


Parts = Iterator[tuple[str, Cell]]
"""Names of parts and their cells, as they are finished; fewer than there are parts where the time is over."""


@dataclass(frozen=True)
class Setting:
    """Everything that a piece knows about the run.

    work: the folder for data and unfinished runs. device: cuda or cpu. workers: the number of cores.
    deadline: the time, in seconds of `time.time`, at which pieces stop. tiny: a few hundred molecules, a few steps.
    """

    work: Path
    device: str
    workers: int
    deadline: float
    tiny: bool = False

    @property
    def data(self) -> Path:
        return self.work / "data"

    @property
    def is_over(self) -> bool:
        return time.time() >= self.deadline

    def cell(self, job: str, unit: str, part: str) -> Path:
        """Return the file of a finished part."""
        return self.work / job / "cells" / unit / f"{part}.json"

    def run(self, job: str, unit: str) -> Path:
        """Return the folder of an unfinished training run."""
        return self.work / job / "runs" / unit

    def encoder(self, job: str, unit: str) -> Path:
        """Return the file of a trained encoder."""
        return self.work / job / "encoders" / f"{unit}.safetensors"


def device(tiny: bool) -> str:
    """Return cuda where there is a card, unless the run is tiny."""
    if tiny:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
