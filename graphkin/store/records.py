"""What the rooms hand to each other: columnar items, edges and rejections."""

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
        pa.field("source", pa.string(), nullable=False),  # file name as given, "-" for standard input
        pa.field("line", pa.int64(), nullable=False),  # 1-based line (row for Parquet) where the record starts
        pa.field("input", pa.string(), nullable=False),  # the record, at most `KEPT_INPUT` characters of it
        pa.field("reason", pa.string(), nullable=False),
    ]
)

KEPT_INPUT = 4096
"""Characters of a record that was rejected."""

ADDED_NAMES = pa.schema([("id", pa.int32()), ("names", pa.list_(pa.string()))])
"""Names that items get beside those that they have."""

EDGE_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("similarity", pa.float32())])
"""Undirected edges, each stored once with source < target."""

LINK_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32())])
"""Links of a big graph among items, likewise."""


class Item(TypedDict):
    """One item as every reader of the store sees it. `dropped`: pairs ≥ τ lost to the cap, null if not countable."""

    id: int
    smiles: str | None
    names: list[str]
    inchikey: str | None
    properties: dict[str, Any]
    degree: int
    dropped: int | None


@dataclass(frozen=True)
class Graph:
    """The stored hierarchy in CSR form: symmetric, rows sorted by neighbour id, no self-loops.

    indptr (N+1,) int64; indices (2E,) int32; similarity (2E,) float32 in (0, 1].
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
        """(N,) number of neighbours of each item."""
        return np.diff(self.indptr)


@dataclass(frozen=True)
class Links:
    """A big graph whose nodes are items, in CSR form: symmetric, rows sorted, no self-loops, none twice.

    indptr (N+1,) int64; indices (2E,) int32.
    """

    indptr: Int64
    indices: Int32


@dataclass(frozen=True)
class Edges:
    """Undirected edges as parallel arrays: source < target (E,) int32, similarity (E,) float32."""

    source: Int32
    target: Int32
    similarity: Float32

    def __len__(self) -> int:
        return len(self.source)

    def take(self, chosen: Int64 | NDArray[np.bool_] | slice) -> "Edges":
        """Some of the edges: by position, by mask, or a stretch of them."""
        return Edges(self.source[chosen], self.target[chosen], self.similarity[chosen])

    @staticmethod
    def concatenate(parts: "Sequence[Edges]") -> "Edges":
        none = Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        columns = ("source", "target", "similarity")
        return Edges(*(np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in columns))


@dataclass(frozen=True)
class Change:
    """Edges that go, and then edges that come. Those that go are there before, those that come are not there then."""

    removed: Edges
    added: Edges


@dataclass(frozen=True)
class Fingerprints:
    """Packed fingerprints: words (N, bits/64) uint64, least significant bit first; popcounts (N,) int32."""

    words: UInt64
    popcounts: Int32


@dataclass(frozen=True)
class FingerprintType:
    """What packed fingerprints are: how many `bits` each has, and by which function of which program, with its
    parameters, as chemfp names them; "" if nobody has said so."""

    bits: int
    name: str


def shortest(similarity: Float32) -> list[float]:
    """The floats whose shortest text equals the shortest text of each float32, so that 0.7 prints as 0.7.

    They order as the float32s do: each rounds back to its own, and rounding never turns two numbers around.
    """
    texts = pa.array(similarity.astype(np.float32)).cast(pa.string())
    return texts.cast(pa.float64()).to_numpy().tolist()
