"""`graphkin.ingest` and `append` build the same collection from data in memory as from a file."""

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from rdkit import Chem, DataStructs
from torch_geometric.data import Data

import graphkin
from graphkin.library import Collection
from graphkin.protocol.errors import Conflict, InvalidInput
from tests.workbooks import workbook

CLOSED_FILE = io.StringIO()
CLOSED_FILE.close()
FRAME = pd.DataFrame(
    {
        "SMILES": ["CCO", "CCN", None, "CCCO", "c1ccccc1O", "OCC", "not a molecule", "CCCN"],
        "ID": ["a", "b", "c", "d", "e", "f", "g", None],
        "logD": [1.5, None, 3.25, -0.75, 2.125, 1.5, 0.5, 0.25],
        "assay": pd.Series(["<0.5", 7, None, 1.25, "n/a", "<0.5", 3, "9"], dtype=object),
        "note": ["x", "", None, "ä", " y ", "x", "z", "w"],
        "day": pd.Series(range(8), dtype="Int64"),
    },
    index=[5, 5, 1, 2, 3, 0, 7, 8],
)
OPTIONS: dict[str, Any] = {"threshold": 0.1, "max_rejected": 0.5, "workers": 1, "top_k": 0}


def ingest(data: Any, **options: Any) -> Collection:
    return graphkin.ingest(data, **{**OPTIONS, **options})


