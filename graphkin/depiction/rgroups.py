"""Molecules aligned with the core of their R-group table, and the core and the groups themselves."""

from collections.abc import Iterable
from contextlib import suppress

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

_CORE_ATOM = "graphkin.core_atom"
_MIN_ALIGNED = 2  # minimum number of core atoms for an alignment


def parse_fragment(text: str, *, labels: bool) -> Chem.Mol:
    """Return a core or a group with coordinates for a drawing.

    Args:
        text: The fragment as SMILES, or a core as SMARTS. Its attachment points are `[*:1]`, `[*:2]`, ….
        labels: Whether attachment points are labeled R1, R2, …. Without labels, a drawing with `dummiesAreAttachments`
            shows wavy lines.

    Raises:
        ValueError: The fragment cannot be read.
    """
    fragment = _parse_core(text)
    for atom in fragment.GetAtoms():
        number = atom.GetAtomMapNum()
        if _is_attachment(atom):
            atom.SetAtomMapNum(0)
            if labels:
                atom.SetProp("_displayLabel", f"R<sub>{number}</sub>")
    with rdBase.BlockLogs():
        return rdMolDraw2D.PrepareMolForDrawing(fragment, kekulize=False)


def align_with_core(molecule: Chem.Mol, core: str, groups: Iterable[str], template: Chem.Mol) -> set[int]:
    """Give a molecule coordinates in which its core lies as in the depiction of the core.

    Args:
        molecule: The molecule. It stays without coordinates if it does not contain the core.
        core: The core, as in `parse_fragment`.
        groups: The groups of the molecule, as in `parse_fragment`.
        template: The core with coordinates, from `parse_fragment`.

    Returns:
        The indices of the atoms of the molecule that belong to the core.
    """
    pairs = _core_atoms(molecule, core, groups)
    if len(pairs) >= _MIN_ALIGNED:
        with suppress(RuntimeError):  # If RDKit cannot align the molecule, it is drawn as without a core.
            rdDepictor.GenerateDepictionMatching2DStructure(molecule, template, [(b, a) for a, b in pairs])
    return {atom for atom, _ in pairs}


def _core_atoms(molecule: Chem.Mol, core: str, groups: Iterable[str]) -> list[tuple[int, int]]:
    """Return the atoms of a molecule that are its core, as pairs of indices: in the molecule, and in the core.

    The core and the groups are joined again at their attachment points, so each group is at its own position even in a
    symmetrical core. If that does not give the molecule, because the core is a pattern, any match of the core counts.
    Attachment points are left out.
    """
    own = _parse_core(core)
    atoms = [atom.GetIdx() for atom in own.GetAtoms() if not _is_attachment(atom)]
    for index in atoms:
        own.GetAtomWithIdx(index).SetIntProp(_CORE_ATOM, index)
    whole = _join(own, groups)
    match = () if whole is None else molecule.GetSubstructMatch(whole, useChirality=True)
    if whole is not None and len(match) == molecule.GetNumAtoms():
        in_core = [atom for atom in whole.GetAtoms() if atom.HasProp(_CORE_ATOM)]
        return [(match[atom.GetIdx()], atom.GetIntProp(_CORE_ATOM)) for atom in in_core]
    pattern = Chem.RWMol(own)
    for atom in reversed([*own.GetAtoms()]):
        if _is_attachment(atom):
            pattern.RemoveAtom(atom.GetIdx())
    return [*zip(molecule.GetSubstructMatch(pattern), atoms, strict=False)]  # No match gives no pairs.


def _join(core: Chem.Mol, groups: Iterable[str]) -> Chem.Mol | None:
    """Return the molecule of a core and its groups, or None if they do not fit together."""
    whole = core
    with rdBase.BlockLogs():
        for group in dict.fromkeys(groups):  # A ring between two positions is a group of both.
            fragment = Chem.MolFromSmiles(group)
            if fragment is None:
                return None
            whole = Chem.CombineMols(whole, fragment)
        try:
            return Chem.RemoveHs(Chem.molzip(whole))
        except (ValueError, RuntimeError):
            return None


def _parse_core(text: str) -> Chem.Mol:
    with rdBase.BlockLogs():
        core = Chem.MolFromSmiles(text) or Chem.MolFromSmarts(text)
    if core is None:
        raise ValueError(f"cannot read back {text}")
    core.UpdatePropertyCache(strict=False)
    return core


def _is_attachment(atom: Chem.Atom) -> bool:
    return atom.GetAtomicNum() == 0 and atom.GetAtomMapNum() > 0
