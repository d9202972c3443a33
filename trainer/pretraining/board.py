"""TensorBoard: the measured steps of metrics.jsonl, and how many embeddings a second there are."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphkin.trainer.pretraining.metrics_log import Listener, Report

_EVERY = 50  # steps

_log = logging.getLogger(__name__)


def measured(step: int, of: int) -> bool:
    """Whether alignment and uniformity are measured in a step, and it is shown: the first, every 50th after it, and
    the last. They are too slow for every step, and TensorBoard keeps a thousand points of a curve."""
    return (step - 1) % _EVERY == 0 or step == of


@contextmanager
def open_board(folder: Path, done: int) -> Iterator[Listener]:
    """Writes event files into a folder; what those of a killed run say of later steps than `done` is taken back.

    Without the package `tensorboard` it says so once, in the log, and writes nothing.
    """
    try:
        with warnings.catch_warnings():  # those of its imports
            warnings.simplefilter("ignore")
            from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        _log.warning("tensorboard is not installed: metrics.jsonl is all that is written")
        yield lambda _: None
        return
    with SummaryWriter(folder, purge_step=done + 1) as writer:

        def show(report: Report) -> None:
            for record in report.records:
                step = int(record["step"])
                if measured(step, report.of):
                    values = {**record, "embeddings_per_second": report.embeddings_per_second}
                    for name in values.keys() - {"step"}:
                        writer.add_scalar(name, values[name], step)
            writer.flush()

        yield show
