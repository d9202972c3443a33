"""Descriptors of graphs: Weisfeiler-Lehman features and the columns of the window rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.similarity.columns import fixed_width_array, list_arrays
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.graphs.reference import GrakelKernel
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.window import Similarity, Window
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Float64, Int32, UInt64

_TARGETS_PER_TASK = 256
_MAX_EDGES_FOR_EDGELESS = 5  # maximum number of edges of a candidate if the target has no edges


@dataclass(frozen=True)
class GraphDescriptors(Descriptors):
    """Descriptors of N graphs.

    Attributes:
        recipe: The recipe: kernel, node labels, iterations and candidate rule.
        features: Weisfeiler-Lehman features of each graph.
        nodes: (N,) int32 number of nodes.
        edges: (N,) int32 number of edges.
        tie: (N,) uint64 content hash.
        structures: The N graphs as text, for the kernels of GraKeL; empty if the kernel is "wl".
    """

    recipe: StructureRecipe
    features: Features
    nodes: Int32
    edges: Int32
    tie: UInt64
    structures: Sequence[str]

    @classmethod
    def from_items(cls, items: pa.Table, recipe: StructureRecipe) -> Self:
        """Build the descriptors from a table with the columns of `GraphDescriber`."""
        lengths, subtree = list_arrays(items["subtree"])
        return cls(
            recipe=recipe,
            features=Features(np.append(0, np.cumsum(lengths)), subtree, list_arrays(items["count"])[1]),
            nodes=np.asarray(items["nodes"]),
            edges=np.asarray(items["edges"]),
            tie=tie_ranks(fixed_width_array(items["digest"], "<u8")),
            structures=items["structure"].to_pylist() if recipe.kernel != "wl" else (),
        )

    @property
    def words(self) -> UInt64:
        return np.empty((len(self), 0), np.uint64)

    @property
    def content(self) -> Sequence[Content]:
        structures = "".join(self.structures).encode()  # empty for the kernel "wl"
        features = self.features
        return features.indptr, features.subtree, features.count, self.nodes, self.edges, structures

    def index(self) -> Mapping[str, NDArray[Any]]:
        return SubtreeIndex.from_features(self.features)._asdict()

    @cached_property
    def window(self) -> Window:
        """The window rule, which accepts graphs of similar size (docs/concepts/method.md).

        A target with V nodes and E edges accepts a graph with V' nodes and E' edges if closeness · |V' - V| ≤ V and
        closeness · |E' - E| ≤ E. If the target has no edges, the second condition is E' ≤ 5. With the closeness 0 it
        accepts every graph.
        """
        edges = self.edges.astype(np.int64)[:, None]
        if self.recipe.closeness:
            reach = (self.nodes // self.recipe.closeness).astype(np.float64)
            allowed = np.where(edges, edges // self.recipe.closeness, _MAX_EDGES_FOR_EDGELESS)
        else:
            reach, allowed = np.full(len(self), np.inf), np.full_like(edges, np.iinfo(np.int64).max)
        return Window.from_columns(self.nodes.astype(np.float64), reach, edges, allowed, self.tie, self.recipe.ties)

    @cached_property
    def _similarity(self) -> Similarity:
        if self.recipe.kernel == "wl":
            return self.features.similarities
        return GrakelKernel([Structure.read(text) for text in self.structures], self.recipe).similarities

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self._similarity(left, right)

    def concatenate(self, new_items: Self) -> Self:
        return replace(
            self,
            features=Features.concatenate([self.features, new_items.features]),
            nodes=np.concatenate([self.nodes, new_items.nodes]),
            edges=np.concatenate([self.edges, new_items.edges]),
            tie=np.concatenate([self.tie, new_items.tie]),
            structures=[*self.structures, *new_items.structures],
        )

    def take(self, ids: Int32) -> Self:
        return replace(
            self,
            features=self.features.take(ids),
            nodes=self.nodes[ids],
            edges=self.edges[ids],
            tie=self.tie[ids],
            structures=[self.structures[id] for id in ids] if self.structures else (),
        )

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        match self.recipe.candidates:
            case "exact":
                return self._exact_pairs(0, first_task, threads, advance)
            case "window":
                # The window rule is one task, number 0. Nothing is left to yield if `first_task` is 1.
                return (
                    self.window.pairs(self._similarity, self.recipe.threshold, advance) for _ in range(first_task, 1)
                )

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        if self.recipe.candidates == "window":
            return super().new_pairs(old_count, first_task, threads, advance)
        return self._exact_pairs(old_count, first_task, threads, advance)

    def _exact_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield the pairs of graphs of similar size that contain an item with id ≥ `old_count`, one block per task."""
        window, similarity, no_ids = self.window, self._similarity, np.empty(0, np.int32)
        similarity(no_ids, no_ids)  # so that the cached features are computed once, before several threads need them

        def similar_pairs(targets: range) -> Pairs:
            first, second = window.all_candidates(targets.start, targets.stop)
            is_new = (window.order[first] >= old_count) | (window.order[second] >= old_count)
            return window.similar_pairs(first[is_new], second[is_new], similarity, self.recipe.threshold)

        tasks = [
            range(len(self))[start : start + _TARGETS_PER_TASK] for start in range(0, len(self), _TARGETS_PER_TASK)
        ]
        advance(sum(map(len, tasks[:first_task])))
        calls = (partial(similar_pairs, targets) for targets in tasks[first_task:])
        for targets, pairs in zip(tasks[first_task:], run_in_order(calls, threads), strict=True):
            yield pairs
            advance(len(targets))
