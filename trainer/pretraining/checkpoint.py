"""A training run on disk: its options, its metrics, and its newest checkpoint.

folder/
  run.json            options and generation of the run; --resume requires the same ones. A saved fine-tuned encoder
                      has the settings of pre-training and fine-tuning instead
  metrics.jsonl       one object per recorded step; a fine-tuned encoder has none
  step-000001000/     the newest checkpoint; it is renamed into place when complete, before the older one is deleted
    model.safetensors, optimizer.safetensors
    state.json        completed steps, steps per epoch, bytes of metrics.jsonl up to this step, checksums
  tensorboard/        event files of TensorBoard; other loggers write wandb/ and wandb.id, or mlflow.db and mlflow.id
  .lock               held by the process that writes
"""

import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout  # a dependency of torch
from torch import Tensor

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.model.weights import load_tensors, save_tensors
from graphkin.trainer.pretraining.config import REMOVED_SETTINGS, Model, PretrainConfig

_FORMAT = 1
_MODEL, _OPTIMIZER, _STATE, _RUN = "model.safetensors", "optimizer.safetensors", "state.json", "run.json"
_DRAFT = "run.partial"
# Not compared: the id of a generation determines its recipe, which run.json lacks before 0.2. "beside" is the second
# generation.
_IMPLIED = ("generation.recipe", "beside.recipe")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a run after `steps` steps.

    Attributes:
        steps: Completed steps.
        epoch_steps: Steps of an epoch.
        metrics_bytes: Length of metrics.jsonl.
        model: Tensors of the `Objective` by name: the encoder, and what the loss keeps between steps.
        optimizer: Tensors of the optimizer by name.
    """

    steps: int
    epoch_steps: int
    metrics_bytes: int
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]


class Run:
    """The folder of a run. A missing run is started, also with `resume`.

    Args:
        folder: The folder.
        options: Everything that decides the results, as JSON objects.
        resume: Whether to continue a run.

    Raises:
        InvalidInput: The folder has a run and `resume` is False, or it has a run with other options, holds anything
            else, or cannot be written.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any], resume: bool) -> None:
        self.folder = folder
        self.metrics = folder / "metrics.jsonl"
        description = json.loads(json.dumps({"format": _FORMAT, **options}))
        with writing(folder):
            if (folder / _RUN).exists():
                _require_same(folder, read_run(folder), description, resume)
                return
            folder.mkdir(parents=True, exist_ok=True)
            _require_empty(folder)
            _write_whole(folder / _RUN, json.dumps(description, indent=1).encode())

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the lock of the run, if the file system supports locks.

        Raises:
            InvalidInput: Another process holds it, for example one that outlived its torchrun.
        """
        with ExitStack() as stack:
            with writing(self.folder), suppress(NotImplementedError):
                try:
                    stack.enter_context(FileLock(self.folder / ".lock", blocking=False))
                except Timeout:
                    raise InvalidInput(
                        "another process trains in this folder",
                        given=str(self.folder),
                        expected="one process per folder",
                        hint="wait until the other process ends, or choose another --output",
                    ) from None
            yield

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint; None if there is none yet.

        Raises:
            Damaged: The checkpoint is damaged.
        """
        path = newest_checkpoint(self.folder)
        return None if path is None else _load(path, optimizer=True)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, and delete older ones once it and the metrics are synced to disk.

        Raises:
            InvalidInput: The checkpoint cannot be written. The older one is kept.
        """
        with writing(self.folder):
            self._save(checkpoint)

    def _save(self, checkpoint: Checkpoint) -> None:
        folder = self.folder / f"step-{checkpoint.steps:09}"
        draft = folder.with_suffix(".partial")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        save_tensors(draft / _MODEL, checkpoint.model)
        save_tensors(draft / _OPTIMIZER, checkpoint.optimizer)
        state = {
            "format": _FORMAT,
            "steps": checkpoint.steps,
            "epoch_steps": checkpoint.epoch_steps,
            "metrics_bytes": checkpoint.metrics_bytes,
            "crc32": {name: zlib.crc32((draft / name).read_bytes()) for name in (_MODEL, _OPTIMIZER)},
        }
        (draft / _STATE).write_text(json.dumps({**state, "own_crc32": _crc32_of(state)}))
        for path in (*self.folder.glob(self.metrics.name), *draft.iterdir(), draft):
            _sync(path)
        draft.rename(folder)
        _sync(self.folder)
        for old_checkpoint in self.folder.glob("step-*"):
            if old_checkpoint != folder:
                shutil.rmtree(old_checkpoint)


def read_run(folder: Path) -> dict[str, Any]:
    """Return the options of the run in `folder`.

    Raises:
        NotFound: There is no run.
        Damaged: The options are damaged.
    """
    try:
        run = json.loads((folder / _RUN).read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            "this folder holds no training run",
            given=str(folder),
            expected=f"a folder with {_RUN}, from `graphkin pretrain`",
            hint="check the path, or train an encoder with `graphkin pretrain`",
        ) from None
    except (OSError, ValueError) as error:
        raise Damaged(
            f"{_RUN} is damaged: {error}",
            given=str(folder),
            expected="the file as `graphkin pretrain` wrote it",
            hint="restore the folder from a copy, or train again in an empty folder",
        ) from error
    if not isinstance(run, dict) or run.get("format") != _FORMAT:
        raise Damaged(
            f"{_RUN} has another format",
            given=str(folder),
            expected=f"format {_FORMAT}",
            hint="use the version of graphkin that wrote the run, or train again in an empty folder",
        )
    return run


def read_model(folder: Path) -> Mapping[str, Tensor]:
    """Return the weights of the newest checkpoint of the run in `folder`.

    Raises:
        NotFound: There is no checkpoint.
        Damaged: The checkpoint is damaged.
    """
    path = newest_checkpoint(folder)
    if path is None:
        raise NotFound(
            "this run has no checkpoint yet",
            given=str(folder),
            expected="a run with a checkpoint",
            hint="wait for the first checkpoint; `graphkin pretrain --checkpoint-steps` sets when it is written",
        )
    return _load(path, optimizer=False).model


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the path of the newest checkpoint of the run in `folder`; None if there is none."""
    return max((each for each in folder.glob("step-*") if each.suffix != ".partial"), default=None)


