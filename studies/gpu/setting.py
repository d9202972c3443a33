"""Setting of one run: machine, folders and deadline."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from studies.cells import Cell

MOLECULES = 300
"""Number of molecules in a tiny run."""


class Piece(NamedTuple):
    """A part of a job that one process measures, and that a later run does not repeat.

    Attributes:
        unit: the result that it belongs to.
        parts: names of the cells that it produces.
        after: a part that must be finished before, as (unit, part).
        core: whether it needs one core and no GPU.
        inputs: names of the inputs that it reads. `prepare` of its program makes them, once per machine.
    """

    unit: str
    parts: tuple[str, ...]
    after: tuple[str, str] | None = None
    core: bool = False
    inputs: tuple[str, ...] = ()


def select(pieces: Sequence[Piece], units: Collection[str], parts: Collection[str]) -> list[Piece]:
    """Return the pieces of these units with these parts. Without units all match, and without parts all of theirs."""
    matching = [piece for piece in pieces if not units or piece.unit in units]
    selection = [
        piece._replace(parts=tuple(part for part in piece.parts if not parts or part in parts)) for piece in matching
    ]
    return [piece for piece in selection if piece.parts]


Parts = Iterator[tuple[str, Cell]]
"""Names and cells of parts, as they are finished. After the deadline the remaining parts are missing."""


@dataclass(frozen=True)
class Setting:
    """Setting of a run, passed to every piece.

    Attributes:
        work: folder for data and unfinished runs.
        device: "cuda" or "cpu".
        workers: number of cores.
        deadline: when pieces stop, in seconds of `time.time`.
        tiny: a few hundred molecules and a few steps.
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
    """Return "cuda" if there is a card and the run is not tiny, else "cpu"."""
    if tiny:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def card(device: str) -> str:
    """Return the name of the GPU, or "processor" for the CPU."""
    if device == "cpu":
        return "processor"
    import torch

    return torch.cuda.get_device_name()


def workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
