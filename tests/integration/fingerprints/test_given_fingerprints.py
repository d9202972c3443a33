"""Molecules with supplied fingerprints, which are compared instead of computed ones. RDKit is the reference."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.ingest.pipeline import IngestOptions
from graphkin.ingest.pipeline import ingest as build
from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

BITS, THRESHOLD = 100, 0.3
PLACE = ("--store", "store", "--collection", "c")
GENERATOR = rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=BITS, maxPath=4)  # No recipe has these fingerprints.

Graphkin = Callable[..., Any]


@pytest.fixture(scope="module")
def rows(nci_file: Path) -> list[tuple[str, str, Any]]:
    """Return distinct molecules as (SMILES, name, bits)."""
    lines = (line.split() for line in nci_file.read_text().splitlines()[:80])
    names_by_smiles = {Chem.CanonSmiles(smiles): name for smiles, name in lines}
    return [
        (smiles, name, GENERATOR.GetFingerprint(Chem.MolFromSmiles(smiles))) for smiles, name in names_by_smiles.items()
    ]


@pytest.fixture
def ingest(graphkin: Graphkin, rows: list[tuple[str, str, Any]]) -> Callable[..., Any]:
    """Return `ingest("csv")`, which writes the molecules in this format and ingests them."""

    def call(form: str = "csv", *options: object) -> Any:
        hexadecimal = [DataStructs.BitVectToFPSText(bits) for _, _, bits in rows]
        columns: dict[str, list[Any]] = {
            "smiles": [row[0] for row in rows],
            "id": [row[1] for row in rows],
            "weight": list(range(len(rows))),
        }
        if form == "csv":
            lines = zip(*columns.values(), hexadecimal, strict=True)
            Path("a.csv").write_text("".join(f"{','.join(map(str, line))}\n" for line in [(*columns, "fp"), *lines]))
        else:
            column = pa.array([bytes.fromhex(bits) for bits in hexadecimal], pa.binary(len(hexadecimal[0]) // 2))
            pq.write_table(pa.table({**columns, "fp": column}), "a.parquet")
        ingest_options = (
            "--fingerprint",
            "given",
            "--fingerprint-column",
            "fp",
            "--threshold",
            THRESHOLD,
            "--top-k",
            0,
        )
        return graphkin("ingest", "molecules", f"a.{form}", *PLACE, *ingest_options, "--workers", 1, "--json", *options)

    return call


@pytest.mark.parametrize(("form", "options"), [("csv", ("--bits", BITS)), ("parquet", ())])
def test_edges_equal_rdkit_on_the_supplied_fingerprints(
    ingest: Callable[..., Any], rows: list[tuple[str, str, Any]], form: str, options: tuple[object, ...]
) -> None:
    manifest = json.loads(ingest(form, *options).out)
    assert manifest["recipe"]["fingerprint"]["bits"] == (BITS if options else 104)
    pairs = itertools.combinations(range(len(rows)), 2)
    same = {pair: DataStructs.TanimotoSimilarity(*(rows[at][2] for at in pair)) for pair in pairs}
    with open_store("store") as store, store.open("c") as generation:
        (edges,) = generation.edges()
        edge_rows = zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
        assert {(a, b): s for a, b, s in edge_rows} == pytest.approx({p: s for p, s in same.items() if s >= THRESHOLD})
        item = generation.items([3])[0]
        assert (item["smiles"], item["names"]) == (rows[3][0], [rows[3][1]])
        molecule = Chem.MolFromSmiles(rows[3][0])
        assert item["properties"]["heavy_atoms"] == molecule.GetNumHeavyAtoms()
        assert item["properties"]["weight"] == 3


def test_searches_use_the_supplied_fingerprints(
    ingest: Callable[..., Any], graphkin: Graphkin, rows: list[tuple[str, str, Any]]
) -> None:
    ingest("csv", "--bits", BITS)
    smiles, _, bits = rows[5]
    expected = np.array(DataStructs.BulkTanimotoSimilarity(bits, [row[2] for row in rows]), np.float32)
    best = sorted(range(len(rows)), key=lambda item: (-expected[item], item))[:10]
    stored = json.loads(
        graphkin("search", *PLACE, Chem.MolToSmiles(Chem.MolFromSmiles(smiles), doRandom=True), "--json").out
    )
    assert stored["query"] == {"smiles": smiles, "id": 5}
    by_bits = json.loads(graphkin("search", *PLACE, "--fingerprint", DataStructs.BitVectToFPSText(bits), "--json").out)
    for answer in (stored, by_bits):
        assert [hit["item"]["id"] for hit in answer["hits"]] == best
        assert [np.float32(hit["similarity"]) for hit in answer["hits"]] == [expected[item] for item in best]
    another = graphkin("search", *PLACE, "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC")
    assert another.code != 0
    assert "were ingested with the molecules" in another.err
    Path("asked.smi").write_text(f"{smiles} stored\n{'C' * 33} another\n")
    assert graphkin("search", *PLACE, "--file", "asked.smi", "--output", "hits.parquet").code == 0
    *hits, refused = pq.read_table("hits.parquet").to_pylist()
    assert [hit["id"] for hit in hits] == best
    assert "were ingested with the molecules" in refused["error"]
    (verified,) = json.loads(graphkin("verify", *PLACE, "--json").out)
    assert verified["problems"] == []
    hexadecimal = graphkin("export", "fingerprints", *PLACE, "--format", "fps", "--output", "-").out.splitlines()
    assert hexadecimal[1] == f"#num_bits={BITS}"
    assert [line.split("\t")[0] for line in hexadecimal if line[0] != "#"] == [
        DataStructs.BitVectToFPSText(row[2]) for row in rows
    ]


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_repeated_molecule_with_other_bits_is_rejected(graphkin: Graphkin, workers: int) -> None:
    filler = [f"{'C' * length},ff" for length in range(3, 1200)]  # More lines than a chunk.
    lines = ["smiles,fp", "CCO,0f", "OCC,0f", "C(C)O,f0", "CC,01", "CC,zz", "CN,", ",01", *filler, "CCO,00", "CC,01"]
    Path("a.csv").write_text("\n".join(lines))
    ingest_options = (
        "--fingerprint",
        "given",
        "--fingerprint-column",
        "fp",
        "--workers",
        workers,
        "--max-atoms",
        2000,
        "--json",
    )
    manifest = json.loads(graphkin("ingest", "molecules", "a.csv", *PLACE, *ingest_options).out)
    assert manifest["counts"] == {"read": 1206, "kept": 1199, "duplicates": 2, "rejected": 5}
    rejections = json.loads(graphkin("info", *PLACE, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: (row["input"], row["reason"]) for row in rejections}
    contradicting = "is the same item as an earlier record, but with another fingerprint"
    assert reasons[4] == ("f0 C(C)O", contradicting)
    assert reasons[len(lines) - 1] == ("00 CCO", contradicting)
    assert "hexadecimal" in reasons[6][1]
    assert "no fingerprint" in reasons[7][1]
    assert "empty" in reasons[8][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fingerprint", "given"), "precomputed fingerprints need a column"),
        (("--fingerprint-column", "fp"), "precomputed fingerprints need a column"),
        (("--fingerprint", "given", "--fingerprint-column", "bits"), "--fingerprint-column"),
        (("--fingerprint", "given", "--fingerprint-column", "fp", "--radius", 2), "radius"),
    ],
)
def test_conflicting_options_are_refused(graphkin: Graphkin, options: tuple[object, ...], message: str) -> None:
    Path("a.csv").write_text("smiles,fp\nCCO,0f\n")
    refused = graphkin("ingest", "molecules", "a.csv", *PLACE, *options)
    assert refused.code == 2
    assert message in refused.err


def test_supplied_fingerprints_need_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.smi").write_text("CCO 0f\n")
    recipe = resolve(fingerprint={"name": "given", "bits": 8})
    with open_store(tmp_path / "store", create=True) as store:
        names_by_smiles = IngestOptions(read=ReadOptions(fingerprint_column="fp"), workers=1)
        with pytest.raises(InvalidInput, match="only tables"):
            build(store, "c", [str(tmp_path / "a.smi")], recipe, names_by_smiles)
        with pytest.raises(InvalidInput, match="precomputed fingerprints need a column"):
            build(store, "c", [str(tmp_path / "a.smi")], recipe, IngestOptions(workers=1))
