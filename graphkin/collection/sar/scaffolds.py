"""Bemis-Murcko scaffolds of all molecules of a collection (Bemis and Murcko, 1996), and the tree that they form.

The parent of a scaffold is the scaffold that remains after one ring system and its linker are removed. RDKit's
scaffold network (`rdkit.Chem.Scaffolds.rdScaffoldNetwork`) removes every ring system in turn, so a scaffold has several
parents there, and the number of scaffolds grows exponentially with their branches. The tree keeps one parent, so each
molecule is counted in one branch. A parent depends on the scaffold alone, and never on the other molecules.
"""

from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from graphkin.collection.clusters.scaffolds import scaffold_of, smiles_chunks
from graphkin.collection.processes import map_in_processes
from graphkin.collection.structures import require_molecules
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Advance
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation
from graphkin.store.records import Int32, Int64

_CUT = Chem.MolFromSmarts("[R]-!@[*]")  # a bond from a ring system to a linker or to another ring system
_REMEMBERED = 2**17  # parents that a worker process remembers, some 30 MB


class ScaffoldTree(NamedTuple):
    """The scaffolds of N molecules and their ancestors, S in all, ordered by their SMILES.

    Attributes:
        label: (N,) int32 scaffold of each molecule.
        parent: (S,) int32 parent of each scaffold, -1 for a root.
        starts: (S + 1,) int64 positions in `text` at which the scaffolds begin, and its length.
        text: uint8 canonical SMILES of all scaffolds, in ASCII. The scaffold of molecules without rings is empty.
    """

    label: Int32
    parent: Int32
    starts: Int64
    text: NDArray[np.uint8]

    @classmethod
    def from_parents(cls, own: pa.Array, parents: dict[str, str | None]) -> "ScaffoldTree":
        """Build the tree.

        Args:
            own: (N,) scaffold of each molecule, as text.
            parents: The parent of each scaffold and each ancestor, None for a root.
        """
        smiles = sorted(parents)
        known = pa.array(smiles, pa.string())
        ends = pa.array([parents[each] for each in smiles], pa.string())
        label, parent = (
            pc.fill_null(pc.index_in(each, value_set=known), -1).to_numpy(zero_copy_only=False) for each in (own, ends)
        )
        texts = [each.encode("ascii") for each in smiles]
        starts = np.append(0, np.cumsum([len(each) for each in texts], dtype=np.int64))
        return cls(
            label.astype(np.int32),
            parent.astype(np.int32),
            starts.astype(np.int64),
            np.frombuffer(b"".join(texts), np.uint8),
        )

    def is_tree_of(self, items: int) -> bool:
        """Return whether the lengths and indices of the arrays fit each other and this number of molecules."""
        scaffolds = len(self.parent)
        return (
            len(self.label) == items
            and len(self.starts) == scaffolds + 1
            and int(self.starts[-1]) == len(self.text)
            and bool(((self.label >= 0) & (self.label < scaffolds)).all())
            and bool(((self.parent >= -1) & (self.parent < scaffolds)).all())
        )

    def smiles(self, scaffold: int) -> str:
        """Return the SMILES of a scaffold."""
        return self.text[self.starts[scaffold] : self.starts[scaffold + 1]].tobytes().decode("ascii")

    def find(self, smiles: str) -> int | None:
        """Return the scaffold with this canonical SMILES, None if there is none. It is found by bisection."""
        first, last = 0, len(self.parent)
        while first < last:
            middle = (first + last) // 2
            if self.smiles(middle) < smiles:
                first = middle + 1
            else:
                last = middle
        return first if first < len(self.parent) and self.smiles(first) == smiles else None

    def items(self, scaffold: int) -> Int32:
        """Return the ids of the molecules that have exactly this scaffold, ascending."""
        return np.flatnonzero(self.label == scaffold).astype(np.int32)


def cached_scaffolds(generation: Generation, processes: int, advance: Advance = lambda _: None) -> ScaffoldTree:
    """Return the scaffold tree of a generation of molecules from the cache of the user, or compute it.

    Args:
        generation: The generation.
        processes: The number of worker processes.
        advance: A function that is called with the number of molecules that have been processed.

    Raises:
        Conflict: The items are not molecules.
        StoreError: The operating system ended a worker process, for example for lack of memory.
    """
    require_molecules(generation.manifest, "scaffolds")
    return load_or_compute_index(
        generation,
        f"scaffold tree {rdBase.rdkitVersion}",
        ScaffoldTree,
        lambda tree: tree.is_tree_of(generation.size),
        lambda: scaffold_tree(generation, processes, advance),
    )


def scaffold_tree(generation: Generation, processes: int, advance: Advance = lambda _: None) -> ScaffoldTree:
    """Compute the scaffold tree of a generation of molecules, as `cached_scaffolds` returns it."""
    own, parents = list[pa.Array](), dict[str, str | None]()
    chunks = smiles_chunks(generation)
    with closing(map_in_processes(_scaffolds_and_parents, chunks, processes, "scaffolds")) as results:
        for scaffolds, ancestors in results:
            own.append(pa.array(scaffolds, pa.string()))
            parents |= ancestors
            advance(len(scaffolds))
    return ScaffoldTree.from_parents(pa.chunked_array(own, pa.string()).combine_chunks(), parents)


