"""Maximum common substructure (MCS) of the molecules of a cluster."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdFMCS

from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.structures import require_molecules
from graphkin.store.base import Generation
from graphkin.store.records import Int32, Int64

COMPARED = 100
"""Maximum number of members of a cluster that are compared."""

SECONDS = 2
"""Time limit of a search, in seconds."""


class CommonSubstructure(NamedTuple):
    """Maximum common substructure of some molecules.

    Attributes:
        smarts: A pattern that matches each of the molecules in RDKit; None if they share nothing.
        smiles: The substructure cut from the first molecule, with `*` for each bond to the rest of that molecule; None
            if they share nothing.
        atoms: Number of atoms.
        complete: False if the search reached its time limit, so that a larger substructure may exist.
    """

    smarts: str | None
    smiles: str | None
    atoms: int
    complete: bool


class ClusterMcs(NamedTuple):
    """Maximum common substructure of a cluster.

    Attributes:
        cluster: Number of the cluster, from 1.
        size: Number of its members.
        compared: Number of members that were compared, at most `COMPARED`.
        substructure: The substructure that the compared members share.
    """

    cluster: int
    size: int
    compared: int
    substructure: CommonSubstructure


NONE_IN_TIME = CommonSubstructure(None, None, 0, complete=False)


def compared_members(generation: Generation, clusters: Clusters, number: int) -> Int32:
    """Return the ids of the members to compare: the center and evenly spaced others, at most `COMPARED` in all.

    Args:
        generation: The generation that was clustered.
        clusters: Its clusters.
        number: Number of the cluster, from 0.

    Raises:
        NotFound: The cluster does not exist.
        Conflict: The items are not molecules.
    """
    require_molecules(generation.manifest, "common substructure")
    members = clusters.members(number)
    return members[evenly_spaced(len(members), COMPARED)]


def evenly_spaced(count: int, most: int) -> Int64:
    """Return at most `most` evenly spaced positions among `count`, which include the first and the last."""
    return np.linspace(0, count - 1, min(most, count)).astype(np.int64)


def find_mcs(smiles: Sequence[str], seconds: int = SECONDS) -> CommonSubstructure:
    """Return the maximum common substructure of one or more molecules.

    Atoms match by element and bonds by order, where an aromatic bond matches only aromatic ones. Rings match only as a
    whole, so a series with different rings at one position shares none of their atoms.

    RDKit may exceed `seconds`, and its memory is not bounded. A server therefore runs this in a worker process.
    """
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(each) for each in smiles]
    pair = molecules * 2 if len(molecules) == 1 else molecules  # RDKit requires two molecules or more.
    result = rdFMCS.FindMCS(pair, _parameters(seconds))
    if not result.numAtoms:
        return CommonSubstructure(None, None, 0, complete=not result.canceled)
    own = _cut(molecules[0], {*molecules[0].GetSubstructMatch(result.queryMol)})
    return CommonSubstructure(result.smartsString, own, result.numAtoms, complete=not result.canceled)


def _parameters(seconds: int) -> rdFMCS.MCSParameters:
    """Return the parameters of RDKit's search."""
    parameters = rdFMCS.MCSParameters()
    parameters.Timeout = seconds  # type: ignore[assignment]  # The stub is wrong: it is an int.
    parameters.BondTyper = rdFMCS.BondCompare.CompareOrderExact
    atoms, bonds = parameters.AtomCompareParameters, parameters.BondCompareParameters
    atoms.RingMatchesRingOnly = atoms.CompleteRingsOnly = True
    bonds.RingMatchesRingOnly = bonds.CompleteRingsOnly = True
    return parameters


def _cut(molecule: Chem.Mol, atoms: set[int]) -> str:
    """Return the SMILES of connected atoms of a molecule, with `*` for each bond to other atoms."""
    kekule = Chem.Mol(molecule)
    Chem.Kekulize(kekule, clearAromaticFlags=True)  # a part of an aromatic ring is not aromatic
    ends = [{bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} for bond in kekule.GetBonds()]
    leaving = [bond for bond, each in enumerate(ends) if len(each & atoms) == 1]
    if leaving:
        kekule = Chem.FragmentOnBonds(kekule, leaving, dummyLabels=[(0, 0)] * len(leaving))
    parts = zip(Chem.GetMolFrags(kekule), Chem.GetMolFrags(kekule, asMols=True), strict=True)
    return next(Chem.MolToSmiles(part) for own, part in parts if atoms & {*own})
