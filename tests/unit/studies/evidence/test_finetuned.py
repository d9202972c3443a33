"""Fine-tuned scores: of every epoch and task, chosen on validation, and the same for replicas trained together."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from graphkin.trainer.downstream.dataset import Dataset
from graphkin.trainer.downstream.finetune import FinetuneOptions, FinetuneRun, InitialEncoder, finetune
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.model.encoders import ConvolutionalEncoder
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder
from studies.evidence.finetuned import (
    GRID,
    TaskwiseDataset,
    Tuning,
    best_score,
    choose,
    curves,
    late_score,
    seed_of_run,
)
from studies.evidence.replicas import Replica, Replicas, finetune_replicas

SMALL = Model(layers=2, width=16)
SETTINGS = (Tuning(1e-3, 0.0), Tuning(3e-4, 0.5), Tuning(1e-4, 0.2))


@pytest.fixture
def double_precision() -> Iterator[None]:
    """In float32, Adam's first steps amplify rounding errors, also between two serial runs."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def replicas(data: Dataset, train: int = 225) -> list[Replica]:
    """Return runs with other encoders, splits, seeds, rates and dropout. `train` is the size of the first one."""
    made = []
    for place, tuning in enumerate(SETTINGS):
        torch.manual_seed(place)
        encoder = make_encoder(SMALL).eval()
        assert isinstance(encoder, ConvolutionalEncoder)
        rows = np.random.default_rng(place).permutation(len(data.smiles))
        parts = np.split(rows, [train - place, train + 30, train + 60])[:3]
        made.append(Replica(encoder, Split(*map(np.sort, parts)), 7 + place, *tuning))
    return made


def serial(replica: Replica, data: Dataset, epochs: int, batch_size: int) -> FinetuneRun:
    options = FinetuneOptions(epochs, batch_size, replica.learning_rate, replica.dropout)
    start = InitialEncoder(SMALL, pretrained=replica.encoder)
    return finetune(start, data, replica.split, options, replica.seed)


@pytest.mark.usefixtures("double_precision")
def test_losses_of_replicas_equal_serial_ones_in_each_of_20_steps(dataset: Dataset) -> None:
    """With batches as large as the training part, every epoch is one step."""
    runs = replicas(dataset, train=60)
    group = Replicas(runs, dataset, batch_size=300)
    losses = np.array([group.epoch(epoch) for epoch in range(20)])
    for place, each in enumerate(runs):
        np.testing.assert_allclose(losses[:, place], serial(each, dataset, 20, 300).loss, rtol=0, atol=1e-9)
    assert np.ptp(losses[-1]) > 1e-3


@pytest.mark.usefixtures("double_precision")
def test_scores_of_replicas_equal_serial_ones(dataset: Dataset) -> None:
    """225 molecules are 8 batches of 32, of which one molecule is left out, and 224 and 223 are 7."""
    data, runs = TaskwiseDataset.from_dataset(dataset), replicas(dataset)
    cells = finetune_replicas(runs, data, epochs=3)
    for cell, each in zip(cells, runs, strict=True):
        run = serial(each, data, 3, 32)
        valid, test = (
            np.array([getattr(curve, part) for curve in run.curves.values()]).T for part in ("valid", "test")
        )
        assert cell is not None
        expected = curves(run.loss, valid, test, each.split)
        assert cell["loss"] == pytest.approx(expected["loss"], abs=2e-6)
        assert {**cell, "loss": None} == {**expected, "loss": None}


def test_diverged_replica_has_no_scores(dataset: Dataset) -> None:
    runs = replicas(dataset)
    data, broken = TaskwiseDataset.from_dataset(dataset), runs[1]
    runs[1] = Replica(broken.encoder, broken.split, broken.seed, float("inf"), 0.0)
    first, second, third = finetune_replicas(runs, data, epochs=2)
    assert second is None
    assert first is not None
    assert third is not None


def test_further_metrics_do_not_change_a_run(dataset: Dataset) -> None:
    replica = replicas(dataset)[0]
    plain = serial(replica, dataset, 2, 32)
    by_task = serial(replica, TaskwiseDataset.from_dataset(dataset), 2, 32)
    assert by_task.loss == plain.loss
    assert by_task.main == plain.main
    assert by_task.curves.keys() == {"auc", "nitrogen", "oxygen"}
    areas = [by_task.curves[task].test for task in ("nitrogen", "oxygen")]
    np.testing.assert_allclose(np.mean(areas, axis=0), plain.main.test)


def test_scores_and_choice_of_a_setting() -> None:
    """The choice reads the last 10 epochs of validation alone. The best epoch is the first of equal ones."""
    valid = [0.9, 0.5, *[0.7] * 9, 0.9]
    cell = {"valid": valid, "test": [0.1, 0.2, *[0.6] * 9, 0.8]}
    assert late_score(cell) == pytest.approx((9 * 0.6 + 0.8) / 10)
    assert best_score(cell) == 0.1
    cells = {
        tuning: {"valid": [0.99, *[place / 10] * 10], "test": [1 - place / 10] * 11}
        for place, tuning in enumerate(GRID)
    }
    assert choose(cells) == GRID[-1]
    assert len({seed_of_run(seed, split) for seed in range(5) for split in range(10)}) == 50
