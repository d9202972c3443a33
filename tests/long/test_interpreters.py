"""The wheel under each version of Python with an interpreter on PATH."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run([*command, "--wheel-dir", str(folder)], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_wheel_runs_the_demo(version: str, wheel: Path, tmp_path: Path) -> None:
    """Install the wheel with its client as a user would, and run ingest, page, API and search."""
    interpreter = shutil.which(f"python{version}")
    if interpreter is None:
        pytest.skip(f"NOT TESTED: no python{version} on PATH")
    subprocess.run([interpreter, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[client]"], check=True)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [programs / "graphkin", "demo", "--once"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "most similar to aspirin" in done.stdout
    asked = "from graphkin.client import AsyncGraphkin, Graphkin; import sys; assert 'torch' not in sys.modules"
    subprocess.run([programs / "python", "-c", asked], cwd=tmp_path, env=environment, check=True)
