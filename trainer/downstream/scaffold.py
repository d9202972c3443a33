"""Bemis-Murcko scaffolds of molecules, by which Hu et al., 2020, split them (method.md E1)."""

from collections.abc import Sequence

from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the scaffold of each molecule as SMILES with chirality; an empty text for acyclic molecules.

    RDKit must be able to read all SMILES.
    """
    with rdBase.BlockLogs():
        molecules = map(Chem.MolFromSmiles, smiles)
        return [MurckoScaffoldSmiles(mol=each, includeChirality=True) for each in molecules]  # type: ignore[no-untyped-call]
