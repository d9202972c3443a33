"""TensorBoard curves of the measured steps of metrics.jsonl, and of embeddings per second."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphkin.trainer.pretraining.metrics_log import Listener, Report, is_measured

_log = logging.getLogger(__name__)


@contextmanager
def open_board(folder: Path, steps_done: int) -> Iterator[Listener]:
    """Yield a listener that writes event files into a folder.

    Events of steps after `steps_done`, by a killed run, are discarded.

    Without the package `tensorboard`, the log gets one warning and nothing is written.
    """
    try:
        with warnings.catch_warnings():  # importing tensorboard emits warnings
            warnings.simplefilter("ignore")
            from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        _log.warning("tensorboard is not installed: metrics.jsonl is all that is written")
        yield lambda _: None
        return
    with SummaryWriter(folder, purge_step=steps_done + 1) as writer:

        def show(report: Report) -> None:
            for record in report.records:
                step = int(record["step"])
                if is_measured(step, report.of):
                    values = {**record, "embeddings_per_second": report.embeddings_per_second}
                    for name in values.keys() - {"step"}:
                        writer.add_scalar(name, values[name], step)
            writer.flush()

        yield show
