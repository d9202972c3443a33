"""Networks: big graphs whose nodes are the items of a collection."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.similarity.graphs.wl import refine
from graphkin.store import csr
from graphkin.store.records import Int32, Int64, Links

_RANK_REFINEMENTS = 3


@dataclass(frozen=True)
class Network:
    """A simple undirected graph of V named nodes.

    Each edge is stored in both directions. There are no self-loops and no duplicates.

    Attributes:
        names: (V,) distinct names.
        links: The edges, in CSR form.
        loops: (V,) int64 number of self-loops that were dropped at each node.
        repeated: (V,) int64 number of duplicate edges that were dropped at each node.
        labels: (V,) texts, null for nodes without a label; None if no node has a label.
    """

    names: pa.StringArray
    links: Links
    loops: Int64
    repeated: Int64
    labels: pa.StringArray | None = None

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_edges(
        cls, names: pa.StringArray, source: Int32, target: Int32, labels: pa.StringArray | None = None
    ) -> Self:
        """Build a network from a list of edges. An edge may be listed several times and in both directions.

        Args:
            names: (V,) distinct names of the nodes.
            source: (E,) node at one end of each listed edge, from 0 to V - 1.
            target: (E,) node at the other end.
            labels: (V,) labels, as in the attribute `labels`.
        """
        is_proper = source != target
        low, high = np.minimum(source, target)[is_proper], np.maximum(source, target)[is_proper]
        listed_degree = np.bincount(low, minlength=len(names)) + np.bincount(high, minlength=len(names))
        keys = np.unique(low.astype(np.int64) * len(names) + high)
        low, high = (part.astype(np.int32) for part in np.divmod(keys, max(len(names), 1)))
        links = csr.links(low, high, len(names))
        loops = np.bincount(source[~is_proper], minlength=len(names))
        return cls(names, links, loops, listed_degree - np.diff(links.indptr), labels)

    @cached_property
    def _order_of_names(self) -> Int64:
        """(V,) nodes in the order of their names."""
        return np.asarray(pc.array_sort_indices(self.names)).astype(np.int64)

    @cached_property
    def digest(self) -> str:
        """Hash of the names and edges, as 16 hexadecimal digits. It does not depend on the numbers of the nodes."""
        names = self.names.take(pa.array(self._order_of_names))
        place = _places(self._order_of_names)
        owner = np.repeat(place, np.diff(self.links.indptr))
        edges = np.sort(owner.astype(np.int64) * len(self) + place[self.links.indices])
        content = hashlib.blake2b(digest_size=8)
        for numbers in (np.asarray(pc.binary_length(names)), edges):
            content.update(numbers.astype("<i8").tobytes())
        content.update("".join(names.to_pylist()).encode())
        return content.hexdigest()

    @cached_property
    def rank(self) -> Int32:
        """(V,) int32 rank of each node: 0 for the highest degree.

        Nodes of equal degree are ranked by their Weisfeiler-Lehman label after three refinements of the degrees, and
        nodes of equal label by their names. So the rank does not depend on the numbers of the nodes.
        """
        degree = np.diff(self.links.indptr)
        labels = np.empty((_RANK_REFINEMENTS + 1, len(self)), np.uint64)
        labels[0] = degree
        refine(labels, self.links.indptr, self.links.indices)
        return _places(np.lexsort((_places(self._order_of_names), labels[-1], -degree)))


def _places(order: Int64) -> Int32:
    """Return the place of each node in an order of all nodes, (V,) int32."""
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places
