"""Encoders of the arms, and the sets that they are scored on."""

from pathlib import Path

import numpy as np
import torch

from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder
from studies.downstream.sets import read_actives
from studies.evidence.arms import Unit
from studies.evidence.encoders import permute


def encoder() -> Encoder:
    torch.manual_seed(0)
    made = make_encoder(Model(layers=2, width=8))
    for value in made.state_dict().values():
        if value.is_floating_point():
            value.uniform_()
    return made


def test_permuted_weights_have_the_same_elements() -> None:
    before, after, again, other = (encoder() for _ in range(4))
    for each, seed in ((after, 3), (again, 3), (other, 4)):
        permute(each, seed)
    for name, value in before.state_dict().items():
        permuted = after.state_dict()[name]
        assert torch.equal(permuted, again.state_dict()[name])
        if value.dim() < 2:
            assert torch.equal(permuted, value)
        else:
            assert not torch.equal(permuted, value)
            assert not torch.equal(permuted, other.state_dict()[name])
            assert torch.equal(permuted.flatten().sort().values, value.flatten().sort().values)
    name = "inputs.atom_type.weight"
    moved = after.state_dict()[name] != before.state_dict()[name]
    assert moved.double().mean() > 0.95


def test_permuted_weights_come_from_the_exact_encoder() -> None:
    units = [Unit.at_dose(arm, 1, "small") for arm in ("permuted", "exact", "scratch", "shuffled")]
    assert [unit.dose for unit in units] == ["small", "small", "none", "small"]
    exact, shuffled = Unit("exact", 1, "small"), Unit("shuffled", 1, "small")
    assert [unit.trained for unit in units] == [exact, exact, None, shuffled]


def test_molecules_above_the_median_are_active(tmp_path: Path) -> None:
    """The median of the readable molecules is 2.0, which is not above itself."""
    rows = ["CCO,1.0", "CCN,2.0", "c1ccccc1,3.5", "unreadable,9.0", "CC,2.0", "CCC,-4.0"]
    (tmp_path / "set.csv").write_text("\n".join(["smiles,y", *rows]))
    data = read_actives(tmp_path / "set.csv")
    assert data.tasks == ("active",)
    np.testing.assert_array_equal(data.labels, [[0], [0], [1], [0], [0]])
