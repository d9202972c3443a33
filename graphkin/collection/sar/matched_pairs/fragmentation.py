"""Fragmentation of a molecule: one to three cuts divide it into a variable part and constant parts.

Single bonds outside rings are cut, by the default rule of mmpdb. One cut leaves two parts, each of which is variable
once. Two or three cuts must leave one part that all of them bound: the variable part. The other parts are constant.

All parts follow from a tree whose edges are the bonds that may be cut, so each constant part is read once, although it
occurs with many variable parts.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from rdkit import Chem, rdBase

from graphkin.collection.sar.matched_pairs.attachments import canonical_order, symmetry

HYDROGEN = "*[H]"
"""The variable part that is a hydrogen atom."""

MAX_VARIABLE = 10
"""Maximum number of heavy atoms of a variable part."""

MAX_HEAVY_ATOMS = 100
"""Maximum number of heavy atoms of a molecule that is cut."""

MAX_ROTATABLE_BONDS = 10
"""Maximum number of rotatable bonds of a molecule that is cut."""

REASONS = (
    "",
    "fewer than two heavy atoms",
    f"more than {MAX_HEAVY_ATOMS} heavy atoms",
    f"more than {MAX_ROTATABLE_BONDS} rotatable bonds",
    "more than one component",
    "atoms without an element (*)",
)
"""The reasons why a molecule is not cut, by number. The first is that of a molecule that is."""

_CUT = Chem.MolFromSmarts("[#6+0;!$(*=,#[!#6])]!@!=!#[!#0;!#1;!$([CH2]);!$([CH3][CH2])]")
_ROTATABLE = Chem.MolFromSmarts("[!$([NH]!@C(=O))&!D1&!$(*#*)]-&!@[!$([NH]!@C(=O))&!D1&!$(*#*)]")


class Fragmentation(NamedTuple):
    """A molecule divided into a variable part and constant parts.

    Attributes:
        variable: Canonical SMILES of the variable part, with `*` for each attachment point.
        symmetry: The symmetry of its attachment points, as a mask (`attachments.symmetry`).
        order: Number of the permutation from its attachment points to the constant parts.
        constants: Canonical SMILES of the constant parts, sorted.
        with_hydrogen: Canonical SMILES of the only constant part with a hydrogen atom in place of the variable part.
            None after several cuts.
    """

    variable: str
    symmetry: int
    order: int
    constants: tuple[str, ...]
    with_hydrogen: str | None


class _Cut(NamedTuple):
    """A bond that may be cut. Atoms are bits of an integer.

    Attributes:
        bond: Index of the bond.
        atom: Index of its first atom.
        sides: The atoms on the side of its first and of its second atom.
    """

    bond: int
    atom: int
    sides: tuple[int, int]


def rejection(molecule: Chem.Mol) -> int:
    """Return the number of the reason in `REASONS` why a molecule is not cut, 0 if it is."""
    heavy = molecule.GetNumHeavyAtoms()
    if any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms()):
        return 5
    if len(Chem.GetMolFrags(molecule)) > 1:
        return 4
    if heavy < 2:
        return 1
    if heavy > MAX_HEAVY_ATOMS:
        return 2
    rotatable = molecule.GetSubstructMatches(_ROTATABLE, maxMatches=2 * MAX_ROTATABLE_BONDS + 1)
    return 3 if len(rotatable) > MAX_ROTATABLE_BONDS else 0


def fragment(molecule: Chem.Mol) -> list[Fragmentation]:
    """Return the distinct fragmentations of a molecule whose variable part has at most `MAX_VARIABLE` heavy atoms.

    The molecule is one that `rejection` accepts.
    """
    with rdBase.BlockLogs():
        return [*dict.fromkeys(_Parts(molecule).fragmentations())]


class _Parts:
    """The parts of one molecule."""

    def __init__(self, molecule: Chem.Mol) -> None:
        self._molecule = molecule
        self._heavy = sum(1 << atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetAtomicNum() > 1)
        self._cuts = _cuts(molecule)
        self._sides: dict[int, tuple[str, str]] = {}
        self._with_hydrogen: dict[tuple[int, int], str] = {}

    def fragmentations(self) -> Iterator[Fragmentation]:
        for number, cut in enumerate(self._cuts):
            for side in (0, 1):
                if self._size(cut.sides[side]) <= MAX_VARIABLE:
                    yield self._ends(number, side)
        for cuts in (2, 3):
            for numbers in combinations(range(len(self._cuts)), cuts):
                outer = self._outer_sides(numbers)
                if outer is not None:
                    yield self._middle(numbers, outer)

    def _outer_sides(self, numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the constant side of each of several cuts, or None if no small part lies between all of them."""
        core, outer = self._heavy, []
        for number in numbers:
            sides = self._cuts[number].sides
            on_second = {sides[1] >> self._cuts[other].atom & 1 for other in numbers if other != number}
            if len(on_second) > 1:
                return None  # the other cuts lie on both sides, so this one does not bound a part between them
            (inner,) = on_second
            outer.append(1 - inner)
            core &= sides[inner]
        return tuple(outer) if core.bit_count() <= MAX_VARIABLE else None

    def _size(self, atoms: int) -> int:
        return (atoms & self._heavy).bit_count()

    def _ends(self, number: int, side: int) -> Fragmentation:
        parts = self._side_smiles(number)
        return Fragmentation(parts[side], symmetry("a"), 0, (parts[1 - side],), self._with_hydrogen[number, 1 - side])

    def _side_smiles(self, number: int) -> tuple[str, str]:
        """Return the SMILES of both sides of a cut."""
        if number not in self._sides:
            cut = self._cuts[number]
            parts = self._cut([number])
            smiles = {}
            for part, atoms in parts:
                side = 0 if cut.sides[0] >> atoms[0] & 1 else 1
                smiles[side] = _smiles(part)
                if self._size(cut.sides[1 - side]) <= MAX_VARIABLE:
                    self._with_hydrogen[number, side] = _hydrogenated(part)
            self._sides[number] = smiles[0], smiles[1]
        return self._sides[number]

    def _middle(self, numbers: tuple[int, ...], outer: tuple[int, ...]) -> Fragmentation:
        part = next(part for part, _ in self._cut(numbers) if _open_ends(part) == len(numbers))
        labels = {}
        for atom in part.GetAtoms():
            if atom.GetAtomicNum() == 0:
                labels[atom.GetIdx()] = atom.GetIsotope() - 1
                atom.SetIsotope(0)
        smiles = _smiles(part)
        written = json.loads(part.GetProp("_smilesAtomOutputOrder").replace(",]", "]"))
        points = [atom for atom in written if atom in labels]
        ranks = [*Chem.CanonicalRankAtoms(part, breakTies=False)]
        own = symmetry([ranks[point] for point in points])
        constants = [self._side_smiles(number)[side] for number, side in zip(numbers, outer, strict=True)]
        rank = sorted(range(len(numbers)), key=constants.__getitem__)
        in_order = tuple(constants[each] for each in rank)
        order = tuple(rank.index(labels[point]) for point in points)
        return Fragmentation(smiles, own, canonical_order(order, own, symmetry(in_order)), in_order, None)

    def _cut(self, numbers: Sequence[int]) -> list[tuple[Chem.Mol, tuple[int, ...]]]:
        """Return the parts after some cuts and their atoms. Isotope i + 1 marks the ends of cut i of several."""
        labels = [(position + 1,) * 2 if len(numbers) > 1 else (0, 0) for position in range(len(numbers))]
        bonds = [self._cuts[number].bond for number in numbers]
        pieces = Chem.FragmentOnBonds(self._molecule, bonds, dummyLabels=labels)
        atoms: list[tuple[int, ...]] = []
        parts = Chem.GetMolFrags(pieces, asMols=True, sanitizeFrags=False, fragsMolAtomMapping=atoms)
        return [*zip(parts, atoms, strict=True)]


