"""Models of replies. A reply has every field of its model and no other.

Routes write replies without these models; tests check that they conform.
"""

from typing import Annotated, Any

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.manifest import Histogram, Manifest, Rerun
from graphkin.protocol.values import ClusterMethod, Kind

GenerationId = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="Generation id.")]
Similarity = Annotated[float, Field(gt=0, le=1)]
SearchedSimilarity = Annotated[float, Field(ge=0, le=1)]  # 0 if nothing is common and there are too few similar items
NextCursor = Annotated[str | None, Field(description="Where the next page begins; null on the last.")]


class Problem(Frozen):
    """An error (RFC 9457): what was given, what was expected, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    given: Any
    expected: str | None
    hint: str | None


class Item(Frozen):
    """`smiles` null for graphs; `dropped`: similar pairs lost to the cap, null if unknown."""

    id: int
    smiles: str | None
    names: list[str]
    inchikey: str | None
    properties: dict[str, Any]
    degree: int
    dropped: int | None


class SimilarItem(Frozen):
    item: Item
    similarity: SearchedSimilarity


class FromGeneration(Frozen):
    generation: GenerationId


class Damage(Frozen):
    """A file that is not what was written: requests for its generation are answered 503."""

    file: str
    problem: str


class CollectionSummary(Frozen):
    """`damaged`: what is known to be wrong with its generation, null as long as nothing is."""

    name: str
    kind: Kind
    generation: GenerationId
    items: int
    edges: int
    published_at: str
    damaged: Damage | None


class Collections(Frozen):
    collections: list[CollectionSummary]


class Histograms(Frozen):
    degree: Histogram
    similarity: Histogram


class CollectionDetail(FromGeneration):
    """`generations`: ids of all that are published, oldest first; `damaged` as in the list of collections."""

    name: str
    kind: Kind
    generations: list[GenerationId]
    manifest: Manifest
    rerun: Rerun | None  # the latest run that produced this generation again
    histograms: Histograms
    damaged: Damage | None


class Rejection(Frozen):
    """A record that was not kept. `line` counts from 1; `input` is at most 4,096 characters of it."""

    source: str
    line: int
    input: str
    reason: str


class RejectionsPage(FromGeneration):
    """In input order."""

    rejections: list[Rejection]
    next_cursor: NextCursor


class ItemReply(FromGeneration, Item):
    pass


class ItemsPage(FromGeneration):
    items: list[Item]
    next_cursor: NextCursor


class QueriedItem(Item):
    """`similarity` to what it is similar to, or a neighbour of; null without such."""

    similarity: Similarity | None


class QueryPage(FromGeneration):
    """`total`: all that pass."""

    items: list[QueriedItem]
    total: int
    next_cursor: NextCursor


class NeighborsPage(FromGeneration):
    """Similarity descending, then id. `capped`: the cap dropped some of its pairs; null if unknown."""

    item: Item
    neighbors: list[SimilarItem]
    total: int
    capped: bool | None
    next_cursor: NextCursor


class StructureReply(FromGeneration):
    """A structure, standardised; its id if it is stored."""

    smiles: str
    id: int | None


class SearchQuery(Frozen):
    """What was searched for, standardised (null for graphs); its id if it is stored."""

    smiles: str | None
    id: int | None


class SearchReply(FromGeneration):
    """`total` only with min_similarity."""

    query: SearchQuery
    hits: list[SimilarItem]
    total: int | None


class Hit(Frozen):
    """An item's id."""

    id: int
    similarity: SearchedSimilarity


class SearchRow(Frozen):
    """What one structure of a batch finds. `id`: the item that it is, null if it is none; `error`: why it could not be
    searched for, null if it could; `hits`: most similar first, then by id."""

    index: int
    id: int | None
    error: str | None
    hits: list[Hit]


class PolicyReply(Frozen):
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
    """`path`: ids from the anchor to the positive."""

    item: Item
    similarity: Similarity | None
    direct: bool
    visits: int | None
    path: list[int]


class PositivesReply(FromGeneration):
    anchor: int
    policy: PolicyReply
    seed: int
    epoch: int
    isolated: bool
    positives: list[Positive]


class PositivesRow(Frozen):
    """`positives` and `visits` are k long, filled up with -1 and 0."""

    anchor: int
    count: int
    isolated: bool
    positives: list[int]
    visits: list[int]


class MapRow(Frozen):
    """`x` and `y` from 0 to 1, y downwards. `value` of the property, null where there is none, or none was named;
    `cluster` its id, from 1, null unless a method was named."""

    id: int
    x: float
    y: float
    value: float | None
    cluster: int | None


class NegativesRow(Frozen):
    batch: int
    ids: list[int]


class Node(Frozen):
    """`hidden`: neighbours that are not shown."""

    item: Item
    hop: int
    hidden: int


class Edge(Frozen):
    source: int
    target: int
    similarity: Similarity


