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
    BUTINA_THRESHOLD,
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
    MAX_PATTERN,
    MAX_PICKED,
    MAX_PLOTTED_COLUMNS,
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

_PLAIN_INTEGER = re.compile("0|-?[1-9][0-9]*", re.ASCII)


def _require_plain_integer(value: object) -> object:
    """Reject text that Python reads as an integer but JSON does not: +1, 01, 1_0, 1.0, or with spaces."""
    if isinstance(value, str) and not _PLAIN_INTEGER.fullmatch(value):
        raise PydanticKnownError("int_parsing")
    return value


Digits = BeforeValidator(_require_plain_integer)
"""A validator for integers in a path or a query, which arrive as text."""

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
IdInText = Annotated[Id, Digits]
"""An id in a path or a query. Ids in a body need no such validator, because JSON has numbers."""
NodeNumber = Annotated[int, Field(ge=0, le=MAX_ID)]
Epoch = Annotated[int, Field(ge=0, le=MAX_SEED, description="Epoch to sample for, from 0."), Digits]


def _restore_plus(smiles: str) -> str:
    """Replace spaces by `+`, except the space before an extension."""
    before, space, extension = smiles.partition(" |")
    return before.replace(" ", "+") + space + extension


SmilesInQuery = Annotated[str, AfterValidator(_restore_plus)]
"""A SMILES in a query.

An unescaped `+` arrives as a space. A SMILES has no spaces except the one before its extension, `|…|`.
"""
Seed = Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of the random sampling."), Digits]
Similarity = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
StoredSimilarity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A threshold of stored edges. It may be 0, because the stored threshold of a collection may be 0."""
MinSimilarity = Annotated[
    StoredSimilarity | None,
    Field(description="Smallest similarity of an edge, from the stored threshold to 1. The default is the threshold."),
]


Filters = Annotated[
    list[Filter] | None,
    Field(
        max_length=MAX_FILTERS,
        fail_fast=True,
        description="Up to 100 filters. An item must pass all of them.",
        examples=[None],
    ),
]


FiltersInQuery = Annotated[
    Json[Annotated[list[Filter], Field(max_length=MAX_FILTERS, fail_fast=True)]] | None,
    WithJsonSchema({"type": "string", "contentMediaType": "application/json"}),
]


class Body(Frozen):
    """A request body. JSON values are not converted to other types."""

    model_config = ConfigDict(strict=True)


class Substructure(Body):
    """A substructure that items must contain: a SMARTS pattern or a molecule.

    Exactly one field must be set. A molecule has at most 1,000 atoms.
    """

    smarts: Annotated[str | None, Field(description="SMARTS pattern of at most 10 kB.", examples=[None])] = None
    smiles: Annotated[str | None, Field(description="SMILES of at most 10 kB.", examples=["c1ccncc1"])] = None
    inchi: Annotated[str | None, Field(description="InChI of at most 10 kB.")] = None
    molblock: Annotated[str | None, Field(description="Molblock of at most 1 MB.")] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.by_notation()) != 1:
            raise ValueError("exactly one of smarts, smiles, inchi, molblock")
        return self

    def by_notation(self) -> dict[str, str]:
        """Return the text of the field that is set, by the name of the field."""
        return self.model_dump(exclude_none=True)


SubstructureCondition = Annotated[
    str | Substructure | None,
    Field(
        description="Substructure that items must contain. A string is a SMARTS pattern. An object names the notation.",
        examples=[None],
    ),
]


SubstructureInQuery = Annotated[
    Annotated[Json[Substructure] | SmilesInQuery, Field(union_mode="left_to_right")] | None,
    WithJsonSchema({"type": "string"}),
]


NextPage = Annotated[
    str | None,
    Field(description="`next_cursor` of the previous page. The default is the first page.", examples=[None]),
]
"""The cursor in a body."""


class NoQuery(Frozen):
    """A query without parameters."""


class GenerationQuery(Frozen):
    """A query that can name a generation."""

    generation: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Generation id. The default is the generation of the cursor, or the current generation.",
        ),
    ] = None


class PageQuery(GenerationQuery):
    """A query for a page of a list."""

    cursor: Annotated[
        str | None, Field(description="`next_cursor` of the previous page. The default is the first page.")
    ] = None


class ItemsQuery(PageQuery):
    """A query for a page of items. At most one of smiles, name and inchikey may be set."""

    smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="SMILES, standardized by the recipe. A space is read as `+`, except the space before an "
            "extension `|…|`.",
            examples=["CCO"],
        ),
    ] = None
    name: Annotated[
        str | None,
        Field(description="Name of an item. If no name matches exactly, names that differ in case match."),
    ] = None
    inchikey: Annotated[
        str | None, Field(description="InChIKey. It requires a collection whose recipe includes InChIKeys.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page."), Digits] = 100

    @model_validator(mode="after")
    def _at_most_one(self) -> "ItemsQuery":
        if sum(value is not None for value in (self.smiles, self.name, self.inchikey)) > 1:
            raise ValueError("at most one of smiles, name, inchikey")
        return self


def structure_list(structures: Iterable[Any]) -> list[Any]:
    """Return the structures of a batch as a list.

    Raises:
        InvalidInput: The argument is a single structure, whose letters would otherwise be searched, or a table.
    """
    if isinstance(structures, str | bytes | Mapping):
        raise InvalidInput(
            "a batch is a list of structures, not one structure",
            given=structures if isinstance(structures, str) else str(structures),
            expected='a list, such as ["CCO"]',
            hint="pass a list, or use search() for one structure",
        )
    if hasattr(structures, "columns"):  # iteration over a data frame yields the titles of its columns
        raise InvalidInput(
            "a batch is a list of structures, not a table",
            given=type(structures).__name__,
            expected='a list, such as ["CCO"], or one column of the table',
            hint='pass the column with the structures, such as table["smiles"]',
        )
    return [*(structures.to_pylist() if hasattr(structures, "to_pylist") else structures)]


class RejectionsQuery(PageQuery):
    """A query for a page of rejected records."""

    rerun: Annotated[
        bool,
        Field(
            description="Whether to list the rejected records of the latest run that reproduced this generation, "
            "instead of those of the run that published it."
        ),
    ] = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Rejected records per page."), Digits] = 100


class CollectionPath(Frozen):
    """The path of a collection."""

    c: Annotated[str, Field(description="Name of the collection.", examples=["nci"])]


class ItemPath(CollectionPath):
    """The path of an item."""

    id: Annotated[IdInText, Field(description="Item id.", examples=[0])]


class NeighborsQuery(PageQuery):
    """A query for a page of neighbors."""

    min_similarity: MinSimilarity = None
    filters: Annotated[
        FiltersInQuery,
        Field(description="Filters that neighbors must pass, as JSON in the form of `filters` in a query's body."),
    ] = None
    substructure: Annotated[
        SubstructureInQuery,
        Field(
            description="Substructure that neighbors must contain: a SMARTS pattern, in which a space is read as `+`, "
            "or a molecule as JSON in the form of `substructure` in a query's body."
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Neighbors per page."), Digits] = 50


class CliffRanking(Frozen):
    """The selection and order of activity cliffs."""

    property: Annotated[str, Field(description="Numeric property, by its column name in exports.", examples=["molwt"])]
    by: Annotated[
        By,
        Field(
            description="Rank pairs by their difference, or by SALI, the difference divided by (1 - similarity). "
            "Ties are ordered by descending difference, then by ids."
        ),
    ] = "difference"
    min_similarity: Annotated[
        StoredSimilarity | None,
        Field(
            description="Smallest similarity of a pair. The default is 0.7, or the stored threshold if that is larger."
        ),
    ] = None
    max_similarity: Annotated[StoredSimilarity, Field(description="Largest similarity of a pair.")] = 1.0
    min_difference: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="Smallest difference of a pair, in units of the property."),
    ] = 0.0
    exclude_identical: Annotated[
        bool,
        Field(
            description="Leave out pairs with identical fingerprints (similarity 1), whose SALI is infinite. "
            "`min_similarity=1` with `exclude_identical=false` lists only these pairs."
        ),
    ] = True


class CliffsQuery(CliffRanking, PageQuery):
    """A query for a page of activity cliffs."""

    filters: Annotated[
        FiltersInQuery,
        Field(description="Filters that both items must pass, as JSON in the form of `filters` in a query's body."),
    ] = None
    substructure: Annotated[
        SubstructureInQuery,
        Field(
            description="Substructure that both items must contain: a SMARTS pattern, in which a space is read as `+`, "
            "or a molecule as JSON in the form of `substructure` in a query's body."
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Pairs per page."), Digits] = 100

    def selection(self) -> "QueryFields | None":
        """Return the query that both items of a pair must match, or None for all items."""
        if not self.filters and self.substructure is None:
            return None
        return QueryFields(filters=self.filters, substructure=self.substructure)


class SubgraphQuery(GenerationQuery):
    """The size of a subgraph around an item."""

    hops: Annotated[int, Field(ge=1, le=4, description="Largest distance from the item, in edges."), Digits] = 1
    max_items: Annotated[int, Field(ge=1, le=1000, description="Largest number of items."), Digits] = 200
    max_edges: Annotated[int, Field(ge=0, le=5000, description="Largest number of edges."), Digits] = 5000
    min_similarity: MinSimilarity = None


class HopsQuery(GenerationQuery):
    """The number of random items to start from, and the largest distance."""

    targets: Annotated[int, Field(ge=1, le=1000, description="Number of random items to start from."), Digits] = 100
    max_hops: Annotated[int, Field(ge=1, le=8, description="Largest distance, in edges."), Digits] = 4
    min_similarity: MinSimilarity = None
    seed: Seed = 0


class ComponentsQuery(PageQuery):
    """A query for a page of connected components."""

    min_similarity: MinSimilarity = None
    min_size: Annotated[int, Field(ge=1, le=MAX_ID, description="Smallest number of members."), Digits] = 2
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Components per page."), Digits] = 100


class ComponentQuery(PageQuery):
    """A query for a page of a component's members."""

    min_similarity: MinSimilarity = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Members per page."), Digits] = 100


