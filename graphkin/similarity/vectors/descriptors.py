"""Descriptors of vectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.vectors.cosine import Vectors, margin
from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.store.records import Float32, Float64, Int32, UInt64

_ROWS_PER_TASK, _COLUMNS_PER_TASK = 1024, 4096


@dataclass(frozen=True)
class VectorDescriptors(Descriptors):
    """Descriptors of N vectors.

    Attributes:
        recipe: The recipe of the vectors.
        vectors: (N, D) float32 vectors.
        tie: (N,) uint64 content hash.
    """

    recipe: VectorRecipe
    vectors: Float32
    tie: UInt64

    @property
    def words(self) -> UInt64:
        return np.empty((len(self), 0), np.uint64)

    @property
    def content(self) -> Sequence[Content]:
        return (self.vectors,)

    @cached_property
    def _vectors(self) -> Vectors:
        return Vectors.from_rows(self.vectors)

    def index(self) -> Mapping[str, NDArray[Any]]:
        return self._vectors._asdict()

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self._vectors.cosines(left, right)

    def concatenate(self, new_items: Self) -> Self:
        vectors, tie = np.concatenate([self.vectors, new_items.vectors]), np.concatenate([self.tie, new_items.tie])
        return replace(self, vectors=vectors, tie=tie)

    def take(self, ids: Int32) -> Self:
        return replace(self, vectors=self.vectors[ids], tie=self.tie[ids])

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        size = len(self)
        tasks = [
            (row, column) for row in range(0, size, _ROWS_PER_TASK) for column in range(row, size, _COLUMNS_PER_TASK)
        ]
        return self._run_tasks(tasks, first_task, threads, advance)

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        size = len(self)
        tasks = [
            (row, column)
            for row in range(0, size, _ROWS_PER_TASK)
            for column in range(max(row, old_count), size, _COLUMNS_PER_TASK)
        ]
        return self._run_tasks(tasks, first_task, threads, advance)

    def _run_tasks(
        self, tasks: list[tuple[int, int]], first_task: int, threads: int, advance: Advance
    ) -> Iterator[Pairs]:
        size, vectors = len(self), self._vectors
        work = np.cumsum(
            [min(_ROWS_PER_TASK, size - row) * min(_COLUMNS_PER_TASK, size - column) for row, column in tasks]
        )
        progress = np.append(0, size * work // work.max(initial=1)).astype(np.int64)
        advance(int(progress[first_task]))
        calls = (partial(self._similar_pairs, vectors, row, column) for row, column in tasks[first_task:])
        for task, pairs in enumerate(run_in_order(calls, threads), first_task):
            yield pairs
            advance(int(progress[task + 1] - progress[task]))

    def _similar_pairs(self, vectors: Vectors, row: int, column: int) -> Pairs:
        """Return the similar pairs of a left vector, from `row` on, and a later right vector, from `column` on."""
        threshold = self.recipe.threshold
        products = (
            vectors.units(slice(row, row + _ROWS_PER_TASK)) @ vectors.units(slice(column, column + _COLUMNS_PER_TASK)).T
        )
        candidates = np.argwhere(products >= threshold - margin(self.recipe.dimension)).astype(np.int32)
        left, right = candidates[:, 0] + np.int32(row), candidates[:, 1] + np.int32(column)
        is_later = left < right
        left, right = left[is_later], right[is_later]
        similarity = vectors.cosines(left, right)
        mask = similarity >= threshold
        return Pairs(left[mask], right[mask], similarity[mask])