def _load(folder: Path, optimizer: bool) -> Checkpoint:
    try:
        state = json.loads((folder / _STATE).read_text())
        if state.pop("own_crc32") != _crc32_of(state):
            raise ValueError(f"{_STATE} differs from its checksum")
        names = [_MODEL, _OPTIMIZER] if optimizer else [_MODEL]
        for name in names:
            if zlib.crc32((folder / name).read_bytes()) != state["crc32"][name]:
                raise ValueError(f"{name} differs from its checksum")
        tensors = {name: _migrate_names(load_tensors(folder / name)) for name in names}
        counts = state["steps"], state["epoch_steps"], state["metrics_bytes"]
        return Checkpoint(*counts, tensors[_MODEL], tensors.get(_OPTIMIZER, {}))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise Damaged(
            f"the checkpoint is damaged: {error}",
            given=str(folder),
            expected="the files as `graphkin pretrain` wrote them",
            hint="restore the folder from a copy, or train again in an empty folder",
        ) from error


def _migrate_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors under their current names. Before 0.2 the inputs of an encoder had no module of their own."""
    renames = {f"encoder.{name}.": f"encoder.inputs.{name}." for name in ("atom_type", "chirality")}
    renamed_tensors = dict(tensors)
    for old, new in renames.items():
        renamed_tensors = {name.replace(old, new): tensor for name, tensor in renamed_tensors.items()}
    return renamed_tensors


def _require_same(folder: Path, existing: dict[str, Any], requested: dict[str, Any], resume: bool) -> None:
    if not resume:
        raise InvalidInput(
            "this folder already holds a run",
            given=str(folder),
            expected="a new or empty folder, or --resume",
            hint="add --resume to continue the run, or choose another --output",
        )
    if ("finetuned" in existing) != ("finetuned" in requested):
        contents = "a fine-tuned encoder" if "finetuned" in existing else "a pre-training run"
        raise InvalidInput(
            f"this folder holds {contents}",
            given=str(folder),
            expected="a new or empty folder",
            hint="choose another folder",
        )
    old, new = dict(leaves(_with_defaults(existing))), dict(leaves(requested))
    names = [name for name in old.keys() | new.keys() if not name.startswith(_IMPLIED)]
    changes = sorted(name for name in names if old.get(name) != new.get(name))
    if changes:
        raise InvalidInput(
            f"the run was started with other options: {', '.join(changes)}",
            given=", ".join(f"{name} {new.get(name)}" for name in changes),
            expected=", ".join(f"{name} {old.get(name)}" for name in changes),
            hint="resume with the options that the run was started with, or choose another --output",
        )


def _with_defaults(run: dict[str, Any]) -> dict[str, Any]:
    """Return the options with defaults for those that did not exist when the run was started.

    A removed setting stays in the result if its value differs from the one in `REMOVED_SETTINGS`. Such a run cannot be
    resumed.
    """
    try:
        if "model" in run:  # the run is a fine-tuned encoder
            run = {**run, "model": json.loads(json.dumps(asdict(Model.from_json(run["model"]))))}
        if run["config"] is None:  # it was not pre-trained
            return run
        config = PretrainConfig.from_json(run["config"]).as_json()
    except (InvalidInput, LookupError, TypeError):
        return run
    removed = {
        name: value
        for name, value in leaves(run["config"])
        if name in REMOVED_SETTINGS and value != REMOVED_SETTINGS[name]
    }
    return {**run, "config": json.loads(json.dumps(config)) | removed}


def leaves(options: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested options under dotted names."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{within}{name}.")
        else:
            yield within + name, value


def _require_empty(folder: Path) -> None:
    foreign_files = [each.name for each in folder.iterdir() if each.name != _DRAFT]
    if foreign_files:
        raise InvalidInput(
            "this folder holds other files",
            given=f"{folder} with {min(foreign_files)}",
            expected="a new or empty folder",
            hint="choose another folder",
        )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise `InvalidInput` for an `OSError` of the block, which writes the run in `folder`."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"cannot write the run: {error.strerror or error}",
            given=str(folder),
            expected="a writable folder with free space",
            hint="free space or fix the permissions, then continue with --resume",
        ) from error


def _crc32_of(state: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(state, sort_keys=True).encode())


def _write_whole(path: Path, content: bytes) -> None:
    draft = path.with_name(_DRAFT)
    draft.write_bytes(content)
    _sync(draft)
    draft.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