class ClusteringFields(Frozen):
    """A clustering of all items: Taylor-Butina, Bemis-Murcko scaffolds, or single linkage."""

    method: Annotated[
        ClusterMethod,
        Field(
            description="Clustering method: `butina` (Taylor-Butina), `scaffold` (Bemis-Murcko scaffolds) or `single` "
            "(single linkage).",
            examples=["single"],
        ),
    ] = "butina"
    threshold: Annotated[
        StoredSimilarity | None,
        Field(
            description="Smallest similarity of neighbors. For `butina` it is independent of the stored threshold, and "
            f"the default is {BUTINA_THRESHOLD}. For `single` the default is the smallest threshold at which the "
            "largest cluster has at most a tenth of all items, or at most 10 items if that is more. `scaffold` accepts "
            "no threshold."
        ),
    ] = None

    @model_validator(mode="after")
    def _no_scaffold_threshold(self) -> Self:
        if self.method == "scaffold" and self.threshold is not None:
            raise ValueError("no threshold with the method scaffold")
        return self


class ClusteredFields(ClusteringFields):
    """A clustering, and the property to summarize for each cluster."""

    property: Annotated[
        str | None,
        Field(
            description="Numeric property, by its column name in exports. Its values are summarized for each cluster."
        ),
    ] = None


