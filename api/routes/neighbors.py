"""GET items/{id}/neighbors: the stored neighbors of an item. This is the most frequent request."""

from fastapi import APIRouter, Request
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.openapi import parameters, problems
from graphkin.api.http.reply import JSON, similar_items
from graphkin.api.http.route import with_access
from graphkin.api.http.validation import validate
from graphkin.api.work.classes import UnqueuedRoute
from graphkin.protocol.replies import NeighborsPage
from graphkin.protocol.requests import ItemPath, NeighborsQuery

_MAX_INLINE = 100  # neighbors; this many are read in less time than a switch to another thread takes

_PARAMETERS = [*parameters(ItemPath, "path"), *parameters(NeighborsQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["neighbors"],
    route_class=with_access("read", UnqueuedRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/items/{id}/neighbors", response_model=NeighborsPage, openapi_extra={"parameters": _PARAMETERS})
async def neighbors(request: Request) -> Response:
    """The stored neighbors of an item that pass the filters and contain the substructure, most similar first.

    `capped` is true if the top-k limit truncated pairs of this item. Searches have no such limit.
    """
    # FastAPI's own parsing takes as long as the rest of the request.
    path = validate(ItemPath, request.path_params, "path")
    query = validate(NeighborsQuery, dict(request.query_params.multi_items()), "query")
    context = await open_context(request, path.c, (JSON,))
    if query.substructure is not None or query.filters:
        return await context.run(_page, context, path.id, query)
    if context.generation.is_local and query.limit <= _MAX_INLINE:
        return _page(context, path.id, query)
    return await run_in_threadpool(_page, context, path.id, query)


def _page(context: RequestContext, id: int, query: NeighborsQuery) -> Response:
    begin = context.position
    selection = query.filters or (), query.substructure
    hits = context.collection.neighbors(id, query.min_similarity, *selection, begin, query.limit)
    end = begin + len(hits.ids)
    item, *texts = context.open_generation.encode_items([id, *hits.ids.tolist()])
    dropped = from_json(item)["dropped"]
    return context.json(
        {
            "total": hits.total,
            "capped": None if dropped is None else dropped != 0,
            "next_cursor": context.cursor_at(end) if end < hits.total else None,
        },
        item=item,
        neighbors=similar_items(texts, hits.similarity),
    )
