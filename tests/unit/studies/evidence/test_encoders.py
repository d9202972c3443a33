"""Encoders of the arms, and the sets that they are scored on."""

from pathlib import Path

import numpy as np
import pytest
import torch

from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from studies.downstream.sets import read_actives
from studies.evidence import encoders
from studies.evidence.arms import Unit
from studies.evidence.encoders import permute
from studies.gpu.results import write_results
from studies.gpu.returned import export
from studies.gpu.setting import Setting
from studies.gpu.training import save_encoder

SMALL = Model(layers=2, width=8)


def encoder() -> Encoder:
    torch.manual_seed(0)
    made = make_encoder(SMALL)
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


def test_middle_dose_is_loaded_from_the_results_of_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job `dose` keeps several encoders in one file, in float16."""
    card, setting = Setting(tmp_path / "card", "cpu", 1, 0), Setting(tmp_path / "work", "cpu", 1, 0)
    model = PretrainConfig.from_strategy("hgc-fo", model=SMALL).as_json()["model"]
    trained = {name: encoder() for name in ("exact-1", "shuffled-1")}
    for name, each in trained.items():
        permute(each, len(name))
        save_encoder(card.encoder("dose", name), each)
    cells = {(name, "train"): {"model": model} for name in trained}
    export("dose", card, tmp_path / "results" / "dose", tmp_path / "results")
    write_results("dose", cells, tmp_path / "results")
    monkeypatch.setattr(encoders, "RESULTS", tmp_path / "results")
    encoders._middle_dose_cells.cache_clear()
    assert encoders.restore_middle_dose(setting) == {Unit("exact", 1, "middle"), Unit("shuffled", 1, "middle")}
    loaded = encoders.load(setting, Unit("shuffled", 1, "middle")).state_dict()
    expected = trained["shuffled-1"].state_dict()
    assert all(torch.equal(loaded[name], value.half().to(value.dtype)) for name, value in expected.items())
    encoders._middle_dose_cells.cache_clear()
