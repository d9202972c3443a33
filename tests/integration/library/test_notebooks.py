"""The notebooks in docs/notebooks run from top to bottom, each in a kernel and an empty folder of its own."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[3] / "docs" / "notebooks"
_WIDGET = "application/vnd.jupyter.widget-view+json"


def run_notebook(name: str, folder: Path) -> list[Any]:
    """Run a notebook and return its code cells. No cell may fail or have other types of output than the stored one."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    stored = [output_types(cell) for cell in code_cells(notebook)]
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    cells = code_cells(notebook)
    assert [output_types(cell) for cell in cells] == stored
    return cells


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def output_types(cell: Any) -> list[set[str]]:
    """Return the media types of each output, without progress bars and other text on standard error."""
    types = [set(output.get("data", {output.get("name", "error"): ""})) for output in cell.outputs]
    return [each for each in types if each != {"stderr"} and _WIDGET not in each]


def output_text(cell: Any, media_type: str) -> str:
    return "".join(str(output["data"].get(media_type, "")) for output in cell.outputs if "data" in output)


def printed_text(cell: Any) -> str:
    return "".join(output["text"] for output in cell.outputs if output.get("name") == "stdout")


def test_chemist_notebook_shows_molecules(tmp_path: Path) -> None:
    cells = run_notebook("chemist", tmp_path)
    progress = [output for output in cells[0].outputs if "widget" in str(output) or output.get("name") == "stderr"]
    assert progress
    assert "(molecule)" in output_text(cells[1], "text/html")
    assert output_text(cells[2], "text/html").count('src="data:image/svg+xml;base64,') == 5
    assert "molwt" in output_text(cells[3], "text/html")
    assert printed_text(cells[5]).startswith("[")
    assert "<img" in output_text(cells[5], "text/html")
    assert "these are stored pairs only" in "".join(output.get("text", "") for output in cells[5].outputs)
    described, complete = printed_text(cells[6]).splitlines()
    (found,) = re.findall(r"([\d,]+) pairs found, [\d,]+ stored, [\d,]+ truncated", described)
    assert complete == f"{found} pairs"
    unchanged, counts, same = printed_text(cells[7]).splitlines()
    assert (unchanged, same) == ("True", "True")
    first = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", output_text(cells[0], "text/plain"))}
    twice = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
    assert twice == {
        "read": 2 * first["read"] + 1,
        "kept": first["kept"],
        "duplicates": 2 * first["duplicates"] + first["kept"],
        "rejected": 2 * first["rejected"] + 1,
    }


@pytest.mark.long  # Other tests run the README's lines of a trainer and `pretrain`.
def test_trainer_notebook_reduces_the_loss(tmp_path: Path) -> None:
    *_, last = run_notebook("trainer", tmp_path)
    steps, _, first, _, end = printed_text(last).split()
    assert int(steps) > 20
    assert float(end) < float(first)


def test_leak_free_notebook_reports_a_worse_score_without_leaks(tmp_path: Path) -> None:
    cells = run_notebook("leak_free_model", tmp_path)
    printed = "".join(map(printed_text, cells))
    assert re.search(r"[1-9]\d+ of 204 test molecules have a training molecule with similarity ≥ 0.75", printed)
    assert "813 training molecules, 204 test molecules, 0 similar pairs across" in printed
    rows = pd.read_csv(tmp_path / "report.csv")
    random, leak_free = (rows[rows["split"] == split] for split in ("random", "leak-free"))
    assert (random["leaks"] > 100).all()
    assert (leak_free["leaks"] == 0).all()
    assert leak_free["R²"].mean() < random["R²"].mean() - 0.1
    assert random["error"].mean() < leak_free["error"].mean() < leak_free["error of the mean"].mean()


def test_fingerprints_notebook_joins_own_fingerprints(tmp_path: Path) -> None:
    cells = run_notebook("fingerprints", tmp_path)
    assert "left, right, similarity" in output_text(cells[0], "text/plain")
    assert "count" in output_text(cells[-1], "text/plain")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_is_stored_with_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert all(output_types(cell) for cell in cells if "assert " not in cell.source)
    assert str(Path.home()) not in path.read_text()
