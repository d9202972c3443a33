"""POST clusters: the clusters that contain items of a query, in an order."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.generations.clusterings import clustering_fields
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, json_array
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import QueryRoute
from graphkin.collection.clusters.partition import Ranges, size_histogram
from graphkin.protocol.ranked_clusters import RankedClustersBody, RankedClustersPage
from graphkin.protocol.requests import GenerationQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/clusters", response_model=RankedClustersPage, openapi_extra=json_body(RankedClustersBody))
async def ranked_clusters(
    request: Request,
    c: CollectionName,
    body: Annotated[RankedClustersBody, Depends(body_dependency(RankedClustersBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The clusters that contain items of a query, in an order.

    All items are clustered, and the ids of the clusters are those of `GET clusters`. Only the items of the query count
    for the order and for the summaries of the property.
    """
    context = await open_context(request, c, (JSON,), parameters=cursor_parameters(body))
    return await context.run(_page, context, body)


def _page(context: RequestContext, body: RankedClustersBody) -> Response:
    ranked, begin = context.collection.ranked_clusters(body), context.position
    total = len(ranked.order)
    end = min(begin + body.limit, total)
    rows = ranked.table(begin, end).to_pylist()
    centers = sorted(row["centre"] for row in rows)
    return context.json(
        {
            **clustering_fields(context.generation, ranked.clustering),
            "clusters": [{"range": _range(row), **row} for row in rows],
            "total": total,
            "matches": int(ranked.matches.sum()),
            "singletons": int(np.count_nonzero(ranked.matches == 1)),
            "sizes": size_histogram(ranked.matches),
            "next_cursor": context.cursor_at(end) if end < total else None,
        },
        items=json_array(context.open_generation.encode_items(centers)),
    )


def _range(row: dict[str, Any]) -> dict[str, Any] | None:
    """Move the range of the property into an object. None without a property."""
    values = {name: row.pop(name) for name in Ranges._fields}
    return None if values["values"] is None else values
