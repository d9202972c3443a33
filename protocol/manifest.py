"""A generation's provenance: from what it was made, how, and what came of it."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import Kind


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

    kind: Annotated[Kind, Field(pattern=r"^[a-z]+$")]
    structure: Literal["smiles", "structure"]  # the column of the item table that says what an item is
    recipe: dict[str, Any]
    versions: dict[str, str]
    libraries: list[str]  # which of the versions are part of the id: of what describes and compares the items
    inputs: list[Input]
    counts: Counts
    edges: int
    dropped: int | None  # pairs ≥ τ that the cap did not keep; null where the join could not count them
    properties: dict[str, Literal["number", "text"]]
    links: str | None = None  # the SHA-256 of the big graph whose nodes the items are
    written: list[str] = Field(default=[])  # numbers that are kept as the source wrote them, too
    histograms: dict[Literal["degree", "similarity"], Histogram]
    times: dict[str, float]  # seconds, stage by stage

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Manifests did not always say these."""
        return {
            "structure": "smiles" if values.get("kind") == "molecule" else "structure",
            "libraries": sorted({"rdkit", "grakel"}.intersection(values.get("versions", ()))),
            **values,
        }


class Manifest(Provenance):
    """A published generation's provenance. `generation` is its content hash, 64 hexadecimal digits."""

    generation: str
    format: Literal[1, 2] = 1  # 2: items are columns; 1: properties were JSON, and the id another hash
    published_at: str  # ISO 8601, UTC
    files: dict[str, str] = Field(default={})  # file name -> SHA-256, in stores that keep files

    @property
    def threshold(self) -> float:
        """The stored τ: no edge below it exists."""
        return float(self.recipe["threshold"])