def _cuts(molecule: Chem.Mol) -> list[_Cut]:
    cuts = []
    everything = (1 << molecule.GetNumAtoms()) - 1
    neighbors = [[each.GetIdx() for each in atom.GetNeighbors()] for atom in molecule.GetAtoms()]
    for begin, end in molecule.GetSubstructMatches(_CUT):
        side, waiting = 1 << begin, [begin]
        while waiting:
            atom = waiting.pop()
            for other in neighbors[atom]:
                if not side >> other & 1 and (atom, other) != (begin, end):
                    side |= 1 << other
                    waiting.append(other)
        if not side >> end & 1:  # RDKit may take a bond of a fused ring for one outside rings (its issue 4016)
            bond = molecule.GetBondBetweenAtoms(begin, end).GetIdx()
            cuts.append(_Cut(bond, begin, (side, everything & ~side)))
    return cuts


def _open_ends(part: Chem.Mol) -> int:
    return sum(atom.GetAtomicNum() == 0 for atom in part.GetAtoms())


def _smiles(part: Chem.Mol) -> str:
    part.UpdatePropertyCache(strict=False)
    Chem.AssignStereochemistry(part, cleanIt=True, force=True)
    return Chem.MolToSmiles(part)


def _hydrogenated(part: Chem.Mol) -> str:
    """Return the SMILES of a part with a hydrogen atom at its attachment point."""
    whole = Chem.Mol(part)
    next(atom for atom in whole.GetAtoms() if atom.GetAtomicNum() == 0).SetAtomicNum(1)
    whole = Chem.RemoveHs(whole)
    Chem.AssignStereochemistry(whole, cleanIt=True, force=True)
    return Chem.MolToSmiles(whole)
