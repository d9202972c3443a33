"""metrics.jsonl: one object a step, written now and then, for every look at a loss waits for the device."""

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

_AT_LEAST_EVERY = 1.0  # seconds; so a terminal shows what happens, and the device is rarely waited for

Record = dict[str, float]
"""One step: step (from 1), the losses and loss, their sum, alignment and uniformity where they were measured, lr and
wait_share."""


class Update(NamedTuple):
    """A step that has been done: the `step`-th of `of`, an epoch having `epoch_steps`.

    losses      on the device, and what else was measured there; `loss` is what was minimised
    lr          its learning rate                   embeddings  the graphs that were encoded
    wait_share  of the time since the first step was begun, how much went by waiting
    """

    step: int
    of: int
    epoch_steps: int
    losses: Mapping[str, Tensor]
    lr: float
    embeddings: int
    wait_share: float


class Report(NamedTuple):
    """The records of the steps that were done since the last report; the last of them will be step `of`."""

    records: list[Record]
    of: int
    embeddings_per_second: float


Listener = Callable[[Report], object]


class MetricsLog:
    """Appends records to a file after its first `keep` bytes; what a killed run wrote beyond its checkpoint goes.

    The listeners are told what was written. Raises `Damaged` if the file is shorter than that.
    """

    def __init__(self, path: Path, keep: int, *listeners: Listener) -> None:
        with writing(path.parent):
            self._file = path.open("ab")
        if self._file.tell() < keep:
            self._file.close()
            raise Damaged(
                f"{path.name} is shorter than when the checkpoint was written",
                given=str(path),
                expected=f"{keep} bytes or more",
                hint="restore it from a copy, or train again in an empty folder",
            )
        self._file.truncate(keep)
        self._folder = path.parent
        self._listeners = listeners
        self._pending: list[Update] = []
        self._flushed = perf_counter()

    def add(self, update: Update) -> None:
        """Raises `Diverged` if an earlier loss turns out not to be finite, and `InvalidInput` as `writing` does."""
        self._pending.append(update)
        if perf_counter() - self._flushed >= _AT_LEAST_EVERY:
            self.flush()

    def flush(self) -> int:
        """Write what is pending; the length of the file then. Raises as `add`."""
        pending, self._pending = self._pending, []
        if pending:
            self._write(pending)
        return self._file.tell()

    def _write(self, pending: list[Update]) -> None:
        records = _records(pending)
        whole = list(takewhile(lambda record: np.isfinite(record["loss"]), records))
        with writing(self._folder):
            self._file.writelines(json.dumps(record).encode() + b"\n" for record in whole)
            self._file.flush()
        before, self._flushed = self._flushed, perf_counter()
        if whole:
            speed = sum(update.embeddings for update in pending) / (self._flushed - before)
            for listener in self._listeners:
                listener(Report(whole, pending[-1].of, speed))
        if len(whole) < len(records):
            wrong = records[len(whole)]
            raise not_finite("loss", f"{wrong['loss']} at step {wrong['step']}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._file.close()


def not_finite(what: str, given: str) -> Diverged:
    return Diverged(
        f"the {what} is not finite",
        given=given,
        hint="the last checkpoint is kept; a lower learning rate may help",
    )


def _records(updates: list[Update]) -> list[Record]:
    """All losses come from the device at once."""
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
