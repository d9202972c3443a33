"""What the molecules of a cluster have in common, beside RDKit."""

import time
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rdkit import Chem

from graphkin.collection.clusters.core import COMPARED, Core, compared, core
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import Conflict, NotFound


def generation(structure: str) -> Any:
    return SimpleNamespace(manifest=SimpleNamespace(structure=structure, kind="graph"))


def test_it_is_cut_from_the_first_open_where_that_goes_on() -> None:
    found = core(["CN1CCC(CC1)c1ccc(F)cc1", "CCN1CCC(CC1)c1ccc(Cl)cc1", "O=C(C)N1CCC(CC1)c1ccc(Cl)cc1C"])
    assert found.complete
    assert found.atoms == 13
    assert found.smiles == Chem.CanonSmiles("CN1CCC(CC1)c1ccc(*)cc1")


@pytest.mark.parametrize(
    ("molecules", "expected"),
    [
        (["c1ccccc1O"], Core("", "Oc1ccccc1", 7, complete=True)),
        (["C1CC1", "CCC"], Core(None, None, 0, complete=True)),  # rings only whole, and no chain in one
        (["[Na+].[Cl-]", "[K+].[Br-]"], Core(None, None, 0, complete=True)),
    ],
)
def test_of_one_it_is_this_and_there_may_be_none(molecules: list[str], expected: Core) -> None:
    found = core(molecules)
    assert found[1:] == expected[1:]
    assert (found.smarts is None) == (expected.smarts is None)


def test_it_ends_in_time() -> None:
    begun = time.process_time()
    peptides = ["NCC(=O)" * 60 + "O", "NC(C)C(=O)" * 60 + "O", "NC(CO)C(=O)" * 50 + "O"]
    found = core(peptides, seconds=1)
    assert time.process_time() - begun < 10
    assert not found.complete
    pattern = Chem.MolFromSmarts(found.smarts or "")
    assert all(Chem.MolFromSmiles(each).HasSubstructMatch(pattern) for each in peptides)


def test_a_hundred_stand_for_all_the_centre_among_them() -> None:
    label = np.array([0] * 2500 + [1] * 7, np.int32)
    clusters = Clusters.from_labels(label, np.array([1234, 2503], np.int32))
    of = cast(Any, generation("smiles"))
    found = compared(of, clusters, 0)
    assert len(set(found.tolist())) == COMPARED == 100
    assert found[0] == 1234
    assert set(found.tolist()) <= set(range(2500))
    assert np.diff(np.sort(found)).max() <= 27
    assert compared(of, clusters, 1).tolist() == clusters.members(1).tolist()
    with pytest.raises(NotFound, match="no such cluster"):
        compared(of, clusters, 2)
    with pytest.raises(Conflict, match="common core"):
        compared(generation("structure"), clusters, 0)
