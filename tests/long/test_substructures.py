"""Substructure matches of 50 SMARTS and 20 molecules among 20,000 molecules equal RDKit's (issue 23)."""

import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from rdkit import Chem

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.library.stored import StoredCollection, StoredCollections
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

DATA = Path(__file__).parents[3] / "shared" / "data"
SMARTS = """
c1ccccc1 c1ccncc1 c1cc[nH]c1 c1ccc2ccccc2c1 C1CCCCC1 C1CC1 [#6] [#7] [#16] [F,Cl,Br,I] [Pt] [Cu,Zn,Fe] [N+](=O)[O-]
C(=O)O C(=O)[OX2H1] C(=O)[O-] C(=O)N [NX3;H2,H1;!$(NC=O)] [$([NX3;H2,H1;!$(NC=O)])]c S(=O)(=O)N [#7;R] [R2] [R3] [r3]
[r5] [r7] [r{8-}] [x3] [D4] [X4;!C] [v5] [h3] [CX2] C#N C=C C/C=C/C C/C=C\\C [C@H](N)C [C@@](N)(C)C *1~*~*~*~*~*1
[!#6;!#1]~[!#6;!#1] [#6]~[#7]~[#8] [O;D1]-[#6]~[#7] C.O c1ccccc1.Cl [$(c1ccc(Cl)cc1),$(c1ccc(F)cc1)] [2H] [#1] [*;+1]
[^1] N=N [Br] [Br,r3] [Rb,Sr] [k6] *@*@* *!@* [#6;r6]@[#7;r5] [R0] O=C1CCCN1 [OH]c1ccccc1C
""".split()  # noqa: SIM905
SMILES = """
CC c1ccccc1 Cc1ccccc1 CC(=O)O C1CCNCC1 O=C1CCCN1 c1ccc2[nH]ccc2c1 CS(C)(=O)=O N#Cc1ccccc1 C[N+](C)(C)C [Na+] Cl *
OCC1OCCC1O C/C=C/C C[C@H](N)C(=O)O NC(=N)N c1ccsc1 Oc1ccccc1 FC(F)F
""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredCollection]:
    """Yield molecules of ZINC, and of HIV with its salts, metals and cages."""
    if not DATA.is_dir():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    folder = tmp_path_factory.mktemp("substructures")
    with gzip.open(DATA / "molecules" / "zinc250k.smiles.gz", "rt") as file:
        lines = [line.split()[0] for line in islice(file, 10_500)]
    with gzip.open(DATA / "moleculenet" / "HIV.csv.gz", "rt") as file:
        lines += [line.partition(",")[0] for line in islice(file, 1, 10_501)]
    path = folder / "molecules.smi"
    path.write_text("\n".join(lines))
    with open_store(folder / "store", create=True) as store:
        ingest(store, "molecules", [str(path)], resolve(threshold=0.95), IngestOptions(workers=2))
    with StoredCollections(str(folder / "store")) as collections:
        yield collections.collection("molecules")


@pytest.fixture(scope="module")
def molecules(collection: StoredCollection) -> list[Chem.Mol]:
    return [Chem.MolFromSmiles(smiles) for smiles in collection.items(columns=["smiles"])["smiles"].to_pylist()]


def test_corpus_has_20_000_molecules_and_50_smarts(molecules: list[Chem.Mol]) -> None:
    assert len(molecules) > 20_000
    assert len(SMARTS) >= 50


@pytest.mark.parametrize("smarts", SMARTS)
def test_smarts_matches_equal_rdkit(collection: StoredCollection, molecules: list[Chem.Mol], smarts: str) -> None:
    pattern = Chem.MolFromSmarts(smarts)
    expected = [id for id, molecule in enumerate(molecules) if molecule.HasSubstructMatch(pattern)]
    assert collection.query(substructure=smarts, columns=[])["id"].to_pylist() == expected


@pytest.mark.parametrize("smiles", SMILES)
def test_smiles_matches_equal_rdkit(collection: StoredCollection, molecules: list[Chem.Mol], smiles: str) -> None:
    pattern = Chem.MolFromSmiles(smiles)
    expected = [id for id, molecule in enumerate(molecules) if molecule.HasSubstructMatch(pattern)]
    assert collection.query(substructure={"smiles": smiles}, columns=[])["id"].to_pylist() == expected
