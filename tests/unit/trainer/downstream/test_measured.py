"""Regression: values that are read, the loss and the errors beside scikit-learn's and torch's, and that it learns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from rdkit import Chem
from rdkit.Chem.Descriptors import MolWt
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.finetune import Curve, FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.measurements import Measurements, select_measurements
from graphkin.trainer.downstream.molecules import read_molecules
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.pretraining.config import Model

Read = Callable[..., Measurements]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """read(text, targets): of a CSV file that holds this."""

    def read(text: str, targets: list[str] | None = None) -> Measurements:
        (tmp_path / "values.csv").write_text(text)
        return select_measurements(read_molecules(tmp_path / "values.csv"), targets)

    return read


@pytest.fixture(scope="module")
def weighed(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Measurements:
    """Molecules with their weight, and with another value that every third lacks."""
    path = tmp_path_factory.mktemp("measured") / "weights.csv"
    molecules = [molecule for smiles in nci_smiles[:300] if (molecule := Chem.MolFromSmiles(smiles)) is not None]
    rows = [
        f"{Chem.MolToSmiles(molecule)},{MolWt(molecule):.3f},{'' if row % 3 == 0 else -row / 7}"
        for row, molecule in enumerate(molecules)
    ]
    path.write_text("\n".join(["smiles,weight,other", *rows]) + "\n")
    return select_measurements(read_molecules(path), ["weight", "other"])


def test_columns_of_numbers_are_read(read: Read) -> None:
    text = "Compound ID,logS,smiles,note,flag\nx,-0.77,CCO,a,1\ny,,CCC,b,0\nz,nan,CCN,c,1\nq,1e-3,CCCl,d,0\nw,9,?,e,1\n"
    found = read(text)
    assert found.tasks == ("logS", "flag")
    np.testing.assert_array_equal(found.values[:, 0], [-0.77, np.nan, np.nan, 0.001])
    assert found.smiles == ("CCO", "CCC", "CCN", "CCCl")
    assert [each.line for each in found.rejected] == [6]
    assert read(text, ["logS"]).tasks == ("logS",)


@pytest.mark.parametrize(
    ("targets", "said"),
    [(["note"], "a in line 2"), (["none"], "no column 'none'"), (["empty"], "does not hold numbers")],
)
def test_error_names_the_value_that_is_not_a_number(read: Read, targets: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read("smiles,note,empty\nCCO,a,\nCCC,3,nan\n", targets)


def test_infinite_values_are_none(read: Read) -> None:
    with pytest.raises(InvalidInput, match="inf in line 3"):
        read("smiles,x\nCCO,1\nCCC,inf\n", ["x"])


def test_errors_are_those_of_scikit_learn_in_the_units_of_the_file(weighed: Measurements) -> None:
    rows = weighed.split().test
    logits = np.random.default_rng(0).normal(size=(len(rows), 2))
    mean, deviation = weighed.scale
    squared, absolute = [], []
    for task in range(2):
        known = ~np.isnan(weighed.values[rows, task])
        predicted = logits[known, task] * deviation[task] + mean[task]
        squared.append(root_mean_squared_error(weighed.values[rows, task][known], predicted))
        absolute.append(mean_absolute_error(weighed.values[rows, task][known], predicted))
    assert weighed.scores(logits, rows) == pytest.approx((np.mean(squared), np.mean(absolute)), rel=1e-12)


def test_scale_is_computed_from_the_training_part_alone(weighed: Measurements) -> None:
    train = weighed.values[weighed.split().train]
    for task in range(2):
        known = train[~np.isnan(train[:, task]), task]
        assert (weighed.scale[0][task], weighed.scale[1][task]) == pytest.approx((known.mean(), known.std()))


def test_loss_equals_that_of_torch_over_the_known_values(weighed: Measurements) -> None:
    rows = np.arange(12)
    logits = torch.randn(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mean, deviation = weighed.scale
    wanted = torch.from_numpy((weighed.values[rows] - mean) / deviation)
    known = ~wanted.isnan()
    loss = weighed.loss(logits, rows)
    expected = torch.nn.functional.mse_loss(logits.detach()[known], wanted[known])
    assert float(loss.detach()) == pytest.approx(float(expected))
    loss.backward()
    assert logits.grad is not None
    assert torch.equal(logits.grad == 0, ~known)


def test_score_is_taken_from_the_epoch_with_the_least_validation_error() -> None:
    curve = Curve([0.9, 0.5, 0.7, 0.5], [4.0, 3.0, 2.0, 1.0], lower_is_better=True)
    assert (curve.best_epoch, curve.best_valid, curve.score) == (2, 0.5, 3.0)


def test_weights_of_molecules_are_learned(weighed: Measurements) -> None:
    """Better than by the number of atoms alone, which linear regression makes the most of."""
    split = weighed.split()
    one = Measurements(weighed.corpus, weighed.smiles, ("weight",), weighed.values[:, :1], ())
    options = FinetuneOptions(epochs=25, learning_rate=1e-2, dropout=0.0, pooling="sum")
    run = finetune(InitialEncoder(Model(layers=2, width=32)), one, split, options, seed=0)
    rmse, mae = run.curves["rmse"], run.curves["mae"]
    atoms = weighed.corpus.atoms[:, np.newaxis]
    line = LinearRegression().fit(atoms[split.train], weighed.values[split.train, 0])
    baseline = root_mean_squared_error(weighed.values[split.test, 0], line.predict(atoms[split.test]))
    assert rmse.score < baseline
    assert all(below <= above for below, above in zip(mae.test, rmse.test, strict=True))
    assert rmse.best_valid == min(rmse.valid)


def test_targets_that_cannot_be_learned_or_scored_are_refused(weighed: Measurements) -> None:
    split = weighed.split()
    with pytest.raises(InvalidInput, match="other has too few values to be scored"):
        weighed.require_scorable(Split(split.train, split.valid, np.array([0])))
    constant = Measurements(weighed.corpus, weighed.smiles, ("x",), np.ones((len(weighed.smiles), 1)), ())
    with pytest.raises(InvalidInput, match="x has too few values to be learned"):
        constant.require_scorable(split)
