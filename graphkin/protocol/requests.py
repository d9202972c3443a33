"""Query parameters and bodies of requests. Unknown fields are rejected."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Json, WithJsonSchema, model_validator
from pydantic_core import PydanticKnownError

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Filter, Sort
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.measure import Measure
from graphkin.protocol.policy import Bias, Chance, Length, Policy, Positives, Walks
from graphkin.protocol.values import (
    MAX_ANCHORS,
    MAX_BATCHES,
    MAX_COLUMNS,
    MAX_EXPORTED,
    MAX_FILTERS,
    MAX_HITS,
    MAX_ID,
    MAX_NEGATIVES,
    MAX_NUMBERS,
    MAX_PAGE,
    MAX_PICKED,
    MAX_SEED,
    MAX_SHARED,
    MAX_STRUCTURES,
    By,
    ClusterMethod,
    Exported,
    Format,
    Mark,
    Pad,
    Picking,
    PolicyName,
    Rank,
)

_PLAIN = re.compile("0|-?[1-9][0-9]*", re.ASCII)


def _plain(value: object) -> object:
    """Reject text that Python reads as an integer but JSON does not: +1, 01, 1_0, 1.0, or with spaces."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        raise PydanticKnownError("int_parsing")
    return value


Digits = BeforeValidator(_plain)
"""Validator of integers in a path or a query, which arrive as text."""

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
IdInText = Annotated[Id, Digits]
"""An id in a path or a query. Ids in a body are numbers, and too many to validate one by one."""
NodeNumber = Annotated[int, Field(ge=0, le=MAX_ID)]
Epoch = Annotated[int, Field(ge=0, le=MAX_SEED, description="Epoch."), Digits]


def _with_plus(smiles: str) -> str:
    before, space, extension = smiles.partition(" |")
    return before.replace(" ", "+") + space + extension


