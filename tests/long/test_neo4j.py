"""20,000 molecules ingested into a real Neo4j server give the same similarity graph as a folder (issue 4)."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data" / "molecules"


def graphkin(*arguments: object) -> None:
    program = Path(sys.executable).with_name("graphkin")
    subprocess.run([program, *map(str, arguments)], check=True)


def test_neo4j_and_folder_export_equal_edges(start_neo4j: Callable[..., Any], tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    source = tmp_path / "zinc20k.smi"
    with gzip.open(DATA / "zinc250k.smiles.gz", "rt") as file:
        source.write_text("".join(islice(file, 20_000)))
    places = {"folder": tmp_path / "store", "server": start_neo4j().url}
    for name, place in places.items():
        where = ("--store", place, "--collection", "zinc")
        graphkin("ingest", "molecules", source, *where)
        graphkin("verify", *where)
        graphkin("export", "edges", *where, "--format", "csv", "--output", tmp_path / f"{name}.csv")
    edges = [(tmp_path / f"{name}.csv").read_bytes() for name in places]
    assert edges[0] == edges[1]
    assert edges[0].count(b"\n") > 20_000
