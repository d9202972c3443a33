"""Processes that torchrun starts train like one process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphkin.trainer.pretraining.checkpoint import read_model

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "graphkin")


@pytest.fixture
def folder_with_modules(tmp_path: Path) -> Path:
    """Return a working folder whose modules have the names of graphkin's packages."""
    (tmp_path / "api").mkdir()
    for name in ("trainer.py", "store.py", "ingest.py", "api/__init__.py"):
        (tmp_path / name).touch()
    return tmp_path


def graphkin(folder: Path, start: tuple[str, ...], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *start, "pretrain", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=ENVIRONMENT)


def records(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_two_processes_train_like_one(url: str, tmp_path: Path, folder_with_modules: Path) -> None:
    """Nine anchors per step are shares of four and five. In float32, results only agree approximately; test_ranks tests
    equality.
    """
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache")
    options = ("--strategy", "hgc-adam-fo", "--encoder", "gcn", "--batch-size", 9, "--max-steps", 4)
    for name, start in [("one", ("-m", "graphkin")), ("two", TORCHRUN)]:
        process = graphkin(folder_with_modules, start, *place, *options, "--output", tmp_path / name)
        assert process.returncode == 0, process.stderr
        assert process.stdout == f"{tmp_path / name / 'step-000000004'}: done\n"
        assert process.stderr.count("step 4 of 4") == 1
    for line, other in zip(records(tmp_path / "one"), records(tmp_path / "two"), strict=True):
        assert line.keys() == other.keys()
        assert [other[name] for name in line if name != "wait_share"] == pytest.approx(
            [line[name] for name in line if name != "wait_share"], rel=1e-3
        )
    by_one, by_two = read_model(tmp_path / "one"), read_model(tmp_path / "two")
    for name, value in by_one.items():
        torch.testing.assert_close(by_two[name], value, rtol=0, atol=1e-3, msg=name)


@pytest.mark.long
def test_error_of_the_first_process_ends_all(url: str, tmp_path: Path) -> None:
    """The other processes wait for the folder that the first one creates."""
    (tmp_path / "precious").touch()
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache", "--output", tmp_path)
    process = graphkin(tmp_path, TORCHRUN, *place, "--strategy", "hgc-fo")
    assert process.returncode != 0
    assert "this folder holds other files" in process.stderr
