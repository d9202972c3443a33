"""Enhanced stereochemistry: canonical text that distinguishes racemates, relative configurations and enantiomers.

A stereo group of type "and" (&) stands for a mixture of the drawn configuration and its mirror image, a group of type
"or" (o) for one of the two. RDKit 2026.09 writes canonical CXSMILES for most molecules with groups, but not if a group
spans fragments or rings of equivalent centers (RDKit issues 8599, 8901). This module therefore relies only on RDKit's
canonical SMILES: it writes every variant and numbering of the groups, with the group number on each atom, and takes the
smallest text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, NamedTuple

from rdkit import Chem

from graphkin.similarity.describer import Rejected

MAX_GROUPS = 5

_SIGNS = {Chem.StereoGroupType.STEREO_AND: "&", Chem.StereoGroupType.STEREO_OR: "o"}
_NUMBER = re.compile(r":(\d+)\]")


class _Group(NamedTuple):
    sign: str
    atoms: tuple[int, ...]


class _Variant(NamedTuple):
    """One choice of configurations: for each group, whether it is mirrored."""

    mirrored: tuple[bool, ...]
    smiles: str
    molecule: Chem.Mol


def iterate_vector(vector: Any) -> Iterator[Any]:
    """Iterate over an RDKit vector by index.

    RDKit's own iterators end with a C++ exception, which takes as long as parsing an atom, and nearly all of these
    vectors are empty.
    """
    return map(vector.__getitem__, range(len(vector)))


def grouped_atoms(molecule: Chem.Mol) -> int:
    """Return the number of atoms in groups of type "and" or "or"."""
    return sum(len(group.atoms) for group in _groups(molecule))


def canonical_text(molecule: Chem.Mol) -> str:
    """Return the canonical SMILES, or the canonical CXSMILES if there are stereo groups.

    Stereo groups are the only field of the CXSMILES. Groups without a chiral effect, such as those of a meso compound,
    are dropped, and so are groups of type "absolute".

    Raises:
        Rejected: There are more than 5 groups, or mirroring one creates or removes a stereocenter.
    """
    if not len(molecule.GetStereoGroups()):
        return Chem.MolToSmiles(molecule)
    groups = _groups(molecule)
    variants = _variants(molecule, groups)
    distinguishing = [number for number in range(len(groups)) if _distinguishes(variants, number)]
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
        _write(variant.molecule, order)
        for variant in candidates
        if variant.smiles == smallest
        for order in _orders(groups)
    )


def same(molecule: Chem.Mol, other: Chem.Mol) -> bool:
    """Return whether both molecules are the same mixtures of the same isomers and have the same canonical text."""
    return _meaning(molecule) == _meaning(other) and canonical_text(molecule) == canonical_text(other)


def _meaning(molecule: Chem.Mol) -> frozenset[frozenset[str]]:
    """Return the possible mixtures of the molecule, each as the set of canonical SMILES of its components."""
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
    if len({atom for group in groups for atom in group.atoms}) < grouped_atoms(molecule):
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
        raise Rejected("what its stereo groups leave open decides which other atoms are stereocentres")
    return variants


def _stereocenters(molecule: Chem.Mol) -> tuple[frozenset[int], ...]:
    """Return the stereocenters, the potential stereocenters, and the bonds with a configuration."""
    atoms, bonds = molecule.GetAtoms(), molecule.GetBonds()
    return (
        frozenset(atom.GetIdx() for atom in atoms if atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED),
        frozenset(atom.GetIdx() for atom in atoms if atom.HasProp("_ChiralityPossible")),
        frozenset(bond.GetIdx() for bond in bonds if bond.GetStereo() > Chem.BondStereo.STEREOANY),
    )


def _distinguishes(variants: Sequence[_Variant], number: int) -> bool:
    """Return whether mirroring this group yields another molecule for some configuration of the other groups."""
    smiles = {variant.mirrored: variant.smiles for variant in variants}
    return any(
        smiles[(*choice[:number], not choice[number], *choice[number + 1 :])] != text for choice, text in smiles.items()
    )


def _orders(groups: Sequence[_Group]) -> Iterator[tuple[_Group, ...]]:
    """Yield all numberings of the groups, with groups of type "or" first."""
    kinds = [[group for group in groups if group.sign == sign] for sign in "o&"]
    return (ors + ands for ors, ands in product(*map(permutations, kinds)))


def _write(molecule: Chem.Mol, groups: Sequence[_Group]) -> str:
    """Return the SMILES in the atom order determined by the group numbers, and the groups as CXSMILES."""
    number_of = {index: number for number, group in enumerate(groups, 1) for index in group.atoms}
    span = len(groups) + 1
    numbered = Chem.Mol(molecule)
    for atom in numbered.GetAtoms():
        atom.SetAtomMapNum(atom.GetAtomMapNum() * span + number_of.get(atom.GetIdx(), 0))
    smiles = _NUMBER.sub(lambda match: _format_number(int(match[1]) // span), Chem.MolToSmiles(numbered))
    position = {
        index: place for place, index in enumerate(numbered.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    }
    count = {"o": 0, "&": 0}
    fields = []
    for group in groups:
        count[group.sign] += 1
        atoms = ",".join(map(str, sorted(position[index] for index in group.atoms)))
        fields.append(f"{group.sign}{count[group.sign]}:{atoms}")
    return f"{smiles} |{','.join(fields)}|"


def _format_number(number: int) -> str:
    return f":{number}]" if number else "]"
