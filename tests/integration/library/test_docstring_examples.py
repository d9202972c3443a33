"""The examples in the docstrings of the public Python API run."""

import inspect
import pathlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from textwrap import dedent
from typing import Any

import networkx
import numpy
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

import graphkin
from graphkin import library
from graphkin.client import Collection as ClientCollection
from graphkin.client import Graphkin
from graphkin.cluster import BitBirch, Butina, SingleLinkage
from graphkin.model_selection import SimilarityGroupKFold, leaks, train_test_split
from graphkin.neighbors import GraphkinNeighbors

Serve = Callable[[Path], AbstractContextManager[str]]

_BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_DOCUMENTED = (library.ingest, library.open, library.connect, library.similar_pairs, train_test_split, leaks)
_CLASSES = (
    library.Collections,
    library.Collection,
    library.Table,
    ClientCollection,
    GraphkinNeighbors,
    BitBirch,
    Butina,
    SingleLinkage,
    SimilarityGroupKFold,
)


def examples() -> Iterator[Any]:
    """Yield each example of the API, with the name of what it is an example of as the id of the test."""
    members: list[tuple[str, Any]] = [(function.__name__, function) for function in _DOCUMENTED]
    for owner in _CLASSES:
        members += [(owner.__name__, owner)]
        members += [(f"{owner.__module__}.{name}", each) for name, each in inspect.getmembers(owner, callable)]
    for name, member in members:
        for block in _BLOCK.findall(inspect.getdoc(member) or ""):
            yield pytest.param(dedent(block), id=name)


EXAMPLES = list(examples())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, molecules_file: Path) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    header, *lines = molecules_file.read_text().splitlines()
    (folder / "molecules.csv").write_text("\n".join([header, "CC(=O)Oc1ccccc1C(=O)O,aspirin,0,", *lines[:99]]))
    graphkin.ingest(folder / "molecules.csv", store=folder / "store", collection="mine", threshold=0.4, top_k=20)
    return folder


@pytest.fixture(scope="module")
def names(folder: Path, serve: Serve) -> Iterator[dict[str, Any]]:
    """Yield the names that examples use without an import."""
    lines = (folder / "molecules.csv").read_text().splitlines()[2:22]
    generator = rdFingerprintGenerator.GetMorganGenerator()
    smiles = numpy.array([line.split(",")[0] for line in lines])
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in smiles]
    arrays = {"smiles": smiles, "features": numpy.array(vectors), "y": numpy.arange(len(smiles))}
    mine = graphkin.open(folder / "store")["mine"]
    modules = {"graphkin": graphkin, "numpy": numpy, "networkx": networkx, "pathlib": pathlib}
    with serve(folder / "store") as url, Graphkin(url) as server:
        yield {**modules, **arrays, "url": url, "mine": mine, "nci": server.collection("mine"), "bit_vectors": vectors}


@pytest.mark.filterwarnings("ignore::graphkin.protocol.errors.TruncatedPairsWarning")
@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: str, folder: Path, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    exec(example.replace("http://127.0.0.1:8000", names["url"]), dict(names))


def test_examples_cover_the_api() -> None:
    assert len(EXAMPLES) >= 24
