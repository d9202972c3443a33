"""The notebooks of docs/notebooks run from top to bottom, in a kernel and an empty folder of their own."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[3] / "docs" / "notebooks"


def executed(name: str, folder: Path) -> list[Any]:
    """The cells of a notebook once it ran; none may fail."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any, media_type: str) -> str:
    return "".join(str(output["data"].get(media_type, "")) for output in cell.outputs if "data" in output)


def printed(cell: Any) -> str:
    return "".join(output["text"] for output in cell.outputs if output.get("name") == "stdout")


def test_a_chemist_sees_molecules(tmp_path: Path) -> None:
    cells = executed("chemist", tmp_path)
    progress = [output for output in cells[0].outputs if "widget" in str(output) or output.get("name") == "stderr"]
    assert progress
    assert "(molecule)" in shown(cells[1], "text/html")
    assert shown(cells[2], "text/html").count('src="data:image/svg+xml;base64,') == 5
    assert "molwt" in shown(cells[3], "text/html")
    assert printed(cells[5]).startswith("[")
    assert "<img" in shown(cells[5], "text/html")
    described, warned = printed(cells[6]).splitlines()
    assert re.search(r"[\d,]+ pairs found, [\d,]+ stored, [\d,]+ truncated", described)
    assert "these are stored pairs only" in warned
    unchanged, counts, same = printed(cells[7]).splitlines()
    assert (unchanged, same) == ("True", "True")
    first = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", shown(cells[0], "text/plain"))}
    twice = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
    assert twice == {
        "read": 2 * first["read"] + 1,
        "kept": first["kept"],
        "duplicates": 2 * first["duplicates"] + first["kept"],
        "rejected": 2 * first["rejected"] + 1,
    }


@pytest.mark.long  # README's lines of a trainer and `pretrain` itself are tested beside it
def test_a_trainer_learns(tmp_path: Path) -> None:
    *_, last = executed("trainer", tmp_path)
    steps, _, first, _, end = printed(last).split()
    assert int(steps) > 20
    assert float(end) < float(first)


def test_fingerprints_of_ones_own_are_joined(tmp_path: Path) -> None:
    cells = executed("fingerprints", tmp_path)
    assert "left, right, similarity" in shown(cells[0], "text/plain")
    assert "count" in shown(cells[-1], "text/plain")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_showed(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
