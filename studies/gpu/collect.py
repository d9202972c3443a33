"""Merging of returned GPU results into `studies/results`, and of the evidence plans' cells into their folders."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.cells import load_or_make
from studies.evidence.measured import Cells
from studies.gpu import finetune, plan1
from studies.gpu.jobs import JOBS
from studies.gpu.results import RESULTS, encoder_files, read_results, write_results
from studies.gpu.returned import archive, read_cells


def collect(folder: Path, results: Path = RESULTS) -> str:
    """Merge the folder of one run, and return the name of its job.

    Unfinished runs replace those that were kept before.

    Raises:
        SystemExit: the folder holds no results, or those of a tiny run.
    """
    cells = read_cells(folder)
    jobs = {str(cell["job"]) for cell in cells}
    if len(jobs) != 1 or not jobs <= JOBS.keys():
        raise SystemExit(f"{folder} holds no results of one job: give the folder that `run --output` wrote")
    (job,) = jobs
    if any("--tiny" in str(cell["command"]) for cell in cells):
        raise SystemExit(f"{folder} holds the results of a tiny run, which measure nothing")
    write_results(job, {(str(cell["unit"]), str(cell["part"])): _without_place(cell) for cell in cells}, results)
    for file, _ in encoder_files(folder):
        shutil.copyfile(file, results / job / file.name)
    for path in archive(results / job):
        path.unlink()
    for path in archive(folder):
        shutil.copyfile(path, results / job / path.name)
    if job == "plan1":
        _write_evidence(results)
    if job == "finetune":
        _write_finetuned(results)
    return job


def _without_place(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in cell.items() if name not in ("job", "unit", "part")}


def _write_evidence(results: Path) -> None:
    for path, cell in plan1.complete_cells(read_results("plan1", results)):
        if not path.exists():
            path.write_text(json.dumps(cell, indent=1))


def _write_finetuned(results: Path) -> None:
    """Write the fine-tuned cells to the folder of the second plan. Existing ones are not replaced."""
    for cell in read_results("finetune", results).values():
        path = Cells(results / "evidence").finetuned(finetune.run_of(cell))
        load_or_make(path, lambda cell=cell: {**cell, "device": cell["card"]})  # type: ignore[misc]