class ClustersQuery(ClusteredFields, PageQuery):
    """A query for a page of clusters."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Clusters per page."), Digits] = 100


class ClusterQuery(ClusteredFields, PageQuery):
    """A query for a page of a cluster's members."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Members per page."), Digits] = 100


class ItemClusterQuery(ClusteredFields, GenerationQuery):
    """A query for the cluster of an item."""


class McsQuery(ClusteringFields, GenerationQuery):
    """A query for the maximum common substructure of a cluster."""


class MapQuery(GenerationQuery):
    """The values to show for each item on a map: a property and the item's cluster."""

    property: Annotated[
        str | None,
        Field(description="Numeric property, by its column name in exports. The default is to return no values."),
    ] = None
    method: Annotated[
        ClusterMethod | None, Field(description="Clustering method. The default is to return no clusters.")
    ] = None
    threshold: Annotated[
        StoredSimilarity | None,
        Field(
            description="Threshold of the clustering, for `butina` and `single` only. The defaults are those of the "
            "clusters endpoint."
        ),
    ] = None

    @model_validator(mode="after")
    def _threshold_has_method(self) -> Self:
        if self.threshold is not None and self.method in (None, "scaffold"):
            raise ValueError("a threshold only with the method butina or single")
        return self

    def clustering(self) -> ClusteringFields | None:
        """Return the clustering for the map, or None."""
        if self.method is None:
            return None
        return ClusteringFields(method=self.method, threshold=self.threshold)


