"""Detection of features of a molfile that an item cannot represent, such as queries, labels and polymers.

A record with such a feature is rejected, because an item without the feature would be another structure.
"""

from collections.abc import Iterator
from itertools import chain

from rdkit import Chem
from rdkit.Chem import rdqueries

from graphkin.similarity.molecules.stereo import iterate_vector

_WILDCARD = "AtomNull"  # RDKit's name for the query of a `*`
_DISPLAY_ONLY = {"SUP", "DAT", "MUL", "GEN"}  # abbreviations, data, expanded repeats, brackets
_ATOMIC_NUMBER_0 = rdqueries.AtomNumEqualsQueryAtom(0)
_WITH_LABEL = rdqueries.HasPropQueryAtom("molFileAlias")
_ATTACHMENT_POINT = rdqueries.HasPropQueryAtom("molAttchpt")
_MULTICENTER_PROPERTIES = ("_MolFileBondEndPts", "_MolFileBondAttach")


def rejection_reason(molecule: Chem.Mol) -> str | None:
    """Return the reason why a molecule cannot be an item, or None. Atoms are numbered from 1, as in a molfile.

    This is called for every molecule of an SD file. So the checks avoid a Python object per atom where they can.
    """
    return next(
        chain(_query_features(molecule), _atom_features(molecule), _bond_features(molecule), _group_features(molecule)),
        None,
    )


def _query_features(molecule: Chem.Mol) -> Iterator[str]:
    if molecule.HasQuery():
        for atom in molecule.GetAtoms():
            if atom.HasQuery() and atom.DescribeQuery().strip() != _WILDCARD:
                yield f"atom {atom.GetIdx() + 1} is a query, not an element"
        for bond in molecule.GetBonds():
            if bond.HasQuery():
                yield f"bond {_ends(bond)} is a query"


def _atom_features(molecule: Chem.Mol) -> Iterator[str]:
    for atom in iterate_vector(molecule.GetAtomsMatchingQuery(_ATOMIC_NUMBER_0)):
        if not _is_wildcard_or_r_group(atom):
            yield f"atom {atom.GetIdx() + 1} is not an element"
        if any(any(map(bond.HasProp, _MULTICENTER_PROPERTIES)) for bond in atom.GetBonds()):
            yield f"a bond of atom {atom.GetIdx() + 1} ends at several atoms"
    for atom in iterate_vector(molecule.GetAtomsMatchingQuery(_WITH_LABEL)):
        label = atom.GetProp("molFileAlias")[:20]
        yield f"atom {atom.GetIdx() + 1} has the label {label!r} without a structure"
    for atom in iterate_vector(molecule.GetAtomsMatchingQuery(_ATTACHMENT_POINT)):
        yield f"atom {atom.GetIdx() + 1} is an attachment point"


def _is_wildcard_or_r_group(atom: Chem.Atom) -> bool:
    """Return whether an atom of atomic number 0 is `*` or an R-group."""
    label = atom.GetProp("dummyLabel") if atom.HasProp("dummyLabel") else ""
    return atom.HasQuery() or label.startswith(("*", "R"))


def _bond_features(molecule: Chem.Mol) -> Iterator[str]:
    for center in iterate_vector(Chem.FindPotentialStereo(molecule)):
        if center.type == Chem.StereoType.Bond_Atropisomer and center.specified == Chem.StereoSpecified.Specified:
            bond = molecule.GetBondWithIdx(center.centeredOn)
            yield f"bond {_ends(bond)} is an axis of chirality, which SMILES cannot write"


def _ends(bond: Chem.Bond) -> str:
    return f"{bond.GetBeginAtomIdx() + 1}-{bond.GetEndAtomIdx() + 1}"


def _group_features(molecule: Chem.Mol) -> Iterator[str]:
    for group in iterate_vector(Chem.GetMolSubstanceGroups(molecule)):
        if (kind := group.GetProp("TYPE")) not in _DISPLAY_ONLY:
            yield f"has a group of atoms of type {kind}"
    if molecule.HasProp("_molLinkNodes"):
        yield "has link nodes"
