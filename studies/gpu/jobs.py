"""The jobs, in the order in which they are worth the minutes of a GPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from studies.gpu.setting import Parts, Piece, Setting


class Program(Protocol):
    """The module of a job.

    pieces: all pieces, also finished ones, the most urgent first. prepare: what all pieces need, once per machine.
    measure: do one piece; its `parts` are those that are missing.
    """

    pieces: Callable[[Setting], Sequence[Piece]]
    prepare: Callable[[Setting], None]
    measure: Callable[[Setting, Piece], Parts]


@dataclass(frozen=True)
class Job:
    """A job and its module, `studies.gpu.MODULE`.

    gives: its result, in one sentence. minutes: how long a card is expected to take for all of it; an estimate until
    a card has run it. lanes: the number of pieces that share a card.
    """

    name: str
    gives: str
    minutes: int
    lanes: int = 1

    @property
    def module(self) -> str:
        return f"studies.gpu.{self.name.replace('-', '_')}"

    def program(self) -> Program:
        return cast(Program, import_module(self.module))


JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job("plan1", "The missing cells of the first evidence plan, and one finished cell again as a bridge.", 20, 4),
        Job("step", "Milliseconds, kernels, launches and host gaps of a training step of every strategy.", 4),
        Job("join", "Picoseconds a pair of the GPU join at four thresholds, and its pairs against the CPU's.", 1),
        Job("ten-million", "Seconds, pairs and peak memory of joining ten million molecules at .6 and .5.", 12),
        Job(
            "dose", "Encoders trained for 39,065 steps of batch 256 on two million molecules, by five sources.", 100, 2
        ),
    )
}
