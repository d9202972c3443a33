"""Maximum common substructure of two molecules."""

from collections.abc import Iterable, Mapping
from typing import cast

from rdkit import Chem
from rdkit.Chem import rdFMCS, rdRascalMCES

SECONDS = 2
"""Time limit of one comparison, in seconds. The exact search and the fast search may each take half of it."""

_RASCAL = {
    "similarityThreshold": 0.0,  # no screening
    "ringMatchesRingOnly": True,
    "completeAromaticRings": False,  # `_with_whole_rings` completes rings of all kinds
    "maxBondMatchPairs": 3000,  # two molecules of about 50 atoms; memory grows with the square
    "timeout": SECONDS // 2,
}


def common_atoms(first: Chem.Mol, second: Chem.Mol) -> list[tuple[int, int]] | None:
    """Return the largest connected common substructure of two molecules.

    Atoms match by element and bonds by order. Ring atoms match only ring atoms, and rings match only as a whole.

    RDKit's FindMCS tries all substructures. For a fifth of the pairs of similar molecules with 28 to 40 atoms it takes
    more than 2 s, for some of them more than 60 s. Its intermediate results can be as small as 6 of 33 atoms. So its
    result is dropped if it does not finish within half of the time limit. RDKit's RASCAL then finds the largest set of
    common bonds in about 10 ms, and the largest connected part of that set with whole rings is returned. It matches by
    the same rules, but in a few cases it is not the largest common substructure.

    Returns:
        Pairs of atom indices in the first and in the second molecule; None if the time limit was reached.
    """
    exact = rdFMCS.FindMCS(
        [first, second],
        timeout=SECONDS // 2,
        bondCompare=rdFMCS.BondCompare.CompareOrderExact,  # so that aromatic bonds do not match single bonds
        ringMatchesRingOnly=True,
        completeRingsOnly=True,
    )
    if not exact.canceled:
        matches = (molecule.GetSubstructMatch(exact.queryMol) if exact.numAtoms else () for molecule in (first, second))
        return list(zip(*matches, strict=True))
    options = rdRascalMCES.RascalOptions()
    for name, value in _RASCAL.items():
        setattr(options, name, value)
    results = rdRascalMCES.FindMCES(first, second, options)
    if not results or results[0].timedOut:
        return None
    atoms, bonds = dict(results[0].atomMatches()), dict(results[0].bondMatches())
    return [(atom, atoms[atom]) for atom in _largest_piece(first, _with_whole_rings(first, second, atoms, bonds))]


def _with_whole_rings(
    first: Chem.Mol, second: Chem.Mol, atoms: Mapping[int, int], bonds: Mapping[int, int]
) -> set[int]:
    """Return the bonds of the first molecule whose matches obey the rules about rings in `common_atoms`.

    Args:
        first: The first molecule.
        second: The second molecule.
        atoms: Matches of atoms, from the first to the second molecule.
        bonds: Matches of bonds, from the first to the second molecule.
    """
    matched = {
        bond: other_bond
        for bond, other_bond in bonds.items()
        if _has_same_ring_membership(first.GetBondWithIdx(bond), second, atoms)
    }
    while True:
        ring_bonds = _chain_or_ring_bonds(first, matched.keys()), _chain_or_ring_bonds(second, matched.values())
        remaining = {
            bond: other_bond
            for bond, other_bond in matched.items()
            if bond in ring_bonds[0] and other_bond in ring_bonds[1]
        }
        if len(remaining) == len(matched):
            return set(matched)
        matched = remaining


def _has_same_ring_membership(bond: Chem.Bond, second: Chem.Mol, atoms: Mapping[int, int]) -> bool:
    """Return whether each end of the bond matches a ring atom exactly if it is a ring atom itself."""
    ends = bond.GetBeginAtom(), bond.GetEndAtom()
    return all(end.IsInRing() == second.GetAtomWithIdx(atoms[end.GetIdx()]).IsInRing() for end in ends)


def _chain_or_ring_bonds(molecule: Chem.Mol, bonds: Iterable[int]) -> set[int]:
    """Return those of the bonds that lie in no ring, or in a ring all of whose bonds are in `bonds`."""
    selection, rings = set(bonds), molecule.GetRingInfo()
    in_whole_rings = {bond for ring in rings.BondRings() if selection.issuperset(ring) for bond in ring}
    return {bond for bond in selection if bond in in_whole_rings or not rings.NumBondRings(bond)}


def _largest_piece(molecule: Chem.Mol, bonds: set[int]) -> tuple[int, ...]:
    """Return the atoms of the largest connected component that the bonds form, or () if there are no bonds."""
    if not bonds:
        return ()
    pieces = Chem.RWMol(molecule)
    for bond in molecule.GetBonds():
        if bond.GetIdx() not in bonds:
            pieces.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    return max(cast(tuple[tuple[int, ...], ...], Chem.GetMolFrags(pieces)), key=len)
