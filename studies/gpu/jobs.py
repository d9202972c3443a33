"""GPU jobs, in order of priority."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from studies.gpu.setting import Parts, Piece, Setting


class Program(Protocol):
    """Interface of a job's module.

    Attributes:
        pieces: returns all pieces, including finished ones, the most urgent first.
        prepare: makes one input, unless this machine has it already.
        measure: measures one piece, whose `parts` are the missing ones.
    """

    pieces: Callable[[Setting], Sequence[Piece]]
    prepare: Callable[[Setting, str], None]
    measure: Callable[[Setting, Piece], Parts]


@dataclass(frozen=True)
class Job:
    """A job, whose code is the module `studies.gpu.MODULE`.

    Attributes:
        name: name on the command line.
        gives: its result, in one sentence.
        minutes: expected time of the whole job on a card, an estimate until a card has run it.
        data: files of the payload that it reads.
        lanes: number of pieces that share a card.
    """

    name: str
    gives: str
    minutes: int
    data: tuple[str, ...]
    lanes: int = 1

    @property
    def module(self) -> str:
        return f"studies.gpu.{self.name.replace('-', '_')}"

    def program(self) -> Program:
        return cast(Program, import_module(self.module))


_ZINC, _MOSES, _TABLES, _NODES, _INPUTS = (
    "zinc.smi.xz",
    "moses.smi.xz",
    "tables.tar.xz",
    "nodes.tar.xz",
    "inputs.tar.xz",
)

JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job(
            "plan1",
            "The missing cells of the first evidence plan, and one finished cell again as a bridge.",
            20,
            (_ZINC, _TABLES),
            lanes=4,
        ),
        Job(
            "nodes",
            "Node tables of two encoders: frozen on three graphs, fine-tuned on two.",
            40,
            (_NODES,),
            lanes=6,
        ),
        Job(
            "step",
            "Milliseconds, kernels and host gaps of a training step of every strategy, captured and not.",
            4,
            (_INPUTS,),
        ),
        Job(
            "join",
            "Picoseconds a pair of `--device cuda` at four thresholds, ingests by stage, and equality with the CPU's.",
            4,
            (_ZINC, _MOSES),
        ),
        Job("ten-million", "Seconds, pairs and peak memory of joining ten million molecules at .6 and .5.", 12, ()),
        Job(
            "dose",
            "Encoders trained for 39,065 steps of batch 256 on two million molecules, by five sources.",
            100,
            (_ZINC, _MOSES),
            lanes=2,
        ),
        Job(
            "finetune",
            "Fine-tuned cells of the second evidence plan: tuning, and five arms on three re-splits of 8 sets.",
            60,
            (_ZINC, _TABLES),
            lanes=3,
        ),
    )
}
