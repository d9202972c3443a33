"""The command `graphkin compare` writes what RDKit's comparison of all pairs finds."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs, RDConfig
from rdkit.Chem import rdFingerprintGenerator

NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
FILES = ["nearest.csv", "rejected.csv", "report.html", "summary.json"]


@pytest.fixture
def sets(graphkin: object) -> tuple[list[str], list[str]]:
    """Write two files that share 40 molecules to the working folder of `graphkin`, and return their SMILES.

    The first record of the second file cannot be read.
    """
    readable = [line.split() for line in NCI.read_text().splitlines()[:200] if Chem.MolFromSmiles(line.split()[0])]
    first, second = readable[:120], [["C1CC", "open"], *readable[80:180], ["CCO", "=SUM(A1)"]]
    Path("a.smi").write_text("".join(f"{smiles} {name}\n" for smiles, name in first))
    Path("b.csv").write_text("id,smiles\n" + "".join(f"{name},{smiles}\n" for smiles, name in second))
    return [smiles for smiles, _ in first], [smiles for smiles, _ in second[1:]]


def _matrix(first: list[str], second: list[str]) -> np.ndarray:
    """Return RDKit's similarity of each molecule of the first list with each of the second."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    vectors = [[generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in each] for each in (first, second)]
    return np.array([DataStructs.BulkTanimotoSimilarity(vector, vectors[1]) for vector in vectors[0]])


def _rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return [*csv.DictReader(file)]


def test_files_hold_the_pairs_and_the_nearest_items(
    graphkin: Callable[..., Any], sets: tuple[list[str], list[str]]
) -> None:
    outcome = graphkin("compare", "a.smi", "b.csv", "--threshold", 0.5, "--output", "out", "--json")
    assert outcome.code == 0, outcome.err
    assert sorted(path.name for path in Path("out").iterdir()) == sorted([*FILES, "pairs.parquet"])
    matrix = _matrix(*sets)
    pairs = pq.read_table("out/pairs.parquet").to_pandas()
    expected = [(right + 1, -matrix[left, right], left) for left, right in np.argwhere(matrix >= 0.5)]
    assert list(zip(pairs["right"], -pairs["similarity"], pairs["left"], strict=True)) == sorted(expected)
    names = [line.split()[1] for line in Path("a.smi").read_text().splitlines()]
    assert pairs["left_name"].tolist() == [names[left] for left in pairs["left"]]
    nearest = _rows("out/nearest.csv")
    assert [int(row["right"]) for row in nearest] == [*range(1, 102)]
    assert [float(row["similarity"]) for row in nearest] == matrix.max(axis=0).tolist()
    assert [row["relation"] for row in nearest[:40]] == ["identical"] * 40
    assert nearest[-1]["right_name"] == "'=SUM(A1)"
    (rejected,) = _rows("out/rejected.csv")
    assert (rejected["set"], rejected["record"]) == ("b", "0")
    assert "unclosed ring" in rejected["reason"]
    summary = json.loads(Path("out/summary.json").read_text())
    assert json.loads(outcome.out) == {"output": "out", **summary}
    assert summary["b"] == {"source": "b.csv", "records": 102, "rejected": 1, "items": 101, "distinct": 101}
    assert summary["identical"] == 40
    assert summary["pairs"] == len(expected)
    assert summary["near_duplicates"] + summary["novel"] == 61
    assert summary["novel"] == np.count_nonzero(matrix.max(axis=0) < 0.5)


def test_only_the_nearest_pairs_are_written(graphkin: Callable[..., Any], sets: tuple[list[str], list[str]]) -> None:
    arguments = ("a.smi", "b.csv", "--threshold", 0.3, "--top-k", 2, "--format", "csv", "--output", "out")
    outcome = graphkin("compare", *arguments)
    assert outcome.code == 0, outcome.err
    matrix = _matrix(*sets)
    expected = []
    for right, column in enumerate(matrix.T, 1):
        ranked = sorted((-similarity, left) for left, similarity in enumerate(column) if similarity >= 0.3)
        expected += [(left, right, -similarity) for similarity, left in ranked[:2]]
    rows = [(int(row["left"]), int(row["right"]), float(row["similarity"])) for row in _rows("out/pairs.csv")]
    assert rows == expected
    assert f"{np.count_nonzero(matrix >= 0.3):,} pairs with similarity ≥ 0.3" in outcome.out
    assert "b.csv: 101 items (101 distinct, 1 rejected)" in outcome.out


def test_collection_gives_the_counts_of_its_file(
    graphkin: Callable[..., Any], sets: tuple[list[str], list[str]]
) -> None:
    ingest = graphkin("ingest", "molecules", "a.smi", "--store", "s", "--collection", "m", "--json")
    generation = json.loads(ingest.out)["generation"]
    results = []
    for number, source in enumerate(["a.smi", "s#m", f"s#m@{generation[:8]}"]):
        outcome = graphkin("compare", source, "b.csv", "--output", f"out{number}", "--json")
        assert outcome.code == 0, outcome.err
        results.append({**json.loads(outcome.out), "output": "", "a": {}})
    assert results[0] == results[1] == results[2]
    assert results[0]["identical"] == 40
    refused = graphkin("compare", "s#m", "b.csv", "--standardize", "uncharge", "--output", "out")
    assert (refused.code, "--standardize" in refused.err, Path("out").exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("a.smi", "absent.smi", "--output", "out"), 2, "there is no file absent.smi"),
        (("a.smi", "s#m", "--output", "out"), 3, "s"),
        (("a.smi", "b.csv", "--threshold", 1.5, "--output", "out"), 2, "invalid threshold"),
        (("a.smi", "b.csv", "--smiles-column", "x", "--output", "out"), 2, "x"),
        (("a.smi", "broken.smi", "--output", "out"), 2, "no record of b can be read"),
        (("a.smi", "b.csv", "--output", "full"), 2, "not empty"),
        (("a.smi", "b.csv", "--output", "absent/out"), 2, "cannot write the folder"),
    ],
    ids=["file", "store", "threshold", "column", "broken", "full", "parent"],
)
def test_failure_leaves_nothing(
    graphkin: Callable[..., Any], sets: object, arguments: tuple[object, ...], code: int, message: str
) -> None:
    Path("broken.smi").write_text("C1CC\n")
    Path("full").mkdir()
    Path("full/file").write_text("")
    before = sorted(Path.cwd().rglob("*"))
    outcome = graphkin("compare", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert sorted(Path.cwd().rglob("*")) == before
