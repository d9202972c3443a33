"""Records that packages pass to each other: items, edges, graphs, fingerprints and rejections, in columnar form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
UInt64: TypeAlias = NDArray[np.uint64]

REJECTION_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),  # file name as the user typed it, "-" for standard input
        pa.field("line", pa.int64(), nullable=False),  # 1-based line (row for Parquet) where the record starts
        pa.field("input", pa.string(), nullable=False),  # the first `MAX_REJECTED_INPUT` characters of the record
        pa.field("reason", pa.string(), nullable=False),
    ]
)

MAX_REJECTED_INPUT = 4096
"""The number of characters of a rejected record that are stored: longer records are cut."""

ADDED_NAMES = pa.schema([("id", pa.int32()), ("names", pa.list_(pa.string()))])
"""Names that are added to existing items."""

EDGE_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("similarity", pa.float32())])
"""Undirected edges, each stored once with source < target."""

LINK_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32())])
"""Links between items that are nodes of a big graph, each stored once with source < target."""


class Item(TypedDict):
    """One item, as every store returns it.

    `dropped` is the number of truncated pairs: pairs with a similarity ≥ τ that the top-k limit left out. It is None if
    they could not be counted.
    """

    id: int
    smiles: str | None
    names: list[str]
    inchikey: str | None
    properties: dict[str, Any]
    degree: int
    dropped: int | None


@dataclass(frozen=True)
class Graph:
    """The similarity graph in CSR form: symmetric, rows sorted by neighbor id, no self-loops.

    Attributes:
        indptr: (N+1,) int64.
        indices: (2E,) int32.
        similarity: (2E,) float32 in (0, 1].
    """

    indptr: Int64
    indices: Int32
    similarity: Float32

    @property
    def nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        return len(self.indices) // 2

    def degrees(self) -> Int64:
        """Return the number of neighbors of each item, (N,) int64."""
        return np.diff(self.indptr)


@dataclass(frozen=True)
class Links:
    """A big graph whose nodes are items, in CSR form: symmetric, rows sorted, no self-loops, no duplicates.

    Attributes:
        indptr: (N+1,) int64.
        indices: (2E,) int32.
    """

    indptr: Int64
    indices: Int32


@dataclass(frozen=True)
class Edges:
    """Undirected edges as parallel arrays.

    Attributes:
        source: (E,) int32.
        target: (E,) int32, greater than the source.
        similarity: (E,) float32.
    """

    source: Int32
    target: Int32
    similarity: Float32

    def __len__(self) -> int:
        return len(self.source)

    def take(self, selection: Int64 | NDArray[np.bool_] | slice) -> "Edges":
        """Select edges by position, by mask or by slice."""
        return Edges(self.source[selection], self.target[selection], self.similarity[selection])

    @staticmethod
    def concatenate(parts: "Sequence[Edges]") -> "Edges":
        empty = Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        columns = ("source", "target", "similarity")
        return Edges(*(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in columns))


@dataclass(frozen=True)
class Change:
    """Edges to remove from a graph, and edges to add to it.

    The removed edges are in the graph before the change. The added edges are not in the graph that remains after the
    removal.
    """

    removed: Edges
    added: Edges


@dataclass(frozen=True)
class Fingerprints:
    """Packed fingerprints.

    Attributes:
        words: (N, bits/64) uint64, least significant bit first.
        popcounts: (N,) int32 number of bits set.
    """

    words: UInt64
    popcounts: Int32


@dataclass(frozen=True)
class FingerprintType:
    """The type of packed fingerprints, in the terms of chemfp.

    Attributes:
        bits: The length of a fingerprint.
        name: The function, the program that provides it and the parameters. "" if the source did not specify them.
    """

    bits: int
    name: str


def to_decimal_floats(similarity: Float32) -> list[float]:
    """Convert float32 similarities to floats that print as the same decimal number: 0.7 prints as 0.7.

    A direct conversion would print 0.699999988079071. The results have the same order as the float32 values, because
    each result rounds to its float32 value and rounding is monotonic.
    """
    texts = pa.array(similarity.astype(np.float32)).cast(pa.string())
    return texts.cast(pa.float64()).to_numpy().tolist()