SmilesInQuery = Annotated[str, AfterValidator(_with_plus)]
"""A SMILES in a query.

An unescaped `+` arrives as a space. A SMILES has no spaces except the one before its extension, `|…|`.
"""
Seed = Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of the random draws."), Digits]
Similarity = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
StoredSimilarity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A threshold of stored edges. The threshold of a collection may be 0."""
MinSimilarity = Annotated[
    StoredSimilarity | None, Field(description="Smallest similarity, from the stored threshold (the default) to 1.")
]


Filters = Annotated[
    list[Filter] | None,
    Field(max_length=MAX_FILTERS, fail_fast=True, description="An item passes all of them.", examples=[None]),
]


FiltersInQuery = Annotated[
    Json[Annotated[list[Filter], Field(max_length=MAX_FILTERS, fail_fast=True)]] | None,
    WithJsonSchema({"type": "string", "contentMediaType": "application/json"}),
]


class Body(Frozen):
    """A request body. JSON values are not converted to other types."""

    model_config = ConfigDict(strict=True)


class Substructure(Body):
    """What items have in them, given in exactly one way: a SMARTS (10 kB), or a molecule as a search takes it: smiles
    (10 kB), inchi (10 kB) or molblock (1 MB), of at most 1,000 atoms."""

    smarts: Annotated[str | None, Field(examples=[None])] = None
    smiles: Annotated[str | None, Field(examples=["c1ccncc1"])] = None
    inchi: str | None = None
    molblock: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.ways()) != 1:
            raise ValueError("exactly one of smarts, smiles, inchi, molblock")
        return self

    def ways(self) -> dict[str, str]:
        """Return the text by the name of its field."""
        return self.model_dump(exclude_none=True)


Having = Annotated[
    str | Substructure | None,
    Field(description="What items have in them: text is a SMARTS; a molecule says how it is written.", examples=[None]),
]


HavingInQuery = Annotated[
    Annotated[Json[Substructure] | SmilesInQuery, Field(union_mode="left_to_right")] | None,
    WithJsonSchema({"type": "string"}),
]


class NoQuery(Frozen):
    """A query without parameters."""


class GenerationQuery(Frozen):
    """A query that can name a generation."""

    generation: Annotated[
        str | None, Field(min_length=1, description="Generation id; by default the current one, or the cursor's.")
    ] = None


class PageQuery(GenerationQuery):
    """A query for a page of a list."""

    cursor: Annotated[str | None, Field(description="`next_cursor` of the page before.")] = None


class ItemsQuery(PageQuery):
    """A query for a page of items. At most one of smiles, name and inchikey may be set."""

    smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="Read as the recipe says; a space reads as `+`, but for that before an extension `|…|`.",
            examples=["CCO"],
        ),
    ] = None
    name: Annotated[
        str | None, Field(description="A name, or where no item has it exactly so, one that differs in case.")
    ] = None
    inchikey: Annotated[str | None, Field(description="InChIKey, where the recipe asked for them.")] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100

    @model_validator(mode="after")
    def _one_at_most(self) -> "ItemsQuery":
        if sum(value is not None for value in (self.smiles, self.name, self.inchikey)) > 1:
            raise ValueError("at most one of smiles, name, inchikey")
        return self


def structure_list(structures: Iterable[Any]) -> list[Any]:
    """Return the structures of a batch as a list.

    Raises:
        InvalidInput: The argument is a single structure. A text would otherwise be searched letter by letter.
    """
    if isinstance(structures, str | bytes | Mapping):
        raise InvalidInput(
            "a batch is a list of structures, not one structure",
            given=structures if isinstance(structures, str) else repr(structures),
            expected='a list, such as ["CCO"]',
            hint="search() takes one structure",
        )
    return list(structures)


class RejectionsQuery(PageQuery):
    """A query for a page of rejected records."""

    rerun: Annotated[
        bool,
        Field(description="Those of the latest run whose result was this generation again, instead of its own."),
    ] = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100


class CollectionPath(Frozen):
    """The path of a collection."""

    c: Annotated[str, Field(description="Collection.", examples=["nci"])]


class ItemPath(CollectionPath):
    """The path of an item."""

    id: Annotated[IdInText, Field(description="Item id.", examples=[0])]


class NeighborsQuery(PageQuery):
    """A query for a page of neighbors."""

    min_similarity: MinSimilarity = None
    filters: Annotated[
        FiltersInQuery, Field(description="Filters that neighbours pass, as JSON, as the body of a query has them.")
    ] = None
    substructure: Annotated[
        HavingInQuery,
        Field(
            description="What neighbours have in them: a SMARTS, in which a space reads as `+`, or a molecule as JSON, "
            "as the body of a query has it."
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 50


class CliffRanking(Frozen):
    """The selection and order of activity cliffs."""

    property: Annotated[str, Field(description="One with numbers, as exports call it.", examples=["molwt"])]
    by: Annotated[
        By,
        Field(
            description="Rank pairs by their difference, or by SALI, the difference over 1 - similarity. "
            "Pairs that are equal come with the larger difference first, then by their ids."
        ),
    ] = "difference"
    min_similarity: Annotated[
        StoredSimilarity | None,
        Field(description="Smallest similarity; the default is 0.7, or the stored threshold if that is larger."),
    ] = None
    max_similarity: Annotated[StoredSimilarity, Field(description="Largest similarity.")] = 1.0
    min_difference: Annotated[float, Field(ge=0, allow_inf_nan=False, description="Smallest difference.")] = 0.0
    exclude_identical: Annotated[
        bool,
        Field(
            description="Leave out pairs with identical fingerprints (similarity 1), whose SALI is infinite. "
            "`min_similarity=1` with `exclude_identical=false` lists these pairs alone."
        ),
    ] = True


class CliffsQuery(CliffRanking, PageQuery):
    """A query for a page of activity cliffs."""

    filters: Annotated[
        FiltersInQuery, Field(description="Filters that both items pass, as JSON, as the body of a query has them.")
    ] = None
    substructure: Annotated[
        HavingInQuery,
        Field(description="What both have in them: a SMARTS, or a molecule as JSON, as in a query of neighbours."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100

    def selection(self) -> "QueryFields | None":
        """Return the query whose items the pairs are of, None for all items."""
        if not self.filters and self.substructure is None:
            return None
        return QueryFields(filters=self.filters, substructure=self.substructure)


class SubgraphQuery(GenerationQuery):
    """The size of a subgraph around an item."""

    hops: Annotated[int, Field(ge=1, le=4), Digits] = 1
    max_items: Annotated[int, Field(ge=1, le=1000), Digits] = 200
    max_edges: Annotated[int, Field(ge=0, le=5000), Digits] = 5000
    min_similarity: MinSimilarity = None


class HopsQuery(GenerationQuery):
    """The number of random items to start from, and the largest distance."""

    targets: Annotated[int, Field(ge=1, le=1000), Digits] = 100
    max_hops: Annotated[int, Field(ge=1, le=8), Digits] = 4
    min_similarity: MinSimilarity = None
    seed: Seed = 0


class ComponentsQuery(PageQuery):
    """A query for a page of components."""

    min_similarity: MinSimilarity = None
    min_size: Annotated[int, Field(ge=1, le=MAX_ID, description="Smallest number of members."), Digits] = 2
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100


class ComponentQuery(PageQuery):
    """A query for a page of a component's members."""

    min_similarity: MinSimilarity = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100


