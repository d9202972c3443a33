"""Fine-tuning of an encoder on labeled graphs with a linear head (method.md E; docs/reference/training.md).

Both the encoder and the head are trained, and the score of the best epoch is reported. The result depends only on the
options, the data, the seed and the machine.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphkin.protocol.errors import require
from graphkin.trainer.downstream.embed import batches
from graphkin.trainer.downstream.labeled import LabeledGraphs
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.errors import Diverged
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.pooling import POOLINGS, Pooling, pool
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.config import Model, Optimization, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint, load_encoder
from graphkin.trainer.pretraining.schedule import learning_rate


@dataclass(frozen=True)
class FinetuneOptions:
    """Options of fine-tuning. The defaults are the published settings of the baselines (method.md E1).

    Attributes:
        epochs: Number of passes over the training part, 1 or more.
        batch_size: Graphs per batch, 2 or more.
        learning_rate: Learning rate of the encoder, above 0.
        dropout: Probability of dropout after every layer of the encoder, in [0, 1).
        head_scale: Learning rate of the head, relative to that of the encoder; above 0.
        pooling: `mean`, `sum`, `center` or `readout`, as in `model.pooling.pool`.
        warmup: Share of the steps in which the learning rate rises from 0, in [0, 1]. It falls to 0 in the other steps.
            None for a constant rate.
        clip: Maximum norm of the gradients, above 0; None for no clipping.
        class_weights: `balanced` to weight the loss by `LabeledGraphs.class_weights` of the training part; None for
            equal weights.
    """

    epochs: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-3
    dropout: float = 0.5
    head_scale: float = 1.0
    pooling: Pooling = "mean"
    warmup: float | None = None
    clip: float | None = None
    class_weights: Literal["balanced"] | None = None

    def __post_init__(self) -> None:
        for quantity, value, is_valid, expected in (
            ("number of epochs", self.epochs, self.epochs >= 1, "1 or more"),
            ("batch size", self.batch_size, self.batch_size >= 2, "2 or more"),
            ("learning rate", self.learning_rate, self.learning_rate > 0, "above 0"),
            ("dropout", self.dropout, 0 <= self.dropout < 1, "0 or more and below 1"),
            ("scale of the head's rate", self.head_scale, self.head_scale > 0, "above 0"),
            ("pooling", self.pooling, self.pooling in POOLINGS, ", ".join(POOLINGS)),
            ("share of warm-up steps", self.warmup, self.warmup is None or 0 <= self.warmup <= 1, "0 to 1, or none"),
            ("norm to clip to", self.clip, self.clip is None or self.clip > 0, "above 0, or none"),
            ("class weights", self.class_weights, self.class_weights in ("balanced", None), "balanced, or none"),
        ):
            require(
                is_valid,
                quantity,
                value,
                expected,
                hint="run `graphkin finetune --help` for the options and their ranges",
            )

    def as_json(self) -> dict[str, Any]:
        """Return the options as a JSON object, without those that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def schedule(self) -> Optimization:
        """Return the schedule of the encoder's learning rate."""
        if self.warmup is None:
            return Optimization(self.learning_rate, schedule="constant")
        return Optimization(self.learning_rate, warmup=self.warmup)


NODES = FinetuneOptions(learning_rate=5e-3, dropout=0.0, warmup=0.1, clip=1.0)
"""Published settings for nodes (method.md E3; docs/reference/training.md). The paper does not state the dropout."""


@dataclass(frozen=True, eq=False)
class InitialEncoder:
    """The encoder that fine-tuning starts from.

    Attributes:
        model: Architecture of the encoder.
        pretraining: Configuration of its pre-training; None without pre-training.
        pretrained: The encoder; None for a new encoder with random weights for every seed.
        finetuned: Setting of its earlier fine-tuning, as in `Pretrained`; None without.
        recipe: Recipe of the nodes of its pre-training, as in `Pretrained`; None without.
    """

    model: Model
    pretraining: PretrainConfig | None = None
    pretrained: Encoder | None = None
    finetuned: Mapping[str, Any] | None = None
    recipe: Mapping[str, Any] | None = None

    @classmethod
    def from_checkpoint(cls, checkpoint: Path) -> "InitialEncoder":
        """Load the newest checkpoint of a run.

        Raises:
            GraphkinError: The errors of `load_encoder`.
        """
        pretrained = load_encoder(checkpoint)
        return cls(pretrained.model, pretrained.config, pretrained.encoder, pretrained.finetuned, pretrained.recipe)

    @property
    def pooling(self) -> Pooling:
        """The pooling that fits the encoder: the mean, unless it has a readout of its own."""
        return "readout" if (self.pretrained or make_encoder(self.model)).has_readout else "mean"

    def encoder(self) -> Encoder:
        """Return a copy of the encoder, or a new one, whose random weights depend on torch's seed."""
        return make_encoder(self.model) if self.pretrained is None else deepcopy(self.pretrained)


