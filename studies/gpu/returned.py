"""Files that return from a GPU machine, from which a later run continues.

cells.jsonl                        one finished part a line
A__B__C__D.safetensors             encoders in float16, at most four
checkpoints-NNNNNN.K-of-N          an archive of unfinished runs, cut into parts

At most 8 files of 16 MiB, and 64 MiB in all, can return. Encoders take the available space first, then the unfinished
runs with the most steps.
"""

import io
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors.torch import load_file, save_file

from graphkin.trainer.pretraining.checkpoint import Run, newest_checkpoint, read_run
from studies.cells import Cell
from studies.gpu.metrics import thin_metrics
from studies.gpu.results import RESULTS, cells_of, encoder_file, encoder_files
from studies.gpu.setting import Setting

CELLS = "cells.jsonl"
PART = 15 * 2**20
"""Maximum size of a file in bytes, below the limit of 16 MiB."""

_FILES, _BYTES = 8, 64 * 2**20
_ENCODERS = 4  # per file
_ARCHIVE = re.compile(r"checkpoints-(\d{6})\.(\d)-of-(\d)")


def export(job: str, setting: Setting, output: Path, results: Path = RESULTS) -> None:
    """Write the current state. Files that already hold it stay untouched, and older ones are removed afterwards."""
    output.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"job": job, "unit": unit, "part": part, **cell}) for (unit, part), cell in _cells(setting, job)
    ]
    _write(output / CELLS, "".join(f"{line}\n" for line in lines).encode())
    kept_units = set() if setting.tiny else {unit for _, units in encoder_files(results / job) for unit in units}
    groups = _export_encoders(job, setting, output, kept_units)
    sizes = [(output / name).stat().st_size for name in (CELLS, *groups)]
    _export_runs(job, setting, output, _FILES - len(sizes), _BYTES - sum(sizes))


def restore(job: str, setting: Setting, output: Path, results: Path = RESULTS) -> None:
    """Restore the state of earlier runs to the work folder, except where the folder holds as much or more."""
    for folder in (output,) if setting.tiny else (output, results / job):
        for cell in read_cells(folder):
            path = setting.cell(job, cell["unit"], cell["part"])
            if cell.pop("job") == job and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(
                    path, json.dumps({k: v for k, v in cell.items() if k not in ("unit", "part")}, indent=1).encode()
                )
        for file, units in encoder_files(folder):
            _restore_encoders(job, setting, file, units)
        _restore_runs(job, setting, folder)


def read_cells(folder: Path) -> list[Cell]:
    """Return the exported cells."""
    path = folder / CELLS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def archive(folder: Path) -> list[Path]:
    """Return the files of the newest complete archive of unfinished runs."""
    sets: dict[str, dict[int, Path]] = {}
    for path in folder.glob("checkpoints-*"):
        if match := _ARCHIVE.fullmatch(path.name):
            number, place, count = match.groups()
            sets.setdefault(f"{number}{count}", {})[int(place)] = path
    whole = [name for name, parts in sets.items() if len(parts) == int(name[-1])]
    return [path for _, path in sorted(sets[max(whole)].items())] if whole else []


def _cells(setting: Setting, job: str) -> list[tuple[tuple[str, str], Cell]]:
    return sorted(cells_of(setting, job).items())


def _export_encoders(job: str, setting: Setting, output: Path, kept_units: set[str]) -> list[str]:
    """Write the files of encoders, and return their names."""
    paths = sorted((setting.work / job / "encoders").glob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns)
    units = [path.stem for path in paths if path.stem not in kept_units]
    groups = [units[begin : begin + _ENCODERS] for begin in range(0, len(units), _ENCODERS)]
    names = [encoder_file(group) for group in groups]
    for group, name in zip(groups, names, strict=True):
        if not (output / name).exists():
            tensors = {
                f"{unit}/{key}": value for unit in group for key, value in load_file(setting.encoder(job, unit)).items()
            }
            draft = output / "encoders.partial"
            save_file(tensors, draft)
            draft.rename(output / name)
    for file, _ in encoder_files(output):
        if file.name not in names:
            file.unlink()
    return names