class ClusteringFields(Frozen):
    """A clustering of all items: by Taylor and Butina, by Bemis-Murcko scaffold, or by single linkage."""

    method: Annotated[ClusterMethod, Field(examples=["single"])] = "butina"
    threshold: Annotated[
        StoredSimilarity | None,
        Field(
            description="Smallest similarity of neighbours; of butina whatever the stored threshold, by default 0.7; "
            "of single by default the smallest at which the largest cluster has a tenth of all items at most, or 10."
        ),
    ] = None

    @model_validator(mode="after")
    def _of_neighbours(self) -> Self:
        if self.method == "scaffold" and self.threshold is not None:
            raise ValueError("scaffolds have no threshold")
        return self


class ClusteredFields(ClusteringFields):
    """A clustering, and the property to summarize for each cluster."""

    property: Annotated[
        str | None, Field(description="One with numbers, as exports call it: what its values are in each cluster.")
    ] = None


class ClustersQuery(ClusteredFields, PageQuery):
    """A query for a page of clusters."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100


class ClusterQuery(ClusteredFields, PageQuery):
    """A query for a page of a cluster's members."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Digits] = 100


class ItemClusterQuery(ClusteredFields, GenerationQuery):
    """A query for the cluster of an item."""


class CoreQuery(ClusteringFields, GenerationQuery):
    """A query for the maximum common substructure of a cluster."""


class MapQuery(GenerationQuery):
    """The values to show for each item on a map: a property, and its cluster."""

    property: Annotated[str | None, Field(description="One with numbers, as exports call it.")] = None
    method: Annotated[ClusterMethod | None, Field(description="Of which clusters.")] = None
    threshold: Annotated[StoredSimilarity | None, Field(description="As of clusters.")] = None

    @model_validator(mode="after")
    def _of_clusters(self) -> Self:
        if self.threshold is not None and self.method in (None, "scaffold"):
            raise ValueError("a threshold is of clusters by butina or single")
        return self

    def clustering(self) -> ClusteringFields | None:
        """Return the clustering for the map, or None."""
        if self.method is None:
            return None
        return ClusteringFields(method=self.method, threshold=self.threshold)


class PathQuery(GenerationQuery):
    """The ends of a path and its largest length."""

    source: Annotated[IdInText, Field(alias="from", examples=[0])]
    target: Annotated[IdInText, Field(alias="to", examples=[1])]
    max_hops: Annotated[int, Field(ge=1, le=8), Digits] = 6
    min_similarity: MinSimilarity = None


class DrawingQuery(GenerationQuery):
    """The size of a depiction in pixels."""

    width: Annotated[int, Field(ge=50, le=1000), Digits] = 250
    height: Annotated[int, Field(ge=50, le=1000), Digits] = 250


class CoreDepictionQuery(ClusteringFields, DrawingQuery):
    """A query for a depiction of a cluster's maximum common substructure."""


