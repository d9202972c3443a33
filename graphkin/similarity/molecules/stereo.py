"""Enhanced stereochemistry: canonical text that distinguishes racemates, relative configurations and enantiomers.

A stereo group is a set of stereocenters. A group of type "and" (&) stands for a mixture of the drawn configuration and
its mirror image. A group of type "or" (o) stands for one of the two, of which it is unknown which.

RDKit 2026.09 writes canonical CXSMILES for most molecules with stereo groups, but not if a group spans fragments or
rings of equivalent centers (RDKit issues 8599 and 8901). This module relies only on RDKit's canonical SMILES. It writes
a text for each choice of mirrored groups and for each numbering of the groups, and takes the smallest text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, NamedTuple

from rdkit import Chem

from graphkin.similarity.describer import Rejected

MAX_GROUPS = 5
"""Maximum number of stereo groups, because the number of texts to compare grows exponentially."""

_SIGNS = {Chem.StereoGroupType.STEREO_AND: "&", Chem.StereoGroupType.STEREO_OR: "o"}
_ATOM_NUMBER = re.compile(r":(\d+)\]")


class _Group(NamedTuple):
    """A stereo group of type "and" or "or".

    Attributes:
        sign: "&" or "o".
        atoms: Indices of the atoms.
    """

    sign: str
    atoms: tuple[int, ...]


class _Variant(NamedTuple):
    """A molecule without stereo groups, in which some of the groups are mirrored.

    Attributes:
        mirrored: Whether each group is mirrored.
        smiles: Canonical SMILES.
        molecule: The molecule.
    """

    mirrored: tuple[bool, ...]
    smiles: str
    molecule: Chem.Mol


def iterate_vector(vector: Any) -> Iterator[Any]:
    """Iterate over an RDKit vector by index.

    This saves time, because RDKit's own iterators end by a slow C++ exception, and most of these vectors are empty.
    """
    return map(vector.__getitem__, range(len(vector)))


def count_grouped_atoms(molecule: Chem.Mol) -> int:
    """Return the number of atoms in stereo groups of type "and" or "or"."""
    return sum(len(group.atoms) for group in _groups(molecule))


def canonical_text(molecule: Chem.Mol) -> str:
    """Return the canonical SMILES, or the canonical CXSMILES if there are stereo groups.

    Stereo groups are the only field of the CXSMILES. Groups of type "absolute" are dropped. So are groups whose mirror
    image is the same molecule, such as those of a meso compound.

    Raises:
        Rejected: There are more than 5 groups, an atom is in two groups, or mirroring a group creates or removes a
            stereocenter.
    """
    if not len(molecule.GetStereoGroups()):
        return Chem.MolToSmiles(molecule)
    groups = _groups(molecule)
    variants = _variants(molecule, groups)
    distinguishing = [number for number in range(len(groups)) if _is_distinguishing(variants, number)]
    groups = [groups[number] for number in distinguishing]
    candidates = [
        variant
        for variant in variants
        if not any(is_mirrored for number, is_mirrored in enumerate(variant.mirrored) if number not in distinguishing)
    ]
    smallest = min(variant.smiles for variant in candidates)
    if not groups:
        return smallest
    return min(
        _write_cxsmiles(variant.molecule, order)
        for variant in candidates
        if variant.smiles == smallest
        for order in _numberings(groups)
    )


def is_equivalent(molecule: Chem.Mol, other: Chem.Mol) -> bool:
    """Return whether two molecules stand for the same mixtures of isomers and have the same canonical text."""
    return _mixtures(molecule) == _mixtures(other) and canonical_text(molecule) == canonical_text(other)


def reread(molecule: Chem.Mol) -> Chem.Mol:
    """Return the molecule that RDKit parses from the canonical SMILES of `molecule`.

    The canonical SMILES identifies the item. Columns computed from the result depend only on the SMILES.

    Raises:
        Rejected: The SMILES does not represent the molecule, or RDKit cannot read it.
    """
    smiles = canonical_text(molecule)
    if "~" in smiles:
        raise Rejected(f"a bond is of a type that SMILES cannot write: {smiles}")
    parsed = Chem.MolFromSmiles(smiles)
    if parsed is None:
        raise Rejected(f"RDKit cannot read the SMILES it writes for this: {smiles}")
    if parsed.GetStereoGroups() and not is_equivalent(molecule, parsed):
        raise Rejected(f"RDKit reads another molecule from the CXSMILES that it writes for this: {smiles}")
    return parsed


def _mixtures(molecule: Chem.Mol) -> frozenset[frozenset[str]]:
    """Return the mixtures that the molecule can stand for, each as the set of canonical SMILES of its isomers.

    There are several if the molecule has groups of type "or".
    """
    groups = _groups(molecule)
    variants = _variants(molecule, groups)
    ors = [number for number, group in enumerate(groups) if group.sign == "o"]
    mixtures: dict[tuple[bool, ...], set[str]] = {}
    for variant in variants:
        mixtures.setdefault(tuple(variant.mirrored[number] for number in ors), set()).add(variant.smiles)
    return frozenset(map(frozenset, mixtures.values()))


def _groups(molecule: Chem.Mol) -> list[_Group]:
    return [
        _Group(_SIGNS[group.GetGroupType()], tuple(atom.GetIdx() for atom in group.GetAtoms()))
        for group in iterate_vector(molecule.GetStereoGroups())
        if group.GetGroupType() in _SIGNS
    ]


def _variants(molecule: Chem.Mol, groups: Sequence[_Group]) -> list[_Variant]:
    if len(groups) > MAX_GROUPS:
        raise Rejected(f"{len(groups)} stereo groups, more than {MAX_GROUPS}")
    if len({atom for group in groups for atom in group.atoms}) < count_grouped_atoms(molecule):
        raise Rejected("an atom is in two stereo groups")
    plain = Chem.RWMol(molecule)
    plain.SetStereoGroups([])
    variants = []
    centers = set()
    for mirrored in product((False, True), repeat=len(groups)):
        variant = Chem.RWMol(plain)
        for group in (group for group, is_mirrored in zip(groups, mirrored, strict=True) if is_mirrored):
            for atom in group.atoms:
                variant.GetAtomWithIdx(atom).InvertChirality()
        Chem.AssignStereochemistry(variant, cleanIt=True, force=True, flagPossibleStereoCenters=True)
        centers.add(_stereocenters(variant))
        variants.append(_Variant(mirrored, Chem.MolToSmiles(variant), variant))
    if len(centers) > 1:
        raise Rejected("mirroring a stereo group changes which other atoms are stereocenters")
    return variants


def _stereocenters(molecule: Chem.Mol) -> tuple[frozenset[int], ...]:
    """Return three sets of indices: stereocenters, possible stereocenters, and bonds with a configuration."""
    atoms, bonds = molecule.GetAtoms(), molecule.GetBonds()
    return (
        frozenset(atom.GetIdx() for atom in atoms if atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED),
        frozenset(atom.GetIdx() for atom in atoms if atom.HasProp("_ChiralityPossible")),
        frozenset(bond.GetIdx() for bond in bonds if bond.GetStereo() > Chem.BondStereo.STEREOANY),
    )


def _is_distinguishing(variants: Sequence[_Variant], number: int) -> bool:
    """Return whether mirroring the group with the index `number` ever yields another molecule."""
    smiles = {variant.mirrored: variant.smiles for variant in variants}
    return any(
        smiles[(*choice[:number], not choice[number], *choice[number + 1 :])] != text for choice, text in smiles.items()
    )


def _numberings(groups: Sequence[_Group]) -> Iterator[tuple[_Group, ...]]:
    """Yield all orders of the groups in which groups of type "or" come before groups of type "and"."""
    kinds = [[group for group in groups if group.sign == sign] for sign in "o&"]
    return (ors + ands for ors, ands in product(*map(permutations, kinds)))


def _write_cxsmiles(molecule: Chem.Mol, groups: Sequence[_Group]) -> str:
    """Return the CXSMILES of a molecule with groups.

    Each atom gets the number of its group while RDKit writes the SMILES. So the groups take part in RDKit's canonical
    order of the atoms.

    Args:
        molecule: A molecule without stereo groups.
        groups: Its groups, in the order of their numbers.
    """
    group_numbers = {index: number for number, group in enumerate(groups, 1) for index in group.atoms}
    span = len(groups) + 1
    numbered = Chem.Mol(molecule)
    for atom in numbered.GetAtoms():
        atom.SetAtomMapNum(atom.GetAtomMapNum() * span + group_numbers.get(atom.GetIdx(), 0))
    smiles = _ATOM_NUMBER.sub(lambda match: _format_atom_number(int(match[1]) // span), Chem.MolToSmiles(numbered))
    position = {
        index: written for written, index in enumerate(numbered.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    }
    count = {"o": 0, "&": 0}
    fields = []
    for group in groups:
        count[group.sign] += 1
        atoms = ",".join(map(str, sorted(position[index] for index in group.atoms)))
        fields.append(f"{group.sign}{count[group.sign]}:{atoms}")
    return f"{smiles} |{','.join(fields)}|"


def _format_atom_number(number: int) -> str:
    return f":{number}]" if number else "]"
