"""Missing cells of the first evidence plan (docs/develop/evidence-plan.md).

A unit is an arm and a seed. Its parts are the training, the retrieval of held-out positives, and the scores of each
set, which need a CPU core but no GPU. `bridge-exact-0` repeats a cell that a CPU has already measured.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import PretrainConfig
from studies.cells import Cell
from studies.downstream.evidence import (
    GROUPS,
    TRAINED,
    Arm,
    Options,
    config_of,
    recipe_of,
    score_arm,
    second_collection_of,
)
from studies.downstream.evidence_report import SETS
from studies.downstream.heldout import measure_retrieval
from studies.downstream.results import untrained_encoder
from studies.gpu.molecules import molecules_file
from studies.gpu.results import Cells, read_results
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.sources import ingest_collection, open_source
from studies.gpu.tiny import TINY_MODEL, shrunk
from studies.gpu.training import read_encoder, train

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
STEPS = 3000
_SEEDS = (0, 1, 2)
_SPLITS = 10
_TINY_ARMS = ("untrained", "exact", "window", "augmented", "adam", "exact-ho")


class Unit(NamedTuple):
    """An arm and a seed. `bridge` marks a cell that a CPU has already measured."""

    arm: str
    seed: int
    bridge: bool = False

    @property
    def name(self) -> str:
        return f"{'bridge-' if self.bridge else ''}{self.arm}-{self.seed}"

    @property
    def cell(self) -> Path:
        return EVIDENCE / f"{STEPS}-steps" / f"{self.arm}-{self.seed}.json"


def units(setting: Setting) -> list[Unit]:
    """Return the cells that are missing or were measured on a card, in the plan's order, followed by the bridge."""
    if setting.tiny:
        return [Unit(arm, 0) for arm in _TINY_ARMS]
    measured_units = {unit for unit, _ in read_results("plan1")}
    all_units = [Unit(arm, seed) for group in GROUPS for seed, arm in product(_SEEDS, group) if arm != "morgan"]
    return [
        *(unit for unit in all_units if unit.name in measured_units or not unit.cell.exists()),
        Unit("exact", 0, bridge=True),
    ]


def pieces(setting: Setting) -> Sequence[Piece]:
    """Return training before scores on a GPU, and scores before training on a CPU."""
    selection = units(setting)
    training = [
        Piece(unit.name, ("train",), inputs=_collections(setting, unit.arm, unit.seed))
        for unit in selection
        if unit.arm in TRAINED
    ]
    scores = [
        Piece(
            unit.name,
            (part,),
            (unit.name, "train") if unit.arm in TRAINED else None,
            core=True,
            inputs=_collections(setting, "exact", unit.seed) if part == "heldout" else (),
        )
        for unit, part in product(selection, ("heldout", *_sets(setting)))
    ]
    return [*training, *scores] if setting.device == "cuda" else [*scores, *training]


def prepare(setting: Setting, name: str) -> None:
    ingest_collection(setting, [molecules_file(setting, "zinc.smi")], name, recipe_of(name))


def _collections(setting: Setting, arm: str, seed: int) -> tuple[str, ...]:
    """Return the collections that the source of an arm reads."""
    first, second = TRAINED[arm].collection, second_collection_of(TRAINED[arm], _config(setting, TRAINED[arm], seed))
    return (first,) if second is None else (first, second)


def measure(setting: Setting, piece: Piece) -> Parts:
    (unit,) = [each for each in units(setting) if each.name == piece.unit]
    for part in piece.parts:
        cell = _train(setting, unit) if part == "train" else _score(setting, unit, part)
        if cell is not None:
            yield part, cell


def complete_cells(cells: Cells) -> Iterator[tuple[Path, Cell]]:
    """Yield the file and content of the plan's complete cells, in the format of `studies.downstream.evidence`."""
    for unit in [Unit(arm, seed) for group in GROUPS for seed, arm in product(_SEEDS, group)]:
        parts = {part: cell for (name, part), cell in cells.items() if name == unit.name}
        learned = unit.arm in TRAINED
        if {"heldout", *SETS, *(["train"] if learned else [])} <= parts.keys():
            first = parts["train" if learned else "heldout"]
            yield (
                unit.cell,
                {
                    "arm": unit.arm,
                    "seed": unit.seed,
                    "steps": STEPS,
                    "torch": first["torch"],
                    "card": first["card"],
                    "date": first["date"],
                    "commit": first["commit"],
                    "command": first["command"],
                    **({"pretraining": first["pretraining"]} if learned else {}),
                    "heldout": parts["heldout"]["heldout"],
                    "sets": {name: parts[name]["scores"] for name in SETS},
                    "seconds": sum(cell["seconds"] for cell in parts.values()),
                },
            )


def _sets(setting: Setting) -> Sequence[str]:
    return ("bbbp",) if setting.tiny else tuple(SETS)


def _config(setting: Setting, arm: Arm, seed: int) -> PretrainConfig:
    options = Options(setting.work, EVIDENCE, STEPS, _SPLITS)
    config = config_of(arm, options, seed)
    return shrunk(config, steps=6) if setting.tiny else config


def _source(setting: Setting, arm: Arm, config: PretrainConfig) -> Source:
    return open_source(setting, arm.collection, config.draws, second_collection_of(arm, config))


def _train(setting: Setting, unit: Unit) -> Cell | None:
    arm = TRAINED[unit.arm]
    config = _config(setting, arm, unit.seed)
    return train(setting, "plan1", unit.name, config, _source(setting, arm, config))


def _score(setting: Setting, unit: Unit, part: str) -> Cell:
    encoder = _encoder(setting, unit)
    if part != "heldout":
        return {"scores": score_arm(encoder, part, 2 if setting.tiny else _SPLITS)}
    exact = TRAINED["exact"]
    config = _config(setting, exact, unit.seed)
    with _source(setting, exact, config) as source:
        used = (config.max_steps or 0) * config.draws.batch_size
        return {"heldout": measure_retrieval(encoder, source, config, used)}


def _encoder(setting: Setting, unit: Unit) -> Encoder:
    if unit.arm not in TRAINED:
        return untrained_encoder(unit.seed, TINY_MODEL if setting.tiny else None)
    model = _config(setting, TRAINED[unit.arm], unit.seed).as_json()["model"]
    return read_encoder(setting.encoder("plan1", unit.name), model)
