"""The page of tier 1 shows what the plan allows, from the cells that are there."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from studies.cells import Cell
from studies.evidence.arms import ARMS, Unit
from studies.evidence.contrasts import contrasts
from studies.evidence.figures import draw, draw_residuals
from studies.evidence.finetuned import EPOCHS, FIXED, GRID, SPLITS
from studies.evidence.measured import SEEDS, SETS, Cells, Run
from studies.evidence.outcomes import decision_dose, primary_outcomes
from studies.evidence.page import Report
from studies.evidence.report import PAGE
from studies.evidence.statistics import holm

SIZES = {"train": 80, "valid": 10, "test": 10}
GAIN = {"exact": 0.05, "augmented": 0.048, "shuffled": -0.1, "permuted": 0.0, "scratch": 0.0}


def noise(*key: object, size: int = 1) -> np.ndarray:
    return np.random.default_rng([*"/".join(map(str, key)).encode()]).normal(0, 0.01, size)


def write(path: Path, cell: Cell) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(cell))


def write_frozen(cells: Cells, is_written: Callable[[str, int, str], bool] = lambda *_: True) -> None:
    for arm, seed, name in product(ARMS, SEEDS, SETS):
        if is_written(arm, seed, name):
            scores = 0.7 + GAIN[arm] + noise("frozen", arm, seed, name, size=10)
            omitted = 0.25 if name == "sider" else 0.0
            probe = [{"auc": score, "omitted": omitted} for score in scores]
            few = [{"auc": score - 0.1, "omitted": omitted} for score in scores]
            write(
                cells.frozen(Unit.at_dose(arm, seed, "small"), name), {"probe": probe, "few": few, "test_share": 0.125}
            )


def finetuned_cell(valid: list[float], test: list[float]) -> Cell:
    return {"valid": valid, "test": test, "test_by_task": [[each, None] for each in test], "sizes": SIZES}


def write_finetuned(cells: Cells, splits: tuple[int, ...] = SPLITS) -> None:
    for arm, seed, name, split in product(ARMS, SEEDS, SETS, splits):
        score = float(0.8 + GAIN[arm] / 2 + noise("finetuned", arm, seed, name, split)[0])
        curve = [0.5, *[score] * (EPOCHS - 1)]
        run = Run(Unit.at_dose(arm, seed, "small"), name, split, FIXED, EPOCHS)
        write(cells.finetuned(run), finetuned_cell(curve, curve))


def write_tuning(cells: Cells) -> None:
    """Write tuning in which the fixed setting is best."""
    for arm, name, tuning in product(ARMS, SETS, GRID):
        if tuning != FIXED:
            run = Run(Unit.at_dose(arm, 0, "small"), name, 0, tuning, EPOCHS)
            write(cells.finetuned(run), {"valid": [0.1] * EPOCHS, "test": [1.0] * EPOCHS})


def test_stored_page_equals_the_stored_cells() -> None:
    assert PAGE.read_text(encoding="utf-8") == Report(Cells(), decision_dose()).page()


def test_no_contrast_before_the_last_cell(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    write_frozen(cells, lambda *key: key != ("shuffled", 2, "sider"))
    report = Report(cells, "small")
    text = report.page()
    assert report.contrasts == [[], []]
    assert report.figure_groups() == []
    assert "frozen 119 of 120 cells" in text
    assert "- `small/frozen/shuffled-2`: sider\n" in text
    assert "| exact FO | cells are missing | cells are missing |" in text
    assert "## Contrasts" not in text
    failure = cells.frozen(Unit("shuffled", 2, "small"), "sider").with_suffix(".failed")
    failure.write_text("the loss is not a number")
    assert "- `small/frozen/shuffled-2`: sider (failed twice)\n" in Report(cells, "small").page()


def test_complete_frozen_outcome_has_intervals_without_tests(tmp_path: Path) -> None:
    """Holm's correction is over both outcomes, so there is no p-value before the second one is complete."""
    cells = Cells(tmp_path)
    write_frozen(cells)
    report = Report(cells, "small")
    frozen, finetuned = report.contrasts
    assert [each.second for each in frozen] == ["scratch", "permuted", "augmented", "shuffled"]
    assert finetuned == []
    assert frozen[0].fixed.mean == pytest.approx(0.05, abs=0.005)
    assert "without a test before both outcomes are complete" in report.page()
    assert "Holm's p:" not in report.page()


