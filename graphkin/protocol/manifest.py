"""The manifest of a generation: inputs, recipe, versions, counts and statistics."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from graphkin.protocol.errors import StoreFormat
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import Duplicates, Kind, RemovedBy


class Input(Frozen):
    """A source file of an ingest.

    `bytes` and `sha256` are those of the file as stored, before decompression.
    """

    name: str
    bytes: int
    sha256: str


class Removal(Input):
    """A list of items that were removed from a collection.

    `by` is the kind of identifier in the list. `items` is the number of removed items.
    """

    by: RemovedBy
    items: int


class Counts(Frozen):
    """Counts of the records of all inputs.

    `read` is the sum of `kept`, `duplicates` and `rejected`, plus one for each removed item.
    """

    read: int
    kept: int
    duplicates: int
    rejected: int


class ColumnValues(Frozen):
    """Counts of the values of a source column, one value per item.

    `numbers` counts plain numbers, `missing` counts missing markers such as `n/a`, `censored` counts censored
    numbers such as `>10000`, and `texts` counts all other texts. `example` is the first of these texts, cut to
    100 characters. Empty cells are not counted.
    """

    numbers: int
    missing: int
    censored: int
    texts: int
    example: str | None = None


class DifferingValue(Frozen):
    """A value of a record that differs from the value of an earlier record of the same item.

    `kept` is the value of the earlier record, null if that record has none. The item stores it if `duplicates` of the
    manifest is `first`. Texts are cut to 200 characters.
    """

    structure: str | None
    property: str
    kept: str | None
    value: str


class DifferingValues(Frozen):
    """Values of later records of an item that differ from the value of an earlier one.

    `counts` has the number of these values by property. `first` lists the first 100 of them. `duplicates` of the
    manifest says what the items store.
    """

    counts: dict[str, int] = Field(default={})
    first: list[DifferingValue] = Field(default=[])


class Rerun(Frozen):
    """A run that reproduced a generation which an earlier run had published.

    `ran_at` is the time at which the run ended, in UTC (ISO 8601). `differing` describes the discarded values of
    repeated items.
    """

    ran_at: str  # ISO 8601, UTC
    inputs: list[Input]
    counts: Counts
    differing: DifferingValues = Field(default=DifferingValues())


class Histogram(Frozen):
    """A histogram: `counts[i]` values lie in [edges[i], edges[i+1]). The last bin includes its upper edge."""

    edges: list[float]
    counts: list[int]


class Stability(Frozen):
    """How many edges of a collection of nodes a change leaves, measured among `nodes` of the nodes.

    `change` is "links": `share` is the share of the edges that remain without a random 2 % of the links. Or it is
    "seed", for subgraphs by random walks: `share` is the number of edges that two seeds have in common, divided by the
    number that at least one of them has.
    """

    change: Literal["links", "seed"]
    share: float
    nodes: int

    @property
    def text(self) -> str:
        """The result as a sentence."""
        change = "without 2 % of the links" if self.change == "links" else "with another seed of the walks"
        measure = "of the edges remain" if self.change == "links" else "of the edges are the same"
        return f"stability: {self.share:.0%} {measure} {change} (measured among {self.nodes:,} nodes)"


MANY_FRAGMENTS = 8
"""Number of fragments above which reading is slower and needs more open files; `graphkin compact` merges them."""


class Fragment(Frozen):
    """A set of files with a part of a generation.

    It contains the next `items` rows of the item table with the columns `properties`, the next `rejected`
    rejected records, and `edges` new edges. `folder` is the location of the files. `files` maps their names to
    their SHA-256.
    """

    folder: str
    items: int
    rejected: int
    edges: int
    properties: list[str]
    files: dict[str, str]


class Provenance(Frozen):
    """The part of a manifest that the builder of a generation provides: everything but its id and publication."""

    kind: Annotated[Kind, Field(pattern=r"^[a-z]+$")]
    structure: Literal["smiles", "structure"]  # column of the item table with the structure of an item
    recipe: dict[str, Any]
    versions: dict[str, str]
    libraries: list[str]  # versions that are part of the id: libraries that describe or compare items
    inputs: list[Input]
    counts: Counts
    removed: list[Removal] = Field(default=[])  # items removed after reading the inputs, or between them
    edges: int
    dropped: int | None  # pairs ≥ τ truncated by the top-k limit; null if the join could not count them
    properties: dict[str, Literal["number", "text"]]
    links: str | None = None  # SHA-256 of the big graph whose nodes the items are
    written: list[str] = Field(default=[])  # numeric properties also stored as text, as in the source
    columns: dict[str, ColumnValues] = Field(default={})  # source columns; empty if not counted
    qualifiers: dict[str, str] = Field(default={})  # properties with censored numbers: the name of their sign column
    duplicates: Duplicates = "first"  # what an item stores if the values of its records differ
    differing: DifferingValues = Field(default=DifferingValues())
    stability: Stability | None = None  # of nodes that are compared by their subgraphs
    histograms: dict[Literal["degree", "similarity"], Histogram]
    times: dict[str, float]  # seconds per stage

    @property
    def pairs(self) -> dict[str, int | None]:
        """Numbers of pairs with similarity ≥ τ: found, stored as edges, and truncated by the top-k limit.

        A number is None if it was not counted.
        """
        total = None if self.dropped is None else self.edges + self.dropped
        return {"found": total, "stored": self.edges, "truncated": self.dropped}

    @property
    def pairs_text(self) -> str:
        """The numbers of `pairs` as text."""
        if self.dropped is None:
            return f"{self.edges:,} pairs stored, truncated pairs not counted"
        return f"{self.edges + self.dropped:,} pairs found, {self.edges:,} stored, {self.dropped:,} truncated"

    @property
    def truncation(self) -> str | None:
        """A sentence about truncated pairs, for results made of stored pairs; None if no pair is truncated."""
        if self.dropped == 0:
            return None
        limit = self.recipe.get("top_k")
        return (
            f"these are stored pairs only: {self.pairs_text}, because each item keeps its {limit} most similar "
            f"neighbors; {parameter('--complete', True)} computes all of them, and an ingest with "
            f"{parameter('--top-k', 0)} stores them"
        )


FORMAT: Literal[2] = 2
"""Version of the format of generations. Version 1, whose manifests do not name it, was that of graphkin 0.1."""


class Manifest(Provenance):
    """The manifest of a published generation: inputs, recipe, versions, counts and statistics.

    `generation` is the content hash of the generation, 64 hexadecimal digits. `dropped` is the number of
    truncated pairs, null if they were not counted. `times` are in seconds per stage.
    """

    unchanged: ClassVar[bool] = False
    """True if the run produced a generation that was already published."""

    generation: str
    format: Literal[2]
    published_at: str  # ISO 8601, UTC
    fragments: list[Fragment] = Field(default=[])  # in order; only in stores that keep files

    @model_validator(mode="before")
    @classmethod
    def _require_format(cls, values: Any) -> Any:
        """Check the format of the manifest.

        Raises:
            StoreFormat: The manifest has another format. Pydantic passes this error through.
        """
        if not isinstance(values, dict) or values.get("format") == FORMAT:
            return values
        stored_format = values.get("format", 1)
        raise StoreFormat(
            "the generation was written in a format that this version of graphkin does not read",
            given=f"format {stored_format}",
            expected=f"format {FORMAT}",
            hint="open the store with the version of graphkin that wrote it (0.1 for format 1), "
            "or ingest again into a new store",
        )

    @property
    def provenance(self) -> Provenance:
        """The part of the manifest that the builder provided."""
        return Provenance(**self.model_dump(include=set(Provenance.model_fields)))

    @property
    def threshold(self) -> float:
        """The stored threshold τ: no edge has a lower similarity."""
        return float(self.recipe["threshold"])


class RepeatedManifest(Manifest):
    """The manifest of a run that produced a published generation again.

    Inputs, counts and times are those of this run.
    """

    unchanged: ClassVar[bool] = True

    @classmethod
    def from_run(cls, published: Manifest, run: Provenance) -> Self:
        """Combine the published manifest with the provenance of the run."""
        return cls(**{**published.model_dump(), **run.model_dump()})
