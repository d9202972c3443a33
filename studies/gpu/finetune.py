"""Fine-tuning of tier 1 of the second evidence plan (studies/evidence-plan-2.md), at the middle dose.

The encoders are those of the job `dose`. Replicas of one data set are trained as one model
(`studies.evidence.replicas`): first all settings of tuning, then the chosen settings on two re-splits, then on the
third. A part is a replica. Replicas whose encoder or setting is not known yet are left to a later run.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from time import perf_counter
from typing import NamedTuple

from graphkin.trainer.model.encoders import ConvolutionalEncoder
from studies.downstream.results import untrained_encoder
from studies.downstream.scaffold import random_scaffold_split
from studies.downstream.sets import dataset
from studies.evidence import encoders
from studies.evidence.arms import ARMS, Unit
from studies.evidence.finetuned import CARD_EPOCHS, GRID, SPLITS, TaskwiseDataset, Tuning, choose, seed_of_run
from studies.evidence.measured import SEEDS, SETS, Run
from studies.evidence.replicas import Replica, finetune_replicas
from studies.gpu.results import known_cells
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.tiny import TINY_MODEL

_GROUPS = (SPLITS[:2], SPLITS[2:])
"""Re-splits that are fine-tuned together: 30 replicas, and 15."""

_INPUTS = ("encoders",)
_TINY_SETS = ("bbbp",)
_TINY_ARMS = ("exact", "scratch")
_TINY_EPOCHS = 2


class Part(NamedTuple):
    """A replica of a data set: encoder, number of the re-split, and setting, which is None until tuning is finished."""

    unit: Unit
    split: int
    tuning: Tuning | None

    @property
    def name(self) -> str:
        suffix = f"split-{self.split}" if self.tuning is None else self.tuning.name
        return f"{self.unit.name}-{suffix}"


def pieces(setting: Setting) -> Sequence[Piece]:
    return [piece for name in _sets(setting) for piece in _of_set(setting, name)]


def prepare(setting: Setting, name: str) -> None:  # noqa: ARG001  (there is one input)
    """Unpack the encoders of the job `dose`."""
    if not setting.tiny:
        encoders.restore_middle_dose(setting)


def measure(setting: Setting, piece: Piece) -> Parts:
    name, _, group = piece.unit.partition("-")
    parts = {part.name: part for part in _parts(setting, group)}
    runs = {}
    for part in map(parts.__getitem__, piece.parts):
        tuning = part.tuning or _chosen(setting, name, part.unit.arm)
        if _has_encoder(setting, part.unit) and tuning is not None:
            runs[part.name] = Run(part.unit, name, part.split, tuning, _epochs(setting))
    if not runs:
        return
    data, _ = dataset(name)
    begin = perf_counter()
    replicas = [_replica(setting, run) for run in runs.values()]
    cells = finetune_replicas(replicas, TaskwiseDataset.from_dataset(data), _epochs(setting), device=setting.device)
    seconds = (perf_counter() - begin) / len(runs)
    for (part_name, run), cell in zip(runs.items(), cells, strict=True):
        if cell is None:
            print(f"the loss of {piece.unit} {part_name} is not a number", flush=True)
            continue
        described = {"arm": run.unit.arm, "seed": run.unit.seed, "dose": run.unit.dose, "set": name, "split": run.split}
        yield part_name, {**described, **run.tuning._asdict(), "replicas": len(runs), "seconds": seconds, **cell}


def run_of(cell: Mapping[str, object]) -> Run:
    """Return the run that a cell of this job measured."""
    unit = Unit(cell["arm"], cell["seed"], cell["dose"])  # type: ignore[arg-type]
    tuning = Tuning(cell["learning_rate"], cell["dropout"])  # type: ignore[arg-type]
    return Run(unit, str(cell["set"]), cell["split"], tuning, cell["epochs"])  # type: ignore[arg-type]


def _of_set(setting: Setting, name: str) -> list[Piece]:
    tuning = Piece(f"{name}-tuning", tuple(part.name for part in _parts(setting, "tuning")), inputs=_INPUTS)
    after = (tuning.unit, tuning.parts[-1])  # of the arm `scratch`, whose encoder always exists
    return [
        tuning,
        *(
            Piece(f"{name}-{number}", tuple(part.name for part in _parts(setting, str(number))), after, inputs=_INPUTS)
            for number in range(len(_GROUPS))
        ),
    ]


def _parts(setting: Setting, group: str) -> list[Part]:
    """Return the replicas of a group: `tuning`, or a number in `_GROUPS`."""
    arms, seeds = (_TINY_ARMS, SEEDS[:1]) if setting.tiny else (tuple(ARMS), SEEDS)
    if group == "tuning":
        return [Part(Unit.at_dose(arm, 0, "middle"), 0, tuning) for arm, tuning in product(arms, GRID)]
    replicas = product(_GROUPS[int(group)], seeds, arms)
    return [Part(Unit.at_dose(arm, seed, "middle"), split, None) for split, seed, arm in replicas]


def _chosen(setting: Setting, name: str, arm: str) -> Tuning | None:
    """Return the setting that tuning chose for an arm and a data set; None if cells are missing."""
    cells = known_cells(setting, "finetune")
    unit = Unit.at_dose(arm, 0, "middle")
    keys = {tuning: (f"{name}-tuning", Part(unit, 0, tuning).name) for tuning in GRID}
    if not all(key in cells for key in keys.values()):
        return None
    return choose({tuning: cells[key] for tuning, key in keys.items()})


def _has_encoder(setting: Setting, unit: Unit) -> bool:
    return setting.tiny or unit.trained is None or encoders.file(setting, unit.trained).exists()


def _replica(setting: Setting, run: Run) -> Replica:
    unit = run.unit
    encoder = untrained_encoder(unit.seed, TINY_MODEL) if setting.tiny else encoders.load(setting, unit)
    assert isinstance(encoder, ConvolutionalEncoder)
    _, groups = dataset(run.set)
    split = random_scaffold_split(groups, run.split)
    return Replica(encoder, split, seed_of_run(unit.seed, run.split), *run.tuning)


def _sets(setting: Setting) -> Sequence[str]:
    return _TINY_SETS if setting.tiny else tuple(SETS)


def _epochs(setting: Setting) -> int:
    return _TINY_EPOCHS if setting.tiny else CARD_EPOCHS