class PathQuery(GenerationQuery):
    """The ends of a path and its largest length."""

    source: Annotated[IdInText, Field(alias="from", description="Id of the first item.", examples=[0])]
    target: Annotated[IdInText, Field(alias="to", description="Id of the last item.", examples=[1])]
    max_hops: Annotated[int, Field(ge=1, le=8, description="Largest length of the path, in edges."), Digits] = 6
    min_similarity: MinSimilarity = None


class DrawingQuery(GenerationQuery):
    """The size of a depiction in pixels."""

    width: Annotated[int, Field(ge=50, le=1000, description="Width in pixels."), Digits] = 250
    height: Annotated[int, Field(ge=50, le=1000, description="Height in pixels."), Digits] = 250


class McsDepictionQuery(ClusteringFields, DrawingQuery):
    """A query for a depiction of a cluster's maximum common substructure."""


class ComparisonFields(Frozen):
    """The structure to compare a depiction with, and the parts to highlight."""

    highlight: Annotated[
        IdInText | None,
        Field(
            description="Id of an item to compare with. The maximum common substructure of both is highlighted, unless "
            "`mark` says otherwise."
        ),
    ] = None
    highlight_smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="SMILES of a structure to compare with, instead of `highlight`. A space is read as `+`, except "
            "the space before an extension `|…|`.",
            examples=["CCO"],
        ),
    ] = None
    mark: Annotated[
        Mark,
        Field(
            description="Atoms to highlight: `shared` for the maximum common substructure, `differences` for the atoms "
            "outside it, `nothing` for none."
        ),
    ] = "shared"
    turned: Annotated[
        bool,
        Field(
            description="Whether to align the depiction with that of the other structure, along the maximum common "
            "substructure."
        ),
    ] = True

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        if self.highlight is not None and self.highlight_smiles is not None:
            raise ValueError("at most one of highlight, highlight_smiles")
        return self


class DepictionQuery(ComparisonFields, DrawingQuery):
    """The size of a depiction and the structure to compare it with."""

    core: Annotated[
        SmilesInQuery | None,
        Field(
            description="Core of an R-group table to align the depiction with, as SMILES, instead of `highlight`. The "
            "R groups of the item may follow, each after a `.`. Then each group is at its own position even in a "
            "symmetrical core. `mark` refers to the atoms of the core.",
        ),
    ] = None
    bond_length: Annotated[
        int | None,
        Digits,
        Field(
            ge=5,
            le=100,
            description="Length of the bonds of a molecule in pixels. With the same length, molecules in a table have "
            "the same scale. A molecule that does not fit is drawn smaller. By default each molecule fills the "
            "depiction.",
            examples=[22],
        ),
    ] = None

    substructure: Annotated[
        SubstructureInQuery,
        Field(
            description="Substructure whose matches are highlighted, as in `items/query`, instead of `highlight`. "
            "`mark` refers to the atoms of all matches."
        ),
    ] = None

    @model_validator(mode="after")
    def _at_most_one_target(self) -> Self:
        targets = (self.core, self.substructure, self.highlight, self.highlight_smiles)
        if sum(target is not None for target in targets) > 1:
            raise ValueError("at most one of core, substructure, highlight, highlight_smiles")
        return self


class StructureQuery(GenerationQuery):
    """A molecule of at most 1,000 atoms, as exactly one of smiles and inchi."""

    smiles: Annotated[
        SmilesInQuery | None,
        Field(
            description="SMILES of at most 10 kB, standardized by the recipe. A space is read as `+`, except the space "
            "before an extension `|…|`.",
            examples=["CC(=O)Oc1ccccc1C(=O)O"],
        ),
    ] = None
    inchi: Annotated[str | None, Field(description="InChI of at most 10 kB, standardized by the recipe.")] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "StructureQuery":
        if (self.smiles is None) == (self.inchi is None):
            raise ValueError("exactly one of smiles, inchi")
        return self