class ComparisonFields(Frozen):
    """The structure to compare a depiction with, and the parts to highlight."""

    highlight: Annotated[IdInText | None, Field(description="Another item: what both share is highlighted.")] = None
    highlight_smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="The same for any structure; a space reads as `+`, but for that before an extension `|…|`.",
            examples=["CCO"],
        ),
    ] = None
    mark: Annotated[
        Mark, Field(description="What is highlighted: what both share, what the other does not have, or nothing.")
    ] = "shared"
    turned: Annotated[
        bool, Field(description="Whether it lies as what it is compared with does, or as it does alone.")
    ] = True

    @model_validator(mode="after")
    def _one_at_most(self) -> Self:
        if self.highlight is not None and self.highlight_smiles is not None:
            raise ValueError("at most one of highlight, highlight_smiles")
        return self


class DepictionQuery(ComparisonFields, DrawingQuery):
    """The size of a depiction and the structure to compare it with."""


class StructureQuery(GenerationQuery):
    """Exactly one of smiles and inchi (10 kB each), of at most 1,000 atoms."""

    smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="Read as the recipe says; a space reads as `+`, but for that before an extension `|…|`.",
            examples=["CC(=O)Oc1ccccc1C(=O)O"],
        ),
    ] = None
    inchi: Annotated[str | None, Field(description="Read as the recipe says.")] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "StructureQuery":
        if (self.smiles is None) == (self.inchi is None):
            raise ValueError("exactly one of smiles, inchi")
        return self


class StructureDepictionQuery(ComparisonFields, StructureQuery, DrawingQuery):
    """A structure, the size of its depiction and the structure to compare it with."""


class PolicyFields(Frozen):
    """The parameters of `graphkin.protocol.policy.Policy`."""

    policy: Annotated[PolicyName, Field(examples=["random_walk"])]
    k: Annotated[Positives | None, Digits] = None
    length: Annotated[Length, Digits] = 2
    walks: Annotated[Walks, Digits] = 5
    p: Bias = 1.0
    q: Bias = 1.0
    p_end: Chance = 0.0
    restart: Chance = 0.0
    rank: Rank = "exp"
    pad: Pad = "resample"
    seed: Seed = 0

    def resolved(self) -> Policy:
        parameters = self.model_dump(include=set(Policy.model_fields))
        return Policy.of(self.policy, **parameters)


class PositivesQuery(PolicyFields, GenerationQuery):
    """A query for one sample of positives of one anchor."""

    epoch: Epoch = 0


class EpochQuery(PolicyFields, GenerationQuery):
    """A query for anchors `start` to `stop` - 1 of an epoch."""

    start: Annotated[int, Field(ge=0, le=MAX_ID, description="First anchor."), Digits] = 0
    stop: Annotated[
        int | None, Field(ge=0, le=MAX_ID, description="Anchor to stop before; by default all."), Digits
    ] = None


