"""Fragments of molecules for drawings: cores and R groups, even those that are a part of an aromatic ring."""

from rdkit import Chem, rdBase
from rdkit.Chem.Draw import rdMolDraw2D


def parse_fragment(smiles: str) -> Chem.Mol:
    """Return a fragment for a drawing, even a part of an aromatic ring, which is no molecule.

    Raises:
        ValueError: The fragment is no SMILES.
    """
    with rdBase.BlockLogs():
        fragment = Chem.MolFromSmiles(smiles) or Chem.MolFromSmiles(smiles, sanitize=False)
    if fragment is None:
        raise ValueError("it is no SMILES")
    fragment.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(fragment)
    return fragment


def prepare(molecule: Chem.Mol) -> Chem.Mol:
    """Return a molecule with coordinates for its drawing. Parts of aromatic rings keep aromatic bonds."""
    try:
        with rdBase.BlockLogs():
            return rdMolDraw2D.PrepareMolForDrawing(molecule)
    except Chem.KekulizeException:
        return rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=False)


def number_attachment_points(molecule: Chem.Mol) -> None:
    """Turn the atom map numbers of attachment points into notes, and drop the number of a single point."""
    points = [atom for atom in molecule.GetAtoms() if atom.GetAtomicNum() == 0 and atom.GetAtomMapNum()]
    for point in points:
        if len(points) > 1:
            point.SetProp("atomNote", str(point.GetAtomMapNum()))
        point.SetAtomMapNum(0)
