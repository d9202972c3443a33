"""`graphkin fetch`, and `graphkin pretrain --offline` on a machine with few packages."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
INSTALLED = ("torch", "torch-geometric", "numpy", "click")


def closure(names: tuple[str, ...]) -> dict[str, Distribution]:
    """Return the installed distributions of these names, and all their dependencies."""
    distributions: dict[str, Distribution] = {}
    remaining = [*names]
    while remaining:
        name = remaining.pop().lower()
        try:
            each = distribution(name)
        except PackageNotFoundError:  # The package is for another platform.
            continue
        if name not in distributions:
            distributions[name] = each
            required = map(Requirement, each.requires or ())
            remaining += [
                package.name for package in required if package.marker is None or package.marker.evaluate({"extra": ""})
            ]
    return distributions


def parts(each: Distribution) -> Iterator[Path]:
    """Yield the files and folders of a distribution that are directly in site-packages."""
    for top in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
        yield Path(str(each.locate_file(top)))


@pytest.fixture
def bare_environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a Python that can only import torch, torch-geometric, NumPy, click and graphkin."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for each in closure(INSTALLED).values():
        for part in parts(each):
            if not (packages / part.name).exists():
                (packages / part.name).symlink_to(part)
    (packages / "graphkin").symlink_to(ROOT / "graphkin")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**variables, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


def python(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python without site-packages."""
    command = [sys.executable, "-S", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")


def test_bare_environment_lacks_other_packages(bare_environment: dict[str, str]) -> None:
    script = "from importlib.util import find_spec; import sys; print([n for n in sys.argv[1:] if find_spec(n)])"
    absent = ("rdkit", "pyarrow", "httpx", "pydantic", "platformdirs", "tenacity", "tensorboard", "sklearn")
    process = python(bare_environment, "-c", script, "torch", "click", *absent)
    assert process.stdout == "['torch', 'click']\n"


def test_offline_run_equals_online_without_network_or_rdkit(
    graphkin: Any, url: str, tmp_path: Path, bare_environment: dict[str, str]
) -> None:
    """Weights and metrics are equal, byte for byte."""
    options = ("--strategy", "hgc-ho", "--encoder", "gcn", "--batch-size", 180, "--seed", 4)
    online = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache")
    assert graphkin("fetch", *online, *options, "--epochs", 2, "--output", tmp_path / "fetched").code == 0
    assert graphkin("pretrain", *online, *options, "--epochs", 2, "--output", tmp_path / "online").code == 0
    train = ("pretrain", "--offline", tmp_path / "fetched", *options, "--epochs", 2, "--output", tmp_path / "offline")
    process = python(bare_environment, "-m", "graphkin", *train)
    assert process.returncode == 0, process.stderr
    assert process.stderr.count("tensorboard is not installed") == 1
    ends = [[*(tmp_path / name).glob("step-*")] for name in ("online", "offline")]
    assert ends[0][0].name == ends[1][0].name
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert (ends[0][0] / file).read_bytes() == (ends[1][0] / file).read_bytes()


def test_help_works_in_the_bare_environment(bare_environment: dict[str, str]) -> None:
    process = python(bare_environment, "-m", "graphkin", "--help")
    assert process.returncode == 0, process.stderr
    assert "pretrain" in process.stdout


def test_show_config_explains_its_missing_package(bare_environment: dict[str, str]) -> None:
    process = python(bare_environment, "-m", "graphkin", "pretrain", "--strategy", "adam", "--show-config")
    assert (process.returncode, "this command needs pydantic" in process.stderr) == (2, True)
