"""Requests and replies about the lineage of clusters between two generations of a collection."""

from typing import Annotated

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromClustering, Item, NextCursor
from graphkin.protocol.requests import ClusteringFields, Digits, PageQuery
from graphkin.protocol.values import MAX_PAGE, ClusterEvent


class LineageQuery(ClusteringFields, PageQuery):
    """A query for a page of the changes of clusters since an earlier generation."""

    before: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Id of the earlier generation. The default is the one that was published before the later "
            "generation. The first generation is compared with itself.",
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Rows per page."), Digits] = 100


class EarlierCluster(Frozen):
    """A cluster of the earlier generation.

    `id` is its rank by size, and `centre` the id of its center, both in the earlier generation. `removed` is the number
    of its items that the later generation lacks.
    """

    id: int
    size: int
    centre: int
    removed: int


class LaterCluster(Frozen):
    """A cluster of the later generation.

    `id` is its rank by size, and `centre` the id of its center. `added` is the number of its items that the earlier
    generation lacks.
    """

    id: int
    size: int
    centre: int
    added: int


class LineageRow(Frozen):
    """Two clusters that share items, as a part of a change.

    The rows of a change have the same number `change`. `split` has a row for each part of the cluster `before`, and
    `merged` one for each part of the cluster `after`. `before` is null if the cluster appeared, and `after` if it
    vanished. `shared` is the number of items in both clusters.
    """

    change: int
    event: ClusterEvent
    before: EarlierCluster | None
    after: LaterCluster | None
    shared: int


class LineageCounts(Frozen):
    """Numbers of clusters by what happened to them.

    A cluster that split and whose parts merged with others counts in `split` and in `merged`.
    """

    unchanged: int
    grew: int
    shrank: int
    replaced: int
    split: int
    merged: int
    appeared: int
    vanished: int


class LineagePage(FromClustering):
    """A page of the changes of clusters between two generations, those of the largest clusters first.

    `before` is the id of the earlier generation. `added` and `removed` are the numbers of items that only one of the
    generations has. `items` are the centers of the later clusters of this page, and `earlier_items` those of the
    earlier ones. `total` is the number of rows of all pages.
    """

    before: str
    added: int
    removed: int
    events: LineageCounts
    rows: list[LineageRow]
    items: list[Item]
    earlier_items: list[Item]
    total: int
    next_cursor: NextCursor
