"""Loggers, which show the metrics of measured steps, and the embeddings per second, as curves in other programs.

A logger is a context manager that yields a function, which writes points. Its package is imported when the logger is
loaded. W&B and MLflow write into the folder of the run, unless their environment variables name a server.
"""

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, get_args

from graphkin.protocol.errors import InvalidInput, require, require_extra
from graphkin.trainer.errors import SETTINGS_HINT
from graphkin.trainer.pretraining.recording import is_measured

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.metrics_log import Listener, Report

LoggerName = Literal["tensorboard", "wandb", "mlflow", "none"]
LOGGERS: tuple[LoggerName, ...] = get_args(LoggerName)

_PROJECT = "graphkin"

Point = tuple[int, Mapping[str, float]]
"""A measured step and its values by name."""

Writer = Callable[[Sequence[Point]], object]
"""Writes points, in the order of their steps. A resumed run writes the points after its checkpoint once more."""


@dataclass(frozen=True)
class LoggedRun:
    """A run that is logged.

    Attributes:
        folder: Folder of the run.
        options: Options of the run, as in run.json.
        steps: Completed steps, from which the run continues.
    """

    folder: Path
    options: Mapping[str, Any]
    steps: int


Logger = Callable[[LoggedRun], AbstractContextManager[Writer]]
"""Opens the log of a run, and yields its writer."""

_log = logging.getLogger(__name__)


def load_logger(name: LoggerName | None) -> Logger:
    """Import the package of a logger, and return the logger.

    Args:
        name: Name of the logger. None for TensorBoard if it is installed, else a warning and no logger.

    Raises:
        InvalidInput: There is no such logger, or its package is not installed.
    """
    if name is not None:
        require(name in LOGGERS, "logger", name, ", ".join(LOGGERS), hint=SETTINGS_HINT)
        return _LOADERS[name]()
    try:
        return _load_tensorboard()
    except InvalidInput:
        _log.warning("tensorboard is not installed: metrics.jsonl is all that is written")
        return _load_none()


def listener_of(writer: Writer) -> "Listener":
    """Return a listener that passes the measured steps of each report to a writer."""

    def show(report: "Report") -> None:
        speed = {"embeddings_per_second": report.embeddings_per_second}
        points = [
            (int(record["step"]), {name: value for name, value in record.items() if name != "step"} | speed)
            for record in report.records
            if is_measured(int(record["step"]), report.of)
        ]
        if points:
            writer(points)

    return show


def _load_none() -> Logger:
    @contextmanager
    def log_nothing(run: LoggedRun) -> Iterator[Writer]:  # noqa: ARG001
        yield lambda _: None

    return log_nothing


def _load_tensorboard() -> Logger:
    with require_extra("trainer", "TensorBoard logs need"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing tensorboard emits warnings
        from torch.utils.tensorboard import SummaryWriter

    @contextmanager
    def log_to_tensorboard(run: LoggedRun) -> Iterator[Writer]:
        """Write event files. Events after the completed steps, by a killed run, are discarded."""
        with SummaryWriter(run.folder / "tensorboard", purge_step=run.steps + 1) as events:

            def write(points: Sequence[Point]) -> None:
                for step, values in points:
                    for name, value in values.items():
                        events.add_scalar(name, value, step)
                events.flush()

            yield write

    return log_to_tensorboard


def _load_wandb() -> Logger:
    with require_extra("wandb", "W&B logs need"):
        import wandb

    @contextmanager
    def log_to_wandb(run: LoggedRun) -> Iterator[Writer]:
        """Write a W&B run, which is offline unless WANDB_MODE is set. A continued run has the id of its first start."""
        id_file = run.folder / "wandb.id"
        id = id_file.read_text() if id_file.exists() else token_hex(4)
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        logged = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            id=id,
            name=run.folder.name,
            dir=run.folder,
            config=dict(run.options),
            mode=mode,
            resume="allow",
            settings=wandb.Settings(console="off", silent=True),
        )
        id_file.write_text(id)
        exit_code = 1

        def write(points: Sequence[Point]) -> None:
            for step, values in points:
                logged.log(dict(values), step=step)

        try:
            yield write
            exit_code = 0
        finally:
            logged.finish(exit_code)

    return log_to_wandb


def _load_mlflow() -> Logger:
    with require_extra("mlflow", "MLflow logs need"):
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
    from graphkin.trainer.pretraining.checkpoint import leaves

    def start(client: Any, run: LoggedRun) -> str:
        experiment = client.get_experiment_by_name(_PROJECT)
        experiment_id = client.create_experiment(_PROJECT) if experiment is None else experiment.experiment_id
        id: str = client.create_run(experiment_id, run_name=run.folder.name).info.run_id
        client.log_batch(id, params=[Param(name, str(value)) for name, value in leaves(run.options)])
        return id

    def last_step(client: Any, id: str) -> int:
        try:
            return max((point.step for point in client.get_metric_history(id, "loss")), default=0)
        except MlflowException as error:
            raise InvalidInput(
                "MLflow does not know the run of this folder",
                given=id,
                expected="a run of the tracking store",
                hint="set MLFLOW_TRACKING_URI as in the first start, or delete mlflow.id to log another MLflow run",
            ) from error

    @contextmanager
    def log_to_mlflow(run: LoggedRun) -> Iterator[Writer]:
        """Write an MLflow run, to MLFLOW_TRACKING_URI or else to a database in the folder of the run.

        A continued run has the id of its first start, and writes only steps that are new.
        """
        client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{run.folder.absolute() / 'mlflow.db'}"))
        id_file = run.folder / "mlflow.id"
        id = id_file.read_text() if id_file.exists() else start(client, run)
        id_file.write_text(id)
        last = last_step(client, id)
        client.update_run(id, status="RUNNING")
        status = "FAILED"

        def write(points: Sequence[Point]) -> None:
            now = int(time.time() * 1000)
            new = [(step, values) for step, values in points if step > last]
            metrics = [Metric(name, value, now, step) for step, values in new for name, value in values.items()]
            client.log_batch(id, metrics=metrics)

        try:
            yield write
            status = "FINISHED"
        finally:
            client.set_terminated(id, status)

    return log_to_mlflow


_LOADERS: Mapping[LoggerName, Callable[[], Logger]] = {
    "tensorboard": _load_tensorboard,
    "wandb": _load_wandb,
    "mlflow": _load_mlflow,
    "none": _load_none,
}
