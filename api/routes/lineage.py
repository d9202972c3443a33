"""GET lineage: the changes of clusters since an earlier generation."""

from typing import Annotated, Any

import numpy as np
import pyarrow.compute as pc
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from graphkin.api.context import LineageContext, RequestContext
from graphkin.api.generations.cache import GenerationCache
from graphkin.api.generations.clusterings import clustering_fields
from graphkin.api.generations.open_generation import OpenGeneration
from graphkin.api.http.openapi import problems
from graphkin.api.http.reply import json_array
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import SearchRoute
from graphkin.collection.clusters.lineage import previous_generation
from graphkin.protocol.lineage import LineagePage, LineageQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/lineage", response_model=LineagePage)
async def lineage(request: Request, context: LineageContext, query: Annotated[LineageQuery, Query()]) -> Response:
    """The clusters that grew, shrank, split, merged, appeared or vanished since an earlier generation.

    Both generations are clustered by the same method and threshold. Items are the same if their structures are,
    whatever their ids. Until the clusters of both are computed, 503 reports the progress.
    """
    return await context.run(_page, context, query, state_of(request)["generations"])


def _page(context: RequestContext, query: LineageQuery, generations: GenerationCache) -> Response:
    name, id = context.generation.collection, context.generation.id
    published = generations.catalog_entry(name, id).generations
    is_first = id == published[0]
    earlier = generations.get(name, query.before or (id if is_first else previous_generation(name, published, id)))
    context.extend_entity_tag(earlier.generation.id)
    clustering, begin = context.collection.clusters(query), context.position
    lineage = context.collection.lineage(earlier.collection, clustering)
    total, rows = len(lineage.links.change), lineage.rows(begin, begin + query.limit)
    end, totals = begin + len(rows), lineage.totals
    return context.json(
        {
            **clustering_fields(context.generation, clustering),
            "before": earlier.generation.id,
            "added": totals.added,
            "removed": totals.removed,
            "events": totals.events,
            "rows": [_row(row) for row in rows.to_pylist()],
            "total": total,
            "next_cursor": context.cursor_at(end) if end < total else None,
        },
        items=_centers(context.open_generation, rows["centre_after"]),
        earlier_items=_centers(earlier, rows["centre_before"]),
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    before = {"id": row["before"], "size": row["size_before"], "centre": row["centre_before"]}
    after = {"id": row["after"], "size": row["size_after"], "centre": row["centre_after"]}
    return {
        "change": row["change"],
        "event": row["event"],
        "before": None if row["before"] is None else {**before, "removed": row["removed"]},
        "after": None if row["after"] is None else {**after, "added": row["added"]},
        "shared": row["shared"],
    }


def _centers(open_generation: OpenGeneration, ids: Any) -> bytes:
    """Return the items with these ids, each once, by id."""
    return json_array(open_generation.encode_items(np.sort(pc.unique(ids.drop_null())).tolist()))