class StructureDepictionQuery(ComparisonFields, StructureQuery, DrawingQuery):
    """A structure, the size of its depiction and the structure to compare it with."""

    fragment: Annotated[
        bool,
        Field(
            description="Whether `smiles` is a fragment whose `*` atoms are attachment points, such as `[*:1]Cl`. It "
            "is drawn as it is written, without standardization."
        ),
    ] = False


class PolicyFields(Frozen):
    """The parameters of `graphkin.protocol.policy.Policy`."""

    policy: Annotated[
        PolicyName,
        Field(
            description="Sampling policy: `first_order` and `second_order` sample by similarity along one or two "
            "edges. `random_walk` ranks the items that random walks visit.",
            examples=["random_walk"],
        ),
    ]
    k: Annotated[
        Positives | None,
        Digits,
        Field(description="Positives per anchor. The default is 5 for `random_walk` and 3 for the other policies."),
    ] = None
    length: Annotated[Length, Digits, Field(description="Edges per walk.")] = 2
    walks: Annotated[Walks, Digits, Field(description="Walks per anchor.")] = 5
    p: Annotated[Bias, Field(description="Return parameter of node2vec. 1 leaves the walk unbiased.")] = 1.0
    q: Annotated[Bias, Field(description="In-out parameter of node2vec. 1 leaves the walk unbiased.")] = 1.0
    p_end: Annotated[Chance, Field(description="Probability that a walk ends after a step.")] = 0.0
    restart: Annotated[
        Chance, Field(description="Probability that a walk that continues after a step returns to the anchor.")
    ] = 0.0
    rank: Annotated[
        Rank,
        Field(
            description="Ranking of visited items: `top` takes the k most visited ones. `count` and `exp` sample k "
            "with replacement, in proportion to the visits or to their exponential."
        ),
    ] = "exp"
    pad: Annotated[
        Pad,
        Field(
            description="Padding if an anchor has fewer than k distinct candidates: `resample` repeats candidates, "
            "`self` adds the anchor."
        ),
    ] = "resample"
    seed: Seed = 0

    def to_policy(self) -> Policy:
        """Return the policy, with defaults for parameters that are not set."""
        parameters = self.model_dump(include=set(Policy.model_fields))
        return Policy.from_name(self.policy, **parameters)


class PositivesQuery(PolicyFields, GenerationQuery):
    """A query for one sample of positives of one anchor."""

    epoch: Epoch = 0


class EpochQuery(PolicyFields, GenerationQuery):
    """A query for the positives of anchors `start` to `stop` - 1 in an epoch."""

    start: Annotated[int, Field(ge=0, le=MAX_ID, description="First anchor."), Digits] = 0
    stop: Annotated[
        int | None,
        Field(ge=0, le=MAX_ID, description="Anchor to stop before. The default is after the last item."),
        Digits,
    ] = None


class BatchBody(PolicyFields, Body):
    """The anchors whose positives to sample. The reply has the same order."""

    ids: Annotated[
        list[Id],
        Field(
            min_length=1,
            max_length=MAX_ANCHORS,
            fail_fast=True,
            description="Ids of the anchors.",
            examples=[[0, 1, 2]],
        ),
    ]
    epoch: Epoch = 0


class NegativesQuery(GenerationQuery):
    """A query for the negatives of batches `first` to `first` + `batches` - 1."""

    seed: Seed = 0
    epoch: Epoch = 0
    first: Annotated[int, Field(ge=0, le=MAX_ID, description="First batch."), Digits] = 0
    batches: Annotated[int, Field(ge=1, le=MAX_BATCHES, description="Number of batches."), Digits] = 1
    count: Annotated[int, Field(ge=1, le=MAX_SHARED, description="Negatives per batch."), Digits] = 255

    @model_validator(mode="after")
    def _bounded(self) -> "NegativesQuery":
        if self.batches * self.count > MAX_NEGATIVES:
            raise ValueError(f"batches times count of at most {MAX_NEGATIVES}")
        if self.first + self.batches - 1 > MAX_ID:
            raise ValueError(f"a last batch of at most {MAX_ID}")
        return self


