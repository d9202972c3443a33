"""Fine-tuning an encoder on labelled molecules (method.md E1): a linear head, both trained, the best epoch reported.

A run is a function of its options, the data, the seed and the machine, as in `pretrain`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from trainer.aggregation import graph_sum
from trainer.batch import Assembler, Batch
from trainer.config import Model, PretrainConfig
from trainer.dataset import Dataset
from trainer.encoders import Encoder, graph_mean
from trainer.errors import InvalidInput, TrainerError
from trainer.objective import make_encoder
from trainer.pretrained import load_encoder
from trainer.roc import roc_auc, scorable
from trainer.scaffold import Split

Pooling = Literal["mean", "sum"]
POOLINGS: tuple[Pooling, ...] = ("mean", "sum")

_SCORED_AT_ONCE = 512  # molecules


@dataclass(frozen=True)
class FinetuneOptions:
    """How an encoder is fine-tuned. The defaults are the published settings of the baselines.

    dropout     after every layer of the encoder.   head_scale  learning rate of the head over the encoder's.
    """

    epochs: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-3
    dropout: float = 0.5
    head_scale: float = 1.0
    pooling: Pooling = "mean"

    def __post_init__(self) -> None:
        for what, given, holds, expected in (
            ("number of epochs", self.epochs, self.epochs >= 1, "1 or more"),
            ("batch size", self.batch_size, self.batch_size >= 2, "2 or more"),
            ("learning rate", self.learning_rate, self.learning_rate > 0, "above 0"),
            ("dropout", self.dropout, 0 <= self.dropout < 1, "0 or more and below 1"),
            ("scale of the head's rate", self.head_scale, self.head_scale > 0, "above 0"),
            ("pooling", self.pooling, self.pooling in POOLINGS, ", ".join(POOLINGS)),
        ):
            if not holds:
                raise InvalidInput(f"not a possible {what}", given=given, expected=expected)


@dataclass(frozen=True, eq=False)
class Start:
    """The encoder that fine-tuning begins with; without `pretraining`, a new one for every seed."""

    model: Model
    pretraining: PretrainConfig | None = None
    pretrained: Encoder | None = None

    @classmethod
    def of(cls, checkpoint: Path) -> "Start":
        """From the newest checkpoint of a run. Raises as `load_encoder`."""
        encoder, config = load_encoder(checkpoint)
        return cls(config.model, config, encoder)

    def encoder(self) -> Encoder:
        """One to train; a new one depends on torch's seed."""
        return make_encoder(self.model) if self.pretrained is None else deepcopy(self.pretrained)


class Classifier(nn.Module):
    """An encoder, the mean or sum of each graph's atom vectors, and one linear layer for `tasks` logits."""

    def __init__(self, encoder: Encoder, tasks: int, options: FinetuneOptions) -> None:
        super().__init__()
        encoder.dropout.p = options.dropout
        self.encoder = encoder
        self.head = nn.Linear(encoder.width, tasks)
        self._sums = options.pooling == "sum"

    def forward(self, batch: Batch) -> Tensor:
        """(B, T) logits."""
        atoms = self.encoder(batch)
        pooled = graph_sum(atoms, batch.graph, batch.atom_ptr) if self._sums else graph_mean(atoms, batch)
        logits: Tensor = self.head(pooled)
        return logits


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy, the mean over the labels that there are; 0 if there are none.

    logits, labels (B, T). Missing labels, -1, give neither loss nor gradient.
    """
    present = (labels >= 0).to(logits.dtype)
    target = labels.clamp_min(0).to(logits.dtype)
    total = F.binary_cross_entropy_with_logits(logits, target, weight=present, reduction="sum")
    return total / present.sum().clamp_min(1)


@dataclass(frozen=True)
class FinetuneRun:
    """One seed's run. loss, valid_auc and test_auc are of each epoch, the loss averaged over its steps."""

    seed: int
    loss: list[float]
    valid_auc: list[float]
    test_auc: list[float]
    seconds: float

    @property
    def best_epoch(self) -> int:
        """From 1: the first of those with the highest validation AUC."""
        return 1 + int(np.argmax(self.valid_auc))

    @property
    def best_valid_auc(self) -> float:
        return self.valid_auc[self.best_epoch - 1]

    @property
    def score(self) -> float:
        """The test AUC of the best epoch."""
        return self.test_auc[self.best_epoch - 1]


