"""Models of replies. A reply has every field of its model and no other.

Routes write replies without these models; tests check that they conform.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.manifest import Histogram, Manifest, Rerun
from graphkin.protocol.values import ClusterMethod, Kind

GenerationId = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="Generation id.")]
Similarity = Annotated[float, Field(gt=0, le=1)]
SearchedSimilarity = Annotated[float, Field(ge=0, le=1)]  # 0 for items that share nothing with the query
NextCursor = Annotated[str | None, Field(description="Cursor of the next page, null on the last page.")]


class Problem(Frozen):
    """An error in the form of RFC 9457.

    `given` is the rejected value, `expected` describes the accepted values, and `hint` suggests the next step.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    given: Any
    expected: str | None
    hint: str | None


class Item(Frozen):
    """An item of a collection.

    `smiles` is null for items other than molecules. `inchikey` is null unless the recipe includes InChIKeys.
    `degree` is the number of stored neighbors. `dropped` is the number of truncated pairs of the item, null if
    they were not counted.
    """

    id: int
    smiles: str | None
    names: list[str]
    inchikey: str | None
    properties: dict[str, Any]
    degree: int
    dropped: int | None


class SimilarItem(Frozen):
    """An item and its similarity to the query or to another item."""

    item: Item
    similarity: SearchedSimilarity


class FromGeneration(Frozen):
    """A reply about one generation."""

    generation: GenerationId


class Damage(Frozen):
    """A damaged file of a generation.

    The server answers requests for this generation with status 503.
    """

    file: str
    problem: str


class CollectionSummary(Frozen):
    """A collection and its current generation.

    `items` and `edges` are counts. `published_at` is in UTC (ISO 8601). `damaged` describes the known damage of
    the generation, null if there is none.
    """

    name: str
    kind: Kind
    generation: GenerationId
    items: int
    edges: int
    published_at: str
    damaged: Damage | None


class UploadLimits(Frozen):
    """The limits of uploads to this server."""

    max_bytes: int
    max_seconds: float


class Collections(Frozen):
    """All collections that the key of the request gives access to, by name.

    `uploads` has the limits of uploads, null if the server or the key of the request permits none.
    """

    collections: list[CollectionSummary]
    uploads: UploadLimits | None


class Histograms(Frozen):
    """Histograms of the degrees of items and of the similarities of edges."""

    degree: Histogram
    similarity: Histogram


class CollectionDetail(FromGeneration):
    """A generation of a collection: its manifest and its statistics.

    `generations` lists the ids of all published generations, oldest first. `rerun` describes the latest run that
    reproduced this generation, null if there is none. `damaged` describes the known damage of the generation,
    null if there is none.
    """

    name: str
    kind: Kind
    generations: list[GenerationId]
    manifest: Manifest
    rerun: Rerun | None  # the latest run that produced this generation again
    histograms: Histograms
    damaged: Damage | None


class Rejection(Frozen):
    """A rejected record.

    `line` is its line in the source, from 1. `input` is the text of the record, cut to 4,096 characters.
    """

    source: str
    line: int
    input: str
    reason: str


class RejectionsPage(FromGeneration):
    """A page of rejected records, in the order of the input."""

    rejections: list[Rejection]
    next_cursor: NextCursor


class ItemReply(FromGeneration, Item):
    """An item of a generation."""


class ItemsPage(FromGeneration):
    """A page of items, by id."""

    items: list[Item]
    next_cursor: NextCursor


class QueriedItem(Item):
    """An item that a query selected.

    `similarity` is the similarity to the structure or the item that the query names as its source, null for other
    sources. `computed` holds the descriptors and activities that `columns` of the query names, null where there is
    none.
    """

    similarity: Similarity | None
    computed: dict[str, float | None]


class QueryPage(FromGeneration):
    """A page of the items that a query selected.

    `total` is the number of all items that meet the conditions of the query.
    """

    items: list[QueriedItem]
    total: int
    next_cursor: NextCursor


class NeighborsPage(FromGeneration):
    """A page of the stored neighbors of an item, by descending similarity, then by id.

    `total` is the number of all neighbors that meet the conditions. `capped` is true if the top-k limit
    truncated pairs of the item, null if they were not counted.
    """

    item: Item
    neighbors: list[SimilarItem]
    total: int
    capped: bool | None
    next_cursor: NextCursor


class StructureReply(FromGeneration):
    """A structure after standardization.

    `id` is the id of the stored item with this structure, null if there is none.
    """

    smiles: str
    id: int | None


class SearchQuery(Frozen):
    """The query structure of a search after standardization.

    `smiles` is null for structures other than molecules. `id` is the id of the stored item with this structure,
    null if there is none.
    """

    smiles: str | None
    id: int | None


