"""One collection of real molecules, opened in three ways."""

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rdkit import Chem

import graphkin
import graphkin.trainer.geometric  # before PyTorch Geometric, whose import warns of what it does
from graphkin.library import Collection
from graphkin.store import open_store
from graphkin.store.transfer import copy_generation

MOLECULES = 300
THRESHOLD = 0.3


@pytest.fixture(scope="session")
def molecules_file(nci_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of distinct molecules: canonical SMILES, a name, a number and, for every second one, a text."""
    rows: dict[str, list[Any]] = {}
    for line in nci_file.read_text().splitlines():
        smiles, name = line.split()
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is not None:
            rows.setdefault(Chem.MolToSmiles(molecule), [f"NSC{name}", 1.5 * len(rows), "even"[: 4 * (len(rows) % 2)]])
    path = tmp_path_factory.mktemp("molecules") / "molecules.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "id", "activity", "note"])
        writer.writerows([smiles, *rows[smiles]] for smiles in [*rows][:MOLECULES])
    return path


@pytest.fixture(scope="session")
def frame(molecules_file: Path) -> pd.DataFrame:
    """Return the file as a pandas frame, whose row numbers are the ids."""
    return pd.read_csv(molecules_file)


@pytest.fixture(scope="session")
def folder(molecules_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store from `graphkin.ingest`, with every pair above the threshold stored."""
    store = tmp_path_factory.mktemp("library") / "store"
    with graphkin.ingest(molecules_file, store=store, collection="c", threshold=THRESHOLD, top_k=0, workers=1) as c:
        assert c.size == MOLECULES
    return store


@pytest.fixture(scope="session", params=["folder", "http", "neo4j"])
def collection(
    request: pytest.FixtureRequest, folder: Path, serve: Callable[..., AbstractContextManager[str]]
) -> Iterator[Collection]:
    """Yield the collection, opened from a folder, from a server, and from Neo4j."""
    if request.param == "folder":
        with graphkin.open(folder) as collections:
            yield collections["c"]
    elif request.param == "http":
        with serve(folder) as url, graphkin.connect(url) as collections:
            yield collections["c"]
    else:
        server = request.getfixturevalue("spare_neo4j")
        server.clear()
        with open_store(folder) as store, store.open("c") as source, open_store(server.url, create=True) as other:
            copy_generation(source, other)
        with graphkin.open(server.url) as collections:
            yield collections["c"]
