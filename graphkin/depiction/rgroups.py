"""Alignment of molecules with the core of their R-group table."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor
from rdkit.Geometry import Point3D

from graphkin.depiction.fragments import parse_fragment, prepare
from graphkin.protocol.errors import InvalidInput

_CORE_ATOM = "graphkin.core_atom"
_MIN_ALIGNED = 2  # minimum number of core atoms for an alignment


def align_with_core(molecule: Chem.Mol, core: str) -> list[int]:
    """Give a molecule coordinates in which its core lies as in the depiction of the core.

    Args:
        molecule: The molecule. It stays without coordinates if it does not contain the core.
        core: The core as SMILES, with attachment points such as `[*:1]`. The R groups of the molecule may follow, each
            after a `.`. Then each group is at its own position even in a symmetrical core.

    Returns:
        The indices of the atoms of the molecule that belong to the core.

    Raises:
        InvalidInput: The core cannot be read.
    """
    text, *groups = core.split(".")
    with rdBase.BlockLogs():
        fragment = read_core(text)
        pairs = _core_atoms(molecule, fragment, groups)
        if len(pairs) >= _MIN_ALIGNED:
            template = core_template(fragment)
            with suppress(RuntimeError):  # If RDKit cannot align the molecule, it is drawn as without a core.
                rdDepictor.GenerateDepictionMatching2DStructure(molecule, template, [(b, a) for a, b in pairs])
                _lay_on_template(molecule, template, pairs)
    return [atom for atom, _ in pairs]


def _lay_on_template(molecule: Chem.Mol, template: Chem.Mol, pairs: list[tuple[int, int]]) -> None:
    """Turn, shift and mirror a molecule so that its core lies as in the template.

    RDKit gives the core the shape of the template, but turns or mirrors many molecules as a whole afterwards. Wedges
    are chosen only when a molecule is drawn, so its stereochemistry stays.
    """
    own, core = np.array(pairs).T
    points = molecule.GetConformer().GetPositions()[:, :2] @ [1, 1j]  # points of the plane as complex numbers
    targets = template.GetConformer().GetPositions()[core, :2] @ [1, 1j]
    centered, centered_targets = points - points[own].mean(), targets - targets.mean()
    sides = (centered, centered.conj())
    turns = [np.vdot(side[own], centered_targets) for side in sides]
    side = int(abs(turns[1]) > abs(turns[0]))
    for atom, point in enumerate(sides[side] * turns[side] / abs(turns[side]) + targets.mean()):
        molecule.GetConformer().SetAtomPosition(atom, Point3D(point.real, point.imag, 0))


def align_row(positions: Iterable[str], molecule: Chem.Mol, row: Mapping[str, str | None]) -> None:
    """Give a molecule coordinates in which its core lies as in the depiction of the core of its row.

    Args:
        positions: Names of the columns of `row` with R groups.
        molecule: The molecule. It stays without coordinates if its row has no core.
        row: Row of an R-group table, with the column core.
    """
    if row["core"] is not None:
        align_with_core(molecule, ".".join([row["core"], *filter(None, map(row.get, positions))]))


def read_core(smiles: str) -> Chem.Mol:
    """Return a core from SMILES. Raises `InvalidInput` if it cannot be read."""
    try:
        return parse_fragment(smiles)
    except ValueError as failure:
        raise InvalidInput(
            "the core of this depiction cannot be read",
            given=smiles[:200],
            expected="the core of an R-group table as SMILES, such as c1ccc([*:1])cc1",
            hint="copy core and groups of a row of an R-group table, joined by dots",
        ) from failure


def core_template(core: Chem.Mol) -> Chem.Mol:
    """Return a core with coordinates for its drawing. Its attachment points are labeled R1, R2, …."""
    template = Chem.Mol(core)
    for atom in template.GetAtoms():
        if _is_attachment(atom):
            atom.SetProp("_displayLabel", f"R<sub>{atom.GetAtomMapNum()}</sub>")
            atom.SetAtomMapNum(0)
    return prepare(template)


def _core_atoms(molecule: Chem.Mol, core: Chem.Mol, groups: Iterable[str]) -> list[tuple[int, int]]:
    """Return the atoms of a molecule that are its core, as pairs of indices: in the molecule, and in the core.

    The core and the groups are joined again at their attachment points, so each group is at its own position even in a
    symmetrical core. If that does not give the molecule, the first match of the core counts.
    Attachment points are left out.
    """
    atoms = [atom.GetIdx() for atom in core.GetAtoms() if not _is_attachment(atom)]
    for index in atoms:
        core.GetAtomWithIdx(index).SetIntProp(_CORE_ATOM, index)
    whole = _join(core, groups)
    match = () if whole is None else molecule.GetSubstructMatch(whole, useChirality=True)
    if whole is not None and len(match) == molecule.GetNumAtoms():
        in_core = [atom for atom in whole.GetAtoms() if atom.HasProp(_CORE_ATOM)]
        return [(match[atom.GetIdx()], atom.GetIntProp(_CORE_ATOM)) for atom in in_core]
    pattern = Chem.RWMol(core)
    for atom in reversed([*core.GetAtoms()]):
        if _is_attachment(atom):
            pattern.RemoveAtom(atom.GetIdx())
    return [*zip(molecule.GetSubstructMatch(pattern), atoms, strict=False)]  # No match gives no pairs.


def _join(core: Chem.Mol, groups: Iterable[str]) -> Chem.Mol | None:
    """Return the molecule of a core and its groups, or None if they do not fit together.

    Two groups at one atom, as in `F[*:1].F[*:1]`, each get an attachment point of the core.
    """
    whole = Chem.RWMol(core)
    ends = {atom.GetAtomMapNum(): atom.GetNeighbors()[0].GetIdx() for atom in core.GetAtoms() if _is_attachment(atom)}
    unused = set(ends)
    rings = set()
    try:
        for text in groups:
            group = parse_fragment(text)
            attachments = [atom for atom in group.GetAtoms() if _is_attachment(atom)]
            if len({atom.GetAtomMapNum() for atom in attachments}) > 1:
                if text in rings:  # A ring between two positions is a group of both.
                    continue
                rings.add(text)
            for atom in attachments:
                label = atom.GetAtomMapNum()
                if label in unused:
                    unused.remove(label)
                else:
                    atom.SetAtomMapNum(_add_attachment(whole, ends[label]))
            whole.InsertMol(group)
        return Chem.RemoveHs(Chem.molzip(whole))
    except (KeyError, ValueError, RuntimeError):
        return None


def _add_attachment(molecule: Chem.RWMol, atom: int) -> int:
    """Add an attachment point with a new label to an atom, and return the label."""
    label = 1 + max(each.GetAtomMapNum() for each in molecule.GetAtoms())
    added = molecule.AddAtom(Chem.Atom(0))
    molecule.GetAtomWithIdx(added).SetAtomMapNum(label)
    molecule.AddBond(atom, added, Chem.BondType.SINGLE)
    return label


def _is_attachment(atom: Chem.Atom) -> bool:
    return atom.GetAtomicNum() == 0 and atom.GetAtomMapNum() > 0
