"""Exported edges equal a brute-force search with RDKit on real data, through the command line (issue 3)."""

import csv
import gzip
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

DATA = Path(__file__).parents[3] / "shared" / "data" / "molecules"
TOP_K = 5  # small enough to truncate pairs of every data set
LOWEST = 0.3


@dataclass(frozen=True)
class Truth:
    """Every pair ≥ LOWEST of the distinct molecules, by RDKit alone."""

    source: Path
    smiles: list[str]
    left: np.ndarray
    right: np.ndarray
    similarity: np.ndarray


def _molecules(name: str, folder: Path) -> tuple[Path, list[Chem.Mol]]:
    if name == "sdf":
        path = DATA / "solubility.test.sdf"
        return path, [molecule for molecule in Chem.SDMolSupplier(str(path)) if molecule is not None]
    if name == "chembl":
        path = DATA / "chembl_samples.csv"
        with path.open() as file:
            return path, [Chem.MolFromSmiles(row["smiles"]) for row in csv.DictReader(file)]
    path = folder / "zinc20k.smi"
    with gzip.open(DATA / "zinc250k.smiles.gz", "rt") as file:
        path.write_text("".join(islice(file, 20_000)))
    return path, [Chem.MolFromSmiles(line) for line in path.read_text().split()]


@pytest.fixture(scope="module", params=["sdf", "chembl", "zinc20k"])
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    if not DATA.is_dir():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    path, molecules = _molecules(request.param, tmp_path_factory.mktemp("source"))
    distinct = {Chem.MolToSmiles(molecule): molecule for molecule in reversed(molecules)}
    ordered = list(dict.fromkeys(Chem.MolToSmiles(molecule) for molecule in molecules))
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprint(distinct[smiles]) for smiles in ordered]
    blocks = []
    for row in range(1, len(bits)):
        similarity = np.array(DataStructs.BulkTanimotoSimilarity(bits[row], bits[:row]))
        near = np.flatnonzero(similarity >= LOWEST)
        blocks.append((near, np.full(len(near), row), similarity[near]))
    left, right, similarity = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Truth(path, ordered, left, right, similarity)


def _graphkin(*arguments: str) -> None:
    subprocess.run([str(Path(sys.executable).with_name("graphkin")), *arguments], check=True, capture_output=True)


def _exported(folder: Path, truth: Truth, threshold: float, workers: int, top_k: int) -> dict[tuple[int, int], float]:
    where = ("--store", str(folder / "store"), "--collection", "c")
    _graphkin(
        "ingest", "molecules", str(truth.source), *where, "--threshold", str(threshold), "--workers", str(workers),
        "--top-k", str(top_k),
    )  # fmt: skip
    _graphkin("export", "edges", *where, "--format", "csv", "--output", str(folder / "edges.csv"))
    _graphkin("export", "items", *where, "--format", "csv", "--output", str(folder / "items.csv"))
    with (folder / "items.csv").open(newline="") as file:
        items = list(csv.DictReader(file))
    assert [item["smiles"] for item in items] == truth.smiles
    with (folder / "edges.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(int(row["source"]) < int(row["target"]) for row in rows)
    edges = {(int(row["source"]), int(row["target"])): float(row["similarity"]) for row in rows}
    assert len(edges) == len(rows)
    return edges


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 1.0])
def test_edges_without_top_k_limit_are_all_pairs(truth: Truth, threshold: float, workers: int, tmp_path: Path) -> None:
    edges = _exported(tmp_path, truth, threshold, workers, top_k=0)
    near = truth.similarity >= threshold
    pairs = zip(truth.left[near].tolist(), truth.right[near].tolist(), strict=True)
    expected = dict(zip(pairs, truth.similarity[near].tolist(), strict=True))
    assert edges.keys() == expected.keys()
    assert all(abs(edges[pair] - similarity) < 1e-6 for pair, similarity in expected.items())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 1.0])
def test_top_k_edges_are_the_most_similar_of_either_end(
    truth: Truth, threshold: float, workers: int, tmp_path: Path
) -> None:
    """The choice among equal similarities is free.

    A pair above an end's K-th similarity is stored, a pair below both ends' K-th similarity is not, and each end has at
    least min(K, its pairs) stored pairs at its K-th similarity or above.
    """
    edges = _exported(tmp_path, truth, threshold, workers, top_k=TOP_K)
    near = truth.similarity >= threshold
    left, right, similarity = truth.left[near], truth.right[near], truth.similarity[near]
    ends, values = np.concatenate([left, right]), np.concatenate([similarity, similarity])
    order = np.lexsort((-values, ends))
    degrees = np.bincount(ends, minlength=len(truth.smiles))
    starts = np.cumsum(degrees) - degrees
    last_kept = np.zeros(len(truth.smiles))
    capped = degrees > TOP_K
    last_kept[capped] = values[order][starts[capped] + TOP_K - 1]
    stored = np.array([pair in edges for pair in zip(left.tolist(), right.tolist(), strict=True)], bool)
    surely = (similarity > last_kept[left]) | (similarity > last_kept[right])
    never = (similarity < last_kept[left]) & (similarity < last_kept[right])
    assert stored[surely].all()
    assert not stored[never].any()
    assert stored.sum() == len(edges)
    at_least = np.concatenate([stored, stored]) & (values >= last_kept[ends])
    assert (np.bincount(ends[at_least], minlength=len(degrees)) >= np.minimum(degrees, TOP_K)).all()
