"""Tasks of tier 1 in the order of the plan: encoders, and cells of both outcomes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from studies.cells import Cell, load_or_make
from studies.evidence import encoders
from studies.evidence.arms import ARMS, Dose, Unit, trained_units
from studies.evidence.frozen import SPLITS, score_frozen
from studies.evidence.stamp import stamped
from studies.evidence.tasks import Task
from studies.gpu.setting import Setting

RESULTS = Path(__file__).parents[1] / "results" / "evidence"
"""Folder of the measured cells."""

COMMAND = "python -m studies.evidence --plan 2"

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

TINY_SETS = ("bbbp", "chembl2147")
"""Data sets of a tiny run."""

_TINY_SPLITS = 2


def frozen_cell(cells: Path, unit: Unit, name: str) -> Path:
    """Return the file of the frozen scores of an encoder on a data set."""
    return cells / unit.dose / "frozen" / unit.name / f"{name}.json"


def encoder_cell(cells: Path, unit: Unit) -> Path:
    """Return the file of the training of an encoder."""
    return cells / unit.dose / "encoders" / f"{unit.name}.json"


@dataclass(frozen=True)
class Plan:
    """The part of tier 1 that one command does.

    Attributes:
        setting: machine and work folder.
        cells: folder of the cells.
        arms: arms to measure.
        seeds: pre-training seeds to measure.
        sets: data sets to score.
    """

    setting: Setting
    cells: Path
    arms: Sequence[str] = tuple(ARMS)
    seeds: Sequence[int] = SEEDS
    sets: Sequence[str] = tuple(SETS)

    def tasks(self) -> list[Task]:
        """Return all tasks: for each dose and seed, the training of missing encoders and the frozen scores."""
        tasks = [task for dose, seed in product(self._doses(), self.seeds) for task in self._of_seed(dose, seed)]
        return [*{task.name: task for task in tasks}.values()]

    def _doses(self) -> tuple[Dose, ...]:
        return ("middle", "small") if self._middle_dose() else ("small",)

    def _middle_dose(self) -> set[Unit]:
        return set() if self.setting.tiny else encoders.restore_middle_dose(self.setting)

    def _of_seed(self, dose: Dose, seed: int) -> Iterator[Task]:
        pairs = [*product((Unit.at_dose(arm, seed, dose) for arm in self.arms), self.sets)]
        missing = trained_units(unit for unit, name in pairs if not frozen_cell(self.cells, unit, name).exists())
        if dose == "small" and missing:
            yield from map(self._ingest, encoders.COLLECTIONS)
            yield from map(self._train, missing)
        yield from (self._frozen(unit, name) for unit, name in pairs)

    def _ingest(self, collection: str) -> Task:
        def make() -> None:
            encoders.ingest(self.setting, collection)
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()

        marker = self._marker(collection)
        return Task(f"ingest/{collection}", marker, make)

    def _train(self, unit: Unit) -> Task:
        def make() -> None:
            facts = {"arm": unit.arm, "dose": unit.dose}
            train = partial(encoders.train, self.setting, unit)
            load_or_make(encoder_cell(self.cells, unit), lambda: self._stamped(facts, train))
            encoders.save(self.setting, unit)

        needs = tuple(map(self._marker, encoders.COLLECTIONS))
        return Task(f"train/{unit.dose}/{unit.name}", encoders.file(self.setting, unit), make, needs)

    def _frozen(self, unit: Unit, name: str) -> Task:
        def measure() -> Cell:
            splits = _TINY_SPLITS if self.setting.tiny else SPLITS
            return score_frozen(encoders.load(self.setting, unit), name, splits)

        facts = {"arm": unit.arm, "seed": unit.seed, "dose": unit.dose, "set": name}
        output = frozen_cell(self.cells, unit, name)
        make = partial(load_or_make, output, lambda: self._stamped(facts, measure))
        return Task(f"frozen/{unit.dose}/{unit.name}/{name}", output, make, self._encoder(unit))

    def _encoder(self, unit: Unit) -> tuple[Path, ...]:
        """Return the file that the encoder of a unit is loaded from, if there is one."""
        return () if unit.trained is None else (encoders.file(self.setting, unit.trained),)

    def _marker(self, collection: str) -> Path:
        return self.setting.work / "ingested" / collection

    def _stamped(self, facts: Cell, measure: Callable[[], Cell]) -> Cell:
        return stamped(f"{COMMAND}{' --tiny' if self.setting.tiny else ''}", facts, measure)
