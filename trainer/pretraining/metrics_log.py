"""Writer of metrics.jsonl, with one object per recorded step.

All of the first 10,000 steps are recorded, and then only the measured ones, so that the file of a long run stays small.
Whether a step is recorded depends only on its number and on the length of the run, so a continued run records the same
steps as an uninterrupted one. Records are written about once a second, because reading a loss waits for the device.
"""

import json
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from graphkin.protocol.errors import Damaged
from graphkin.trainer.errors import Diverged
from graphkin.trainer.pretraining.checkpoint import writing
from graphkin.trainer.pretraining.recording import is_recorded

_FLUSH_SECONDS = 1.0  # frequent enough for a progress display, and rare enough to wait for the device seldom

Record = dict[str, float]
"""Metrics of one step.

The keys are step (from 1), the losses by name, loss (their sum), alignment and uniformity if they were measured, lr and
wait_share.
"""


class Update(NamedTuple):
    """A completed step.

    Attributes:
        step: Number of the step, from 1.
        of: Number of steps of the run.
        epoch_steps: Steps of an epoch.
        losses: Losses and measures, on the device; `loss` was minimized.
        lr: Learning rate of the step.
        embeddings: Number of encoded graphs.
        wait_share: Share of the time since the loop began that was spent waiting for data.
    """

    step: int
    of: int
    epoch_steps: int
    losses: Mapping[str, Tensor]
    lr: float
    embeddings: int
    wait_share: float


class Report(NamedTuple):
    """Records of the steps since the last report, in a run of `of` steps."""

    records: list[Record]
    of: int
    embeddings_per_second: float


Listener = Callable[[Report], object]
"""Called with a report about once a second."""


class MetricsLog:
    """Appends the recorded steps to a file after its first `keep` bytes, and passes all steps to the listeners.

    Bytes after the first `keep` come from a killed run, after its last checkpoint, and are discarded.

    Raises:
        Damaged: The file has fewer than `keep` bytes.
    """

    def __init__(self, path: Path, keep: int, *listeners: Listener) -> None:
        with writing(path.parent):
            self._file = path.open("ab")
        if self._file.tell() < keep:
            self._file.close()
            raise Damaged(
                f"{path.name} is shorter than it was at the checkpoint",
                given=str(path),
                expected=f"{keep} bytes or more",
                hint="restore the file from a copy, or train again in an empty folder",
            )
        self._file.truncate(keep)
        self._folder = path.parent
        self._listeners = listeners
        self._pending: list[Update] = []
        self._flush_time = perf_counter()

    def add(self, update: Update) -> None:
        """Append a step.

        Raises:
            Diverged: An earlier loss is not finite.
            InvalidInput: The file cannot be written.
        """
        self._pending.append(update)
        if perf_counter() - self._flush_time >= _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> int:
        """Write all pending records and return the length of the file. Raises the errors of `add`."""
        pending, self._pending = self._pending, []
        if pending:
            self._write(pending)
        return self._file.tell()

    def _write(self, pending: list[Update]) -> None:
        records = _records(pending)
        finite_records = list(takewhile(lambda record: np.isfinite(record["loss"]), records))
        steps = pending[-1].of
        recorded = [record for record in finite_records if is_recorded(int(record["step"]), steps)]
        with writing(self._folder):
            self._file.writelines(json.dumps(record).encode() + b"\n" for record in recorded)
            self._file.flush()
        previous_flush, self._flush_time = self._flush_time, perf_counter()
        if finite_records:
            speed = sum(update.embeddings for update in pending) / (self._flush_time - previous_flush)
            for listener in self._listeners:
                listener(Report(finite_records, steps, speed))
        if len(finite_records) < len(records):
            first_invalid = records[len(finite_records)]
            raise not_finite("loss", f"{first_invalid['loss']} at step {first_invalid['step']}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._file.close()


def not_finite(quantity: str, value: str) -> Diverged:
    return Diverged(
        f"the {quantity} is not finite",
        given=value,
        hint="resume from the last checkpoint, or train again with a lower learning rate: --set learning_rate=VALUE",
    )


def _records(updates: list[Update]) -> list[Record]:
    """Return the records of several steps, with one transfer of all losses from the device."""
    losses = iter(torch.stack([loss for update in updates for loss in update.losses.values()]).tolist())
    return [
        {
            "step": update.step,
            **{name: next(losses) for name in update.losses},
            "lr": update.lr,
            "wait_share": update.wait_share,
        }
        for update in updates
    ]
