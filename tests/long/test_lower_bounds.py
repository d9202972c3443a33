"""The lower bounds of pyproject.toml: ingest, server and search work with the oldest allowed versions.

The extras are `client`, `lake`, `neo4j` and `server`. The trainer's extra is left out, because its oldest torch comes
with gigabytes of GPU libraries.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the oldest version of every direct dependency."""
    folder = tmp_path_factory.mktemp("oldest") / "venv"
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--python", "3.11", folder], check=True)
    python = str(folder / "bin" / "python")
    install = [uv, "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct"]
    subprocess.run([*install, f"graphkin[client,lake,neo4j,server] @ {ROOT.as_uri()}"], check=True)
    return folder / "bin"


def test_oldest_dependencies_run_the_demo(oldest: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [oldest / "graphkin", "demo", "--once"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "most similar to aspirin" in done.stdout


def test_oldest_dependencies_import_client_lake_and_neo4j(oldest: Path, tmp_path: Path) -> None:
    script = "import graphkin.client, graphkin.store.lake, graphkin.store.neo4j, graphkin.trainer.feed.online"
    done = subprocess.run([oldest / "python", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
