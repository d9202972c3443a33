"""Graphs as the join sees them."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.graphs.index import SubtreeIndex
from ingest.graphs.reference import Reference
from ingest.graphs.structure import Structure
from ingest.graphs.wl import Features
from ingest.join import Pairs
from ingest.kind import Advance, Descriptors
from ingest.recipe import GraphRecipe
from ingest.window import Similarity, Window
from ingest.workspace import Content
from store.records import Int32, UInt64

_TARGETS = 256  # of a task
_EDGES_OF_EDGELESS = 5


@dataclass(frozen=True)
class GraphDescriptors(Descriptors):
    """Features of N graphs; nodes, edges (N,); tie (N,); structures: their texts."""

    recipe: GraphRecipe
    features: Features
    nodes: Int32
    edges: Int32
    tie: UInt64
    structures: Sequence[str]

    @property
    def words(self) -> UInt64:
        return np.empty((len(self), 0), np.uint64)

    @property
    def content(self) -> Sequence[Content]:
        return self.features.indptr, self.features.subtree, self.features.count, self.nodes, self.edges

    def index(self) -> Mapping[str, NDArray[Any]]:
        return SubtreeIndex.of(self.features)._asdict()

    @cached_property
    def window(self) -> Window:
        """method.md A3, in integers: closeness · |ΔV| ≤ V_t and closeness · |ΔE| ≤ E_t; |ΔE| ≤ 5 where E_t = 0."""
        reach = (self.nodes // self.recipe.closeness).astype(np.float64)
        edges = self.edges.astype(np.int64)[:, None]
        allowed = np.where(edges, edges // self.recipe.closeness, _EDGES_OF_EDGELESS)
        return Window.sorted(self.nodes.astype(np.float64), reach, edges, allowed, self.tie, self.recipe.ties)

    @cached_property
    def _similarity(self) -> Similarity:
        if self.recipe.kernel == "wl":
            return self.features.similarities
        return Reference([Structure.read(text) for text in self.structures], self.recipe).similarities

    def pairs(self, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        match self.recipe.candidates:
            case "exact":
                return self._exact_pairs(begin, threads, advance)
            case "window":
                return (self.window.pairs(self._similarity, self.recipe.threshold, advance) for _ in range(begin, 1))

    def _exact_pairs(self, begin: int, threads: int, advance: Callable[[int], object]) -> Iterator[Pairs]:
        starts = range(0, len(self), _TARGETS)
        advance(min(begin * _TARGETS, len(self)))
        with ThreadPoolExecutor(threads) as pool:
            ahead: deque[Future[Pairs]] = deque()
            for start in starts[begin:]:
                ahead.append(pool.submit(self._task, start))
                if len(ahead) > threads + 1:
                    yield ahead.popleft().result()
                    advance(_TARGETS)
            while ahead:
                yield ahead.popleft().result()
                advance(_TARGETS)

    def _task(self, start: int) -> Pairs:
        found = self.window.accepted(start, min(start + _TARGETS, len(self)))
        return self.window.similar(*found, self._similarity, self.recipe.threshold)
