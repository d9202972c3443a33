"""The R groups of a series equal RDKit's decomposition, and belong to the right molecules."""

import csv
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem
from rdkit.Chem import rdRGroupDecomposition
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.sar.rgroups import Decomposition, decompose, require_series, rgroups_table
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Sort
from graphkin.protocol.requests import Substructure
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation
from tests.documentation_files import PI3K_ALPHA

CORE = "c1cncc(Nc2ncccc2-c2ncncn2)c1"


@pytest.fixture(scope="module")
def series() -> list[str]:
    """Return 240 molecules, of which 174 contain `CORE`."""
    with PI3K_ALPHA.open(encoding="utf-8", newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def rows(decomposition: Decomposition) -> list[dict[str, str]]:
    """Return the rows of a decomposition in RDKit's form."""
    columns = {"Core": decomposition.cores, **decomposition.groups}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def rdkit_rows(core: Chem.Mol, molecules: list[str]) -> tuple[list[dict[str, str]], list[int]]:
    """Return the rows and the positions of the unmatched molecules, as RDKit returns them."""
    parsed = [Chem.MolFromSmiles(each) for each in molecules]
    result = rdRGroupDecomposition.RGroupDecompose([core], parsed, asSmiles=True)
    return result[0], [*result[1]]


def without_labels(smiles: str) -> str:
    """Return a molecule or fragment as canonical SMILES without stereochemistry and labels of positions."""
    molecule = Chem.MolFromSmiles(smiles)
    for atom in molecule.GetAtoms():
        atom.SetAtomMapNum(0)
    return Chem.MolToSmiles(molecule, isomericSmiles=False)


def assembled(row: dict[str, str]) -> str:
    """Return the molecule of the core and the R groups of a row: each group bound to the core's atom at its position.

    A ring between two positions is in both columns. Two groups at one atom, as in `F[*:1].F[*:1]`, are two groups.
    """
    core, *groups = row.values()
    parts = Chem.RWMol(Chem.MolFromSmiles(".".join([core, *dict.fromkeys(groups)]), sanitize=False))
    attachments = [atom for atom in parts.GetAtoms() if atom.GetAtomMapNum()]
    in_core = Chem.MolFromSmiles(core, sanitize=False).GetNumAtoms()
    ends = {atom.GetAtomMapNum(): atom.GetNeighbors()[0] for atom in attachments if atom.GetIdx() < in_core}
    for atom in attachments:
        if atom.GetIdx() >= in_core:
            (bond,) = atom.GetBonds()
            begin = ends[atom.GetAtomMapNum()].GetIdx()
            parts.AddBond(begin, bond.GetOtherAtomIdx(atom.GetIdx()), bond.GetBondType())
    for index in sorted((atom.GetIdx() for atom in attachments), reverse=True):
        parts.RemoveAtom(index)
    Chem.SanitizeMol(parts)
    return Chem.MolToSmiles(Chem.RemoveHs(parts), isomericSmiles=False)


@pytest.mark.parametrize("core", [CORE, "[*:1]c1ncnc(-c2cccnc2N)n1", "c1ccccc1"])
def test_groups_equal_rdkits_decomposition(series: list[str], core: str) -> None:
    molecules = series[15:30]
    decomposition = decompose(molecules, core)
    expected, unmatched = rdkit_rows(Chem.MolFromSmiles(core), molecules)
    assert rows(decomposition) == expected
    assert decomposition.matched == [row for row in range(len(molecules)) if row not in unmatched]
    assert [*decomposition.groups] == [f"R{number}" for number in range(1, len(decomposition.groups) + 1)]


def test_core_and_groups_assemble_to_the_molecule(series: list[str]) -> None:
    decomposition = decompose(series, CORE)
    assert len(decomposition.matched) == 174
    molecules = [Chem.CanonSmiles(series[position], useChiral=0) for position in decomposition.matched]
    assert [assembled(row) for row in rows(decomposition)] == molecules


def test_core_with_atom_lists_is_read_as_smarts() -> None:
    molecules = ["Cc1ccccc1", "Cc1ncccc1", "Clc1ccncc1", "C[N+](C)(C)C"]
    for core in ("[c,n]1ccccc1", "[#6,#7]1:[#6]:[#6]:[#6]:[#6]:[#6]:1"):
        decomposition = decompose(molecules, core)
        assert (rows(decomposition), [3]) == rdkit_rows(Chem.MolFromSmarts(core), molecules)
    assert without_labels(decomposition.cores[0]) == without_labels("*c1cccc(*)c1")
    assert without_labels(decomposition.cores[1]) == without_labels("*c1ccnc(*)c1")


def test_default_core_is_the_maximum_common_substructure() -> None:
    members = ["CN1CCC(CC1)c1ccc(F)cc1", "CCN1CCC(CC1)c1ccc(Cl)cc1", "O=C(C)N1CCC(CC1)c1ccc(Cl)cc1C"]
    decomposition = decompose(members, None)
    assert (decomposition.core.source, decomposition.core.compared, decomposition.core.complete) == ("mcs", 3, True)
    core = Chem.MolFromSmarts(decomposition.core.pattern)
    assert core.GetNumAtoms() == 13
    assert rows(decomposition) == rdkit_rows(core, members)[0]
    assert decompose(members, decomposition.core.pattern)[1:] == decomposition[1:]


def test_at_most_100_molecules_are_compared() -> None:
    esters = [f"{'C' * (number % 5 + 1)}OC(=O)c1ccccc1" for number in range(150)]
    decomposition = decompose(esters, None)
    assert decomposition.core.compared == 100
    assert decomposition.matched == [*range(150)]


def test_one_molecule_is_its_own_core() -> None:
    assert decompose(["OCC"], None)[1:] == ([0], ["CCO"], {})


def test_molecules_without_the_core_have_no_rows() -> None:
    assert decompose(["CCO", "CCC"], "c1ccccc1")[1:] == ([], [], {})


def test_unreadable_core_and_missing_core_are_errors() -> None:
    for core in ("c1ccccc", "", "[c,x", "benzene"):
        with pytest.raises(InvalidInput, match="the core cannot be read") as error:
            decompose(["CCO"], core)
        assert error.value.given == core
    with pytest.raises(InvalidInput, match="the core is not connected"):
        decompose(["CCO"], "CC.O")
    with pytest.raises(InvalidInput, match="no common substructure") as error:
        decompose(["[Na+].[Cl-]", "CCO"], None)
    assert "core" in str(error.value.hint)


@pytest.fixture(scope="module")
def collection(series: list[str], generation: Callable[..., Generation]) -> OpenCollection:
    return OpenCollection(generation([Chem.MolFromSmiles(each) for each in series[::4]], resolve(threshold=0.6)))


def test_rows_and_unmatched_molecules_keep_the_order_of_the_series(collection: OpenCollection) -> None:
    order = Sort(by="molwt", descending=True)
    result = collection.rgroups(RGroupsBody(sort=order, core=CORE, property="molwt"))
    ids = collection.query(RGroupsBody(sort=order)).ids
    contains = [Chem.MolFromSmiles(each).HasSubstructMatch(Chem.MolFromSmiles(CORE)) for each in structures(collection)]
    assert result.ids.tolist() == [id for id in ids.tolist() if contains[id]]
    assert result.unmatched.tolist() == [id for id in ids.tolist() if not contains[id]]
    assert result.values is not None
    assert result.values.tolist() == collection.generation.column("molwt")[result.ids].tolist()
    smiles = structures(collection)
    for id, row in zip(result.ids.tolist(), result.rows(), strict=True):
        assert assembled({"Core": row["core"], **row["groups"]}) == Chem.CanonSmiles(smiles[id], useChiral=0)
        assert row["value"] == collection.generation.column("molwt")[id]


def structures(collection: OpenCollection) -> list[str]:
    return [*collection.generation.structures(np.arange(collection.generation.size, dtype=np.int32))]


def test_series_is_a_selection(collection: OpenCollection) -> None:
    ids = [17, 50, 41]
    assert collection.rgroups(RGroupsBody(ids=ids, core="[*:1]C[*:2]")).ids.tolist() == ids
    pattern = Substructure(smiles=CORE)
    result = collection.rgroups(RGroupsBody(substructure=pattern))
    assert sorted([*result.ids, *result.unmatched]) == sorted(collection.query(RGroupsBody(substructure=pattern)).ids)
    core, smiles = Chem.MolFromSmarts(result.core.pattern), structures(collection)
    assert all(Chem.MolFromSmiles(smiles[id]).HasSubstructMatch(core) for id in result.ids)
    assert not any(Chem.MolFromSmiles(smiles[id]).HasSubstructMatch(core) for id in result.unmatched)
    assert result.values is None
    assert {row["value"] for row in result.rows()} == {None}


def test_scaffold_of_the_series_is_its_core(collection: OpenCollection) -> None:
    scaffold = "c1cncc(Nc2ncccc2-c2ncncn2)c1"
    expected = [id for id, text in enumerate(structures(collection)) if MurckoScaffoldSmiles(text) == scaffold]
    result = collection.rgroups(RGroupsBody(scaffold=scaffold))
    assert result.ids.tolist() == expected
    assert (result.core.pattern, result.core.source) == (scaffold, "scaffold")
    assert collection.rgroups(RGroupsBody(scaffold=scaffold, core=scaffold)).core.source == "request"


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"property": "weight"}, "no numeric property"),
        ({"filters": [{"property": "molwt", "max": 1}]}, "a series needs molecules"),
    ],
)
def test_invalid_series_is_an_error(collection: OpenCollection, request_fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        collection.rgroups(RGroupsBody(core=CORE, **request_fields))


def test_series_has_at_most_2000_molecules(collection: OpenCollection) -> None:
    require_series(collection.generation, np.zeros(2000, np.int32))
    with pytest.raises(InvalidInput, match="too many molecules"):
        require_series(collection.generation, np.zeros(2001, np.int32))


def test_table_keeps_columns_with_the_names_of_positions() -> None:
    items = pa.table({"id": [4, 2], "smiles": ["Cc1ccccc1", "CCO"], "R1": [1.5, 2.5], "core": ["a", None]})
    table = rgroups_table(["c1ccc([*:1])cc1"], {"R1": ["C[*:1]"]}, items, "R1")
    assert table.to_pydict() == {
        "id": [4, 2],
        "item_R1": [1.5, 2.5],
        "core": ["c1ccc([*:1])cc1", None],
        "R1": ["C[*:1]", None],
        "smiles": ["Cc1ccccc1", "CCO"],
        "item_core": ["a", None],
    }
    assert rgroups_table([], {}, items).column_names == ["id", "core", "smiles", "R1", "item_core"]