class GraphBody(Body):
    """A graph as a list of edges, with optional labels and weights of its nodes, and an optional center.

    A collection of nodes needs the center, and the labels and weights that its recipe compares, as in the structures of
    its items.
    """

    edges: Annotated[
        list[Annotated[list[NodeNumber], Field(min_length=2, max_length=2)]],
        Field(fail_fast=True, description="Edges as pairs of node numbers. Nodes are numbered from 0."),
    ]
    num_nodes: Annotated[
        int | None, Field(description="Number of nodes. The default is one more than the largest number in `edges`.")
    ] = None
    labels: Annotated[
        list[int] | list[str] | None,
        Field(description="Label of each node, for recipes that compare labels."),
    ] = None
    weights: Annotated[
        list[int] | None,
        Field(description="Weight of each node, as in the structures of a collection of nodes."),
    ] = None
    centre: Annotated[int | None, Field(description="Number of the center node, for collections of nodes.")] = None


class StructureFields(Body):
    """A structure in exactly one notation. A molecule has at most 1,000 atoms."""

    notations: ClassVar[tuple[str, ...]] = (
        "smiles",
        "inchi",
        "molblock",
        "graph",
        "fingerprint",
        "vector",
        "structure",
    )

    smiles: Annotated[str | None, Field(description="SMILES of at most 10 kB.", examples=["CC(=O)Oc1ccccc1C(=O)O"])] = (
        None
    )
    inchi: Annotated[str | None, Field(description="InChI of at most 10 kB.")] = None
    molblock: Annotated[str | None, Field(description="Molblock of at most 1 MB.")] = None
    graph: Annotated[GraphBody | None, Field(description="Graph.", examples=[None])] = None
    fingerprint: Annotated[
        str | None,
        Field(description="Fingerprint in hexadecimal, as in FPS files, for collections of molecules or fingerprints."),
    ] = None
    vector: Annotated[
        list[float] | None,
        Field(max_length=MAX_NUMBERS, fail_fast=True, description="Vector of numbers.", examples=[None]),
    ] = None
    structure: Annotated[
        str | None,
        Field(
            description="Text in the main notation of the collection's kind: SMILES, a graph as JSON, a fingerprint in "
            "hexadecimal, or a vector as JSON."
        ),
    ] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(getattr(self, notation) is not None for notation in self.notations) != 1:
            raise ValueError(f"exactly one of {', '.join(self.notations)}")
        return self


class SearchFields(StructureFields):
    """A search for the items that are most similar to a query structure.

    The structure is exactly one of smiles, inchi, molblock, graph, fingerprint, vector and structure. A molecule has at
    most 1,000 atoms.
    """

    measure: Annotated[
        Measure | None,
        Field(description="Similarity measure. The default is the measure of the collection.", examples=[None]),
    ] = None
    filters: Filters = None
    substructure: SubstructureCondition = None
    min_similarity: Annotated[
        Similarity | None,
        Field(description="Smallest similarity of a hit. The reply counts all hits in `total` only if this is set."),
    ] = None


class SearchBody(SearchFields):
    __doc__ = SearchFields.__doc__  # Classes do not inherit docstrings, and the OpenAPI document shows this one.

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Largest number of hits.")] = 10


class SimilarSource(StructureFields):
    """The items that are similar to a structure, most similar first.

    The structure has exactly one notation. A molecule has at most 1,000 atoms.
    """

    measure: Annotated[
        Measure | None,
        Field(description="Similarity measure. The default is the measure of the collection.", examples=[None]),
    ] = None
    min_similarity: Annotated[
        Similarity | None, Field(description="Smallest similarity to the structure. The default selects all items.")
    ] = None
    itself: Annotated[
        bool, Field(description="Whether to include the item whose structure is identical to this one.")
    ] = True


class NeighborsSource(Body):
    """The stored neighbors of an item, most similar first."""

    id: Annotated[Id, Field(description="Item id.")]
    min_similarity: Annotated[
        StoredSimilarity | None,
        Field(
            description="Smallest similarity of a neighbor, from the stored threshold to 1. The default is the "
            "threshold."
        ),
    ] = None


class ClusterSource(Body, ClusteringFields):
    """The members of one cluster, its center first."""

    id: Annotated[int, Field(ge=1, le=MAX_ID, description="Id of the cluster. The largest cluster has id 1.")]