class BatchBody(PolicyFields, Body):
    """The anchors to draw for, in the order of the reply."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_ANCHORS, fail_fast=True, examples=[[0, 1, 2]])]
    epoch: Epoch = 0


class NegativesQuery(GenerationQuery):
    """A query for the negatives of batches `first` to `first` + `batches` - 1."""

    seed: Seed = 0
    epoch: Epoch = 0
    first: Annotated[int, Field(ge=0, le=MAX_ID, description="First batch."), Digits] = 0
    batches: Annotated[int, Field(ge=1, le=MAX_BATCHES), Digits] = 1
    count: Annotated[int, Field(ge=1, le=MAX_SHARED), Digits] = 255

    @model_validator(mode="after")
    def _bounded(self) -> "NegativesQuery":
        if self.batches * self.count > MAX_NEGATIVES:
            raise ValueError(f"batches x count is at most {MAX_NEGATIVES} ids a reply")
        if self.first + self.batches - 1 > MAX_ID:
            raise ValueError(f"the last batch is at most {MAX_ID}")
        return self


class GraphBody(Body):
    """A graph: its edges as pairs of node numbers from 0, how many nodes it has (by default as many as the edges name),
    where the recipe compares them the labels of all nodes, and in a collection of nodes the centre."""

    edges: Annotated[list[Annotated[list[NodeNumber], Field(min_length=2, max_length=2)]], Field(fail_fast=True)]
    num_nodes: int | None = None
    labels: list[int] | list[str] | None = None
    centre: int | None = None


class StructureFields(Body):
    """A structure in exactly one notation."""

    ways: ClassVar[tuple[str, ...]] = ("smiles", "inchi", "molblock", "graph", "fingerprint", "vector", "structure")

    smiles: Annotated[str | None, Field(examples=["CC(=O)Oc1ccccc1C(=O)O"])] = None
    inchi: str | None = None
    molblock: str | None = None
    graph: Annotated[GraphBody | None, Field(examples=[None])] = None
    fingerprint: str | None = None
    vector: Annotated[list[float] | None, Field(max_length=MAX_NUMBERS, fail_fast=True, examples=[None])] = None
    structure: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(getattr(self, way) is not None for way in self.ways) != 1:
            raise ValueError(f"exactly one of {', '.join(self.ways)}")
        return self


class SearchFields(StructureFields):
    """Exactly one of smiles (10 kB), inchi (10 kB) and molblock (1 MB), of at most 1,000 atoms, graph, fingerprint,
    vector, or structure.

    fingerprint is what molecules or fingerprints are compared by, in hexadecimal, as files of the format FPS hold it.
    structure is text as items of the collection's kind are first of all written: SMILES, a graph as JSON, a
    fingerprint, or a vector as JSON.
    """

    measure: Annotated[Measure | None, Field(description="By default the collection's own.", examples=[None])] = None
    filters: Filters = None
    substructure: Having = None
    min_similarity: Annotated[Similarity | None, Field(description="With it, `total` is counted.")] = None


class SearchBody(SearchFields):
    __doc__ = SearchFields.__doc__

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 10


class Near(StructureFields):
    """A structure in one of the ways of a search, and how similar to it items are at least; by default all are compared
    with it."""

    measure: Annotated[Measure | None, Field(description="By default the collection's own.", examples=[None])] = None
    min_similarity: Similarity | None = None
    itself: Annotated[bool, Field(description="Whether the item that is this very structure is among them.")] = True


class Neighboring(Body):
    """The stored neighbours of an item, at least so similar to it, by default all of them."""

    id: Id
    min_similarity: StoredSimilarity | None = None


class InCluster(Body, ClusteringFields):
    """The members of one of those clusters."""

    id: Annotated[int, Field(ge=1, le=MAX_ID, description="Its place, from 1.")]


class QueryFields(Body):
    """What items pass, all of it, and their order.

    Of all items, or of one of: what is `similar` to a structure, what are `neighbors_of` an item, both the most similar
    first; the members of a `cluster`, its centre first; some `ids`, in the order given. Else by id.
    """

    sources: ClassVar[tuple[str, ...]] = ("similar", "neighbors_of", "cluster", "ids")

    filters: Filters = None
    name: Annotated[str | None, Field(description="How one of its names begins, in any case.", examples=["1"])] = None
    substructure: Having = None
    similar: Annotated[Near | None, Field(examples=[None])] = None
    neighbors_of: Annotated[Neighboring | None, Field(examples=[None])] = None
    cluster: Annotated[InCluster | None, Field(examples=[None])] = None
    ids: Annotated[list[Id] | None, Field(max_length=MAX_EXPORTED, fail_fast=True, examples=[None])] = None
    sort: Annotated[Sort | None, Field(examples=[None])] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(getattr(self, source) is not None for source in self.sources) > 1:
            raise ValueError(f"at most one of {', '.join(self.sources)}")
        return self


class QueryBody(QueryFields):
    """What items pass, as pages."""

    columns: Annotated[
        list[str] | None,
        Field(
            max_length=MAX_COLUMNS,
            fail_fast=True,
            description="Properties that the items are shown with; by default all.",
            examples=[None],
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 100
    cursor: Annotated[str | None, Field(description="`next_cursor` of the page before.", examples=[None])] = None


class PickFields(Body):
    """The method of picking and the items to pick from, by default all.

    maxmin picks the item that is least similar to those picked before; sphere picks items that are not near one picked
    before.
    """

    method: Picking = "maxmin"
    threshold: Annotated[Similarity, Field(description="Of sphere: the similarity that is near.")] = 0.7
    source: Annotated[
        QueryFields | None,
        Field(alias="from", description="What a query finds, whatever its order.", examples=[{"ids": [0, 1, 2, 3]}]),
    ] = None


class PickBody(PickFields):
    """How many items to pick, and from what: by default from everything.

    maxmin: each the least similar to those before it. sphere: any that is not near one before it, at most so many.
    """

    count: Annotated[int, Field(ge=1, le=MAX_PICKED, examples=[3])]


class StructureOrName(StructureFields):
    """A structure in one of the ways of a search, or the name of an item."""

    ways: ClassVar[tuple[str, ...]] = (*StructureFields.ways, "name")

    name: str | None = None


class SearchBatchBody(Body):
    """The structures to search for, in the order of the reply: text as items of the collection's kind are first of all
    written, SMILES of molecules, or as objects with exactly one of the ways of a search, or the name of an item."""

    structures: Annotated[
        list[str | StructureOrName],
        Field(min_length=1, max_length=MAX_STRUCTURES, fail_fast=True, examples=[["CCO", {"name": "1"}]]),
    ]
    min_similarity: Annotated[Similarity | None, Field(description="Smallest similarity of a hit.")] = None
    limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="Hits of each structure.")] = 10


class ExportFields(Frozen):
    """The fields common to all exports."""

    what: Exported
    min_similarity: Annotated[StoredSimilarity | None, Field(description="Smallest similarity of exported edges.")] = (
        None
    )

    @model_validator(mode="after")
    def _edges_only(self) -> Self:
        if self.min_similarity is not None and self.what != "edges":
            raise ValueError("min_similarity applies to edges only")
        return self


class ExportQuery(ExportFields, GenerationQuery):
    """A whole export or a range of ids.

    Items are exported as csv, parquet, sdf or arrow; edges as csv, parquet, graphml or arrow; links, the edges of the
    big graph whose nodes the items are, as csv, parquet or arrow; fingerprints as fps or npy.

    A range of ids contains items, their fingerprints, or the edges and links whose lower end is in it, so consecutive
    ranges contain each once. GraphML has no ranges.
    """

    what: Annotated[Exported, Field(examples=["edges"])]
    format: Annotated[Format, Field(examples=["csv"])]
    columns: Annotated[
        list[str] | None,
        Field(max_length=MAX_COLUMNS, description="Columns of items, as exports call them; by default all."),
    ] = None
    start: Annotated[int, Field(ge=0, le=MAX_ID, description="First id."), Digits] = 0
    stop: Annotated[int | None, Field(ge=0, le=MAX_ID, description="Id to stop before; by default all."), Digits] = None

    @model_validator(mode="after")
    def _items_only(self) -> Self:
        if self.columns is not None and self.what != "items":
            raise ValueError("columns apply to items only")
        return self


class ExportBody(ExportFields, Body):
    """A selection of items, of their fingerprints, or of the edges or links with both ends among them: those of `ids`,
    all that `query` finds, or first the ones and then the others, each once."""

    ids: Annotated[
        list[Id] | None, Field(min_length=1, max_length=MAX_EXPORTED, fail_fast=True, examples=[[0, 1, 2]])
    ] = None
    query: Annotated[QueryFields | None, Field(description="As `items/query` finds them.", examples=[None])] = None
    what: Annotated[Exported, Field(examples=["items"])]
    format: Annotated[Format, Field(examples=["sdf"])]
    query_smiles: Annotated[
        str | None,
        Field(
            description="A molecule, read as the recipe says: items get their similarity to it; GraphML also a node "
            "`query`. Edges in other formats refuse it.",
            examples=[None],
        ),
    ] = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.ids is None and self.query is None:
            raise ValueError("at least one of ids, query")
        return self
