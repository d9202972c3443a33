"""Fine-tuning: the loss by hand, what does not count, that it learns, and that it repeats itself."""

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_class_weight

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.dataset import Dataset, label_loss, read_csv
from graphkin.trainer.downstream.finetune import Classifier, Curve, FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.labeled import balanced_weights
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.downstream.tu import read_tu
from graphkin.trainer.errors import Diverged
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.strategy import ENCODERS, Encoder

SMALL = Model(layers=2, width=16)
QUICK = FinetuneOptions(epochs=8, learning_rate=1e-2, dropout=0.0)


def test_loss_equals_that_computed_by_hand() -> None:
    """-log σ(x) where the label is 1, -log(1 - σ(x)) where it is 0, over three labels of four."""
    logits = torch.tensor([[0.5, -2.0], [3.0, 0.0]], dtype=torch.float64)
    labels = torch.tensor([[1, -1], [0, 1]], dtype=torch.int8)
    by_hand = (log(1 + exp(-0.5)) + log(1 + exp(3.0)) + log(2)) / 3
    assert float(label_loss(logits, labels)) == pytest.approx(by_hand, abs=1e-12)


def test_missing_labels_give_neither_loss_nor_gradient() -> None:
    labels = torch.tensor([[1, -1, 0], [-1, -1, 1]], dtype=torch.int8)
    logits = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    other = (logits.detach() + 100.0 * (labels == -1)).requires_grad_()
    loss, same = label_loss(logits, labels), label_loss(other, labels)
    assert torch.equal(loss, same)
    loss.backward()
    same.backward()
    assert logits.grad is not None
    assert other.grad is not None
    assert torch.equal(logits.grad == 0, labels == -1)
    assert torch.equal(logits.grad, other.grad)