class QueryFields(Body):
    """A query for items: a source, conditions that items must all meet, and an order.

    The source is at most one of similar, neighbors_of and cluster. The default is all items. Without `sort`, items have
    the order of the source: `similar` and `neighbors_of` list the most similar items first, and `cluster` lists its
    center first. Without a source, `ids` keep the order of the request, and other items are ordered by id.
    """

    sources: ClassVar[tuple[str, ...]] = ("similar", "neighbors_of", "cluster")

    filters: Filters = None
    name: Annotated[
        str | None, Field(description="Prefix of one of the item's names, without regard to case.", examples=["1"])
    ] = None
    substructure: SubstructureCondition = None
    similar: Annotated[
        SimilarSource | None, Field(description="Source: the items that are similar to a structure.", examples=[None])
    ] = None
    neighbors_of: Annotated[
        NeighborsSource | None, Field(description="Source: the stored neighbors of an item.", examples=[None])
    ] = None
    cluster: Annotated[
        ClusterSource | None, Field(description="Source: the members of a cluster.", examples=[None])
    ] = None
    scaffold: Annotated[
        str | None,
        Field(
            max_length=MAX_PATTERN,
            description="Bemis-Murcko scaffold that the molecules have, exactly this one, as SMILES. Empty: the "
            "molecules without rings.",
            examples=[None],
        ),
    ] = None
    ids: Annotated[
        list[Id] | None,
        Field(
            max_length=MAX_EXPORTED,
            fail_fast=True,
            description="Up to 10,000 item ids. Other items do not match.",
            examples=[None],
        ),
    ] = None
    sort: Annotated[
        Sort | None, Field(description="Order of the items. The default is the order of the source.", examples=[None])
    ] = None

    @model_validator(mode="after")
    def _at_most_one_source(self) -> Self:
        if sum(getattr(self, source) is not None for source in self.sources) > 1:
            raise ValueError(f"at most one of {', '.join(self.sources)}")
        return self

    def query_text(self) -> str:
        """Return the query as JSON, without the fields that a subclass adds, as a key of a cache."""
        return self.model_dump_json(include=set(QueryFields.model_fields))


class QueryBody(QueryFields):
    """A query for a page of items: a source, conditions that items must all meet, and an order.

    The source is at most one of similar, neighbors_of and cluster. The default is all items.
    """

    columns: Annotated[
        list[str] | None,
        Field(
            max_length=MAX_COLUMNS,
            fail_fast=True,
            description="Properties to return, by their column names in exports. The default is all properties. "
            "Descriptors and activities are returned if they are named.",
            examples=[None],
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page.")] = 100
    cursor: NextPage = None


class CliffsBody(CliffRanking, QueryFields):
    """The order of activity cliffs, and a query that both items of a pair must match.

    The source of the query is at most one of similar, neighbors_of and cluster. The default is all items.
    """

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Pairs per page.")] = 100
    cursor: NextPage = None


class ValuesBody(QueryFields):
    """A query for the numbers of items: a source, conditions that items must all meet, and an order.

    The source is at most one of similar, neighbors_of and cluster. The default is all items.
    """

    columns: Annotated[
        list[str],
        Field(
            max_length=MAX_PLOTTED_COLUMNS,
            fail_fast=True,
            description="Numeric columns to return, by their names in exports: properties, descriptors and activities. "
            "Empty: only the ids.",
            examples=[["molwt", "descriptor.clogp"]],
        ),
    ]


class PickFields(Body):
    """The method of picking, and the items to pick from."""

    method: Annotated[
        Picking,
        Field(
            description="`maxmin` picks the item that is least similar to all items picked before it. `sphere` picks "
            "items whose similarity to all items picked before them is below the threshold."
        ),
    ] = "maxmin"
    threshold: Annotated[
        Similarity, Field(description="Threshold of `sphere`: no two picked items are this similar.")
    ] = 0.7
    source: Annotated[
        QueryFields | None,
        Field(
            alias="from",
            description="Query for the items to pick from, in any order. The default is all items.",
            examples=[{"ids": [0, 1, 2, 3]}],
        ),
    ] = None


class PickBody(PickFields):
    """A request for a diverse subset of a collection, or of the items that a query selects."""

    count: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_PICKED,
            description="Number of items to pick. `sphere` picks fewer if no other item is below the threshold.",
            examples=[3],
        ),
    ]


