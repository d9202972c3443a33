"""`graphkin fetch`, and `graphkin pretrain --offline` on a machine that has next to nothing."""

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
ALL_IT_HAS = ("torch", "torch-geometric", "numpy", "click")


def closure(names: tuple[str, ...]) -> dict[str, Distribution]:
    """The installed distributions of these names, and all that pip installs with them."""
    found: dict[str, Distribution] = {}
    wanted = [*names]
    while wanted:
        name = wanted.pop().lower()
        try:
            each = distribution(name)
        except PackageNotFoundError:  # of another platform
            continue
        if name not in found:
            found[name] = each
            required = map(Requirement, each.requires or ())
            wanted += [one.name for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def parts(one: Distribution) -> Iterator[Path]:
    """The files and folders of a distribution that lie directly in site-packages."""
    for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
        yield Path(str(one.locate_file(top)))


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python that can import torch, torch-geometric, numpy and click, and graphkin's own code."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for one in closure(ALL_IT_HAS).values():
        for part in parts(one):
            if not (packages / part.name).exists():
                (packages / part.name).symlink_to(part)
    (packages / "graphkin").symlink_to(ROOT / "graphkin")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


def python(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Without site-packages."""
    command = [sys.executable, "-S", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")


def test_the_bare_machine_is_bare(bare: dict[str, str]) -> None:
    script = "from importlib.util import find_spec; import sys; print([n for n in sys.argv[1:] if find_spec(n)])"
    absent = ("rdkit", "pyarrow", "httpx", "pydantic", "platformdirs", "tenacity", "tensorboard", "sklearn")
    ended = python(bare, "-c", script, "torch", "click", *absent)
    assert ended.stdout == "['torch', 'click']\n"


def test_offline_is_online_without_a_network_or_chemistry(
    graphkin: Any, url: str, tmp_path: Path, bare: dict[str, str]
) -> None:
    """The same weights and metrics, byte for byte."""
    options = ("--strategy", "hgc-ho", "--encoder", "gcn", "--batch-size", 180, "--seed", 4)
    online = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache")
    assert graphkin("fetch", *online, *options, "--epochs", 2, "--output", tmp_path / "fetched").code == 0
    assert graphkin("pretrain", *online, *options, "--epochs", 2, "--output", tmp_path / "online").code == 0
    train = ("pretrain", "--offline", tmp_path / "fetched", *options, "--epochs", 2, "--output", tmp_path / "offline")
    ended = python(bare, "-m", "graphkin", *train)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("tensorboard is not installed") == 1
    ends = [[*(tmp_path / name).glob("step-*")] for name in ("online", "offline")]
    assert ends[0][0].name == ends[1][0].name
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert (ends[0][0] / file).read_bytes() == (ends[1][0] / file).read_bytes()


def test_help_needs_nothing_else(bare: dict[str, str]) -> None:
    ended = python(bare, "-m", "graphkin", "--help")
    assert ended.returncode == 0, ended.stderr
    assert "pretrain" in ended.stdout


def test_settings_say_what_they_need(bare: dict[str, str]) -> None:
    ended = python(bare, "-m", "graphkin", "pretrain", "--strategy", "adam", "--show-config")
    assert (ended.returncode, "this command needs pydantic" in ended.stderr) == (2, True)
