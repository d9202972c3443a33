"""`read_fingerprints` returns RDKit's fingerprint of every record, whatever holds the records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from rdkit import Chem, DataStructs
from rdkit.Chem import rdDistGeom, rdFingerprintGenerator

import graphkin
from graphkin.library.inputs import FingerprintSet, read_fingerprints
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.similarity.molecules.recipe import FingerprintRecipe

SMILES = ["CCO", "c1ccccc1O", None, "C[C@H](N)C(=O)O", "not a molecule", "OCC"]
NAMES = ["a", "b", "c", "d", "e", "f"]
BITS = np.random.default_rng(0).random((50, 200)) < 0.2


def molecules() -> list[Chem.Mol | None]:
    return [None if text in (None, "not a molecule") else Chem.MolFromSmiles(text) for text in SMILES]


def bit_vector(row: np.ndarray) -> Any:
    vector = DataStructs.ExplicitBitVect(len(row))
    vector.SetBitsFromList(np.flatnonzero(row).tolist())
    return vector


def unpack(fingerprints: FingerprintSet) -> np.ndarray:
    bits = np.unpackbits(fingerprints.words.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, fingerprints.type.bits :].any()
    return bits[:, : fingerprints.type.bits]


def expected(generator: Any) -> np.ndarray:
    rows = [np.zeros(2048, bool) if each is None else generator.GetFingerprintAsNumPy(each) for each in molecules()]
    return np.array(rows)


def arrow_table() -> pa.Table:
    return pa.table({"id": NAMES, "smiles": SMILES})


@pytest.mark.parametrize(
    ("make", "has_names"),
    [
        (lambda: SMILES, False),
        (lambda: iter(SMILES), False),
        (lambda: [float("nan") if text is None else text for text in SMILES], False),
        (lambda: np.array(SMILES, object), False),
        (lambda: pd.Series(SMILES, index=[9, 9, 3, 2, 1, 0]), False),
        (lambda: pd.Series(SMILES, dtype="category"), False),
        (lambda: pl.DataFrame({"id": NAMES, "smiles": pl.Series(SMILES, dtype=pl.Categorical)}), True),
        (lambda: pl.Series(SMILES), False),
        (lambda: pa.chunked_array([SMILES[:1], SMILES[1:]]), False),
        (molecules, False),
        (lambda: (molecule for molecule in molecules()), False),
        (lambda: pd.Series(molecules()), False),
        (lambda: pd.DataFrame({"smiles": SMILES, "ID": NAMES}, index=[9, 9, 3, 2, 1, 0]), True),
        (lambda: pd.DataFrame({"smiles": SMILES}, index=pd.Index(NAMES, name="ID")), True),
        (lambda: pd.DataFrame({"smiles": molecules(), "name": NAMES}), True),
        (lambda: pl.DataFrame({"smiles": SMILES, "ID": NAMES}), True),
        (arrow_table, True),
        (lambda: arrow_table().to_reader(), True),
        (lambda: arrow_table().to_batches()[0], True),
    ],
)
def test_molecules_have_rdkits_fingerprints(make: Callable[[], Any], has_names: bool) -> None:
    fingerprints = read_fingerprints(make())
    assert np.array_equal(unpack(fingerprints), expected(rdFingerprintGenerator.GetMorganGenerator(2, fpSize=2048)))
    assert fingerprints.rejected.tolist() == [2, 4]
    assert fingerprints.reasons[0] == "empty record"
    assert fingerprints.names == (NAMES if has_names else None)
    assert fingerprints.structures is not None
    assert fingerprints.structures[0] == "CCO"
    assert len(fingerprints) == len(fingerprints.structures) == 6


def test_files_have_the_fingerprints_of_their_records(tmp_path: Path) -> None:
    smi, csv, parquet, sdf = (str(tmp_path / f"m.{extension}") for extension in ("smi", "csv", "parquet", "sdf"))
    Path(smi).write_text("CCO\nbad(\n")
    Path(csv).write_text("structure,id\nCCO,x\n,y\n")
    pq.write_table(pa.table({"structure": ["CCO", ""]}), parquet)
    Path(sdf).write_text(f"t{Chem.MolToMolBlock(Chem.MolFromSmiles('CCO'))}$$$$\nno molecule\n$$$$\n")
    for path, smiles in ((smi, None), (csv, "structure"), (Path(parquet), "structure"), (sdf, None)):
        fingerprints = read_fingerprints(path, smiles=smiles)
        assert np.array_equal(fingerprints.words[0], read_fingerprints(["OCC"]).words[0])
        assert fingerprints.rejected.tolist() == [1]
        assert not fingerprints.words[1].any()
    together = read_fingerprints([csv, csv], smiles="structure")
    assert together.rejected.tolist() == [1, 3]
    assert together.names == ["x", "y", "x", "y"]


def test_recipe_chooses_the_fingerprint() -> None:
    fingerprints = read_fingerprints(SMILES, recipe=FingerprintRecipe(name="rdkit"))
    assert np.array_equal(unpack(fingerprints), expected(rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=2048)))
    assert fingerprints.type.name.startswith("RDKit-Fingerprint")


def test_worker_processes_return_the_same_as_one_process() -> None:
    smiles = [f"{'C' * (1 + row % 40)}{'O' if row % 7 else '('}" for row in range(4500)]
    fingerprints = read_fingerprints(smiles, workers=2)
    assert fingerprints.rejected.tolist() == [row for row in range(4500) if row % 7 == 0]
    rows = [row for row in range(0, 4500, 450) if row % 7]
    assert np.array_equal(fingerprints.words[rows], read_fingerprints([smiles[row] for row in rows]).words)


@pytest.mark.parametrize(
    "data",
    [
        BITS,
        BITS.astype(np.uint8),
        BITS.astype(float),
        scipy.sparse.csr_array(BITS),
        scipy.sparse.coo_matrix(BITS.astype(np.int64)),
        [bit_vector(row) for row in BITS],
    ],
)
def test_bits_are_packed(data: Any) -> None:
    fingerprints = read_fingerprints(data)
    assert np.array_equal(unpack(fingerprints), BITS)
    assert fingerprints.structures is None
    assert not len(fingerprints.rejected)


def test_packed_bits_stay_as_they_are() -> None:
    words = np.random.default_rng(0).integers(0, 2**63, (20, 4), np.uint64)
    assert np.array_equal(read_fingerprints(words).words, words)
    assert np.array_equal(read_fingerprints(np.asfortranarray(words)).words, words)


def test_files_of_fingerprints_are_read(tmp_path: Path) -> None:
    packed = np.packbits(BITS, axis=1, bitorder="little")
    np.save(tmp_path / "a.npy", packed)
    lines = "".join(f"{row.tobytes().hex()}\tn{number}\n" for number, row in enumerate(packed))
    (tmp_path / "a.fps").write_text(f"#FPS1\n#num_bits=200\n{lines}")
    for name in ("a.npy", "a.fps"):
        assert np.array_equal(unpack(read_fingerprints(tmp_path / name)), BITS)
    assert read_fingerprints(tmp_path / "a.fps").names == [f"n{number}" for number in range(50)]


def test_collection_gives_its_stored_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "m.smi").write_text("CCO first\nCCC\n")
    graphkin.ingest(tmp_path / "m.smi", store=tmp_path / "s", collection="m", fingerprint="maccs")
    collection = graphkin.open(tmp_path / "s")["m"]
    fingerprints = read_fingerprints(collection)
    assert np.array_equal(
        fingerprints.words, read_fingerprints(["CCO", "CCC"], recipe=FingerprintRecipe(name="maccs")).words
    )
    assert fingerprints.structures == ["CCO", "CCC"]
    assert fingerprints.names == ["first", None]
    assert fingerprints.type.bits == 167


def test_collection_of_other_items_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    graphkin.ingest(tmp_path / "v.npy", store=tmp_path / "s", collection="v", kind="vectors")
    with pytest.raises(Conflict, match="a collection of vectors"):
        read_fingerprints(graphkin.open(tmp_path / "s")["v"])


@pytest.mark.parametrize("data", [[], pd.DataFrame({"smiles": []}), pd.Series([], dtype=object), np.empty(0, object)])
def test_no_records_give_no_fingerprints(data: Any) -> None:
    assert read_fingerprints(data).words.shape == (0, 32)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({"SMILE": ["C"]}), "the data frame has no column 'smiles'"),
        (pd.DataFrame({"smiles": [1.5]}), "does not hold SMILES"),
        (np.array([[0, 2]]), "other values than 0 and 1"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (scipy.sparse.csr_array([[3]]), "other values than 0 and 1"),
        (17, "this type of data cannot be read"),
        ({"smiles": ["C"]}, r"pandas.DataFrame\(data\)"),
        (Chem.MolFromSmiles("C"), r"such as \[molecule\]"),
        (pl.LazyFrame({"smiles": ["C"]}), r"collect\(\)"),
        ("CCO", r'pass a list, such as \["CCO"\]'),
        ("C/C=C/C.Cl", r'pass a list, such as \["CCO"\]'),
        ([np.zeros(8, bool), np.zeros(9, bool)], "different shapes"),
        (np.eye(2048, dtype=np.uint64), "astype"),
    ],
)
def test_unusable_data_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_fingerprints(data)


def test_elements_of_other_types_are_rejected_by_position() -> None:
    fingerprints = read_fingerprints(["CCO", 7, Chem.MolFromSmiles("C"), "C\0", "\ud800"])
    assert fingerprints.rejected.tolist() == [1, 3, 4]
    assert fingerprints.reasons == [
        "is of type int, not a SMILES or an RDKit molecule",
        "contains a NUL byte",
        "is not Unicode text",
    ]


def test_molecules_keep_stereo_and_hydrogens_and_conformers_do_not_count() -> None:
    smiles = ["C[C@H](F)Cl", "C[C@@H](F)Cl", "F/C=C/F", "C[C@H](F)[C@@H](C)Cl |o1:1,&1:3|"]
    embedded = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in smiles]
    for molecule in embedded:
        rdDistGeom.EmbedMolecule(molecule, randomSeed=1)
    recipe = FingerprintRecipe(chirality=True)
    assert np.array_equal(
        read_fingerprints(embedded, recipe=recipe).words, read_fingerprints(smiles, recipe=recipe).words
    )
