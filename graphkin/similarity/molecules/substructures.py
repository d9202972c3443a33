"""Substructure search in molecules.

RDKit's pattern fingerprints rule out most molecules: a molecule that contains the pattern has all bits of the pattern.
RDKit then matches the pattern with the other molecules.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem.rdSubstructLibrary import CachedMolHolder, SubstructLibrary

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_PATTERN
from graphkin.similarity.kind import BLOCK, Pattern, Substructures
from graphkin.similarity.molecules.fingerprints import pack
from graphkin.similarity.molecules.messages import rdkit_messages, readable_messages
from graphkin.similarity.molecules.query import invalid_text_error, read_molecule
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation
from graphkin.store.records import Int32, Int64, Mask, UInt64

_WORDS = 32  # 64-bit words of a pattern fingerprint
_SMARTS = "smarts"
_MAX_MATCHES = 1000  # matches per molecule that are highlighted
_RING_PRIMITIVE = re.compile(r"R|(?<!B)r|[xk@]")  # found in every SMARTS that needs ring information; not in Br


def read_pattern(recipe: MoleculeRecipe, text: str, notation: str) -> Pattern:
    """Read a substructure pattern.

    Args:
        recipe: The recipe of the collection to search.
        text: A SMARTS of at most 10 kB, or a molecule, which is standardized like a query.
        notation: "smarts", or a notation of molecules.

    Raises:
        InvalidInput: The text cannot be read. The message gives the reason.
    """
    if notation == _SMARTS:
        return _make_pattern(notation, _read_smarts(text))
    return _make_pattern("smiles", read_molecule(recipe, text, notation).text)


def _read_smarts(text: str) -> str:
    smarts = text.strip()
    if len(smarts) > MAX_PATTERN:
        raise InvalidInput(
            "the SMARTS is too long",
            given=f"{len(smarts):,} characters",
            expected=f"at most {MAX_PATTERN:,} characters",
            hint="use a shorter pattern, or several filters",
        )
    if not smarts.isascii() or not smarts.isprintable() or " " in smarts:  # RDKit would ignore the rest of the text
        raise invalid_text_error(
            text, _SMARTS, "contains white space or a character other than printable ASCII", "pattern"
        )
    with rdkit_messages() as messages:
        molecule = Chem.MolFromSmarts(smarts)
        if molecule is None:
            raise invalid_text_error(
                text, _SMARTS, readable_messages(messages, smarts) or "RDKit cannot read it", "pattern"
            )
    if not molecule.GetNumAtoms():
        raise invalid_text_error(text, _SMARTS, "no atoms", "pattern")
    return smarts


def _make_pattern(notation: str, text: str) -> Pattern:
    (screen,) = pack([Chem.PatternFingerprint(_query_molecule(notation, text))])
    return Pattern(notation, text, screen.tobytes())


@lru_cache(maxsize=16)
def _query_molecule(notation: str, text: str) -> Chem.Mol:
    return Chem.MolFromSmarts(text) if notation == _SMARTS else Chem.MolFromSmiles(text)


def matched_atoms(molecule: Chem.Mol, text: str, notation: str) -> set[int]:
    """Return the atoms in up to `_MAX_MATCHES` matches of a pattern that `read_pattern` returned."""
    matches = molecule.GetSubstructMatches(_query_molecule(notation, text), maxMatches=_MAX_MATCHES)
    return {atom for match in matches for atom in match}


class Pickles(NamedTuple):
    """Molecules as RDKit's pickles, in one buffer.

    Attributes:
        indptr: (n + 1,) int64 offsets; the pickle of molecule i is pickled[indptr[i] : indptr[i + 1]].
        pickled: (B,) uint8 bytes.
    """

    indptr: Int64
    pickled: NDArray[np.uint8]

    @classmethod
    def from_bytes(cls, pickles: list[bytes]) -> "Pickles":
        indptr = np.zeros(len(pickles) + 1, np.int64)
        np.cumsum([len(pickle) for pickle in pickles], out=indptr[1:])
        return cls(indptr, np.frombuffer(b"".join(pickles), np.uint8))

    def is_valid_for(self, items: int) -> bool:
        return (
            (self.indptr.dtype, *self.indptr.shape) == (np.dtype(np.int64), items + 1)
            and (self.pickled.dtype, *self.pickled.shape) == (np.dtype(np.uint8), self.indptr[-1])
            and self.indptr[0] == 0
            and bool((np.diff(self.indptr) > 0).all())
        )

    def holder(self, rows: Int32) -> CachedMolHolder:
        """Return a holder with the molecules `rows`, from which RDKit unpickles a molecule when it matches it."""
        holder = CachedMolHolder()
        for row in rows.tolist():
            pickled = self.pickled[self.indptr[row] : self.indptr[row + 1]]
            holder.AddBinary(pickled.tobytes())  # type: ignore[arg-type]  # stubs say str
        return holder


class DescribedBlock(NamedTuple):
    """A block of n molecules prepared for substructure matching.

    Each molecule is pickled twice, with and without information about its rings. Most patterns do not need this
    information, and reading it takes more than half of the time per molecule.

    Attributes:
        screen: (n, 32) uint64 pattern fingerprints.
        indptr: Offsets of the pickles with ring information.
        pickled: Pickles with ring information.
        ringless_indptr: Offsets of the pickles without ring information.
        ringless: Pickles without ring information.
    """

    screen: UInt64
    indptr: Int64
    pickled: NDArray[np.uint8]
    ringless_indptr: Int64
    ringless: NDArray[np.uint8]

    @classmethod
    def from_smiles(cls, smiles: Iterable[str]) -> "DescribedBlock":
        screens, pickles, ringless = [], list[bytes](), list[bytes]()
        for text in smiles:
            molecule = Chem.MolFromSmiles(text)
            screens.append(Chem.PatternFingerprint(molecule))
            pickles.append(molecule.ToBinary(Chem.PropertyPickleOptions.NoProps))
            molecule.ClearComputedProps(includeRings=True)
            ringless.append(molecule.ToBinary(Chem.PropertyPickleOptions.NoProps))
        return cls(pack(screens), *Pickles.from_bytes(pickles), *Pickles.from_bytes(ringless))

    def pickles(self, rings: bool) -> Pickles:
        return Pickles(self.indptr, self.pickled) if rings else Pickles(self.ringless_indptr, self.ringless)

    def is_valid_for(self, items: int) -> bool:
        """Return whether data types and shapes are valid for `items` molecules."""
        return (
            (self.screen.dtype, *self.screen.shape) == (np.dtype(np.uint64), items, _WORDS)
            and self.pickles(True).is_valid_for(items)
            and self.pickles(False).is_valid_for(items)
        )


class MoleculeSubstructures(Substructures):
    """Substructure search over one generation of molecules.

    Blocks of molecules are described once, and kept in the user's cache.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._block = lru_cache(maxsize=None)(self._describe)  # unlimited, because the blocks are memory-mapped

    def prepare(self, block: int) -> None:
        self._block(block)

    def match(self, pattern: Pattern, ids: Int32, threads: int = 1) -> Mask:
        contains = np.zeros(len(ids), np.bool_)
        blocks = ids // BLOCK
        for block in np.unique(blocks).tolist():
            within = np.flatnonzero(blocks == block)
            contains[within] = _match(self._block(block), pattern, ids[within] - block * BLOCK, threads)
        return contains

    def _describe(self, block: int) -> DescribedBlock:
        start = block * BLOCK
        size = min(BLOCK, self._generation.size - start)
        ids = np.arange(start, start + size, dtype=np.int32)
        fields = " ".join(DescribedBlock._fields)
        return load_or_compute_index(
            self._generation,
            f"substructures {fields} {start} {size} {rdBase.rdkitVersion} {version('graphkin')}",
            DescribedBlock,
            lambda described_block: described_block.is_valid_for(size),
            lambda: DescribedBlock.from_smiles(self._generation.structures(ids)),
        )


def _match(block: DescribedBlock, pattern: Pattern, rows: Int32, threads: int) -> Mask:
    """Return whether each molecule in the rows `rows` of a block contains the pattern, (n,) bool.

    Stereochemistry is ignored.
    """
    screen = np.frombuffer(pattern.screen, np.uint64)
    candidates = np.flatnonzero((block.screen[rows] & screen == screen).all(axis=1))
    contains = np.zeros(len(rows), np.bool_)
    if len(candidates):
        molecules = block.pickles(_may_need_rings(pattern)).holder(rows[candidates])
        matches = SubstructLibrary(molecules).GetMatches(
            _query_molecule(pattern.notation, pattern.text),
            useChirality=False,
            numThreads=threads,
            maxResults=len(candidates),
        )
        contains[candidates[cast("Int32", np.asarray(matches, np.int64))]] = True
    return contains


def _may_need_rings(pattern: Pattern) -> bool:
    """Return whether the pattern may need ring information.

    A pattern that is a molecule does not need it. A SMARTS may need it if it contains the letter of a ring primitive,
    even as part of an element.
    """
    return pattern.notation == _SMARTS and _RING_PRIMITIVE.search(pattern.text) is not None