class Classifier(nn.Module):
    """An encoder, the pooling of the atom vectors of each graph, and a linear layer, the head.

    Args:
        encoder: The encoder.
        outputs: Number of logits per graph.
        options: Options, of which the dropout and the pooling are used.
    """

    def __init__(self, encoder: Encoder, outputs: int, options: FinetuneOptions) -> None:
        super().__init__()
        for module in encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = options.dropout
        self.encoder = encoder
        self.head = nn.Linear(encoder.width, outputs)
        self._pooling = options.pooling

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of a batch, (B, outputs)."""
        logits: Tensor = self.head(pool(self.encoder, batch, self._pooling))
        return logits


@dataclass(frozen=True)
class Curve:
    """The scores of a metric after every epoch.

    Attributes:
        valid: Scores on the validation part; empty if the split has none.
        test: Scores on the test part.
        lower_is_better: Whether the scores are errors.
    """

    valid: list[float]
    test: list[float]
    lower_is_better: bool = False

    @property
    def best_epoch(self) -> int:
        """The first epoch with the best score on validation, counted from 1; the last epoch without validation."""
        best = np.argmin if self.lower_is_better else np.argmax
        return 1 + int(best(self.valid)) if self.valid else len(self.test)

    @property
    def best_valid(self) -> float | None:
        """The best score on validation; None without validation."""
        return self.valid[self.best_epoch - 1] if self.valid else None

    @property
    def score(self) -> float:
        """The score on test in the best epoch."""
        return self.test[self.best_epoch - 1]


@dataclass(frozen=True)
class FinetuneRun:
    """The result of one seed.

    Attributes:
        seed: The seed.
        loss: Mean loss of the steps of each epoch.
        curves: Scores by the name of the metric, for all `LabeledGraphs.metrics`.
        seconds: Duration in seconds.
        checkpoint: The encoder after the best epoch; None if the encoder was not trained.
        head: State of the head after the best epoch; None if the encoder was not trained.
    """

    seed: int
    loss: list[float]
    curves: dict[str, Curve]
    seconds: float
    checkpoint: Checkpoint | None = field(default=None, compare=False, repr=False)
    head: Mapping[str, Tensor] | None = field(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return all fields but the weights as plain values."""
        values = asdict(replace(self, checkpoint=None, head=None))
        del values["checkpoint"], values["head"]
        return values

    @property
    def weights(self) -> dict[str, Tensor] | None:
        """State of the `Classifier` after the best epoch; None if the encoder was not trained."""
        if self.checkpoint is None or self.head is None:
            return None
        return {**self.checkpoint.model, **{f"head.{name}": value for name, value in self.head.items()}}

    @property
    def main(self) -> Curve:
        """The scores of the first metric, which selects the best epoch."""
        return next(iter(self.curves.values()))


def finetune(
    start: InitialEncoder,
    data: LabeledGraphs,
    split: Split,
    options: FinetuneOptions,
    seed: int,
    device: str = "cpu",
    advance: Callable[[int], object] = lambda _: None,
) -> FinetuneRun:
    """Train on `split.train` with Adam, and score the other parts after every epoch.

    A last batch of a single graph is left out, because batch normalization fails on it.

    Args:
        start: Encoder to start from.
        data: The labeled graphs.
        split: Split of the graphs.
        options: Options of fine-tuning.
        seed: Seed of new weights, dropout, and the order of the graphs.
        device: `cpu` or `cuda`.
        advance: Called with 1 after each epoch.

    Raises:
        InvalidInput: The split cannot be trained on or scored (`LabeledGraphs.require_scorable`), or has no classes to
            balance.
        Diverged: The loss or a prediction is not finite.
    """
    data.require_scorable(split)
    data = data.fitted(split)
    start_time = perf_counter()
    loss = []
    curves = {metric: Curve([], [], data.lower_is_better) for metric in data.metrics}
    finetuner, checkpoint, head = _Finetuner(start, data, split, options, seed, device), None, None
    for epoch in range(options.epochs):
        loss.append(finetuner.epoch(epoch, split.train))
        for curve, test in zip(curves.values(), finetuner.scores(split.test), strict=True):
            curve.test.append(test)
        if len(split.valid):
            for curve, valid in zip(curves.values(), finetuner.scores(split.valid), strict=True):
                curve.valid.append(valid)
        if next(iter(curves.values())).best_epoch == epoch + 1:
            checkpoint, head = finetuner.checkpoint(epoch + 1, split.train), finetuner.head()
        advance(1)
    return FinetuneRun(seed, loss, curves, perf_counter() - start_time, checkpoint, head)