class StructureOrName(StructureFields):
    """A structure in exactly one notation, or the name of an item."""

    notations: ClassVar[tuple[str, ...]] = (*StructureFields.notations, "name")

    name: Annotated[str | None, Field(description="Name of an item.")] = None


class SearchBatchBody(Body):
    """A search for the items that are most similar to each of many query structures."""

    structures: Annotated[
        list[str | StructureOrName],
        Field(
            min_length=1,
            max_length=MAX_STRUCTURES,
            fail_fast=True,
            description="Query structures. The reply has the same order. A string is a structure in the main notation "
            "of the collection's kind, such as SMILES. An object names the notation, or an item.",
            examples=[["CCO", {"name": "1"}]],
        ),
    ]
    min_similarity: Annotated[Similarity | None, Field(description="Smallest similarity of a hit.")] = None
    limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="Largest number of hits per structure.")] = 10


class ExportFields(Frozen):
    """The fields common to all exports."""

    what: Exported
    min_similarity: Annotated[
        StoredSimilarity | None,
        Field(
            description="Smallest similarity of exported edges, from the stored threshold to 1. The default is the "
            "threshold. It applies to edges only."
        ),
    ] = None

    columns: Annotated[
        list[str] | None,
        Field(
            max_length=MAX_COLUMNS,
            fail_fast=True,
            description="Columns of items to export. The default is all columns from the source. "
            "Descriptors and activities are exported if they are named. It applies to items only.",
        ),
    ] = None

    @model_validator(mode="after")
    def _items_only(self) -> Self:
        if self.columns is not None and self.what != "items":
            raise ValueError("columns only for items")
        return self

    @model_validator(mode="after")
    def _edges_only(self) -> Self:
        if self.min_similarity is not None and self.what != "edges":
            raise ValueError("min_similarity only for edges")
        return self


class ExportQuery(ExportFields, GenerationQuery):
    """An export of a whole generation or of a range of ids.

    A range contains the items with these ids, their fingerprints, or the edges and links whose lower end is in the
    range. Consecutive ranges therefore contain each edge once. GraphML has no ranges.
    """

    what: Annotated[
        Exported,
        Field(
            description="Content of the export: items, edges, fingerprints, or links, the edges of the big graph "
            "whose nodes the items are.",
            examples=["edges"],
        ),
    ]
    format: Annotated[
        Format,
        Field(
            description="File format. Items: csv, parquet, sdf or arrow. Edges: csv, parquet, graphml or arrow. Links: "
            "csv, parquet or arrow. Fingerprints: fps or npy.",
            examples=["csv"],
        ),
    ]
    start: Annotated[int, Field(ge=0, le=MAX_ID, description="First id."), Digits] = 0
    stop: Annotated[
        int | None, Field(ge=0, le=MAX_ID, description="Id to stop before. The default is after the last item."), Digits
    ] = None


class ExportBody(ExportFields, Body):
    """An export of selected items, of their fingerprints, or of the edges or links between them.

    At least one of ids and query must be set. With both, the items of `ids` come first, and each item is exported once.
    """

    ids: Annotated[
        list[Id] | None,
        Field(
            min_length=1,
            max_length=MAX_EXPORTED,
            fail_fast=True,
            description="Ids of the items to export.",
            examples=[[0, 1, 2]],
        ),
    ] = None
    query: Annotated[
        QueryFields | None, Field(description="Query for the items to export, as in `items/query`.", examples=[None])
    ] = None
    what: Annotated[
        Exported,
        Field(
            description="Content of the export: items, edges, fingerprints, or links, the edges of the big graph "
            "whose nodes the items are.",
            examples=["items"],
        ),
    ]
    format: Annotated[
        Format,
        Field(
            description="File format. Items: csv, parquet, sdf or arrow. Edges: csv, parquet, graphml or arrow. Links: "
            "csv, parquet or arrow. Fingerprints: fps or npy.",
            examples=["sdf"],
        ),
    ]
    query_smiles: Annotated[
        str | None,
        Field(
            description="SMILES of a query molecule, standardized by the recipe. The export adds the similarity of "
            "each item to it. GraphML also adds the molecule as a node `query`. Edges in other formats reject it.",
            examples=[None],
        ),
    ] = None

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        if self.ids is None and self.query is None:
            raise ValueError("at least one of ids, query")
        return self
