"""What the rooms hand to each other: columnar items, edges, rejections, and a generation's provenance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
UInt64: TypeAlias = NDArray[np.uint64]

Kind = Annotated[str, Field(pattern=r"^[a-z]+$")]

ITEM_SCHEMA = pa.schema(
    [
        pa.field("smiles", pa.string()),  # canonical; null for graphs
        pa.field("structure", pa.string()),  # a graph as JSON (num_nodes, edges [[u, v], ...], labels); else null
        pa.field("inchikey", pa.string()),  # null unless the recipe asked for it
        pa.field("names", pa.list_(pa.string()), nullable=False),  # distinct, in order of appearance
        pa.field("properties", pa.string(), nullable=False),  # one JSON object, keys sorted
    ]
)
"""Items in id order: the row number is the id."""

SCANNED_SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), *ITEM_SCHEMA])
"""Items as they are read back."""

REJECTION_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),  # file name as given, "-" for standard input
        pa.field("line", pa.int64(), nullable=False),  # 1-based line (row for Parquet) where the record starts
        pa.field("input", pa.string(), nullable=False),  # the record, at most 4,096 characters of it
        pa.field("reason", pa.string(), nullable=False),
    ]
)

EDGE_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("similarity", pa.float32())])
"""Undirected edges, each stored once with source < target."""


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
class Fingerprints:
    """Packed fingerprints: words (N, bits/64) uint64, least significant bit first; popcounts (N,) int32."""

    words: UInt64
    popcounts: Int32


class Frozen(BaseModel):
    """A value: immutable, every field named, nothing extra."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Input(Frozen):
    """One source file as it was read. `sha256` is of the bytes as stored (before decompression)."""

    name: str
    bytes: int
    sha256: str


class Counts(Frozen):
    """Records: read = kept + duplicates + rejected."""

    read: int
    kept: int
    duplicates: int
    rejected: int


class Histogram(Frozen):
    """`counts[i]` values lie in [edges[i], edges[i+1]); the last bin is closed."""

    edges: list[float]
    counts: list[int]


class Provenance(Frozen):
    """What the builder of a hierarchy knows when it publishes: everything but the id."""

    kind: Kind
    structure: Literal["smiles", "structure"]  # the column of the item table that says what an item is
    recipe: dict[str, Any]
    versions: dict[str, str]
    inputs: list[Input]
    counts: Counts
    edges: int
    dropped: int | None  # pairs ≥ τ that the cap did not keep; null where the join could not count them
    properties: dict[str, Literal["number", "text"]]
    histograms: dict[Literal["degree", "similarity"], Histogram]
    times: dict[str, float]  # seconds, stage by stage

    @model_validator(mode="before")
    @classmethod
    def _structure(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Manifests did not always say it."""
        return {"structure": "smiles" if values.get("kind") == "molecule" else "structure", **values}


class Manifest(Provenance):
    """A published generation's provenance. `generation` is its content hash, 64 hexadecimal digits."""

    generation: str
    published_at: str  # ISO 8601, UTC
    files: dict[str, str] = {}  # file name -> SHA-256, in stores that keep files

    @property
    def threshold(self) -> float:
        """The stored τ: no edge below it exists."""
        return float(self.recipe["threshold"])


def shortest(similarity: Float32) -> list[float]:
    """The floats whose shortest text equals the shortest text of each float32, so that 0.7 prints as 0.7.

    They order as the float32s do: each rounds back to its own, and rounding never turns two numbers around.
    """
    texts = pa.array(similarity.astype(np.float32)).cast(pa.string())
    return texts.cast(pa.float64()).to_numpy().tolist()