class SearchReply(FromGeneration):
    """The most similar items, by descending similarity, then by id.

    `total` is the number of all items with at least `min_similarity`, null if the request does not set it.
    """

    query: SearchQuery
    hits: list[SimilarItem]
    total: int | None


class Hit(Frozen):
    """The id of an item and its similarity to the query structure."""

    id: int
    similarity: SearchedSimilarity


class SearchRow(Frozen):
    """The hits of one structure of a batch.

    `index` is the position of the structure in the request, from 0. `id` is the id of the stored item with this
    structure, null if there is none. `error` explains why the structure could not be searched for, null if it
    could. `hits` are ordered by descending similarity, then by id.
    """

    index: int
    id: int | None
    error: str | None
    hits: list[Hit]


class PolicyReply(Frozen):
    """A sampling policy with all its parameters."""

    name: str
    k: int
    length: int
    walks: int
    p: float
    q: float
    p_end: float
    restart: float
    rank: str
    pad: str


class Positive(Frozen):
    """A positive of an anchor, and its connection with the anchor.

    `similarity` is null if the two share no edge, and `direct` is then false. `visits` counts the visits by the
    random walks, null for policies without walks. `path` lists the ids from the anchor to the positive.
    """

    item: Item
    similarity: Similarity | None
    direct: bool
    visits: int | None
    path: list[int]


class PositivesReply(FromGeneration):
    """The positives of one anchor.

    `isolated` is true if the anchor has no neighbors.
    """

    anchor: int
    policy: PolicyReply
    seed: int
    epoch: int
    isolated: bool
    positives: list[Positive]


class PositivesRow(Frozen):
    """The positives of one anchor of a batch or an epoch.

    `positives` and `visits` have k entries. `count` is k, or 0 if the anchor is isolated, that is, has no neighbors.
    Entries of isolated anchors are -1 in `positives` and 0 in `visits`.
    """

    anchor: int
    count: int
    isolated: bool
    positives: list[int]
    visits: list[int]


class MapRow(Frozen):
    """The position of one item on a map.

    `x` and `y` are from 0 to 1, and y points downward. `value` is the value of the property, null if the item has
    none or the request names no property. `cluster` is the id of the item's cluster, from 1, null unless the
    request names a method.
    """

    id: int
    x: float
    y: float
    value: float | None
    cluster: int | None


