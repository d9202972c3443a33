"""Finished cells: those in the work folder of a run, and those kept in `studies/results`.

results/JOB/UNIT.json    the cells of a unit by part
results/JOB/A__B.safetensors    encoders, at most four to a file, named after their units
results/JOB/checkpoints-*    the unfinished runs of the last run
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from studies.cells import Cell
from studies.gpu.setting import Setting

RESULTS = Path(__file__).parents[1] / "results"

Cells = Mapping[tuple[str, str], Cell]
"""Measured cells, by unit and part."""


def cells_of(setting: Setting, job: str) -> Cells:
    """Return the cells in the work folder."""
    files = sorted((setting.work / job / "cells").glob("*/*.json"))
    return {(file.parent.name, file.stem): json.loads(file.read_text()) for file in files}


def read_results(job: str, results: Path = RESULTS) -> Cells:
    """Return the kept cells."""
    files = sorted((results / job).glob("*.json"))
    return {(file.stem, part): cell for file in files for part, cell in json.loads(file.read_text()).items()}


def known_cells(setting: Setting, job: str, results: Path = RESULTS) -> Cells:
    """Return the cells in the work folder, and the kept ones if the run is not tiny."""
    return {**({} if setting.tiny else read_results(job, results)), **cells_of(setting, job)}


def write_results(job: str, cells: Cells, results: Path = RESULTS) -> None:
    """Add cells. Existing cells are not replaced."""
    units: defaultdict[str, dict[str, Cell]] = defaultdict(dict)
    for (unit, part), cell in {**cells, **read_results(job, results)}.items():
        units[unit][part] = cell
    (results / job).mkdir(parents=True, exist_ok=True)
    for unit, parts in units.items():
        text = json.dumps(dict(sorted(parts.items())), indent=1) + "\n"
        (results / job / f"{unit}.json").write_text(text)


def encoder_files(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the files of encoders, and the units of each file."""
    for file in sorted(folder.glob("*.safetensors")):
        yield file, file.stem.split("__")


def encoder_file(units: Iterable[str]) -> str:
    return "__".join(units) + ".safetensors"