def _restore_encoders(job: str, setting: Setting, file: Path, units: list[str]) -> None:
    missing = [unit for unit in units if not setting.encoder(job, unit).exists()]
    tensors = load_file(file) if missing else {}
    for unit in missing:
        path = setting.encoder(job, unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors_of_unit = {
            key.removeprefix(f"{unit}/"): value for key, value in tensors.items() if key.startswith(f"{unit}/")
        }
        save_file(tensors_of_unit, path.with_suffix(".partial"))
        path.with_suffix(".partial").rename(path)


def _export_runs(job: str, setting: Setting, output: Path, files: int, room: int) -> None:
    before = archive(output)
    number = int(_ARCHIVE.fullmatch(before[0].name).group(1)) if before else 0  # type: ignore[union-attr]
    limit = min(files * PART, room)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for folder in _unfinished_runs(job, setting):
            members = _members(folder)
            if members and content.tell() + sum(map(len, members.values())) + 2**20 > limit:
                print(f"no room for the checkpoint of {folder.name} in what comes back", flush=True)
                continue
            for name, data in members.items():
                info = tarfile.TarInfo(f"{folder.name}/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        anything = bool(tar.getmembers())
    data = content.getvalue() if anything else b""
    if data and data == b"".join(path.read_bytes() for path in before):
        return
    parts = [data[begin : begin + PART] for begin in range(0, len(data), PART)]
    for place, part in enumerate(parts):
        _write(output / f"checkpoints-{number + 1:06}.{place}-of-{len(parts)}", part)
    for path in output.glob("checkpoints-*"):
        if not path.name.startswith(f"checkpoints-{number + 1:06}"):
            path.unlink()


def _unfinished_runs(job: str, setting: Setting) -> Iterator[Path]:
    """Yield the folders of runs without an encoder, those with the most steps first."""
    folders = [path for path in (setting.work / job / "runs").glob("*") if not setting.encoder(job, path.name).exists()]
    steps = {path: newest.name for path in folders if (newest := newest_checkpoint(path)) is not None}
    yield from sorted(steps, key=lambda path: (steps[path], path.name), reverse=True)


def _members(folder: Path) -> dict[str, bytes]:
    """Return the files that are needed to continue a run. Empty if its process has just replaced them."""
    newest = newest_checkpoint(folder)
    try:
        files = [folder / "run.json", *sorted((newest or folder).iterdir())]
        members = {str(path.relative_to(folder)): path.read_bytes() for path in files}
        metrics = thin_metrics(folder / "metrics.jsonl", int(newest.name.removeprefix("step-")) if newest else 0)
    except FileNotFoundError:
        return {}
    return {**members, "metrics.jsonl": "".join(f"{line}\n" for line in metrics).encode()}


def _restore_runs(job: str, setting: Setting, folder: Path) -> None:
    content = b"".join(path.read_bytes() for path in archive(folder))
    if not content:
        return
    with TemporaryDirectory() as temporary:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            tar.extractall(temporary, filter="data")
        for run in sorted(Path(temporary).iterdir()):
            target = setting.run(job, run.name)
            if not setting.encoder(job, run.name).exists() and newest_checkpoint(target) is None:
                _restore_run(run, target)


def _restore_run(source: Path, target: Path) -> None:
    """Start the run from its checkpoint, with the thinned metrics."""
    options = {name: value for name, value in read_run(source).items() if name != "format"}
    checkpoint = Run(source, options, resume=True).newest()
    assert checkpoint is not None
    run = Run(target, options, resume=True)
    metrics = (source / "metrics.jsonl").read_bytes()
    run.metrics.write_bytes(metrics)
    run.save(replace(checkpoint, metrics_bytes=len(metrics)))


def _write(path: Path, content: bytes) -> None:
    """Write the file atomically, unless it already has this content."""
    if path.exists() and path.read_bytes() == content:
        return
    draft = path.with_name("file.partial")
    draft.write_bytes(content)
    draft.rename(path)