def test_balanced_loss_equals_that_of_scikit_learn(dataset: Dataset) -> None:
    """The mean over all labels of all tasks, weighted as by `compute_class_weight`. Missing labels do not count."""
    rows = np.arange(5, 60)
    labels = dataset.labels[rows]
    logits = torch.randn(len(rows), 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = dataset.class_weights(rows)
    losses, sums = [], []
    for task, column in enumerate(labels.T):
        is_known = column >= 0
        known, probabilities = column[is_known], logits[:, task].sigmoid().numpy()[is_known]
        expected = compute_class_weight("balanced", classes=np.array([0, 1]), y=known)
        np.testing.assert_allclose(weights[task], expected)
        losses.append(log_loss(known, probabilities, sample_weight=expected[known]))
        sums.append(expected[known].sum())
    loss = dataset.loss(logits, rows, torch.from_numpy(weights))
    assert float(loss) == pytest.approx(np.average(losses, weights=sums), abs=1e-12)
    assert float(loss) != pytest.approx(float(dataset.loss(logits, rows)), abs=1e-4)


def test_class_without_labels_has_no_weight() -> None:
    labels = np.array([3, 0, 0, -1, 0, 3, 1, -1])
    weights = compute_class_weight("balanced", classes=np.array([0, 1, 3]), y=labels[labels >= 0])
    expected = dict(zip([0, 1, 3], weights, strict=True))
    assert balanced_weights(labels, 5).tolist() == [expected[0], expected[1], 0, expected[3], 0]
    assert balanced_weights(np.array([-1, -1]), 2).tolist() == [0, 0]


def test_training_weights_classes_of_the_training_part_only(dataset: Dataset, split: Split) -> None:
    """One batch without dropout: the loss of the first epoch is the balanced loss of the initial weights."""
    options = FinetuneOptions(epochs=1, batch_size=len(split.train), dropout=0.0, class_weights="balanced")
    start = InitialEncoder(SMALL)
    run = finetune(start, dataset, split, options, seed=4)
    torch.manual_seed(4)
    classifier = Classifier(start.encoder(), dataset.outputs, options).train()
    logits = classifier(Assembler(dataset.corpus).batch(split.train))
    weights = torch.from_numpy(dataset.class_weights(split.train)).float()
    assert run.loss == [pytest.approx(dataset.loss(logits, split.train, weights).item(), rel=1e-5)]
    plain = finetune(start, dataset, split, replace(options, class_weights=None), seed=4)
    assert run.loss[0] != pytest.approx(plain.loss[0], rel=1e-3)


def test_a_batch_without_labels_changes_nothing() -> None:
    logits = torch.ones(3, 2, requires_grad=True)
    loss = label_loss(logits, torch.full((3, 2), -1, dtype=torch.int8))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_score_is_taken_from_the_first_of_the_best_epochs() -> None:
    curve = Curve([0.6, 0.8, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4])
    assert (curve.best_epoch, curve.best_valid, curve.score) == (2, 0.8, 0.2)


def test_without_validation_the_last_epoch_counts() -> None:
    curve = Curve([], [0.1, 0.4, 0.3])
    assert (curve.best_epoch, curve.best_valid, curve.score) == (3, None, 0.3)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_mean_and_sum_of_atoms_before_one_layer(dataset: Dataset, encoder: Encoder) -> None:
    batch = Assembler(dataset.corpus).batch(np.array([3, 4, 5]))
    for pooling in ("mean", "sum"):
        torch.manual_seed(0)
        classifier = Classifier(make_encoder(replace(SMALL, encoder=encoder)), 2, FinetuneOptions(pooling=pooling))
        classifier.eval()
        atoms = classifier.encoder(batch)
        pooled = torch.stack([getattr(atoms[batch.graph == graph], pooling)(0) for graph in range(3)])
        torch.testing.assert_close(classifier(batch), pooled @ classifier.head.weight.T + classifier.head.bias)


def test_dropout_is_the_encoders(dataset: Dataset) -> None:
    classifier = Classifier(make_encoder(SMALL), 1, FinetuneOptions(dropout=0.7))
    assert {each.p for each in classifier.modules() if isinstance(each, torch.nn.Dropout)} == {0.7}
    atoms = classifier.encoder(Assembler(dataset.corpus).batch(np.arange(50)))
    assert float((atoms == 0).float().mean()) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_finetuning_learns_the_elements_of_unseen_scaffolds(dataset: Dataset, split: Split, encoder: Encoder) -> None:
    """Nitrogen or not, oxygen or not with every third label missing, on scaffolds never seen."""
    run = finetune(InitialEncoder(replace(SMALL, encoder=encoder)), dataset, split, QUICK, seed=0)
    assert run.loss[-1] < 0.5 * run.loss[0]
    assert run.main.score > 0.9
    assert len(run.loss) == len(run.main.valid) == len(run.main.test) == 8


@pytest.mark.parametrize("encoder", ENCODERS)
def test_finetuning_separates_stars_from_rings(shapes: Path, encoder: Encoder) -> None:
    """Stars and rings without attributes: of small variance at first, which running statistics must come down to."""
    data = read_tu(shapes)
    run = finetune(
        InitialEncoder(replace(SMALL, encoder=encoder)), data, data.split(), replace(QUICK, epochs=40), seed=0
    )
    assert run.main.score > 0.9
    assert [*run.curves] == ["accuracy", "rc_f1"]


def test_parts_without_graphs_are_refused(shapes: Path) -> None:
    data, rows = read_tu(shapes), np.arange(120)
    for parts in (Split(rows[:1], rows, rows), Split(rows, rows[:0], rows), Split(rows, rows, rows[:0])):
        with pytest.raises(InvalidInput, match="too few graphs"):
            finetune(InitialEncoder(SMALL), data, parts, QUICK, seed=0)


def test_seeds_and_nothing_else_decide(dataset: Dataset, split: Split) -> None:
    def curves(seed: int, **options: Any) -> list[float]:
        run = finetune(InitialEncoder(SMALL), dataset, split, replace(QUICK, epochs=2, dropout=0.3, **options), seed)
        return run.loss + run.main.valid + run.main.test

    first = curves(0)
    torch.rand(7)
    np.random.default_rng().random(3)
    assert curves(0) == first
    assert curves(1) != first
    assert curves(0, head_scale=0.7) != first


def test_a_pretrained_encoder_is_where_every_seed_begins_and_stays_as_it_is(dataset: Dataset, split: Split) -> None:
    pretrained = make_encoder(SMALL).eval()
    before = {name: value.clone() for name, value in pretrained.state_dict().items()}
    start = InitialEncoder(SMALL, None, pretrained)
    runs = [finetune(start, dataset, split, replace(QUICK, epochs=1), seed=5) for _ in range(2)]
    assert runs[0].loss == runs[1].loss
    assert [each.p for each in pretrained.modules() if isinstance(each, torch.nn.Dropout)] == [0]
    assert not pretrained.training
    assert all(torch.equal(value, before[name]) for name, value in pretrained.state_dict().items())
    assert runs[0].loss != finetune(InitialEncoder(SMALL), dataset, split, replace(QUICK, epochs=1), seed=5).loss


def test_a_last_batch_of_one_molecule_is_left_out(tmp_path: Path) -> None:
    """Methane alone has one atom, which cannot be normalised; of three in batches of two it is often the last."""
    file = tmp_path / "set.csv"
    file.write_text("smiles,y\nC,0\nN,1\nO,0\n")
    parts = Split(np.arange(3), np.arange(3), np.arange(3))
    run = finetune(InitialEncoder(SMALL), read_csv(file), parts, replace(QUICK, epochs=6, batch_size=2), seed=0)
    assert np.isfinite(run.loss).all()


def test_one_epoch_takes_every_molecule_once(dataset: Dataset, split: Split) -> None:
    """One step of an epoch of one batch is one step of Adam on the loss over all of train, whatever the order."""
    options = replace(QUICK, epochs=1, batch_size=len(split.train))
    run = finetune(InitialEncoder(SMALL), dataset, split, options, seed=3)
    torch.manual_seed(3)
    classifier = Classifier(make_encoder(SMALL), len(dataset.tasks), options)
    logits = classifier(Assembler(dataset.corpus).batch(split.train))
    loss = label_loss(logits, torch.from_numpy(dataset.labels[split.train]))
    assert run.loss == [pytest.approx(loss.item(), rel=1e-5)]


def test_what_is_reported_is_the_encoder_after_the_epoch_that_counts(dataset: Dataset, split: Split) -> None:
    """The first that is best on validation: as a plain loop has it that ends there."""
    options = replace(QUICK, dropout=0.3, learning_rate=0.03)
    runs = (finetune(InitialEncoder(SMALL), dataset, split, options, seed) for seed in range(1, 20))
    run = next(each for each in runs if 1 < each.main.best_epoch < options.epochs)
    torch.manual_seed(run.seed)
    classifier = Classifier(make_encoder(SMALL), len(dataset.tasks), options)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=options.learning_rate, fused=True)
    assembler, labels, steps = Assembler(dataset.corpus), torch.from_numpy(dataset.labels), 0
    for epoch in range(run.main.best_epoch):
        order = np.random.default_rng((run.seed, epoch)).permutation(split.train)
        for rows in np.split(order, range(32, len(order), 32)):
            loss = label_loss(classifier(assembler.batch(rows)), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    assert run.checkpoint is not None
    assert (run.checkpoint.steps, run.checkpoint.epoch_steps) == (steps, steps / run.main.best_epoch)
    expected = {f"encoder.{name}": value for name, value in classifier.encoder.state_dict().items()}
    assert run.checkpoint.model.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(run.checkpoint.model[name], value, rtol=0, atol=1e-5, msg=name)
    assert run.checkpoint.optimizer == {}


def test_a_run_without_its_checkpoint_is_json(dataset: Dataset, split: Split) -> None:
    run = finetune(InitialEncoder(SMALL), dataset, split, replace(QUICK, epochs=1), 0)
    values = json.loads(json.dumps(run.as_json()))
    assert values.keys() == {"seed", "loss", "curves", "seconds"}
    assert values["curves"]["auc"]["test"] == run.main.test


def test_a_loss_that_is_not_finite_stops(dataset: Dataset, split: Split) -> None:
    with pytest.raises(Diverged, match=r"(?s)diverged.*epoch 1, seed 4"):
        finetune(InitialEncoder(SMALL), dataset, split, replace(QUICK, learning_rate=1e30), seed=4)


def test_predictions_that_are_not_finite_stop(dataset: Dataset, split: Split) -> None:
    """After a single step: the loss before it was finite."""
    options = replace(QUICK, epochs=1, learning_rate=1e38, batch_size=len(split.train))
    with pytest.raises(Diverged, match="a prediction is not finite"):
        finetune(InitialEncoder(SMALL), dataset, split, options, seed=0)


def test_parts_that_cannot_be_scored_or_trained_on(dataset: Dataset, split: Split) -> None:
    nothing = np.empty(0, np.int64)
    yes = split.valid[(dataset.labels[split.valid] == 1).all(1)]
    for parts, said in [
        (Split(nothing, split.valid, split.test), "too few molecules"),
        (Split(split.train, yes, split.test), "both classes in valid"),
        (Split(split.train, split.valid, nothing), "both classes in test"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            finetune(InitialEncoder(SMALL), dataset, parts, QUICK, seed=0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"dropout": 1.0},
        {"head_scale": 0.0},
        {"pooling": "max"},
    ],
)
def test_impossible_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="invalid"):
        FinetuneOptions(**wrong)


