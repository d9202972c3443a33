"""Descriptors of molecules: fingerprints and the columns of the window rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.devices import Device, require_device
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.planes import BitPlanes
from graphkin.similarity.tanimoto import exact_pairs, new_pairs, pairwise_tanimoto
from graphkin.similarity.window import Similarity, Window
from graphkin.store.records import Float64, Int32, UInt64

_MAX_WEIGHT_DIFFERENCE, _MAX_RING_DIFFERENCE, _MAX_ATOM_DIFFERENCE = 0.10, 1, 7


@dataclass(frozen=True)
class MoleculeDescriptors(Descriptors):
    """Descriptors of N molecules.

    Attributes:
        recipe: The recipe of the molecules.
        bits: (N, W) uint64 packed fingerprints.
        molwt: (N,) float64 molecular weight in g/mol.
        rings: (N,) int32 number of rings.
        heavy_atoms: (N,) int32 number of heavy atoms.
        tie: (N,) uint64 content hash.
        device: Where `pairs` and `new_pairs` are computed.
    """

    recipe: MoleculeRecipe
    bits: UInt64
    molwt: Float64
    rings: Int32
    heavy_atoms: Int32
    tie: UInt64
    device: Device = "cpu"

    @property
    def words(self) -> UInt64:
        return self.bits

    @property
    def content(self) -> Sequence[Content]:
        return self.bits, self.molwt, self.rings, self.heavy_atoms

    @cached_property
    def _planes(self) -> BitPlanes:
        return BitPlanes.from_words(self.bits)

    def index(self) -> Mapping[str, NDArray[Any]]:
        return self._planes._asdict()

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        match self.recipe.candidates:
            case "exact":
                return exact_pairs(
                    self.bits, self._planes, self.recipe.threshold, first_task, threads, advance, self.device
                )
            case "window":
                return islice(self._window_pairs(advance), first_task, None)

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        if self.recipe.candidates == "window":
            return super().new_pairs(old_count, first_task, threads, advance)
        return new_pairs(self.bits, self.recipe.threshold, old_count, first_task, threads, advance, self.device)

    def with_device(self, device: Device) -> Self:
        if self.recipe.candidates == "window":
            return super().with_device(device)
        require_device(device)
        return replace(self, device=device)

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self._tanimoto(left, right)

    @cached_property
    def _tanimoto(self) -> Similarity:
        return pairwise_tanimoto(self.bits)

    def concatenate(self, new_items: Self) -> Self:
        return replace(
            self,
            bits=np.concatenate([self.bits, new_items.bits]),
            molwt=np.concatenate([self.molwt, new_items.molwt]),
            rings=np.concatenate([self.rings, new_items.rings]),
            heavy_atoms=np.concatenate([self.heavy_atoms, new_items.heavy_atoms]),
            tie=np.concatenate([self.tie, new_items.tie]),
        )

    def take(self, ids: Int32) -> Self:
        return replace(
            self,
            bits=self.bits[ids],
            molwt=self.molwt[ids],
            rings=self.rings[ids],
            heavy_atoms=self.heavy_atoms[ids],
            tie=self.tie[ids],
        )

    @property
    def window(self) -> Window:
        """The window rule of the paper, which accepts molecules of similar weight.

        Molecule A accepts molecule B if their molecular weights differ by at most 10 % of that of A, their numbers of
        rings by at most 1, and their numbers of heavy atoms by at most 7.
        """
        others = np.stack([self.rings, self.heavy_atoms], axis=1).astype(np.int64)
        allowed = np.broadcast_to(np.array([_MAX_RING_DIFFERENCE, _MAX_ATOM_DIFFERENCE], np.int64), others.shape)
        reach = _MAX_WEIGHT_DIFFERENCE * self.molwt
        return Window.from_columns(self.molwt, reach, others, allowed, self.tie, self.recipe.ties)

    def _window_pairs(self, advance: Advance) -> Iterator[Pairs]:
        yield self.window.pairs(pairwise_tanimoto(self.bits), self.recipe.threshold, advance)
