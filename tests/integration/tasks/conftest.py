"""Task runners, and input that covers the cases of a reader."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphkin.ingest.runners.base import Runner
from graphkin.ingest.runners.processes import Processes
from graphkin.ingest.runners.spark import session


@pytest.fixture(params=["processes", pytest.param("spark", marks=pytest.mark.long)])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """Yield a runner of two concurrent tasks."""
    if request.param == "spark":
        yield request.getfixturevalue("spark")
        return
    with Processes(2) as processes:
        yield processes


@pytest.fixture
def spark(require_tools: Callable[..., None]) -> Iterator[Runner]:
    require_tools("java")
    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="package")
def mixed_files(tmp_path_factory: pytest.TempPathFactory, nci_file: Path) -> list[str]:
    """Return three files with 2,000 records of real molecules, a tenth of them invalid.

    They are SMILES, gzipped CSV with a property that is not always a number, and one that overlaps with both.
    """
    folder = tmp_path_factory.mktemp("mixed")
    lines = nci_file.read_text().splitlines()[:1500]
    garbage = [f"notamolecule{n} wrong" for n in range(100)]
    (folder / "a.smi").write_text("\n".join([*lines[:600], *garbage]) + "\n")
    rows = [
        f"{line.split()[0]},own{n},{n / 4 if n % 7 else ''},{'high' if n == 799 else n}"
        for n, line in enumerate(lines[500:1300])
    ]
    (folder / "b.csv.gz").write_bytes(gzip.compress("\n".join(["smiles,id,dose,grade", *rows]).encode()))
    (folder / "c.smi").write_text("\n".join([*garbage, *lines[1200:1500], *lines[100:200]]) + "\n")
    return [str(folder / name) for name in ("a.smi", "b.csv.gz", "c.smi")]