def content(collection: Collection) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return all items and edges."""
    return collection.items().to_pylist(), collection.edges().to_pylist()


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "frame.csv"
    FRAME.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def from_csv(csv: Path) -> Collection:
    return ingest(csv, smiles="SMILES", name="ID")


@pytest.mark.parametrize(
    "make",
    [
        lambda: FRAME,
        lambda: pl.from_pandas(
            FRAME.assign(assay=FRAME["assay"].map(lambda each: None if each is None else str(each)))
        ),
        lambda: pa.Table.from_pandas(FRAME.assign(assay=FRAME["assay"].astype("string")), preserve_index=False),
        lambda: FRAME.set_index("ID"),
        lambda: FRAME.assign(SMILES=FRAME["SMILES"].astype("category")),
    ],
)
def test_data_frame_gives_the_items_and_edges_of_its_csv(make: Callable[[], Any], from_csv: Collection) -> None:
    collection = ingest(make(), smiles="SMILES", name="ID")
    assert content(collection) == content(from_csv)
    assert collection.manifest.counts == from_csv.manifest.counts
    (source,) = collection.manifest.inputs
    assert source.name in ("data frame", "Arrow table")
    assert len(source.sha256) == 64


def test_data_frame_without_whole_numbers_has_the_generation_of_its_csv(tmp_path: Path) -> None:
    frame = FRAME[["SMILES", "ID", "logD", "note"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    names: dict[str, Any] = {"smiles": "SMILES", "name": "ID"}
    assert ingest(frame, **names).generation == ingest(tmp_path / "a.csv", **names).generation


def test_smiles_and_molecules_give_the_items_of_a_file(tmp_path: Path, from_csv: Collection) -> None:
    smiles = [*FRAME["SMILES"]]
    expected = [row["smiles"] for row in from_csv.items().to_pylist()]
    for data in (smiles, FRAME["SMILES"], (text for text in smiles), np.array(smiles, object)):
        collection = ingest(data, names=FRAME["ID"])
        assert [row["smiles"] for row in collection.items().to_pylist()] == expected
        assert collection.edges().to_pylist() == from_csv.edges().to_pylist()
        assert [row["names"] for row in collection.items().to_pylist()] == [
            row["names"] for row in from_csv.items().to_pylist()
        ]


def test_molecules_bring_names_properties_and_stereo(tmp_path: Path) -> None:
    texts = ["C[C@H](F)Cl", "C[C@@H](F)Cl", "F/C=C/F", "C[C@H](F)[C@@H](C)Cl |o1:1,&1:3|", "CC(=O)[O-].[Na+]"]
    molecules = [Chem.MolFromSmiles(text) for text in texts]
    for number, molecule in enumerate(molecules):
        molecule.ClearProp("_CXSMILES_Data")  # private, but an SD file would hold it
        molecule.SetProp("_Name", f"m{number}")
        molecule.SetProp("code", f"00{number}")
        molecule.SetDoubleProp("activity", number + 0.5)
    with Chem.SDWriter(str(tmp_path / "m.sdf")) as writer:
        writer.SetForceV3000(True)  # V2000 cannot hold stereo groups
        for molecule in molecules:
            writer.write(molecule)
    molecules[0].SetProp("_private", "hidden")
    collection = ingest([*molecules, None])
    assert content(collection) == content(ingest(tmp_path / "m.sdf"))
    assert {"code", "activity"} <= set(collection.manifest.properties)
    assert "_private" not in collection.manifest.properties
    assert collection.size == 5


def test_bits_and_vectors_give_the_items_of_a_file(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    bits, vectors = random.random((30, 128)) < 0.3, random.normal(size=(30, 5)).astype(np.float32)
    packed = np.packbits(bits, axis=1, bitorder="little")
    np.save(tmp_path / "bits.npy", packed)
    np.save(tmp_path / "vectors.npy", vectors)
    vector = [DataStructs.CreateFromBitString("".join(map(str, row))) for row in bits.astype(int).tolist()]
    sparse = scipy.sparse.csr_matrix(bits)
    expected = ingest(tmp_path / "bits.npy", kind="fingerprints")
    for data in (bits, bits.astype(np.uint8), packed.view(np.uint64), sparse, vector):
        assert ingest(data, kind="fingerprints").generation == expected.generation
    for data in (vectors, vectors.tolist(), torch.tensor(vectors)):
        collection = ingest(data, kind="vectors")
        assert collection.generation == ingest(tmp_path / "vectors.npy", kind="vectors").generation


def test_graphs_give_the_items_of_a_file(tmp_path: Path) -> None:
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3)]
    lines = [json.dumps({"num_nodes": len(graph), "edges": [*graph.edges()]}) for graph in graphs]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    tensors = [
        Data(edge_index=torch.tensor([*graph.to_directed().edges()]).T.reshape(2, -1), num_nodes=len(graph))
        for graph in graphs
    ]
    expected = [row["structure"] for row in ingest(tmp_path / "g.jsonl", kind="graphs").items().to_pylist()]
    for data in (graphs, tensors):
        assert [row["structure"] for row in ingest(data, kind="graphs").items().to_pylist()] == expected


def test_open_files_are_read(csv: Path, from_csv: Collection) -> None:
    text = csv.read_text(encoding="utf-8")
    options = {"smiles": "SMILES", "name": "ID"}
    with csv.open("rb") as binary, csv.open(encoding="utf-8") as lines:
        collections = [ingest(binary, **options), ingest(lines, **options)]
    collections.append(ingest(io.StringIO(text), format="csv", **options))
    collections.append(ingest(io.BytesIO(gzip.compress(text.encode())), format="csv", **options))
    assert {collection.generation for collection in collections} == {from_csv.generation}
    assert collections[0].manifest.inputs[0].name == str(csv)


def test_encoding_and_decimal_comma_of_text_tables(tmp_path: Path) -> None:
    rows = 'SMILES;größe;Wert\nCCO;klein;1,5\nCCN;"groß";<0,25\nCCC;1,2-diol;-2,5e-3\n'
    expected = [("klein", 1.5, None), ("groß", 0.25, "<"), ("1,2-diol", -0.0025, None)]
    for encoding in ("cp1252", "utf-16", "utf-8"):
        (tmp_path / "t.csv").write_bytes(rows.encode(encoding))
        items = ingest(tmp_path / "t.csv", encoding=encoding, decimal=",").items().to_pylist()
        assert [(row["größe"], row["Wert"], row["Wert_qualifier"]) for row in items] == expected
    items = ingest(pd.read_csv(io.StringIO(rows), sep=";"), smiles="SMILES", decimal=",").items().to_pylist()
    assert [(row["größe"], row["Wert"], row["Wert_qualifier"]) for row in items] == expected
    with pytest.raises(InvalidInput, match=r"is not text in the encoding utf-16"):
        ingest(tmp_path / "t.csv", encoding="utf-16")
    for encoding in ("latin-x", "hex", "rot13", "x\0y"):
        with pytest.raises(InvalidInput, match="there is no encoding"):
            ingest(tmp_path / "t.csv", encoding=encoding)


def test_only_chosen_properties_are_kept(csv: Path, tmp_path: Path) -> None:
    for data in (FRAME, csv, pl.read_csv(csv)):
        collection = ingest(data, smiles="SMILES", properties=["note", "logD"])
        assert {*collection.manifest.properties} == {"note", "logD", "molwt", "rings", "heavy_atoms"}
    molecule = Chem.MolFromSmiles("CCO")
    molecule.SetProp("code", "1")
    molecule.SetProp("other", "2")
    with Chem.SDWriter(str(tmp_path / "m.sdf")) as writer:
        writer.write(molecule)
    for data in ([molecule], tmp_path / "m.sdf"):
        assert "other" not in ingest(data, properties=["code"]).manifest.properties
        with pytest.raises(InvalidInput, match=r"has a property 'kode'[\s\S]*one of code, other[\s\S]*properties="):
            ingest(data, properties=["kode"])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (FRAME, {"smiles": "SMILE"}, 'did you mean smiles="SMILES"?'),
        (FRAME, {"smiles": "SMILES", "name": "Name"}, "name the column with name="),
        (FRAME, {"smiles": "SMILES", "properties": ["x"]}, "name the column with properties="),
        (FRAME, {"smiles": "SMILES", "max_rejected": 0.01}, "allow more with max_rejected="),
        (FRAME, {"smiles": "SMILES", "max_rejected": 0.01}, "row 2 of the data frame, counted from 0: empty record"),
        (["CCO"], {"fingerprint_column": "x"}, 'fingerprint="given"'),
        (["CCO"], {"top_k": -1}, "correct top_k="),
        (["CCO"], {"names": ["a", "b"]}, "2 names for 1 records"),
        (["a.unknown.csv", "b.csv"], {"format": "fps"}, "choose one of the accepted formats with format="),
        (["CCO"], {"kind": "vectors"}, "these are not vectors of numbers"),
        (np.eye(3), {}, 'pass kind="fingerprints"'),
        (FRAME, {"kind": "graphs"}, "items of this kind are not read from tables"),
        (FRAME, {"kind": "nodes"}, "nodes are read only from files"),
        ([], {}, "the input holds no records"),
        (FRAME.iloc[:0], {"smiles": "SMILES"}, "the input holds no records"),
        (3, {}, "this type of data cannot be read"),
        ("CCO", {}, 'such as ["CCO"]'),
        (FRAME, {"smiles": "SMILES", "names": ["a"]}, "name the column with name="),
        (["CCO"], {"kind": "molecule"}, 'pass kind="molecules"'),
        (["CCO"], {"kind": None}, 'pass kind="molecules"'),
        (["CCO"], {"workers": 0}, "leave workers out"),
        (["CCO"], {"workers": "2"}, "leave workers out"),
        (["CCO"], {"max_rejected": "1"}, "pass max_rejected=0.1"),
        (["CCO"], {"max_rejected": 2}, "pass max_rejected=0.1"),
        (["CCO"], {"decimal": ";"}, 'pass decimal="."'),
        (["CCO"], {"delimiter": ","}, 'pass delimiter="comma"'),
        (["CCO"], {"device": "gpu"}, 'pass device="cpu"'),
        (["CCO"], {"store": 5}, "leave store out"),
        (["CCO"], {"collection": 5}, "not a valid name"),
        (np.eye(3) * 1j, {"kind": "vectors"}, "these are not vectors of numbers"),
        (CLOSED_FILE, {}, 'open(path, "rb")'),
    ],
)
def test_errors_name_python_arguments(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ingest(data, **options)
    assert message in str(caught.value)
    assert " --" not in str(caught.value)


def test_one_property_and_columns_without_titles() -> None:
    frame = pd.DataFrame({0: ["CCO", "CCN"], 1: ["a", "b"], 2: [1.5, 2.5], 10: [3, 4]})
    items = ingest(frame, smiles=0, name=1, properties="2").items()
    assert items["names"].to_pylist() == [["a"], ["b"]]
    assert items["2"].to_pylist() == [1.5, 2.5]
    assert "10" not in items.columns


def test_arrays_of_bits_of_any_type_give_one_generation() -> None:
    bits = np.random.default_rng(1).random((20, 128)) < 0.2
    words = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    forms = [bits, bits.astype(object), [*bits], words, words.astype(">u8")]
    assert len({ingest(form, kind="fingerprints").generation for form in forms}) == 1


def test_append_equals_ingest_of_all_data(from_csv: Collection) -> None:
    options: dict[str, Any] = {"smiles": "SMILES", "name": "ID"}
    collection = ingest(FRAME.iloc[:4], **options)
    first = collection.generation
    more = FRAME.iloc[4:]
    assert collection.append(more, **options, max_rejected=0.5, workers=1) is collection
    assert collection.generation != first
    assert content(collection) == content(from_csv)
    assert [source.name for source in collection.manifest.inputs] == ["data frame", "data frame"]
    assert collection.search("CCCN", limit=1)["similarity"].to_pylist() == [1.0]
    unchanged = collection.generation
    collection.append(["CCO"], workers=1)
    assert collection.generation == unchanged
    assert collection.manifest.unchanged


def test_append_moves_this_object_only(tmp_path: Path) -> None:
    ingest(["CCO", "CCN"], store=tmp_path / "s", collection="c")
    with graphkin.open(tmp_path / "s") as store:
        older, newer = store["c"], store["c"]
        newer.append([Chem.MolFromSmiles("CCCO")], workers=1)
        assert (older.size, newer.size, store["c"].size) == (2, 3, 3)
        older.append(pd.Series(["CCCCO"]), workers=1)  # to the current generation, not to the one that it read
        assert older.size == 4
        with pytest.raises(InvalidInput, match="max_rejected"):
            newer.append(["bad("], workers=1)
        assert newer.size == 3


def test_served_collection_cannot_be_changed(serve: Callable[..., AbstractContextManager[str]], tmp_path: Path) -> None:
    ingest(["CCO", "CCN"], store=tmp_path / "s", collection="c")
    with serve(tmp_path / "s") as url, graphkin.connect(url) as server:
        served = server["c"]
        with pytest.raises(Conflict, match="a collection on a server cannot be changed"):
            served.append(["CCC"])


def test_temporary_store_lives_as_long_as_its_collection() -> None:
    collection = ingest(["CCO", "CCN"])
    folder = Path(collection._collections.location)  # type: ignore[attr-defined]
    assert folder.is_dir()
    hits = collection.search("CCO", limit=1)
    collection.append(["CCCO"], workers=1)
    del collection
    assert not folder.exists()
    assert len(hits) == 1


def test_failed_ingest_leaves_no_temporary_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InvalidInput):
        ingest(["bad("])
    assert not [*tmp_path.iterdir()]


def test_temporary_store_is_removed_at_the_end_of_a_script(tmp_path: Path) -> None:
    script = "import graphkin\nc = graphkin.ingest(['CCO', 'CCN'], workers=2)\nprint(c.append(['CCC']).size)\n"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "3\n"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("graphkin-")], run.stderr


def test_excel_workbook_gives_the_items_of_its_csv(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["ID", "SMILES", "logD", "count", "note"],
        ["a", "CCO", 1.5, 3, "x"],
        ["b", "CCN", None, 4, "&lt;5"],
        [7, None, 1, 2, None],
        ["d", "CCCO", -2.25, 5, None],
    ]
    (tmp_path / "w.xlsx").write_bytes(workbook(rows))
    lines = [",".join("" if each is None else str(each).replace("&lt;", "<") for each in row) for row in rows]
    (tmp_path / "w.csv").write_text("\n".join(lines))
    from_workbook, from_text = (ingest(tmp_path / f"w.{each}", smiles="SMILES") for each in ("xlsx", "csv"))
    assert content(from_workbook) == content(from_text)
    assert from_workbook.generation == from_text.generation
    with pytest.raises(InvalidInput, match=r"w\.xlsx:4: empty record"):
        ingest(tmp_path / "w.xlsx", smiles="SMILES", max_rejected=0)
    (tmp_path / "no.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(InvalidInput, match=r"no\.xlsx is not an Excel workbook"):
        ingest(tmp_path / "no.xlsx")
