"""The code of the notebook for data scientists passes mypy and pyright as a project of a user, which imports graphkin.

Both checkers read all of graphkin, and pyright fetches its program from npm when it runs for the first time.
"""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "leak_free_model.ipynb"
SETTINGS = """
[tool.mypy]
strict = true
ignore_missing_imports = true  # scikit-learn has no types
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with the code cells of the notebook as a module."""
    cells = [cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    (tmp_path / "leak_free_model.py").write_text("\n\n".join(cells) + "\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    return tmp_path


def check(project: Path, *command: str) -> tuple[int, str]:
    process = subprocess.run([sys.executable, "-m", *command], cwd=project, capture_output=True, text=True)
    return process.returncode, process.stdout + process.stderr


CHECKERS = [("mypy", "."), ("pyright", "--pythonpath", sys.executable)]


@pytest.mark.parametrize("command", CHECKERS, ids=lambda command: command[0])
def test_notebook_has_no_type_errors(command: tuple[str, ...], project: Path) -> None:
    code, output = check(project, *command)
    assert code == 0, output


@pytest.mark.parametrize("command", CHECKERS, ids=lambda command: command[0])
def test_wrong_use_of_graphkin_is_a_type_error(command: tuple[str, ...], project: Path) -> None:
    (project / "wrong.py").write_text(
        "import graphkin\n\n"
        "collection = graphkin.ingest(['CCO'], threshold='high')\n"
        "collection.search('CCO').to_panda()\n"
    )
    code, output = check(project, *command)
    assert code == 1
    assert "threshold" in output
    assert "to_panda" in output
