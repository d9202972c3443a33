"""Which molecules have a substructure: RDKit's answer, of those that their pattern fingerprints let pass."""

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
from graphkin.similarity.molecules.messages import in_words, rdkit_messages
from graphkin.similarity.molecules.query import invalid, read_molecule
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.stored_index import cached_index
from graphkin.store.base import Generation
from graphkin.store.records import Int32, Int64, Mask, UInt64

_WORDS = 32  # of a pattern fingerprint
_SMARTS = "smarts"
_OF_RINGS = re.compile(r"R|(?<!B)r|[xk@]")  # what a SMARTS that asks for rings cannot do without; Br asks for none


def read_pattern(recipe: MoleculeRecipe, text: str, writing: str) -> Pattern:
    """A SMARTS of at most 10 kB, or a molecule, read and standardised as a search reads one.

    Raises `InvalidInput` with the reason.
    """
    if writing == _SMARTS:
        return _pattern(writing, _read_smarts(text))
    return _pattern("smiles", read_molecule(recipe, text, writing).text)


def _read_smarts(text: str) -> str:
    smarts = text.strip()
    if len(smarts) > MAX_PATTERN:
        raise InvalidInput(
            "the SMARTS is too long",
            given=f"{len(smarts):,} characters",
            expected=f"at most {MAX_PATTERN:,}",
            hint="look for less, or narrow with several filters",
        )
    if not smarts.isascii() or not smarts.isprintable() or " " in smarts:  # RDKit would skip what follows
        raise invalid(text, _SMARTS, "holds white space, or what no SMARTS holds", "pattern")
    with rdkit_messages() as messages:
        molecule = Chem.MolFromSmarts(smarts)
        if molecule is None:
            raise invalid(text, _SMARTS, in_words(messages, smarts) or "RDKit cannot read it", "pattern")
    if not molecule.GetNumAtoms():
        raise invalid(text, _SMARTS, "no atoms", "pattern")
    return smarts


def _pattern(writing: str, text: str) -> Pattern:
    (screen,) = pack([Chem.PatternFingerprint(_asked(writing, text))])
    return Pattern(writing, text, screen.tobytes())


@lru_cache(maxsize=16)
def _asked(writing: str, text: str) -> Chem.Mol:
    return Chem.MolFromSmarts(text) if writing == _SMARTS else Chem.MolFromSmiles(text)


class Pickles(NamedTuple):
    """Molecules one after the other, that of molecule i in pickled[indptr[i] : indptr[i + 1]] (uint8). indptr (n + 1,)
    int64."""

    indptr: Int64
    pickled: NDArray[np.uint8]

    @classmethod
    def of(cls, pickles: list[bytes]) -> "Pickles":
        indptr = np.zeros(len(pickles) + 1, np.int64)
        np.cumsum([len(each) for each in pickles], out=indptr[1:])
        return cls(indptr, np.frombuffer(b"".join(pickles), np.uint8))

    def fit(self, items: int) -> bool:
        return (
            (self.indptr.dtype, *self.indptr.shape) == (np.dtype(np.int64), items + 1)
            and (self.pickled.dtype, *self.pickled.shape) == (np.dtype(np.uint8), self.indptr[-1])
            and self.indptr[0] == 0
            and bool((np.diff(self.indptr) > 0).all())
        )

    def hold(self, places: Int32) -> CachedMolHolder:
        """Some of them, for RDKit to read when it looks at them."""
        holder = CachedMolHolder()
        for place in places.tolist():
            pickled = self.pickled[self.indptr[place] : self.indptr[place + 1]]
            holder.AddBinary(pickled.tobytes())  # type: ignore[arg-type]  # stubs say str
        return holder


class Described(NamedTuple):
    """Molecules: pattern fingerprints screen (n, 32) uint64, and two `Pickles` of each, with and without its rings. To
    read rings takes more than half of a molecule's time, and most patterns do not ask for them."""

    screen: UInt64
    indptr: Int64
    pickled: NDArray[np.uint8]
    ringless_indptr: Int64
    ringless: NDArray[np.uint8]

    @classmethod
    def of(cls, smiles: Iterable[str]) -> "Described":
        screens, pickles, ringless = [], list[bytes](), list[bytes]()
        for each in smiles:
            molecule = Chem.MolFromSmiles(each)
            screens.append(Chem.PatternFingerprint(molecule))
            pickles.append(molecule.ToBinary(Chem.PropertyPickleOptions.NoProps))
            molecule.ClearComputedProps(includeRings=True)
            ringless.append(molecule.ToBinary(Chem.PropertyPickleOptions.NoProps))
        return cls(pack(screens), *Pickles.of(pickles), *Pickles.of(ringless))

    def pickles(self, rings: bool) -> Pickles:
        return Pickles(self.indptr, self.pickled) if rings else Pickles(self.ringless_indptr, self.ringless)

    def fit(self, items: int) -> bool:
        """Whether types and sizes are those of so many molecules."""
        return (
            (self.screen.dtype, *self.screen.shape) == (np.dtype(np.uint64), items, _WORDS)
            and self.pickles(True).fit(items)
            and self.pickles(False).fit(items)
        )


class MoleculeSubstructures(Substructures):
    """What it needs of a block of molecules is computed once on a machine, and kept in the user's cache."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._described = lru_cache(maxsize=None)(self._describe)  # memory maps

    def prepare(self, block: int) -> None:
        self._described(block)

    def having(self, pattern: Pattern, ids: Int32, threads: int = 1) -> Mask:
        has = np.zeros(len(ids), np.bool_)
        blocks = ids // BLOCK
        for block in np.unique(blocks).tolist():
            within = np.flatnonzero(blocks == block)
            has[within] = _matching(self._described(block), pattern, ids[within] - block * BLOCK, threads)
        return has

    def _describe(self, block: int) -> Described:
        start = block * BLOCK
        size = min(BLOCK, self._generation.size - start)
        ids = np.arange(start, start + size, dtype=np.int32)
        return cached_index(
            self._generation,
            f"substructures {' '.join(Described._fields)} {start} {size} {rdBase.rdkitVersion} {version('graphkin')}",
            Described,
            lambda described: described.fit(size),
            lambda: Described.of(self._generation.structures(ids)),
        )


def _matching(described: Described, pattern: Pattern, places: Int32, threads: int) -> Mask:
    """(n,) of some molecules of a block, which RDKit finds the pattern in. Configurations are not compared."""
    screen = np.frombuffer(pattern.screen, np.uint64)
    passing = np.flatnonzero((described.screen[places] & screen == screen).all(axis=1))
    has = np.zeros(len(places), np.bool_)
    if len(passing):
        molecules = described.pickles(_asks_for_rings(pattern)).hold(places[passing])
        found = SubstructLibrary(molecules).GetMatches(
            _asked(pattern.writing, pattern.text),
            useChirality=False,
            numThreads=threads,
            maxResults=len(passing),
        )
        has[passing[cast("Int32", np.asarray(found, np.int64))]] = True
    return has


def _asks_for_rings(pattern: Pattern) -> bool:
    """Whether it may: a SMARTS by its letters, of which some are of elements too; a molecule never does."""
    return pattern.writing == _SMARTS and _OF_RINGS.search(pattern.text) is not None
