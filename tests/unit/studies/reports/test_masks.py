"""The report on masks, from known distances between masked atoms."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import Conflict
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import Hierarchy
from graphkin.trainer.pretraining.masking import Masking
from studies.reports import masks
from studies.reports.masks import Measured, Training, kinds_of_masks
from studies.reports.spread import Distances


def apart(*far: tuple[int, Sequence[float], Sequence[float]]) -> Distances:
    """Return the distances of molecules: the step, adaptive distances and uniform ones."""
    rows = [
        (step, molecule, a, u)
        for molecule, (step, adaptive, uniform) in enumerate(far)
        for a, u in zip(adaptive, uniform, strict=True)
    ]
    step, molecule, adaptive, uniform = zip(*rows, strict=True)
    return Distances(
        np.array(step, np.int32),
        np.array(molecule, np.int32),
        np.array(adaptive, np.float32),
        np.array(uniform, np.float32),
    )


def training(ends: Sequence[int], batch_size: int = 8, bf16: bool = False, work: Path | None = None) -> Training:
    return Training(ends, batch_size, bf16, "cpu", work)


@pytest.fixture(scope="module")
def molecules(generation: Callable[..., Generation], nci_molecules: list[Chem.Mol]) -> Generation:
    return generation(nci_molecules[:30], resolve(threshold=0.5))


def test_steps_are_binned_over_seeds() -> None:
    """One seed clusters before step 400 and spreads afterwards. The other stays like uniform masks, on average."""
    distances_of = {
        0: apart((399, [1, 1], [2, 4]), (399, [3], [2]), (400, [5], [2]), (799, [9], [np.nan])),
        1: apart((0, [2], [1]), (1, [1], [2]), (400, [2], [1]), (401, [1], [2])),
    }

    report = masks.build_report([Measured(Masking(score="kl"), distances_of)], training([400, 800]), 20)
    assert report.seeds == [0, 1]
    (kind,) = report.measured["masks"]
    early, late = kind["bins"]
    assert [(step_bin["first"], step_bin["last"]) for step_bin in kind["bins"]] == [(0, 400), (400, 800)]
    assert [run["mean"] for run in early["runs"]] == pytest.approx([(-1 - 3 + 1) / 3, 0])
    assert [run["mean"] for run in late["runs"]] == pytest.approx([3, 0])
    assert late["runs"][0]["adaptive"] == 7, "an atom whose uniform partner is alone counts in AdaM's own mean"
    (first, second), *_ = ([row[4:7] for row in table.rows] for table in report.tables)
    assert first[:2] == pytest.approx([(1 + 1 + 3 + 2 + 1) / 5, (2 + 4 + 2 + 1 + 2) / 5])
    assert second[0] == pytest.approx((5 + 9 + 2 + 1) / 4)
    assert str(first[2]).startswith("-0.6000 ± ")
    (line,) = report.charts[0].lines
    assert list(line.x) == [400, 800]
    assert list(line.y) == pytest.approx([-0.5, 1.5])


def test_each_setting_of_a_run_has_its_own_file(molecules: Generation, tmp_path: Path) -> None:
    kinds = kinds_of_masks([3, 5, 3], ["all", "masked"], ["softmax", "kl"])
    assert len(kinds) == 8
    trainings = [
        training(ends, batch_size, bf16, tmp_path)
        for ends, batch_size, bf16 in (([400], 8, False), ([800], 8, False), ([400], 16, False), ([400], 8, True))
    ]
    paths = {
        run.path(molecules, kind, seed, size)
        for run in trainings
        for kind in kinds
        for seed in (0, 1)
        for size in (20, 30)
    }
    assert len(paths) == len(trainings) * len(kinds) * 4


def test_graphs_have_no_atoms_to_mask(graphs: Hierarchy, tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        graphs.publish(store, "graphs")
        with store.open("graphs") as opened, pytest.raises(Conflict, match="no atoms to mask"):
            masks.report(opened, 20, [Masking()], training([1]), 1, 0, lambda *_: nullcontext(lambda _: None))
