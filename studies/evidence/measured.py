"""Measured cells of tier 1: their files, and the settings that tuning chose."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from studies.cells import Cell
from studies.evidence.arms import Unit
from studies.evidence.finetuned import GRID, Tuning, choose
from studies.evidence.options import CELLS

SETS: Mapping[str, str] = {
    "bace": "BACE",
    "bbbp": "BBBP",
    "clintox": "ClinTox",
    "sider": "SIDER",
    "tox21": "Tox21",
    "chembl234": "CHEMBL234",
    "chembl204": "CHEMBL204",
    "chembl2147": "CHEMBL2147",
}
"""Title of each data set of tier 1, in the order of the plan."""

SEEDS = (0, 1, 2)


class Run(NamedTuple):
    """A fine-tuning run: encoder, data set, number of the re-split, setting, and number of epochs."""

    unit: Unit
    set: str
    split: int
    tuning: Tuning
    epochs: int


@dataclass(frozen=True)
class Cells:
    """Files of the cells in a folder, each named after what was measured.

    DOSE/encoders/ARM-SEED.json
    DOSE/frozen/ARM-SEED/SET.json
    DOSE/finetuned/EPOCHS-epochs/SETTING/ARM-SEED/SET-SPLIT.json
    """

    folder: Path = CELLS

    def encoder(self, unit: Unit) -> Path:
        return self.folder / unit.dose / "encoders" / f"{unit.name}.json"

    def frozen(self, unit: Unit, name: str) -> Path:
        return self.folder / unit.dose / "frozen" / unit.name / f"{name}.json"

    def finetuned(self, run: Run) -> Path:
        folder = self.folder / run.unit.dose / "finetuned" / f"{run.epochs}-epochs" / run.tuning.name
        return folder / run.unit.name / f"{run.set}-{run.split}.json"

    def tuned(self, unit: Unit, name: str, epochs: int) -> Tuning | None:
        """Return the setting that tuning chose for an arm and a data set; None if it is not finished.

        Args:
            unit: encoder of the arm with seed 0.
            name: data set.
            epochs: of fine-tuning.
        """
        paths = {tuning: self.finetuned(Run(unit, name, 0, tuning, epochs)) for tuning in GRID}
        if not all(path.exists() for path in paths.values()):
            return None
        return choose({tuning: read(path) for tuning, path in paths.items()})


def read(path: Path) -> Cell:
    cell: Cell = json.loads(path.read_text())
    return cell
