"""The maximum common substructure of a cluster, checked by RDKit."""

import time
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rdkit import Chem

from graphkin.collection.clusters.mcs import COMPARED, CommonSubstructure, compared_members, find_mcs
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import Conflict, NotFound


def generation(structure: str) -> Any:
    return SimpleNamespace(manifest=SimpleNamespace(structure=structure, kind="graph"))


def test_mcs_smiles_marks_where_the_first_molecule_continues() -> None:
    mcs = find_mcs(["CN1CCC(CC1)c1ccc(F)cc1", "CCN1CCC(CC1)c1ccc(Cl)cc1", "O=C(C)N1CCC(CC1)c1ccc(Cl)cc1C"])
    assert mcs.complete
    assert mcs.atoms == 13
    assert mcs.smiles == Chem.CanonSmiles("CN1CCC(CC1)c1ccc(*)cc1")


@pytest.mark.parametrize("ring", ["c1ccncc1", "C1CCCCC1"])
def test_mcs_has_no_part_of_a_ring_that_the_molecules_do_not_share(ring: str) -> None:
    mcs = find_mcs(["NC(=O)c1ccccc1", f"NC(=O){ring}"])
    assert (mcs.smiles, mcs.atoms) == (Chem.CanonSmiles("NC(=O)*"), 3)


@pytest.mark.parametrize(
    ("molecules", "expected"),
    [
        (["c1ccccc1O"], CommonSubstructure("", "Oc1ccccc1", 7, complete=True)),
        (
            ["C1CC1", "CCC"],
            CommonSubstructure(None, None, 0, complete=True),
        ),  # rings match only as a whole, and not a chain
        (["[Na+].[Cl-]", "[K+].[Br-]"], CommonSubstructure(None, None, 0, complete=True)),
    ],
)
def test_mcs_of_one_molecule_is_itself_and_may_be_missing(molecules: list[str], expected: CommonSubstructure) -> None:
    mcs = find_mcs(molecules)
    assert mcs[1:] == expected[1:]
    assert (mcs.smarts is None) == (expected.smarts is None)


def test_mcs_search_stops_at_its_time_limit() -> None:
    start = time.process_time()
    peptides = ["NCC(=O)" * 60 + "O", "NC(C)C(=O)" * 60 + "O", "NC(CO)C(=O)" * 50 + "O"]
    mcs = find_mcs(peptides, seconds=1)
    assert time.process_time() - start < 10
    assert not mcs.complete
    pattern = Chem.MolFromSmarts(mcs.smarts or "")
    assert all(Chem.MolFromSmiles(each).HasSubstructMatch(pattern) for each in peptides)


def test_mcs_compares_the_center_and_99_evenly_spaced_members() -> None:
    label = np.array([0] * 2500 + [1] * 7, np.int32)
    clusters = Clusters.from_labels(label, np.array([1234, 2503], np.int32))
    molecules = cast(Any, generation("smiles"))
    members = compared_members(molecules, clusters, 0)
    assert len(set(members.tolist())) == COMPARED == 100
    assert members[0] == 1234
    assert set(members.tolist()) <= set(range(2500))
    assert np.diff(np.sort(members)).max() <= 27
    assert compared_members(molecules, clusters, 1).tolist() == clusters.members(1).tolist()
    with pytest.raises(NotFound, match="no such cluster"):
        compared_members(molecules, clusters, 2)
    with pytest.raises(Conflict, match="common substructure"):
        compared_members(generation("structure"), clusters, 0)
