"""Outcomes of tier 1: the scores of the measured cells, and the cells that are missing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from studies.cells import Cell
from studies.evidence import finetuned, frozen
from studies.evidence.arms import ARMS, TRAINED, Dose, Unit
from studies.evidence.finetuned import CARD_EPOCHS, EPOCHS, FIXED, GRID, Tuning, best_score, late_score
from studies.evidence.measured import SEEDS, SETS, Cells, Run, read
from studies.gpu import results

Key = tuple[str, int, str]
"""Arm, pre-training seed and data set."""


@dataclass(frozen=True)
class Outcome:
    """The scores of one outcome at one dose.

    Attributes:
        title: name of the outcome.
        setting: how it was measured, in words.
        splits: re-splits that the plan asks for.
        scores: ROC-AUC by re-split of every arm, seed and data set that has any.
        test_shares: test molecules for each molecule in the training part, by data set.
        omitted: mean share of tasks that are not scored because a part lacks a class, by data set.
        measured: number of cells that are there.
        missing: files of the missing cells, as far as their setting is known.
        cells_of_encoder: number of cells of one encoder.
        missing_for_tests: files of further cells that the plan's tests need: tuning, and the settings that it chose.
    """

    title: str
    setting: str
    splits: Sequence[int]
    scores: Mapping[Key, Mapping[int, float]]
    test_shares: Mapping[str, float]
    omitted: Mapping[str, float]
    measured: int
    missing: Sequence[Path]
    cells_of_encoder: int
    missing_for_tests: Sequence[Path] = ()

    @property
    def complete_splits(self) -> list[int]:
        """The re-splits on which no cell is missing."""
        keys = [*product(ARMS, SEEDS, SETS)]
        return [split for split in self.splits if all(split in self.scores.get(key, {}) for key in keys)]

    @property
    def has_tests(self) -> bool:
        """Whether all cells are there that the plan's tests need."""
        return self.measured == self._planned and not self.missing_for_tests

    @property
    def cells(self) -> str:
        """The number of cells that are there, and of all, without tuning."""
        return f"{self.measured} of {self._planned}"

    @property
    def _planned(self) -> int:
        return len(ARMS) * len(SEEDS) * self.cells_of_encoder


def decision_dose(kept: Path = results.RESULTS) -> Dose:
    """Return the dose of the decision: the middle one if a card has trained all of its encoders, else the small one."""
    trained = results.read_results("dose", kept)
    is_complete = all((f"{arm}-{seed}", "train") in trained for arm, seed in product(TRAINED, SEEDS))
    return "middle" if is_complete else "small"


def primary_outcomes(cells: Cells, dose: Dose) -> list[Outcome]:
    """Return the frozen outcome, and the fine-tuned one."""
    return [
        _frozen("Frozen", "probe", cells, dose),
        _finetuned("Fine-tuned", lambda cell: late_score(cell), cells, dose),
    ]


def secondary_outcomes(cells: Cells, dose: Dose) -> list[Outcome]:
    """Return the outcomes outside of the decision: frozen with 100 labels, and fine-tuned at the best epoch."""
    return [
        _frozen("Frozen, 100 labels", "few", cells, dose),
        _finetuned("Fine-tuned, best epoch on validation", best_score, cells, dose),
    ]


def _frozen(title: str, score: str, cells: Cells, dose: Dose) -> Outcome:
    paths = {
        (arm, seed, name): cells.frozen(Unit.at_dose(arm, seed, dose), name)
        for arm, seed, name in product(ARMS, SEEDS, SETS)
    }
    measured = {key: read(path) for key, path in paths.items() if path.exists()}
    scores = {key: dict(enumerate(each["auc"] for each in cell[score])) for key, cell in measured.items()}
    shares = {name: cell["test_share"] for (_, _, name), cell in measured.items()}
    omitted = _means((name, each["omitted"]) for (_, _, name), cell in measured.items() for each in cell[score])
    missing = [path for key, path in paths.items() if key not in measured]
    setting = "logistic regression on standardized embeddings"
    return Outcome(title, setting, range(frozen.SPLITS), scores, shares, omitted, len(measured), missing, len(SETS))


