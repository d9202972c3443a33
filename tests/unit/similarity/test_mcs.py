"""Maximum common substructures of pairs on which RDKit's FindMCS is slow.

The pairs are from MoleculeACE and have Tanimoto similarity of at least 0.6. FindMCS finds 2 to 6 shared atoms within 60
s.
"""

import pytest
from rdkit import Chem

from graphkin.similarity.molecules.mcs import common_atoms

SLOW = [  # with the MCS that a chemist sees; [R] is an atom of rings that differ
    (
        "N#Cc1cccc(C(=O)NC[C@@H](O)CN2CCC(Oc3ccc(Cl)c(Cl)c3)CC2)c1",
        "O=C(NC[C@@H](O)CN1CCC(Oc2ccc(Cl)c(Cl)c2)CC1)c1c[nH]c(=O)c2ccccc12",
        "[#6;R]C(=O)NCC(O)CN1CCC(Oc2ccc(Cl)c(Cl)c2)CC1",
    ),
    (
        "Cc1cncc(N2CC3CN(C(=O)c4ccccc4-n4nccn4)CC3C2)n1",
        "Cc1nc(N2CC3CN(C(=O)c4ccccc4-n4nccn4)CC3C2)ncc1F",
        "[#6;R]N1CC2CN(C(=O)c3ccccc3-n3nccn3)CC2C1",
    ),
    (
        r"CN(CC/C=C1\c2ccccc2Sc2ccc(Cl)cc21)Cc1ccc(OCCCN2CCCCC2)cc1",
        "CN(CCC=C1c2ccccc2CCc2ccccc21)Cc1ccc(OCCCN2CCCCC2)cc1",
        "CN(CCC=[#6;R])Cc1ccc(OCCCN2CCCCC2)cc1",
    ),
    (
        "Cc1cncc(-c2cc3c(-c4cccc(N5CCNCC5)n4)n[nH]c3cn2)n1",
        "COc1cncc(-c2cc3c(-c4cccc(N5CCNCC5)n4)n[nH]c3cn2)c1",
        "[#6;R]-c1cc2c(-c3cccc(N4CCNCC4)n3)n[nH]c2cn1",
    ),
]


@pytest.mark.parametrize(("first", "second", "mcs"), SLOW)
def test_slow_pairs_have_their_known_mcs(first: str, second: str, mcs: str) -> None:
    one, other = Chem.MolFromSmiles(first), Chem.MolFromSmiles(second)
    pairs = common_atoms(one, other)
    assert pairs is not None
    for molecule, atoms in zip((one, other), zip(*pairs, strict=True), strict=True):
        matches = molecule.GetSubstructMatches(Chem.MolFromSmarts(mcs))
        assert set(atoms) in [set(match) for match in matches]
    twins = dict(pairs)
    assert all(one.GetAtomWithIdx(a).GetSymbol() == other.GetAtomWithIdx(b).GetSymbol() for a, b in pairs)
    for bond in one.GetBonds():
        begin, end = (twins.get(atom) for atom in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        if begin is not None and end is not None:
            assert other.GetBondBetweenAtoms(begin, end).GetBondType() == bond.GetBondType()


def test_aromatic_ring_is_not_a_saturated_ring() -> None:
    phenyl, cyclohexyl = Chem.MolFromSmiles("OC(=O)c1ccccc1"), Chem.MolFromSmiles("OC(=O)C1CCCCC1")
    assert {atom for atom, _ in common_atoms(phenyl, cyclohexyl) or []} == {0, 1, 2, 3}


def test_search_without_a_result_in_time_returns_none() -> None:
    """Neither search ends on condensed rings, which have thousands of equal substructures."""
    cage = "C1CC2CCC3C4CCC5CC6CCCC7CC8CCCC9CC%10CCCCC%10CC9C8CC7CC6CC5C4CCC3C2C1"
    other = "C1CC2CC3CC4CC5CC6CCCCC6CC5CC4CC3CC2CC1C1CC2CC3CC4CCCCC4CC3CC2CC1"
    assert common_atoms(Chem.MolFromSmiles(cage), Chem.MolFromSmiles(other)) is None
