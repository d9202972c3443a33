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


LIBRARY = """
import graphkin

graphkin.ingest("molecules.smi", store="store", collection="c")
print(graphkin.open("store")["c"].search("CCO", limit=2)["names"].to_pylist())
"""


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_wheel_works_as_a_library_and_runs_the_demo(version: str, wheel: Path, tmp_path: Path) -> None:
    """Install the wheel as a user would, first without extras and then with its server and client."""
    interpreter = shutil.which(f"python{version}")
    if interpreter is None:
        pytest.skip(f"NOT TESTED: no python{version} on PATH")
    subprocess.run([interpreter, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    install, demo = (programs / "python", "-m", "pip", "install", "--quiet"), (programs / "graphkin", "demo", "--once")
    run(*install, wheel).check_returncode()
    (tmp_path / "molecules.smi").write_text("CCO a\nCCN b\nCCC c\nCCCO d\n")
    done = run(programs / "python", "-c", LIBRARY)
    assert done.stdout == "[['a'], ['d']]\n", done.stderr
    assert "install the extra server" in run(*demo).stderr
    run(*install, f"{wheel}[client,server]").check_returncode()
    done = run(*demo)
    assert done.returncode == 0, done.stderr
    assert "most similar to aspirin" in done.stdout
    asked = "from graphkin.client import AsyncGraphkin, Graphkin; import sys; assert 'torch' not in sys.modules"
    subprocess.run([programs / "python", "-c", asked], cwd=tmp_path, env=environment, check=True)