class ValuesRow(Frozen):
    """The numbers of one item.

    Each requested column is a member with its name. A value is null if the item has none.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float | None]

    id: int


class NegativesRow(Frozen):
    """The shared negatives of one batch.

    `ids` are distinct item ids.
    """

    batch: int
    ids: list[int]


class Node(Frozen):
    """An item of a subgraph.

    `hop` is its distance from the center, in edges. `hidden` is the number of its neighbors outside the subgraph.
    """

    item: Item
    hop: int
    hidden: int


class Edge(Frozen):
    """An edge of a subgraph. `source` and `target` are item ids."""

    source: int
    target: int
    similarity: Similarity


class Subgraph(FromGeneration):
    """The items around one item, and the edges between them.

    Nodes are ordered by hop, descending similarity and id. Edges are ordered by descending similarity.
    `truncated` is true if items or edges are missing because of the limits of the request.
    """

    nodes: list[Node]
    edges: list[Edge]
    truncated: bool


class Hop(Frozen):
    """The similarity of pairs that are exactly `hop` edges apart.

    `pairs` is the number of compared pairs. `mean` and `deviation` are the mean and the standard deviation of
    their similarities.
    """

    hop: int
    pairs: int
    mean: float
    deviation: float


class HopsReply(FromGeneration):
    """The similarity of items by their distance in edges.

    Distances without pairs are left out.
    """

    hops: list[Hop]


class ReportSummary(Frozen):
    """A report about the generation, which `python -m studies.report` has written.

    The charts of the report are at `reports/NAME.svg`.
    """

    name: str
    title: str
    command: Annotated[str, Field(description="Command that produced the report.")]
    seeds: list[int]
    notes: list[str]


class ReportsReply(FromGeneration):
    """All reports about a generation."""

    reports: list[ReportSummary]


class Cliff(Frozen):
    """An activity cliff: two similar items that differ in a property.

    `a` and `b` are item ids, with a < b. `difference` is the absolute difference in units of the property. `sali`
    is the difference divided by (1 - similarity), null if the similarity is 1.
    """

    a: int
    b: int
    similarity: Similarity
    difference: Annotated[float, Field(gt=0)]
    sali: float | None


class CliffsPage(FromGeneration):
    """A page of activity cliffs in the order of the request.

    `items` are the items of the pairs of this page, by id. `total` is the number of all pairs. Pages contain the
    first 100,000 of them. `identical` is the number of pairs with identical fingerprints that meet the other
    conditions, whatever the bounds of similarity. `truncated` is the number of truncated pairs of the collection,
    which cannot appear as cliffs. It is null if they were not counted.
    """

    pairs: list[Cliff]
    items: list[Item]
    total: int
    identical: int
    truncated: int | None
    next_cursor: NextCursor


class Range(Frozen):
    """The values of a property in a cluster.

    `values` is the number of members that have a value. `min`, `max` and `mean` are null if no member has one.
    """

    min: float | None
    max: float | None
    mean: float | None
    values: int


class Cluster(Frozen):
    """A cluster of items.

    `id` is its rank by size: the largest cluster has id 1. `centre` is the id of its center: the item whose
    neighbors form a Taylor-Butina cluster, the medoid of a single-linkage cluster, or the first molecule with a
    scaffold. `range` is null unless the request names a property.
    """

    id: int
    size: int
    centre: int
    range: Range | None


class Chosen(Frozen):
    """The reason for a threshold of single linkage that the server selected.

    `largest` is the size of the largest cluster at the threshold `stored`, the stored threshold of the
    collection.
    """

    stored: float
    largest: int


class FromClustering(FromGeneration):
    """A reply about a clustering.

    `threshold` is null for scaffolds. `chosen` is null unless the server selected the threshold.
    """

    method: ClusterMethod
    threshold: float | None
    chosen: Chosen | None


class ClustersPage(FromClustering):
    """A page of clusters, largest first.

    `items` are the centers of the clusters of this page, by id. `total` is the number of all clusters, and
    `singletons` is the number of clusters of one item. `singleton_share` is the share of all items in these clusters.
    `sizes` is a histogram of cluster sizes with the bins 1, 2 to 3, 4 to 7 and so on.
    """

    clusters: list[Cluster]
    items: list[Item]
    total: int
    singletons: int
    singleton_share: float
    sizes: Histogram
    next_cursor: NextCursor


class ClusterReply(FromClustering):
    """A cluster and a page of its members.

    `items` lists the center first and the other members by id.
    """

    cluster: Cluster
    items: list[Item]
    next_cursor: NextCursor


class ItemClusterReply(FromClustering):
    """The cluster of an item."""

    cluster: Cluster


class McsReply(FromGeneration):
    """The maximum common substructure of the members of a cluster.

    `cluster` is the id of the cluster, from 1, and `size` is its number of members. `compared` is the number of
    members that were compared: the center and evenly spaced other members, at most 100. `smarts` matches each
    compared member. `smiles` is the substructure as cut from the center, with `*` for each bond to other atoms.
    Both are null if the members share no substructure. `atoms` is its number of atoms. `complete` is false if the
    time limit of 2 s was reached, so that a larger substructure may exist.
    """

    cluster: int
    size: int
    compared: int
    smarts: str | None
    smiles: str | None
    atoms: int
    complete: bool


class PickReply(FromGeneration):
    """A diverse subset.

    `ids` are in the order in which they were picked. `nearest` is the similarity of each item to the most similar
    item picked before it, 0 for the first item. `size` is the number of items to pick from.
    """

    ids: list[int]
    nearest: list[SearchedSimilarity]
    size: int


class Component(Frozen):
    """A connected component.

    `id` is the lowest id of its members. `medoid` is the id of the member with the largest sum of stored
    similarities within the component. `similarity` is the highest threshold at which the component stays
    connected, null for a component of one item.
    """

    id: int
    size: int
    medoid: int
    similarity: Similarity | None


class ComponentsPage(FromGeneration):
    """A page of connected components, largest first.

    `total` is the number of components of at least the requested size. `singletons` is the number of components
    of one item. `named` contains, by id, the item with the lowest id and the medoid of each component of this
    page.
    """

    components: list[Component]
    named: list[Item]
    total: int
    singletons: int
    next_cursor: NextCursor


class ComponentReply(FromGeneration):
    """A connected component and a page of its members, by id.

    `children` are the components that it splits into just above its similarity, largest first, at most 1,000.
    `children_total` is the number of all of them. `named` contains, by id, the item with the lowest id and the
    medoid of the component and of its 10 largest children.
    """

    component: Component
    items: list[Item]
    children: list[Component]
    named: list[Item]
    children_total: int
    next_cursor: NextCursor


class Step(Frozen):
    """An item on a path.

    `similarity` is the similarity to the previous item, null for the first item.
    """

    id: int
    similarity: Similarity | None


class PathReply(FromGeneration):
    """A path between two items.

    `path` has the fewest edges and, among such paths, the largest minimum similarity. It is null if the items are
    farther apart than `max_hops`.
    """

    path: list[Step] | None


class Health(Frozen):
    """The status of the server process."""

    status: str


class Readiness(Health):
    """The status of a server that can process requests. `damaged` counts generations, and names none."""

    damaged: int
