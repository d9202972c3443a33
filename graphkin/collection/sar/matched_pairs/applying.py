"""Application of known transformations to one molecule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rdkit import Chem, rdBase

from graphkin.collection.sar.matched_pairs.attachments import (
    compose,
    invert,
    members,
    permutation,
    symmetry,
)
from graphkin.collection.sar.matched_pairs.fragmentation import HYDROGEN, REASONS, Fragmentation, fragment, rejection
from graphkin.collection.sar.matched_pairs.ranking import Summary, label
from graphkin.protocol.values import Change


class CutMolecule(NamedTuple):
    """The fragmentations of one molecule.

    Attributes:
        reason: Why the molecule is not cut. None if it is.
        fragmentations: Its fragmentations, including those in which a hydrogen atom is the variable part.
    """

    reason: str | None
    fragmentations: list[Fragmentation]


class Assembly(NamedTuple):
    """Parts that are joined to one molecule.

    Attributes:
        row: The row of a summary whose transformation makes the molecule.
        parts: SMILES of the parts, whose labels say where they are joined.
    """

    row: int
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Applicable:
    """Transformations that can be applied to a molecule.

    Attributes:
        reason: Why the molecule is not cut. None if it is.
        summary: The transformations, in the direction from a part of the molecule.
        assemblies: For each transformation, the parts of the molecules that it makes.
    """

    reason: str | None
    summary: Summary
    assemblies: list[list[tuple[str, ...]]]

    def part(self, begin: int, end: int | None) -> "Applicable":
        """Return the transformations `begin` to `end` - 1."""
        rows = slice(begin, end)
        return Applicable(self.reason, self.summary.take(rows), self.assemblies[rows])


def cut_molecule(smiles: str) -> CutMolecule:
    """Return all fragmentations of a molecule.

    RDKit's time for a molecule is not bounded. A server therefore runs this in a worker process.
    """
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    number = rejection(molecule)
    if number:
        return CutMolecule(REASONS[number], [])
    return CutMolecule(None, fragment(molecule) + _cut_hydrogens(molecule))


def join_parts(assemblies: Sequence[Sequence[str]]) -> list[str | None]:
    """Return the canonical SMILES of molecules from their parts, None for parts that RDKit cannot join.

    Args:
        assemblies: For each molecule, SMILES with the labels of their attachment points.
    """
    with rdBase.BlockLogs():
        return [_join(parts) for parts in assemblies]


def applicable(cut: CutMolecule, summary: Summary, change: Change) -> Applicable:
    """Return the transformations that can be applied to a molecule, the largest mean change first.

    Args:
        cut: The fragmentations of the molecule.
        summary: Transformations and the change of the property.
        change: Whether to return those that raise or those that lower the property on average.
    """
    transformations = summary.transformations
    by_variable: dict[int, list[Fragmentation]] = {}
    for each in cut.fragmentations:
        if each.variable in transformations.numbers:
            by_variable.setdefault(transformations.numbers[each.variable], []).append(each)
    variables = np.array([*by_variable], np.int32)
    if change == "lower":
        summary = summary.reversed()
    pairs = transformations.pairs
    starts = np.where(summary.reverse, pairs.target[summary.numbers], pairs.source[summary.numbers])
    summary = summary.take(np.flatnonzero(np.isin(starts, variables) & (summary.mean != 0)))
    order = np.lexsort((summary.numbers, -summary.count, -np.abs(summary.mean)))
    summary = summary.take(order)
    assemblies = [[*_assemblies(summary, row, by_variable)] for row in range(len(summary))]
    return Applicable(cut.reason, summary, assemblies)


def _assemblies(summary: Summary, row: int, by_variable: dict[int, list[Fragmentation]]) -> Iterable[tuple[str, ...]]:
    """Return the distinct sets of parts that a transformation joins."""
    pairs, number = summary.transformations.pairs, int(summary.numbers[row])
    ends = int(pairs.source[number]), int(pairs.target[number])
    start, end = ends[::-1] if summary.reverse[row] else ends
    target = summary.transformations.variables[end]
    points = permutation(target.count("*"), int(pairs.relation[number]))
    forward = invert(points) if summary.reverse[row] else points
    joined: dict[tuple[str, ...], None] = {}
    for each in by_variable[start]:
        order = permutation(len(forward), each.order)
        for exchange in members(len(forward), each.symmetry):
            # Point i of the part goes to point forward[exchange[i]] of the new part, and to constant part order[i].
            labels = compose(order, invert(compose(forward, exchange)))
            constants = (label(text, (position,)) for position, text in enumerate(each.constants))
            joined[(label(target, labels), *constants)] = None
    return joined


def _cut_hydrogens(molecule: Chem.Mol) -> list[Fragmentation]:
    """Return a fragmentation for each distinct atom with hydrogen: a hydrogen atom is the variable part."""
    whole = Chem.MolToSmiles(molecule)
    seen: dict[str, None] = {}
    ranks = Chem.CanonicalRankAtoms(molecule, breakTies=False)
    atoms = {rank: atom for rank, atom in zip(ranks, molecule.GetAtoms(), strict=True) if atom.GetTotalNumHs()}
    for atom in atoms.values():
        opened = Chem.RWMol(molecule)
        end = opened.AddAtom(Chem.Atom(0))
        opened.AddBond(atom.GetIdx(), end, Chem.BondType.SINGLE)
        own = opened.GetAtomWithIdx(atom.GetIdx())
        own.SetNumExplicitHs(max(0, own.GetNumExplicitHs() - 1))
        if Chem.SanitizeMol(opened, catchErrors=True):
            continue
        Chem.AssignStereochemistry(opened, cleanIt=True, force=True)
        seen[Chem.MolToSmiles(opened)] = None
    return [Fragmentation(HYDROGEN, symmetry("a"), 0, (text,), whole) for text in seen]


def _join(parts: Sequence[str]) -> str | None:
    molecule = Chem.MolFromSmiles(".".join(parts), sanitize=False)
    try:
        joined = Chem.molzip(molecule)
        joined = Chem.RemoveHs(joined)
        Chem.AssignStereochemistry(joined, cleanIt=True, force=True)
        return Chem.MolToSmiles(joined)
    except (Chem.MolSanitizeException, RuntimeError, ValueError):
        return None
