"""The largest substructure that the molecules of a cluster share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdFMCS

from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import Conflict
from graphkin.store.base import Generation
from graphkin.store.records import Int32

COMPARED = 100
"""The most members of a cluster that are compared."""

SECONDS = 2
"""The time limit of a comparison."""


class Core(NamedTuple):
    """The largest substructure that some molecules share.

    Attributes:
        smarts: matches each of the molecules in RDKit; None if they share nothing.
        smiles: the substructure as cut from the first molecule, with `*` for each further bond; None if they share
            nothing.
        atoms: the number of its atoms.
        complete: False if time ran out, so that a larger one may exist.
    """

    smarts: str | None
    smiles: str | None
    atoms: int
    complete: bool


class ClusterCore(NamedTuple):
    """The substructure that members of a cluster share: the cluster's number from 1, its size, and how many members
    were compared."""

    cluster: int
    size: int
    compared: int
    core: Core


NONE_IN_TIME = Core(None, None, 0, complete=False)


def compared(generation: Generation, clusters: Clusters, number: int) -> Int32:
    """Return the members of a cluster that are compared: its center and others at even distances, at most `COMPARED`.

    Raises `NotFound` for a cluster that does not exist, and `Conflict` for items that are not molecules.
    """
    if generation.manifest.structure != "smiles":
        raise Conflict("these items have no common core", given=generation.manifest.kind, expected="molecules")
    members = clusters.members(number)
    return members[np.linspace(0, len(members) - 1, min(COMPARED, len(members))).astype(np.int64)]


def core(smiles: Sequence[str], seconds: int = SECONDS) -> Core:
    """Return the largest substructure that molecules share. Atoms match by element, bonds by order, rings whole.

    RDKit may exceed `seconds`, and its memory is not bounded: a server runs this in a worker process.
    """
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(each) for each in smiles]
    pair = molecules * 2 if len(molecules) == 1 else molecules  # RDKit compares two or more
    result = rdFMCS.FindMCS(pair, timeout=seconds, ringMatchesRingOnly=True, completeRingsOnly=True)
    if not result.numAtoms:
        return Core(None, None, 0, complete=not result.canceled)
    own = _cut(molecules[0], {*molecules[0].GetSubstructMatch(result.queryMol)})
    return Core(result.smartsString, own, result.numAtoms, complete=not result.canceled)


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
