"""The jobs for a GPU run on a CPU where only the payload and the packages of the machine can be imported."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement
from safetensors.torch import load_file

from studies.gpu.jobs import JOBS
from studies.gpu.payload import NAMED, WHEELS
from tests.until import until

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]
HOOK = Path(__file__).with_name("restricted")

ALL_JOBS = """
import sys
from studies.gpu.__main__ import gpu

if __name__ == "__main__":
    work, output, *jobs = sys.argv[1:]
    for job in jobs:
        arguments = ["--tiny", "--minutes", "20", "--work", work, "--output", f"{output}/{job}"]
        gpu(["run", job, *arguments], standalone_mode=False)
"""
"""Runs several jobs in one process, which imports torch once."""


def closure(names: Sequence[str]) -> set[str]:
    """Return the installed packages of these names, and all that they require."""
    found: set[str] = set()
    waiting = [name.lower() for name in names]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            needed = [Requirement(line) for line in lines]
            waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="session")
def environment() -> Mapping[str, str]:
    distributions = closure(NAMED) | set(WHEELS)
    modules = {
        module
        for module, owners in packages_distributions().items()
        if distributions & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }
    allowed = {"modules": [*modules, "graphkin", "benchmarks", "studies"], "distributions": [*distributions]}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST"))},
        "ALLOWED_PACKAGES": json.dumps(allowed),
        "PYTHONPATH": os.pathsep.join([str(HOOK), str(ROOT)]),
    }


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run_jobs(work: Path, output: Path, jobs: Sequence[str], environment: Mapping[str, str]) -> None:
    script = work.with_suffix(".py")
    script.write_text(ALL_JOBS)
    process = run([str(script), str(work), str(output), *jobs], environment)
    said, _ = process.communicate()
    assert process.returncode == 0, said


@pytest.fixture(scope="session")
def finished(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the work of all jobs, and what came back of each."""
    folder = tmp_path_factory.mktemp("gpu")
    run_jobs(folder / "work", folder / "output", [*JOBS], environment)
    return folder


def cells(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    lines = (folder / "cells.jsonl").read_text().splitlines()
    return {(cell["unit"], cell["part"]): cell for cell in map(json.loads, lines)}


@pytest.mark.parametrize("module", ["fastapi", "httpx", "zstandard", "pytest", "polars"])
def test_other_packages_cannot_be_imported(environment: Mapping[str, str], module: str) -> None:
    process = run(["-c", f"import {module}"], environment)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert f"No module named '{module}'" in said


@pytest.mark.parametrize("job", [*JOBS])
def test_every_piece_of_a_job_is_done(finished: Path, job: str) -> None:
    from studies.gpu.setting import Setting

    pieces = JOBS[job].program().pieces(Setting(finished / "work" / "tiny", "cpu", 1, 0, tiny=True))
    assert cells(finished / "output" / job).keys() == {(piece.unit, part) for piece in pieces for part in piece.parts}


@pytest.mark.parametrize("job", [*JOBS])
def test_what_comes_back_fits(finished: Path, job: str) -> None:
    files = [*(finished / "output" / job).rglob("*")]
    assert len(files) <= 8
    assert all(re.fullmatch(r"[\w.-]+", file.name) and file.stat().st_size < 16 * 2**20 for file in files)


def test_join_on_the_device_finds_the_pairs_of_the_cpu(finished: Path) -> None:
    joins = [cell for (_, part), cell in cells(finished / "output" / "join").items() if part == "join"]
    assert [cell["sha256"] for cell in joins] == [cell["processor_sha256"] for cell in joins]
    assert [cell["pairs"] for cell in joins] == [cell["processor_pairs"] for cell in joins]
    assert sum(cell["pairs"] for cell in joins) > 0


@pytest.mark.parametrize("unit", ["ingest", "ingest-two-million"])
def test_both_ingests_of_the_join_build_the_same(finished: Path, unit: str) -> None:
    results = cells(finished / "output" / "join")
    device, processor = results[unit, "device"], results[unit, "processor"]
    assert (device["generation"], device["sha256"]) == (processor["generation"], processor["sha256"])


def test_strips_of_ten_million_are_one_join(finished: Path) -> None:
    """The same molecules are joined in strips here, and at once by the job `join`."""
    strips = cells(finished / "output" / "ten-million")
    whole = cells(finished / "output" / "join")
    for threshold in ("0.6", "0.5"):
        pairs = sum(cell["pairs"] for (unit, _), cell in strips.items() if unit == threshold)
        assert pairs == whole[threshold, "join"]["pairs"]


def test_losses_on_the_device_are_those_of_a_cpu(finished: Path) -> None:
    compared = [cell for (_, part), cell in cells(finished / "output" / "step").items() if part == "parity"]
    assert max(cell["largest_relative_difference"] for cell in compared) < 1e-4


def test_killed_run_continues_on_another_machine(
    finished: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Only the prepared data and what came back are left. The result is that of a run that nobody killed."""
    work, output = tmp_path / "work", tmp_path / "output"
    for each, prepared in product((work, tmp_path / "other"), ("data", "store")):
        shutil.copytree(finished / "work" / "tiny" / prepared, each / "tiny" / prepared)
    arguments = ["--tiny", "--minutes", "20", "--work", str(work), "--output", str(output / "dose")]
    process = run(["-m", "studies.gpu", "run", "dose", *arguments], environment)
    try:
        until(lambda: [*(output / "dose").glob("checkpoints-*")])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert len(cells(output / "dose")) < 5
    run_jobs(tmp_path / "other", output, ["dose"], environment)
    continued, whole = cells(output / "dose"), cells(finished / "output" / "dose")
    assert continued.keys() == whole.keys()
    assert all(continued[key]["loss"] == whole[key]["loss"] for key in whole)
    one, other = encoders(output / "dose"), encoders(finished / "output" / "dose")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def encoders(folder: Path) -> Mapping[str, torch.Tensor]:
    return {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}
