"""GPU jobs run on a CPU where only the payload and the packages of the GPU machine can be imported."""

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
"""The program runs several jobs in one process, which imports torch once."""


def closure(names: Sequence[str]) -> set[str]:
    """Return the installed packages of these names, and all packages that they require."""
    packages: set[str] = set()
    remaining = [name.lower() for name in names]
    while remaining:
        name = re.sub(r"[-_.]+", "-", remaining.pop()).lower()
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        if name not in packages:
            packages.add(name)
            needed = [Requirement(line) for line in lines]
            remaining += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return packages


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
    printed, _ = process.communicate()
    assert process.returncode == 0, printed


@pytest.fixture(scope="session")
def finished_jobs(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the work and the output of all jobs."""
    folder = tmp_path_factory.mktemp("gpu")
    run_jobs(folder / "work", folder / "output", [*JOBS], environment)
    return folder


def cells(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    lines = (folder / "cells.jsonl").read_text().splitlines()
    return {(cell["unit"], cell["part"]): cell for cell in map(json.loads, lines)}


@pytest.mark.parametrize("module", ["fastapi", "httpx", "zstandard", "pytest", "polars"])
def test_other_packages_cannot_be_imported(environment: Mapping[str, str], module: str) -> None:
    process = run(["-c", f"import {module}"], environment)
    output, _ = process.communicate()
    assert process.returncode == 1
    assert f"No module named '{module}'" in output


@pytest.mark.parametrize("job", [*JOBS])
def test_every_piece_of_a_job_is_computed(finished_jobs: Path, job: str) -> None:
    from studies.gpu.setting import Setting

    pieces = JOBS[job].program().pieces(Setting(finished_jobs / "work" / "tiny", "cpu", 1, 0, tiny=True))
    assert cells(finished_jobs / "output" / job).keys() == {
        (piece.unit, part) for piece in pieces for part in piece.parts
    }


@pytest.mark.parametrize("job", [*JOBS])
def test_output_of_a_job_fits_the_transfer_limits(finished_jobs: Path, job: str) -> None:
    files = [*(finished_jobs / "output" / job).rglob("*")]
    assert len(files) <= 8
    assert all(re.fullmatch(r"[\w.-]+", file.name) and file.stat().st_size < 16 * 2**20 for file in files)


def test_join_on_the_device_finds_the_pairs_of_the_cpu(finished_jobs: Path) -> None:
    join_cells = [cell for (_, part), cell in cells(finished_jobs / "output" / "join").items() if part == "join"]
    assert [cell["sha256"] for cell in join_cells] == [cell["processor_sha256"] for cell in join_cells]
    assert [cell["pairs"] for cell in join_cells] == [cell["processor_pairs"] for cell in join_cells]
    assert sum(cell["pairs"] for cell in join_cells) > 0


@pytest.mark.parametrize("unit", ["ingest", "ingest-two-million"])
def test_ingests_on_the_device_and_on_the_cpu_build_the_same_store(finished_jobs: Path, unit: str) -> None:
    results = cells(finished_jobs / "output" / "join")
    device, processor = results[unit, "device"], results[unit, "processor"]
    assert (device["generation"], device["sha256"]) == (processor["generation"], processor["sha256"])


def test_strips_equal_one_join(finished_jobs: Path) -> None:
    """Molecules that the job `join` joins at once are joined in strips here."""
    strips = cells(finished_jobs / "output" / "ten-million")
    join_results = cells(finished_jobs / "output" / "join")
    for threshold in ("0.6", "0.5"):
        pairs = sum(cell["pairs"] for (unit, _), cell in strips.items() if unit == threshold)
        assert pairs == join_results[threshold, "join"]["pairs"]


def test_losses_on_the_device_equal_those_of_a_cpu(finished_jobs: Path) -> None:
    parity_cells = [cell for (_, part), cell in cells(finished_jobs / "output" / "step").items() if part == "parity"]
    assert max(cell["largest_relative_difference"] for cell in parity_cells) < 1e-4


def test_killed_run_continues_on_another_machine(
    finished_jobs: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Only the prepared data and the output remain. The result equals that of an uninterrupted run."""
    work, output = tmp_path / "work", tmp_path / "output"
    for each, prepared in product((work, tmp_path / "other"), ("data", "store")):
        shutil.copytree(finished_jobs / "work" / "tiny" / prepared, each / "tiny" / prepared)
    arguments = ["--tiny", "--minutes", "20", "--work", str(work), "--output", str(output / "dose")]
    process = run(["-m", "studies.gpu", "run", "dose", *arguments], environment)
    try:
        until(lambda: [*(output / "dose").glob("checkpoints-*")])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert len(cells(output / "dose")) < 5
    run_jobs(tmp_path / "other", output, ["dose"], environment)
    continued_cells, uninterrupted_cells = cells(output / "dose"), cells(finished_jobs / "output" / "dose")
    assert continued_cells.keys() == uninterrupted_cells.keys()
    assert all(continued_cells[key]["loss"] == uninterrupted_cells[key]["loss"] for key in uninterrupted_cells)
    resumed, uninterrupted = encoders(output / "dose"), encoders(finished_jobs / "output" / "dose")
    assert resumed.keys() == uninterrupted.keys()
    assert all(torch.equal(resumed[name], uninterrupted[name]) for name in resumed)


def encoders(folder: Path) -> Mapping[str, torch.Tensor]:
    return {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}