class Subgraph(FromGeneration):
    nodes: list[Node]
    edges: list[Edge]
    truncated: bool


class Hop(Frozen):
    """Pairs exactly `hop` edges apart: how many were compared, mean and standard deviation of their similarity."""

    hop: int
    pairs: int
    mean: float
    deviation: float


class HopsReply(FromGeneration):
    """A hop that nothing lies at is left out."""

    hops: list[Hop]


class ReportSummary(Frozen):
    """An analysis of the generation; its charts are at `reports/NAME.svg`."""

    name: str
    title: str
    command: Annotated[str, Field(description="What made it.")]
    seeds: list[int]
    notes: list[str]


class ReportsReply(FromGeneration):
    reports: list[ReportSummary]


class Cliff(Frozen):
    """Two items, a < b, and how much they differ in the property; `sali`: the difference over 1 - similarity, null
    where that is 0."""

    a: int
    b: int
    similarity: Similarity
    difference: Annotated[float, Field(gt=0)]
    sali: float | None


class CliffsPage(FromGeneration):
    """Activity cliffs in the order of the request. `total`: how many pairs there are, of which pages lead to the first
    100,000; `identical`: how many pairs with identical fingerprints differ as the request says, whatever similarity it
    is limited to; `items`: those of this page's pairs, by id; `truncated`: similar pairs of the collection that its
    top-k limit did not store, so that no cliff is among them; null if not counted."""

    pairs: list[Cliff]
    items: list[Item]
    total: int
    identical: int
    truncated: int | None
    next_cursor: NextCursor


class Range(Frozen):
    """Of a property in a cluster: `values` members have one; null where none has."""

    min: float | None
    max: float | None
    mean: float | None
    values: int


class Cluster(Frozen):
    """`id`: its place, the largest being 1; `centre`: the item that Taylor and Butina's is taken around, the medoid of
    single linkage, the first molecule with a scaffold; `range` null unless a property was named."""

    id: int
    size: int
    centre: int
    range: Range | None


class Chosen(Frozen):
    """Why a threshold of single linkage was chosen: at the `stored` one the largest cluster has so many items."""

    stored: float
    largest: int


class FromClustering(FromGeneration):
    """`threshold` is null for scaffolds; `chosen` is null unless the server chose the threshold."""

    method: ClusterMethod
    threshold: float | None
    chosen: Chosen | None


class ClustersPage(FromClustering):
    """The largest first. `items`: the centres of this page, by id. `total`: how many clusters there are; `singletons`:
    how many of them are of one item. `sizes`: how many are of 1, of 2 to 3, of 4 to 7 items and so on."""

    clusters: list[Cluster]
    items: list[Item]
    total: int
    singletons: int
    sizes: Histogram
    next_cursor: NextCursor


class ClusterReply(FromClustering):
    """`items`: its members, the centre first, then by id."""

    cluster: Cluster
    items: list[Item]
    next_cursor: NextCursor


class ItemClusterReply(FromClustering):
    """The cluster of an item."""

    cluster: Cluster


class CoreReply(FromGeneration):
    """The largest substructure that members of a cluster share. `cluster`: its id, from 1, and `size`; `compared`: of
    how many members, the centre and others evenly by their place. `smarts` finds it in each of them; `smiles` is cut
    from the centre, with `*` where more hangs on it there; both null where they share nothing. `complete` false if the
    time for it, 2 s, ran out: there may be a larger one."""

    cluster: int
    size: int
    compared: int
    smarts: str | None
    smiles: str | None
    atoms: int
    complete: bool


class PickReply(FromGeneration):
    """`ids` in the order in which they were picked; `nearest`: the similarity of each to the most similar one picked
    before it, 0 for the first. `size`: how many there were to pick from."""

    ids: list[int]
    nearest: list[SearchedSimilarity]
    size: int


class Component(Frozen):
    """`id`: its lowest member's; `similarity`: the highest threshold that holds it together, null for a single item."""

    id: int
    size: int
    medoid: int
    similarity: Similarity | None


class ComponentsPage(FromGeneration):
    """`total`: how many components there are; `singletons`: how many items are alone; `named`: the lowest members and
    the medoids."""

    components: list[Component]
    named: list[Item]
    total: int
    singletons: int
    next_cursor: NextCursor


class ComponentReply(FromGeneration):
    """`children`: what it falls into when the threshold rises above its similarity, largest first; `named`: the lowest
    members and the medoids of it and of its 10 largest children."""

    component: Component
    items: list[Item]
    children: list[Component]
    named: list[Item]
    children_total: int
    next_cursor: NextCursor


class Step(Frozen):
    """An item on a path, and its similarity to the one before; null for the first."""

    id: int
    similarity: Similarity | None


class PathReply(FromGeneration):
    path: list[Step] | None


class Health(Frozen):
    status: str