def test_schedule_and_clipping_are_those_of_a_plain_loop(shapes: Path) -> None:
    """Method.md E3: a ramp over a tenth of the steps, down to 0 at the last; the norm of all gradients is cut."""
    data = read_tu(shapes)
    split = Split(np.arange(0, 120, 2), np.arange(1, 60, 2), np.arange(61, 120, 2))
    options = FinetuneOptions(epochs=6, batch_size=16, learning_rate=0.01, dropout=0.0, warmup=0.1, clip=0.05)
    run = finetune(InitialEncoder(SMALL), data, split, options, seed=3)
    torch.manual_seed(3)
    classifier = Classifier(make_encoder(SMALL), 2, options)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=1.0)
    assembler, labels, steps, losses, cut = Assembler(data.corpus), torch.from_numpy(data.labels), 24, [], 0
    for step in range(steps):
        epoch, place = divmod(step, 4)
        rows = np.random.default_rng((3, epoch)).permutation(split.train)[16 * place : 16 * (place + 1)]
        loss = torch.nn.functional.cross_entropy(classifier(assembler.batch(rows)), labels[rows])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        norm = sum(float(each.grad.square().sum()) for each in classifier.parameters() if each.grad is not None) ** 0.5
        for each in classifier.parameters():
            if each.grad is not None and norm > 0.05:
                each.grad *= 0.05 / (norm + 1e-6)
        cut += norm > 0.05
        optimizer.param_groups[0]["lr"] = 0.01 * (step / 2 if step < 2 else (23 - step) / 21)
        optimizer.step()
    assert cut > 0
    expected = [np.mean(losses[4 * epoch : 4 * epoch + 4]) for epoch in range(6)]
    assert run.loss == pytest.approx(expected, abs=2e-4)  # float32, and steps of Adam that are fused


@pytest.mark.parametrize("wrong", [{"warmup": 1.5}, {"warmup": -0.1}, {"clip": 0.0}])
def test_impossible_schedules_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        FinetuneOptions(**wrong)  # type: ignore[arg-type]
