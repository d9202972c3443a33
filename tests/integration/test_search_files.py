"""The command `graphkin search --file` finds the hits of a single search for each structure in a file."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rdkit import Chem, RDConfig

from graphkin.store import open_store

NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
QUERIES = [("CC(=O)Oc1ccccc1C(=O)O", "aspirin"), ("CCO", "=SUM(A1)"), ("C1CC", "open"), ("[U]", "uranium")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from graphkin.ingest.pipeline import ingest
    from graphkin.similarity.molecules.recipe import resolve

    folder = tmp_path_factory.mktemp("searched")
    lines = [",".join(line.split()) for line in NCI.read_text().splitlines()[:200]]
    (folder / "a.csv").write_text("smiles,id,weight\n" + "".join(f"{line},{len(line)}\n" for line in lines))
    with open_store(folder / "store", create=True) as new_store:
        ingest(new_store, "nci", [str(folder / "a.csv")], resolve())
    return folder / "store"


def _write_queries(format: str) -> Path:
    """Write the structures to a file of this format in the working folder."""
    path = Path(f"asked.{format}")
    if format == "sdf":
        with Chem.SDWriter(str(path)) as writer:
            for smiles, name in QUERIES:
                molecule = Chem.MolFromSmiles(smiles, sanitize=True) or Chem.MolFromSmiles("C")
                molecule.SetProp("_Name", name)
                writer.write(molecule)
        path.write_text(
            path.read_text().replace(
                "  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C", "x", 1
            )
        )
    elif format == "csv":
        path.write_text("title,smiles\n" + "".join(f"{name},{smiles}\n" for smiles, name in QUERIES))
    else:
        path.write_text("".join(f"{smiles} {name}\n" for smiles, name in QUERIES))
    return path


@pytest.mark.parametrize(
    ("format", "output", "options"),
    [
        ("smi", "csv", ("--limit", 3)),
        ("csv", "parquet", ("--name-column", "title", "--min-similarity", 0.2, "--limit", 100)),
        ("sdf", "parquet", ("--limit", 3)),
    ],
)
def test_hits_equal_single_searches(
    graphkin: Callable[..., Any], store: Path, format: str, output: str, options: tuple[object, ...]
) -> None:
    place = ("--store", store, "--collection", "nci")
    outcome = graphkin("search", *place, "--file", _write_queries(format), "--output", f"hits.{output}", *options)
    assert (outcome.code, outcome.out) == (0, "")
    if output == "csv":
        with Path("hits.csv").open(newline="") as file:
            rows: list[dict[str, Any]] = [
                {name: value or None for name, value in row.items()} for row in csv.DictReader(file)
            ]
    else:
        rows = pq.read_table("hits.parquet").to_pylist()
    single = [option for option in options if option not in ("--name-column", "title")]
    with_hits = 0
    for number, (smiles, name) in enumerate(QUERIES):
        own_rows = [row for row in rows if int(row["query"]) == number]
        expected_name = f"'{name}" if output == "csv" and name.startswith("=") else name
        assert {row["query_name"] for row in own_rows} <= {expected_name}
        alone = graphkin("search", *place, smiles, *single, "--json")
        if alone.code:
            (row,) = own_rows
            assert row["error"]
            assert {value for column, value in row.items() if column not in ("query", "query_name", "error")} == {None}
            continue
        hits = json.loads(alone.out)["hits"]
        with_hits += bool(hits)
        assert [int(row["id"]) for row in own_rows] == [hit["item"]["id"] for hit in hits]
        assert [float(row["similarity"]) for row in own_rows] == pytest.approx(
            [hit["similarity"] for hit in hits], abs=1e-7
        )
        assert [row["smiles"] for row in own_rows] == [hit["item"]["smiles"] for hit in hits]
        assert [float(row["weight"]) for row in own_rows] == [hit["item"]["properties"]["weight"] for hit in hits]
        names = [hit["item"]["names"] for hit in hits]
        assert [row["names"] for row in own_rows] == (["; ".join(each) for each in names] if output == "csv" else names)
    assert [int(row["query"]) for row in rows] == sorted(int(row["query"]) for row in rows)
    counted = f"{with_hits} have hits, 0 are items themselves, {3 - with_hits} have no hits, 1 are invalid"
    assert outcome.err == f"4 structures: {counted}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("CCO", "--file", "a.smi", "--output", "a.csv"), "either STRUCTURE"),
        ((), "either STRUCTURE"),
        (("--file", "a.smi"), "either STRUCTURE"),
        (("--file", "a.smi", "--output", "a.csv", "--fingerprint"), "expected: STRUCTURE"),
        (("--file", "a.smi", "--output", "a.xlsx"), "ends with .csv or .parquet"),
        (("--file", "a.smi", "--output", "a.csv", "--limit", 101), "at most 100"),
        (("--file", "a.smi", "--output", "a.csv", "--min-similarity", 0), "above 0"),
        (("--file", "b.smi", "--output", "a.csv"), "b.smi"),
        (("--file", "a.smi", "--output", "a.csv", "--format", "npy"), "this format is not accepted here"),
    ],
)
def test_invalid_options_are_refused(
    graphkin: Callable[..., Any], store: Path, options: tuple[object, ...], message: str
) -> None:
    Path("a.smi").write_text("CCO ethanol\n")
    outcome = graphkin("search", "--store", store, "--collection", "nci", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert not Path("a.csv").exists()
