"""GET clusters, clusters/{id} and items/{id}/cluster: clusters of all items by several methods."""

import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonContext, RequestContext
from graphkin.api.generations.clusterings import clustering_fields
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ClusterId, ItemId
from graphkin.api.http.reply import json_array
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import SearchRoute
from graphkin.collection.clusters.partition import Clusters, Ranges, size_histogram
from graphkin.protocol.replies import ClusterReply, ClustersPage, ItemClusterReply
from graphkin.protocol.requests import ClusteredFields, ClusterQuery, ClustersQuery, ItemClusterQuery
from graphkin.store.sampling.base import require_ids

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/clusters", response_model=ClustersPage)
async def clusters(context: JsonContext, query: Annotated[ClustersQuery, Query()]) -> Response:
    """The clusters of all items, the largest first.

    The method of Taylor and Butina makes a cluster of the item with the most neighbors and of these neighbors, and then
    continues with the other items. This method and scaffolds take long for many items. Until they are done, 503 reports
    the progress. Clusters are cached on the server's machine.
    """
    return await context.run(_page, context, query)


@router.get("/clusters/{id}", response_model=ClusterReply)
async def cluster(context: JsonContext, id: ClusterId, query: Annotated[ClusterQuery, Query()]) -> Response:
    """One cluster and its members: the center first, then the others by id."""
    return await context.run(_members, context, id - 1, query)


@router.get("/items/{id}/cluster", response_model=ItemClusterReply)
async def item_cluster(context: JsonContext, id: ItemId, query: Annotated[ItemClusterQuery, Query()]) -> Response:
    """The cluster of one item."""
    require_ids(np.array([id]), context.generation.size)
    return await context.run(_cluster_of_item, context, id, query)


def _page(context: RequestContext, query: ClustersQuery) -> Response:
    clustering, begin = context.collection.clusters(query), context.position
    partition = clustering.clusters
    counts = partition.counts
    end = min(begin + query.limit, len(partition.centre))
    return context.json(
        {
            **clustering_fields(context.generation, clustering),
            "clusters": _summaries(context, query, partition, begin, end),
            "total": counts.clusters,
            "singletons": counts.singletons,
            "singleton_share": counts.singleton_share,
            "sizes": size_histogram(partition.sizes),
            "next_cursor": context.cursor_at(end) if end < len(partition.centre) else None,
        },
        items=json_array(context.open_generation.encode_items(np.sort(partition.centre[begin:end]).tolist())),
    )


def _members(context: RequestContext, number: int, query: ClusterQuery) -> Response:
    clustering = context.collection.clusters(query)
    members, begin = clustering.clusters.members(number), context.position
    end = begin + query.limit
    (summary,) = _summaries(context, query, clustering.clusters, number, number + 1)
    return context.json(
        {
            **clustering_fields(context.generation, clustering),
            "cluster": summary,
            "next_cursor": context.cursor_at(end) if end < len(members) else None,
        },
        items=json_array(context.open_generation.encode_items(members[begin:end].tolist())),
    )


def _cluster_of_item(context: RequestContext, id: int, query: ItemClusterQuery) -> Response:
    clustering = context.collection.clusters(query)
    number = int(clustering.clusters.label[id])
    (summary,) = _summaries(context, query, clustering.clusters, number, number + 1)
    return context.json({**clustering_fields(context.generation, clustering), "cluster": summary})


def _summaries(
    context: RequestContext, query: ClusteredFields, partition: Clusters, first: int, last: int
) -> list[dict[str, Any]]:
    """Return summaries of the clusters with the indices `first` to `last` - 1."""
    numbers = range(first, last)
    ranges: list[dict[str, Any] | None] = [None] * len(numbers)
    if query.property is not None:
        columns = [
            each.tolist() for each in partition.ranges(context.collection.property_values(query.property), first, last)
        ]
        ranges = [dict(zip(Ranges._fields, map(_or_null, row), strict=True)) for row in zip(*columns, strict=True)]
    rows = zip(
        numbers, partition.sizes[first:last].tolist(), partition.centre[first:last].tolist(), ranges, strict=True
    )
    return [
        {"id": number + 1, "size": size, "centre": centre, "range": value_range}
        for number, size, centre, value_range in rows
    ]


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value