def compute_logits(
    classifier: Classifier, assembler: Assembler, corpus: Corpus, rows: Rows | None = None
) -> NDArray[np.float32]:
    """Return the outputs of a classifier in evaluation mode, (n, outputs).

    Args:
        classifier: The classifier.
        assembler: Makes batches of the graphs, on the device of the classifier.
        corpus: The graphs, at least one.
        rows: (n,) Rows of the graphs to encode; None for all.
    """
    classifier.eval()
    with torch.no_grad():
        logits = torch.cat([classifier(assembler.batch(part)) for part in batches(corpus, rows)])
    return logits.cpu().numpy()


class _Finetuner:
    """The classifier, its optimizer, and the data on the device."""

    def __init__(
        self, start: InitialEncoder, data: LabeledGraphs, split: Split, options: FinetuneOptions, seed: int, device: str
    ) -> None:
        data.corpus.require_features(start.model.features)
        self._assembler = Assembler(data.corpus, device)
        self._data = data
        self._options = options
        self._seed = seed
        torch.manual_seed(seed)
        self._classifier = Classifier(start.encoder(), data.outputs, options).to(device)
        self._schedule = options.schedule()
        self._class_weights: Tensor | None = None
        if options.class_weights == "balanced":
            weights = data.class_weights(split.train)
            self._class_weights = torch.from_numpy(weights).to(self._assembler.device, torch.float32)
        parts = self._classifier.encoder, self._classifier.head
        groups = [{"params": list(part.parameters())} for part in parts]
        self._optimizer = torch.optim.Adam(groups, lr=options.learning_rate, fused=True)
        if self._assembler.device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32

    def epoch(self, epoch: int, rows: Rows) -> float:
        """Train on all rows once, in random order, and return the mean loss of the steps."""
        batches = self._batches(np.random.default_rng((self._seed, epoch)).permutation(rows))
        self._classifier.train()
        losses = [self._step(batch, epoch * len(batches) + i, len(batches)) for i, batch in enumerate(batches)]
        mean = float(torch.stack(losses).mean())
        if not np.isfinite(mean):
            raise self._diverged(f"the loss is {mean} in epoch {epoch + 1}")
        return mean

    def checkpoint(self, epochs: int, rows: Rows) -> Checkpoint:
        """Return the encoder in its current state, after `epochs` passes over `rows`."""
        steps = len(self._batches(rows))
        return encoder_checkpoint(self._classifier.encoder, epochs * steps, steps)

    def head(self) -> dict[str, Tensor]:
        """Return a copy of the head's current weights."""
        return {name: value.detach().cpu().clone() for name, value in self._classifier.head.state_dict().items()}

    def _batches(self, rows: Rows) -> list[Rows]:
        parts = np.split(rows, range(self._options.batch_size, len(rows), self._options.batch_size))
        return [part for part in parts if len(part) > 1]

    def _step(self, rows: Rows, step: int, epoch_steps: int) -> Tensor:
        options = self._options
        loss = self._data.loss(self._classifier(self._assembler.batch(rows)), rows, self._class_weights)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if options.clip is not None:
            torch.nn.utils.clip_grad_norm_(self._classifier.parameters(), options.clip)
        rate = learning_rate(self._schedule, step, options.epochs * epoch_steps)
        encoder, head = self._optimizer.param_groups
        encoder["lr"], head["lr"] = rate, rate * options.head_scale
        self._optimizer.step()
        return loss.detach()

    def scores(self, rows: Rows) -> tuple[float, ...]:
        """Return the score of the rows for each of `LabeledGraphs.metrics`."""
        logits = compute_logits(self._classifier, self._assembler, self._data.corpus, rows)
        if not np.isfinite(logits).all():
            raise self._diverged("a prediction is not finite")
        return self._data.scores(logits, rows)

    def _diverged(self, problem: str) -> Diverged:
        return Diverged(
            "fine-tuning diverged",
            given=f"{problem}, seed {self._seed}, learning rate {self._options.learning_rate}",
            hint="use a lower learning rate: --lr",
        )
