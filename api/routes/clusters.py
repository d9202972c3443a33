"""GET clusters, clusters/{id} and items/{id}/cluster: clusters of all items, by several methods."""

import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonReading, Reading
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ClusterId, ItemId
from graphkin.api.http.reply import array
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import Searching
from graphkin.collection.clusters.kept import default_linkage
from graphkin.collection.clusters.partition import Clustering, Clusters, Ranges
from graphkin.protocol.replies import ClusterReply, ClustersPage, ItemClusterReply
from graphkin.protocol.requests import ClusteredFields, ClusterQuery, ClustersQuery, ItemClusterQuery
from graphkin.similarity.columns import numeric
from graphkin.store.records import Int64
from graphkin.store.sampling.base import require_ids

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", Searching),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/clusters", response_model=ClustersPage)
async def clusters(read: JsonReading, query: Annotated[ClustersQuery, Query()]) -> Response:
    """All items in clusters, the largest first.

    Taylor and Butina's: the item with most neighbours and these, then the same of what is left. They and scaffolds take
    a while where there are many items: 503 says how far they are. Clusters are kept on this machine.
    """
    return await read.run(_page, read, query)


@router.get("/clusters/{id}", response_model=ClusterReply)
async def cluster(read: JsonReading, id: ClusterId, query: Annotated[ClusterQuery, Query()]) -> Response:
    """One cluster, and its members: the centre first, then by id."""
    return await read.run(_members, read, id - 1, query)


@router.get("/items/{id}/cluster", response_model=ItemClusterReply)
async def item_cluster(read: JsonReading, id: ItemId, query: Annotated[ItemClusterQuery, Query()]) -> Response:
    """The cluster that an item is in."""
    require_ids(np.array([id]), read.generation.size)
    return await read.run(_own, read, id, query)


def _page(read: Reading, query: ClustersQuery) -> Response:
    clustering, begin = read.collection.clusters(query), read.position
    found = clustering.clusters
    end = min(begin + query.limit, len(found.centre))
    return read.json(
        {
            **_method(read, query, clustering),
            "clusters": _summaries(read, query, found, begin, end),
            "total": len(found.centre),
            "singletons": int((found.sizes == 1).sum()),
            "sizes": _histogram(found.sizes),
            "next_cursor": read.cursor_at(end) if end < len(found.centre) else None,
        },
        items=array(read.open_generation.item_texts(np.sort(found.centre[begin:end]).tolist())),
    )


def _members(read: Reading, number: int, query: ClusterQuery) -> Response:
    clustering = read.collection.clusters(query)
    members, begin = clustering.clusters.members(number), read.position
    end = begin + query.limit
    (own,) = _summaries(read, query, clustering.clusters, number, number + 1)
    return read.json(
        {
            **_method(read, query, clustering),
            "cluster": own,
            "next_cursor": read.cursor_at(end) if end < len(members) else None,
        },
        items=array(read.open_generation.item_texts(members[begin:end].tolist())),
    )


def _own(read: Reading, id: int, query: ItemClusterQuery) -> Response:
    clustering = read.collection.clusters(query)
    number = int(clustering.clusters.label[id])
    (own,) = _summaries(read, query, clustering.clusters, number, number + 1)
    return read.json({**_method(read, query, clustering), "cluster": own})


def _method(read: Reading, query: ClusteredFields, clustering: Clustering) -> dict[str, Any]:
    """Return the method and threshold, and the reason for a threshold that the query does not name."""
    reason = None
    if query.method == "single" and query.threshold is None:
        reason = {"stored": read.generation.manifest.threshold, "largest": default_linkage(read.generation).largest}
    return {"method": query.method, "threshold": clustering.threshold, "chosen": reason}


def _summaries(read: Reading, query: ClusteredFields, found: Clusters, first: int, last: int) -> list[dict[str, Any]]:
    """Return the summaries of the clusters `first` to `last` - 1."""
    numbers = range(first, last)
    ranges: list[dict[str, Any] | None] = [None] * len(numbers)
    if query.property is not None:
        columns = [each.tolist() for each in found.ranges(numeric(read.generation, query.property), first, last)]
        ranges = [dict(zip(Ranges._fields, map(_or_null, row), strict=True)) for row in zip(*columns, strict=True)]
    rows = zip(numbers, found.sizes[first:last].tolist(), found.centre[first:last].tolist(), ranges, strict=True)
    return [{"id": number + 1, "size": size, "centre": centre, "range": own} for number, size, centre, own in rows]


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _histogram(sizes: Int64) -> dict[str, Any]:
    """Return a histogram of cluster sizes in powers of two."""
    # frexp gives 2 and 3 the same exponent: they are 0.5 and 0.75 times 2 to the power of 2.
    bits = np.bincount(np.frexp(sizes)[1])[1:].tolist()
    return {"edges": [2**power for power in range(len(bits) + 1)], "counts": bits}