def _scaffolds_and_parents(smiles: list[str]) -> tuple[list[str], dict[str, str | None]]:
    """Return the scaffold of each molecule, and the parent of each of these scaffolds and of their ancestors."""
    own = [scaffold_of(Chem.MolFromSmiles(each)) for each in smiles]
    parents = dict[str, str | None]()
    for each in own:
        scaffold: str | None = each
        while scaffold is not None and scaffold not in parents:
            parents[scaffold] = parent_of(scaffold)
            scaffold = parents[scaffold]
    return own, parents


def read_scaffold(smiles: str) -> str:
    """Return the canonical SMILES of a scaffold that a user wrote. A server runs this in a worker process.

    Raises:
        InvalidInput: The text is not a SMILES, or the molecule has atoms outside its scaffold. The hint has its
            scaffold.
    """
    if not smiles.strip():
        return ""
    molecule = Chem.MolFromSmiles(read_molecule(MoleculeRecipe(), smiles, "smiles").text)
    Chem.RemoveStereochemistry(molecule)
    scaffold = scaffold_of(molecule)
    if scaffold != Chem.MolToSmiles(molecule):
        hint = f"its scaffold is {scaffold}" if scaffold else "the scaffold of molecules without rings is empty"
        raise InvalidInput(
            "this molecule has atoms outside its Bemis-Murcko scaffold",
            given=smiles[:200],
            expected="a scaffold, which consists of rings and the linkers between them",
            hint=hint,
        )
    return scaffold


@lru_cache(maxsize=_REMEMBERED)
def parent_of(scaffold: str) -> str | None:
    """Return the parent of a scaffold, None for a root.

    One ring system is removed, with the linker that no longer connects rings. Of the scaffolds that can remain, the
    parent has the most rings, then the fewest bonds in linkers, so that rings at long linkers are removed first
    (Schuffenhauer et al., 2007), then the most heavy atoms, the most heteroatoms, and the first SMILES in alphabetical
    order. The parent of unconnected parts is one of them, by the same rules.

    Args:
        scaffold: A canonical SMILES that `scaffold_of` returned.
    """
    molecule = Chem.MolFromSmiles(scaffold)
    if molecule is None:  # RDKit writes a few aromatic scaffolds that it cannot read.
        return None
    parts = Chem.GetMolFrags(molecule, asMols=True)
    remainders = parts if len(parts) > 1 else [*_without_smallest_leaf(molecule)]
    candidates = {scaffold_of(each) for each in remainders}
    return min(candidates, key=_rank, default=None)


def _without_smallest_leaf(molecule: Chem.Mol) -> Iterator[Chem.Mol]:
    """Yield the rest of a connected scaffold without a ring system at its end, for each such system of fewest rings."""
    matches = molecule.GetSubstructMatches(_CUT, maxMatches=2 * molecule.GetNumBonds())
    bonds = sorted({molecule.GetBondBetweenAtoms(*each).GetIdx() for each in matches})
    if not bonds:
        return
    pieces = Chem.GetMolFrags(Chem.FragmentOnBonds(molecule, bonds, addDummies=False))
    piece_of = {atom: piece for piece, atoms in enumerate(pieces) for atom in atoms}
    cuts: list[list[int]] = [[] for _ in pieces]
    for bond in bonds:
        for atom in (molecule.GetBondWithIdx(bond).GetBeginAtomIdx(), molecule.GetBondWithIdx(bond).GetEndAtomIdx()):
            cuts[piece_of[atom]].append(bond)
    rings = np.bincount([piece_of[ring[0]] for ring in molecule.GetRingInfo().AtomRings()], minlength=len(pieces))
    leaves = [piece for piece, own in enumerate(cuts) if len(own) == 1]
    fewest = min(rings[leaf] for leaf in leaves)
    for leaf in leaves:
        if rings[leaf] == fewest:
            halves = Chem.FragmentOnBonds(molecule, cuts[leaf], dummyLabels=[(0, 0)])
            atoms = Chem.GetMolFrags(halves)
            both = Chem.GetMolFrags(halves, asMols=True)
            yield next(half for own, half in zip(atoms, both, strict=True) if pieces[leaf][0] not in own)


def _rank(scaffold: str) -> tuple[int, int, int, int, str]:
    """Return the key by which the parent comes first."""
    molecule = Chem.MolFromSmiles(scaffold, sanitize=False)
    rings = Chem.GetSSSR(molecule)
    linker_bonds = sum(
        not bond.IsInRing() and bond.GetBeginAtom().GetDegree() > 1 and bond.GetEndAtom().GetDegree() > 1
        for bond in molecule.GetBonds()
    )
    heteroatoms = sum(atom.GetAtomicNum() not in (1, 6) for atom in molecule.GetAtoms())
    return -len(rings), linker_bonds, -molecule.GetNumHeavyAtoms(), -heteroatoms, scaffold
