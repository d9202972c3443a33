"""Descriptors of fingerprints."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.devices import Device, require_device
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.similarity.planes import BitPlanes
from graphkin.similarity.tanimoto import exact_pairs, new_pairs, pairwise_tanimoto
from graphkin.similarity.window import Similarity
from graphkin.store.records import Float64, Int32, UInt64


@dataclass(frozen=True)
class BitsDescriptors(Descriptors):
    """Descriptors of N fingerprints.

    Attributes:
        recipe: The recipe of the fingerprints.
        bits: (N, W) uint64 packed fingerprints.
        tie: (N,) uint64 content hash.
        device: Where `pairs` and `new_pairs` are computed.
    """

    recipe: BitsRecipe
    bits: UInt64
    tie: UInt64
    device: Device = "cpu"

    @property
    def words(self) -> UInt64:
        return self.bits

    @property
    def content(self) -> Sequence[Content]:
        return (self.bits,)

    @cached_property
    def _planes(self) -> BitPlanes:
        return BitPlanes.from_words(self.bits)

    def index(self) -> Mapping[str, NDArray[Any]]:
        return self._planes._asdict()

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        return exact_pairs(self.bits, self._planes, self.recipe.threshold, first_task, threads, advance, self.device)

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        return new_pairs(self.bits, self.recipe.threshold, old_count, first_task, threads, advance, self.device)

    def with_device(self, device: Device) -> Self:
        require_device(device)
        return replace(self, device=device)

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self._tanimoto(left, right)

    @cached_property
    def _tanimoto(self) -> Similarity:
        return pairwise_tanimoto(self.bits)

    def concatenate(self, new_items: Self) -> Self:
        bits, tie = np.concatenate([self.bits, new_items.bits]), np.concatenate([self.tie, new_items.tie])
        return replace(self, bits=bits, tie=tie)

    def take(self, ids: Int32) -> Self:
        return replace(self, bits=self.bits[ids], tie=self.tie[ids])
