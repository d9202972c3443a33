"""Descriptors of nodes: the subgraph around each node, and the edges between the nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict
from graphkin.similarity.columns import list_arrays
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.join import SubtreeJoin
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content
from graphkin.similarity.nodes.proximity import nearby_pairs
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.threads import run_in_order
from graphkin.store import csr
from graphkin.store.records import Int32, Links

_SOURCES = 256  # source nodes per task


@dataclass(frozen=True)
class NodeDescriptors(GraphDescriptors):
    """Descriptors of N nodes of one or more networks.

    Attributes:
        recipe: The recipe of the nodes.
        links: Edges between these nodes.
    """

    recipe: NodeRecipe
    links: Links

    @classmethod
    def from_graphs(cls, graphs: GraphDescriptors, recipe: NodeRecipe, links: Links) -> Self:
        """Return the descriptors of nodes.

        Args:
            graphs: Descriptors of the subgraphs around the nodes.
            recipe: The recipe of the nodes.
            links: Edges between the nodes.
        """
        return cls(**{**vars(graphs), "recipe": recipe}, links=links)

    @property
    def content(self) -> Sequence[Content]:
        if self.recipe.kernel == "wl":
            return super().content
        return self.links.indptr, self.links.indices

    def index(self) -> Mapping[str, NDArray[Any]]:
        return super().index() if self.recipe.kernel == "wl" else {}

    def concatenate(self, new_items: Self) -> Self:  # noqa: ARG002
        raise Conflict(
            "no nodes can be appended to a network",
            given="nodes",
            expected="a collection of molecules, graphs, fingerprints or vectors",
            hint="ingest all files again: a new link changes the subgraphs around it",
        )

    def take(self, ids: Int32) -> Self:  # noqa: ARG002
        raise Conflict(
            "no nodes can be removed from a network",
            given="nodes",
            expected="a collection of molecules, graphs, fingerprints or vectors",
            hint="ingest the remaining files again: a removed node changes the subgraphs around it",
        )

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        if self.recipe.kernel == "proximity":
            return self._nearby_pairs(first_task, threads, advance)
        if self.compares_all:
            return self.join.pairs(first_task, threads, advance)
        return super().pairs(first_task, threads, advance)

    @property
    def compares_all(self) -> bool:
        """Whether all pairs of subgraphs are compared."""
        return self.recipe.kernel == "wl" and self.recipe.candidates == "exact" and self.recipe.closeness == 0

    @cached_property
    def join(self) -> SubtreeJoin:
        """The join of all nodes, for the kernel "wl" without a size limit."""
        return SubtreeJoin(self.features, self.recipe.threshold)

    def _nearby_pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        tasks = [range(len(self))[start : start + _SOURCES] for start in range(0, len(self), _SOURCES)]
        advance(sum(map(len, tasks[:first_task])))
        calls = (partial(nearby_pairs, self.links, sources, self.recipe.radius) for sources in tasks[first_task:])
        for sources, (left, right, distance) in zip(tasks[first_task:], run_in_order(calls, threads), strict=True):
            similarity = 1 / (1 + distance.astype(np.float64))
            mask = similarity >= self.recipe.threshold
            yield Pairs(left[mask], right[mask], similarity[mask])
            advance(len(sources))


def links_between(items: pa.Table) -> Links:
    """Return the edges between nodes, by item id.

    Args:
        items: One row per node, with the columns of `NodeDescriber`. Neighbors that are no items are left out.
    """
    graph = np.asarray(items["graph"].combine_chunks().dictionary_encode().indices, np.int64)
    node, (degree, neighbors) = np.asarray(items["node"], np.int64), list_arrays(items["neighbors"])
    stride = int(max(node.max(), neighbors.max(initial=0))) + 1
    key, owner = graph * stride + node, np.repeat(np.arange(len(items), dtype=np.int32), degree)
    neighbor_key = graph[owner] * stride + neighbors
    order = np.argsort(key)
    index = np.minimum(np.searchsorted(key, neighbor_key, sorter=order), len(key) - 1)
    neighbor = order[index].astype(np.int32)
    mask = (key[neighbor] == neighbor_key) & (owner < neighbor)
    source, target = owner[mask], neighbor[mask]
    by_ends = np.lexsort((target, source))
    return csr.links(source[by_ends], target[by_ends], len(items))
