"""The report on transfer from molecules to graphs."""

import numpy as np
import pytest

from studies.cells import Cell
from studies.downstream.comparison import over_splits
from studies.downstream.graph_report import FINETUNED, SETS
from studies.downstream.transfer_report import ARMS, report


def cells(seeds: int) -> dict[tuple[str, int], Cell]:
    synthetic = {}
    for number, arm in enumerate(ARMS):
        for seed in range(seeds):
            rng = np.random.default_rng((number, seed))
            frozen = {name: (0.6 + 0.1 * (arm == "adam") + 0.01 * rng.standard_normal(10)).tolist() for name in SETS}
            tuned = {name: (0.7 + 0.01 * rng.standard_normal(3)).tolist() for name in FINETUNED}
            synthetic[arm, seed] = {"frozen": frozen, "finetuned": {} if arm == "calibrated" else tuned}
    return synthetic


@pytest.mark.parametrize("seeds", [1, 3])
def test_each_arm_is_compared_with_the_initial_weights(seeds: int) -> None:
    synthetic = cells(seeds)
    frozen, tuned = report(synthetic).split("| finetuned |")
    row = next(line for line in frozen.splitlines() if line.startswith("| AdaM |")).strip("| ").split(" | ")
    scores, control = (
        np.array([synthetic[arm, seed]["frozen"][SETS[0]] for seed in range(seeds)]) for arm in ("adam", "untrained")
    )
    assert row[1:3] == [f"{scores.mean():.4f}", str(over_splits(scores - control, 1 / 8))]
    assert row[2].startswith("**+0.1" if scores.mean() - control.mean() >= 0.1 else "**+0.0")
    assert len(row) == 1 + 2 * len(SETS)
    assert "calibrated on graphs" in frozen
    assert "calibrated on graphs" not in tuned
    assert len(next(line for line in tuned.splitlines() if line.startswith("| AdaM |")).strip("| ").split(" | ")) == 5