def test_complete_tier_has_eight_adjusted_tests(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    write_frozen(cells)
    write_finetuned(cells)
    before_tuning = Report(cells, "small").page()
    assert "Holm's p:" not in before_tuning
    assert "fine-tuned 360 of 360 cells" in before_tuning
    assert "- `small/finetuned/30-epochs/lr-0.001-dropout-0.5/exact-0`: bace-0, bbbp-0, " in before_tuning
    write_tuning(cells)
    report = Report(cells, "small")
    text = report.page()
    assert "Tier 1 is complete: frozen 120 of 120 cells, fine-tuned 360 of 360 cells." in text
    assert "## Missing cells" not in text
    estimates = [each.fixed for group in report.contrasts for each in group]
    assert len(estimates) == 8
    rows = text.partition("## Contrasts")[2].partition("Secondary")[0].splitlines()
    shown = [row.split(" | ")[-1].removesuffix(" |") for row in rows if row.startswith("| Frozen | ")]
    adjusted = holm([each.p for each in estimates])[:4]
    assert shown == ["< .001" if p < 0.001 else f"{p:.3f}" for p in adjusted]
    assert "< .001" in shown
    assert max(adjusted) > 0.05
    assert "Frozen: +0.05" in text
    assert "Complete re-splits: 10 of 10. Tasks left out because a part lacks a class: SIDER 25.0%." in text
    assert "Complete re-splits: 3 of 3. Tasks left out because a part lacks a class: BACE 50.0%, " in text
    assert "Holm's p: < .001, exact FO is better." in text
    assert ", undecided, the difference is at most " in text
    assert text.count("## Frozen: all arms by data set") == 1
    precision = text.partition("## Precision")[2].partition("\n## ")[0]
    assert precision.count("| Frozen | ") == precision.count("| Fine-tuned | ") == 4


def test_fixed_setting_is_shown_until_the_chosen_ones_are_measured(tmp_path: Path) -> None:
    """Tuning of one arm and data set chooses another setting, whose other cells are missing."""
    cells = Cells(tmp_path)
    write_finetuned(cells)
    write_tuning(cells)
    better = Run(Unit("exact", 0, "small"), "bace", 0, GRID[-1], EPOCHS)
    write(cells.finetuned(better), finetuned_cell([0.99] * EPOCHS, [0.5] * EPOCHS))
    _, finetuned = primary_outcomes(cells, "small")
    assert (finetuned.measured, finetuned.missing, finetuned.has_tests) == (360, [], False)
    assert len(finetuned.missing_for_tests) == 3 * 3 - 1
    assert "before tuning" in finetuned.setting
    for seed, split in product(SEEDS, SPLITS):
        run = better._replace(unit=Unit("exact", seed, "small"), split=split)
        write(cells.finetuned(run), finetuned_cell([0.99] * EPOCHS, [0.5] * EPOCHS))
    _, finetuned = primary_outcomes(cells, "small")
    assert finetuned.has_tests
    assert finetuned.setting == "30 epochs, tuned"
    assert finetuned.scores["exact", 1, "bace"] == {0: 0.5, 1: 0.5, 2: 0.5}


def test_complete_pass_of_fine_tuning_uses_its_resplit_alone(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    write_finetuned(cells, (0, 1))
    run = Run(Unit("exact", 2, "small"), "tox21", 1, FIXED, EPOCHS)
    cells.finetuned(run).unlink()
    _, finetuned = primary_outcomes(cells, "small")
    made = contrasts(finetuned)
    assert finetuned.complete_splits == [0]
    assert {(each.seeds, each.splits) for each in made} == {(3, 1)}
    assert made[0].fixed.freedom == 2


def test_ended_study_uses_what_both_arms_have(tmp_path: Path) -> None:
    """ClinTox lacks an arm, and one contrast a seed."""
    cells = Cells(tmp_path)
    write_frozen(
        cells, lambda arm, seed, name: (arm, name) != ("scratch", "clintox") and (arm, seed) != ("shuffled", 1)
    )
    frozen, _ = Report(cells, "small", has_ended=True).contrasts
    assert {each.second: each.seeds for each in frozen} == {"scratch": 3, "permuted": 3, "augmented": 3, "shuffled": 2}
    assert all([*each.sets] == [name for name in SETS if name != "clintox"] for each in frozen)


def test_forest_plot_names_every_set_and_repeats_its_bytes(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    write_frozen(cells)
    report = Report(cells, "small")
    groups = report.figure_groups()
    figure = draw(groups)
    assert figure == draw(groups)
    text = figure.decode()
    assert all(title in text for title in [*SETS.values(), "these sets", "sets like these"])
    residuals = draw_residuals(report.residual_groups()).decode()
    assert all(title in residuals for title in [*SETS.values(), *ARMS.values()])
    assert all(f"Frozen: exact FO minus {arm}" in text for arm in ("scratch", "permuted", "augmented", "shuffled"))


def test_middle_dose_decides_once_all_of_its_encoders_exist(tmp_path: Path) -> None:
    (tmp_path / "dose").mkdir()
    for arm, seed in product(("exact", "augmented", "shuffled"), SEEDS):
        assert decision_dose(tmp_path) == "small"
        write(tmp_path / "dose" / f"{arm}-{seed}.json", {"train": {"loss": []}})
    assert decision_dose(tmp_path) == "middle"