def finetune(
    start: Start,
    dataset: Dataset,
    split: Split,
    options: FinetuneOptions,
    seed: int,
    device: str = "cpu",
    advance: Callable[[int], object] = lambda _: None,
) -> FinetuneRun:
    """Train on `split.train` with Adam, and score the other parts after every epoch.

    A last batch of one molecule is left out, which normalisation could not do with. `advance` hears of each epoch.

    Raises `InvalidInput` as `require_scorable`, and `TrainerError` once the loss or a score is not finite.
    """
    require_scorable(dataset, split)
    begun = perf_counter()
    loss, valid_auc, test_auc = [], [], []
    finetuner = _Finetuner(start, dataset, options, seed, device)
    for epoch in range(options.epochs):
        loss.append(finetuner.epoch(epoch, split.train))
        valid_auc.append(finetuner.score(split.valid))
        test_auc.append(finetuner.score(split.test))
        advance(1)
    return FinetuneRun(seed, loss, valid_auc, test_auc, perf_counter() - begun)


def require_scorable(dataset: Dataset, split: Split) -> None:
    """Raises `InvalidInput` if there is nothing to train on, or no task to score in valid or test."""
    if len(split.train) < 2:
        raise InvalidInput(
            "too few molecules to train on",
            given=f"{len(split.train)} of {len(dataset.smiles)} in train",
            expected="2 or more",
            hint="molecules of one scaffold stay together; a larger set may have more scaffolds",
        )
    for name, rows in (("valid", split.valid), ("test", split.test)):
        if not scorable(dataset.labels[rows]).any():
            raise InvalidInput(
                f"no task has both classes in {name}",
                given=f"{len(rows)} of {len(dataset.smiles)} molecules in {name}",
                expected="a larger or more varied dataset",
            )


class _Finetuner:
    """The classifier, its optimizer, and the data on the device."""

    def __init__(self, start: Start, dataset: Dataset, options: FinetuneOptions, seed: int, device: str) -> None:
        self._assembler = Assembler(dataset.corpus, device)
        self._labels = dataset.labels
        self._options = options
        self._seed = seed
        torch.manual_seed(seed)
        self._classifier = Classifier(start.encoder(), len(dataset.tasks), options).to(device)
        rate = options.learning_rate
        groups: list[dict[str, Any]] = [
            {"params": self._classifier.encoder.parameters()},
            {"params": self._classifier.head.parameters(), "lr": rate * options.head_scale},
        ]
        self._optimizer = torch.optim.Adam(groups, lr=rate, fused=True)
        if self._assembler.device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32

    def epoch(self, epoch: int, rows: NDArray[np.int64]) -> float:
        """One pass over `rows` in random order; the mean loss of its steps."""
        order = np.random.default_rng((self._seed, epoch)).permutation(rows)
        batches = np.split(order, range(self._options.batch_size, len(order), self._options.batch_size))
        self._classifier.train()
        losses = [self._step(batch) for batch in batches if len(batch) > 1]
        mean = float(torch.stack(losses).mean())
        if not np.isfinite(mean):
            raise self._diverged(f"the loss is {mean} in epoch {epoch + 1}")
        return mean

    def _step(self, rows: NDArray[np.int64]) -> Tensor:
        labels = torch.from_numpy(self._labels[rows]).to(self._assembler.device)
        loss = label_loss(self._classifier(self._assembler.batch(rows)), labels)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def score(self, rows: NDArray[np.int64]) -> float:
        """The ROC-AUC over `rows`."""
        self._classifier.eval()
        parts = np.split(rows, range(_SCORED_AT_ONCE, len(rows), _SCORED_AT_ONCE))
        logits = torch.cat([self._classifier(self._assembler.batch(part)) for part in parts]).cpu().numpy()
        if not np.isfinite(logits).all():
            raise self._diverged("a prediction is not finite")
        return roc_auc(self._labels[rows], logits)

    def _diverged(self, what: str) -> TrainerError:
        return TrainerError(
            "fine-tuning diverged",
            given=f"{what}, seed {self._seed}, learning rate {self._options.learning_rate}",
            hint="try a lower learning rate",
        )
