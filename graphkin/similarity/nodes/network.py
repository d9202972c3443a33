"""One big graph: as it is read, and as it is kept with the items that its nodes become."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.store import csr
from graphkin.store.records import Int32, Int64, Links


@dataclass(frozen=True)
class Network:
    """A simple undirected graph of V named nodes, by number: every edge is there both ways, no loops, none twice.

    names (V,) distinct texts; links: the CSR of its edges; labels (V,) texts, null where a node has none, or None.
    loops, repeated (V,): how many edges at each node were dropped because they join it to itself, or are there already.
    """

    names: pa.StringArray
    links: Links
    loops: Int64
    repeated: Int64
    labels: pa.StringArray | None = None

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, names: pa.StringArray, source: Int32, target: Int32, labels: pa.StringArray | None = None) -> Self:
        """From edges (E,) as they are listed, by number, in either direction and any number of times."""
        proper = source != target
        low, high = np.minimum(source, target)[proper], np.maximum(source, target)[proper]
        listed = np.bincount(low, minlength=len(names)) + np.bincount(high, minlength=len(names))
        once = np.unique(low.astype(np.int64) * len(names) + high)
        low, high = (part.astype(np.int32) for part in np.divmod(once, max(len(names), 1)))
        links = csr.links(low, high, len(names))
        loops = np.bincount(source[~proper], minlength=len(names))
        return cls(names, links, loops, listed - np.diff(links.indptr), labels)

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that stand for names and edges."""
        content = hashlib.blake2b(digest_size=8)
        lengths = np.asarray(pc.binary_length(self.names))
        for numbers in (lengths, self.links.indptr, self.links.indices):
            content.update(numbers.astype("<i8").tobytes())
        content.update("".join(self.names.to_pylist()).encode())
        return content.hexdigest()
