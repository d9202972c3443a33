"""What the molecules of a cluster have in common."""

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
"""Members of a cluster that are compared at most."""

SECONDS = 2
"""For which their core is looked for."""


class Core(NamedTuple):
    """The largest substructure that some molecules share.

    smarts    it, as RDKit's HasSubstructMatch finds it in each of them; None where they share nothing.
    smiles    cut from the first of them, with `*` where more hangs on it there; None likewise.
    atoms     how many it has.   complete  False if time ran out: there may be a larger one.
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
    """The members of a cluster whose core stands for all: its centre, and others evenly by their place, `COMPARED` at
    most. Raises `NotFound` for a cluster that there is not, and `Conflict` for items that are no molecules."""
    if generation.manifest.structure != "smiles":
        raise Conflict("these items have no common core", given=generation.manifest.kind, expected="molecules")
    members = clusters.members(number)
    return members[np.linspace(0, len(members) - 1, min(COMPARED, len(members))).astype(np.int64)]


def core(smiles: Sequence[str], seconds: int = SECONDS) -> Core:
    """Of molecules, given as SMILES. Atoms match by element, bonds by order, and rings only whole.

    Bounded by `seconds` as far as RDKit keeps them, and not in memory.
    """
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(each) for each in smiles]
    pair = molecules * 2 if len(molecules) == 1 else molecules  # RDKit compares two or more
    found = rdFMCS.FindMCS(pair, timeout=seconds, ringMatchesRingOnly=True, completeRingsOnly=True)
    if not found.numAtoms:
        return Core(None, None, 0, complete=not found.canceled)
    own = _cut(molecules[0], {*molecules[0].GetSubstructMatch(found.queryMol)})
    return Core(found.smartsString, own, found.numAtoms, complete=not found.canceled)


def _cut(molecule: Chem.Mol, atoms: set[int]) -> str:
    """Connected atoms of a molecule, with `*` for each bond to others."""
    kekule = Chem.Mol(molecule)
    Chem.Kekulize(kekule, clearAromaticFlags=True)  # part of an aromatic ring is none
    ends = [{bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} for bond in kekule.GetBonds()]
    leaving = [bond for bond, each in enumerate(ends) if len(each & atoms) == 1]
    if leaving:
        kekule = Chem.FragmentOnBonds(kekule, leaving, dummyLabels=[(0, 0)] * len(leaving))
    parts = zip(Chem.GetMolFrags(kekule), Chem.GetMolFrags(kekule, asMols=True), strict=True)
    return next(Chem.MolToSmiles(part) for own, part in parts if atoms & {*own})
