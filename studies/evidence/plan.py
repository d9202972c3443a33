"""Tasks of tier 1 in the order of the plan: encoders, and cells of both outcomes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path

from studies.cells import Cell, load_or_make
from studies.evidence import encoders
from studies.evidence.arms import ARMS, TRAINED, Dose, Unit
from studies.evidence.finetuned import EPOCHS, FIXED, GRID, SPLITS, score_finetuned
from studies.evidence.frozen import SPLITS as FROZEN_SPLITS
from studies.evidence.frozen import score_frozen
from studies.evidence.measured import SEEDS, SETS, Cells, Run
from studies.evidence.stamp import stamped
from studies.evidence.tasks import Task
from studies.gpu.setting import Setting

COMMAND = "python -m studies.evidence --plan 2"

TINY_SETS = ("bbbp", "chembl2147")
"""Data sets of a tiny run."""

_TINY_SPLITS = 2
_TINY_EPOCHS = 2


@dataclass(frozen=True)
class Plan:
    """The part of tier 1 that one command does.

    Attributes:
        setting: machine and work folder.
        cells: the measured cells.
        arms: arms to measure.
        seeds: pre-training seeds to measure.
        sets: data sets to score.
    """

    setting: Setting
    cells: Cells
    arms: Sequence[str] = tuple(ARMS)
    seeds: Sequence[int] = SEEDS
    sets: Sequence[str] = tuple(SETS)

    def tasks(self) -> list[Task]:
        """Return all tasks that are known: those of settings that tuning chooses appear when it is done."""
        tasks = [*self._small_dose()]
        if self._has_middle_dose():
            tasks = [*(task for seed in self.seeds for task in self._frozen_of_seed(seed, "middle")), *tasks]
        return [*{task.name: task for task in tasks}.values()]

    def _has_middle_dose(self) -> bool:
        return not self.setting.tiny and bool(encoders.restore_middle_dose(self.setting))

    def _small_dose(self) -> Iterator[Task]:
        """Yield, for each seed, the training of encoders and the frozen scores, then fine-tuning.

        Encoders are trained only if a missing cell needs them.
        """
        frozen = {seed: self._frozen_of_seed(seed, "small") for seed in self.seeds}
        finetuned = [*self._finetuned_passes("small")]
        open_tasks = [task for task in chain(*frozen.values(), finetuned) if not task.output.exists()]
        needed = {path for task in open_tasks for path in task.needs}
        units = [Unit(arm, seed, "small") for seed, arm in product(self.seeds, TRAINED)]
        missing = [unit for unit in units if encoders.file(self.setting, unit) in needed]
        if missing:
            yield from map(self._ingest, encoders.COLLECTIONS)
        for seed, scores in frozen.items():
            yield from (self._train(unit) for unit in missing if unit.seed == seed)
            yield from scores
        yield from finetuned

    def _frozen_of_seed(self, seed: int, dose: Dose) -> list[Task]:
        units = [Unit.at_dose(arm, seed, dose) for arm in self.arms]
        return [self._frozen(unit, name) for unit, name in product(units, self.sets)]

    def _finetuned_passes(self, dose: Dose) -> Iterator[Task]:
        """Yield the passes of the plan's deviations: the fixed setting by re-split, tuning, and the chosen settings."""
        for split, name, seed, arm in product(self._splits, self.sets, self.seeds, self.arms):
            yield self._finetuned(Run(Unit.at_dose(arm, seed, dose), name, split, FIXED, self._epochs))
        for name, arm, tuning in product(self.sets, self.arms, GRID):
            yield self._finetuned(Run(Unit.at_dose(arm, 0, dose), name, 0, tuning, self._epochs))
        for name, split, seed, arm in product(self.sets, self._splits, self.seeds, self.arms):
            tuned = self.cells.tuned(Unit.at_dose(arm, 0, dose), name, self._epochs)
            if tuned is not None:
                yield self._finetuned(Run(Unit.at_dose(arm, seed, dose), name, split, tuned, self._epochs))

    @property
    def _splits(self) -> Sequence[int]:
        return SPLITS[:1] if self.setting.tiny else SPLITS

    @property
    def _epochs(self) -> int:
        return _TINY_EPOCHS if self.setting.tiny else EPOCHS

    def _ingest(self, collection: str) -> Task:
        def make() -> None:
            encoders.ingest(self.setting, collection)
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()

        marker = self._marker(collection)
        return Task(f"ingest/{collection}", marker, make)

    def _train(self, unit: Unit) -> Task:
        def make() -> None:
            train = partial(encoders.train, self.setting, unit)
            load_or_make(self.cells.encoder(unit), lambda: self._stamped({"arm": unit.arm, "dose": unit.dose}, train))
            encoders.save(self.setting, unit)

        needs = tuple(map(self._marker, encoders.COLLECTIONS))
        return Task(f"train/{unit.dose}/{unit.name}", encoders.file(self.setting, unit), make, needs)

    def _frozen(self, unit: Unit, name: str) -> Task:
        def measure() -> Cell:
            splits = _TINY_SPLITS if self.setting.tiny else FROZEN_SPLITS
            return score_frozen(encoders.load(self.setting, unit), name, splits)

        return self._score(self.cells.frozen(unit, name), unit, {"set": name}, measure)

    def _finetuned(self, run: Run) -> Task:
        def measure() -> Cell:
            encoder = encoders.load(self.setting, run.unit)
            return score_finetuned(encoder, run.set, run.unit.seed, run.split, run.tuning, run.epochs)

        facts = {"set": run.set, "split": run.split, **run.tuning._asdict()}
        return self._score(self.cells.finetuned(run), run.unit, facts, measure)

    def _score(self, output: Path, unit: Unit, facts: Cell, measure: Callable[[], Cell]) -> Task:
        """Return the task of a cell of this encoder."""
        described = {"arm": unit.arm, "seed": unit.seed, "dose": unit.dose, **facts}
        make = partial(load_or_make, output, lambda: self._stamped(described, measure))
        needs = () if unit.trained is None else (encoders.file(self.setting, unit.trained),)
        return Task(str(output.relative_to(self.cells.folder).with_suffix("")), output, make, needs)

    def _marker(self, collection: str) -> Path:
        return self.setting.work / "ingested" / collection

    def _stamped(self, facts: Cell, measure: Callable[[], Cell]) -> Cell:
        return stamped(f"{COMMAND}{' --tiny' if self.setting.tiny else ''}", facts, measure)
