"""Programs without an `if __name__ == "__main__":` guard: a script, standard input, `python -c`, `python -m`."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import graphkin

print("begin")
print(graphkin.ingest("a.smi", store="store", collection="one", threshold=0.1, workers=1).size)
print(graphkin.ingest("a.smi", store="store", collection="c", threshold=0.1).size)
"""

OTHERS = """
from graphkin.ingest.append import append
from graphkin.ingest.remove import remove
from graphkin.ingest.runners.processes import Processes
from graphkin.ingest.stages.pipeline import ingest as ingest_by_tasks
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.trainer.features.featurize import featurize

with graphkin.open("store") as collections:
    c = collections["c"]
    print(len(c.query(substructure="CO")), len(c.clusters(method="scaffold")), len(c.to_pyg(workers=2)))
with open_store("store") as store:
    print(append(store, "c", ["b.smi"]).items, remove(store, "c", "list.txt", by="name", workers=2).items)
print(featurize(["CCO"] * 5000, "", workers=2).size)
with Processes(2) as processes:
    print(ingest_by_tasks(processes, "lake", "c", ["a.smi"], resolve()).counts.kept)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.smi").write_text("CCO a\nCCN b\nCCCO c\nc1ccccc1 d\n")
    (tmp_path / "b.smi").write_text("CCCCO e\n")
    (tmp_path / "list.txt").write_text("b\n")
    return tmp_path


def _output_lines(folder: Path, *arguments: str, stdin: str | None = None) -> list[str]:
    command = [sys.executable, *arguments]
    process = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=280, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def test_script_starts_every_kind_of_worker_and_runs_once(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT + OTHERS)
    assert _output_lines(folder, "script.py") == ["begin", "4", "4", "2 2 4", "1 1", "5000", "4"]


@pytest.mark.parametrize("program_source", ["stdin", "-c", "-m"])
def test_program_without_a_main_guard_ingests(folder: Path, program_source: str) -> None:
    (folder / "program.py").write_text(SCRIPT)
    arguments = {"stdin": ("-",), "-c": ("-c", SCRIPT), "-m": ("-m", "program")}[program_source]
    stdin = SCRIPT if program_source == "stdin" else None
    assert _output_lines(folder, *arguments, stdin=stdin) == ["begin", "4", "4"]