def _finetuned(title: str, score: Callable[[Cell], float], cells: Cells, dose: Dose) -> Outcome:
    """Return the outcome with the settings that tuning chose.

    At the small dose, it has the fixed setting until all cells with the chosen ones are there.
    """
    epochs = CARD_EPOCHS if dose == "middle" else EPOCHS
    first = {(arm, name): Unit.at_dose(arm, 0, dose) for arm, name in product(ARMS, SETS)}
    tuning = [Run(unit, name, 0, each, epochs) for ((_, name), unit), each in product(first.items(), GRID)]
    tuned = _runs({(arm, name): cells.tuned(unit, name, epochs) for (arm, name), unit in first.items()}, dose, epochs)
    for_tests = _missing([*tuning, *tuned.values()], cells)
    is_tuned = dose == "middle" or not for_tests
    shown = tuned if is_tuned else _runs(dict.fromkeys(first, FIXED), dose, epochs)
    measured = {key: read(path) for key, run in shown.items() if (path := cells.finetuned(run)).exists()}
    scores: dict[Key, dict[int, float]] = {}
    for (arm, seed, name, split), cell in measured.items():
        scores.setdefault((arm, seed, name), {})[split] = score(cell)
    missing = _missing(shown.values(), cells)
    setting = "tuned" if is_tuned else f"learning rate {FIXED.learning_rate} without dropout, before tuning"
    return Outcome(
        title,
        f"{epochs} epochs, {setting}",
        finetuned.SPLITS,
        scores,
        _means((key[2], cell["sizes"]["test"] / cell["sizes"]["train"]) for key, cell in measured.items()),
        _means((key[2], _omitted(cell)) for key, cell in measured.items()),
        len(measured),
        missing,
        len(SETS) * len(finetuned.SPLITS),
        [path for path in for_tests if path not in missing],
    )


def _runs(
    settings: Mapping[tuple[str, str], Tuning | None], dose: Dose, epochs: int
) -> dict[tuple[str, int, str, int], Run]:
    """Return the runs by arm, seed, data set and re-split, with the setting of each arm and data set if it is known."""
    return {
        (arm, seed, name, split): Run(Unit.at_dose(arm, seed, dose), name, split, tuning, epochs)
        for ((arm, name), tuning), seed, split in product(settings.items(), SEEDS, finetuned.SPLITS)
        if tuning is not None
    }


def _means(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean value of each data set."""
    groups: dict[str, list[float]] = {}
    for name, value in values:
        groups.setdefault(name, []).append(value)
    return {name: float(np.mean(group)) for name, group in groups.items()}


def _omitted(cell: Cell) -> float:
    """Return the share of tasks that are not scored on the test part of a fine-tuning run."""
    areas: list[float | None] = cell["test_by_task"][-1]
    return areas.count(None) / len(areas)


def _missing(runs: Iterable[Run], cells: Cells) -> list[Path]:
    paths = dict.fromkeys(map(cells.finetuned, runs))
    return [path for path in paths if not path.exists()]


def missing_lines(outcome: Outcome, cells: Cells) -> Iterator[str]:
    """Yield a line for each encoder and setting with missing cells, which names their data sets and re-splits."""
    groups: dict[str, list[Path]] = {}
    for path in (*outcome.missing, *outcome.missing_for_tests):
        groups.setdefault(str(path.parent.relative_to(cells.folder)), []).append(path)
    for folder, paths in groups.items():
        failed = {path for path in paths if path.with_suffix(".failed").exists()}
        if len(paths) == outcome.cells_of_encoder and not failed:
            yield f"`{folder}`: all {len(paths)}"
        else:
            names = [f"{path.stem}{' (failed twice)' if path in failed else ''}" for path in paths]
            yield f"`{folder}`: {', '.join(names)}"
