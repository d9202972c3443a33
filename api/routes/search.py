"""POST search: search for a structure, which need not be in the collection."""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import json_body, receive_body
from graphkin.api.http.metrics import Metrics
from graphkin.api.http.openapi import parameters, problems
from graphkin.api.http.reply import JSON, similar_items
from graphkin.api.http.route import with_access
from graphkin.api.http.validation import parse_body, validate
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.replies import SearchReply
from graphkin.protocol.requests import CollectionPath, GenerationQuery, SearchBody
from graphkin.similarity.kind import Query

_MAX_INLINE_BODY = 4096  # bytes; this much is parsed in less time than a switch to another thread takes

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(GenerationQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/search", response_model=SearchReply, openapi_extra={**json_body(SearchBody), "parameters": _PARAMETERS})
async def search(request: Request) -> Response:
    """The items of the whole collection that are most similar to a structure.

    The search is exact, and has neither a threshold nor a top-k limit. Filters and a substructure restrict it to some
    of the items. It uses the collection's own measure or another one. The first search with the measure `counts`
    computes descriptors of all molecules and caches them on the server's machine, which takes a while.
    """
    # FastAPI's own parsing takes as long as the rest of the request.
    path = validate(CollectionPath, request.path_params, "path")
    validate(GenerationQuery, dict(request.query_params.multi_items()), "query")
    context = await open_context(request, path.c, (JSON,))
    body = await receive_body(request)
    if len(body) <= _MAX_INLINE_BODY:
        search = parse_body(SearchBody, body)
    else:
        search = await run_in_threadpool(parse_body, SearchBody, body)
    return await context.run(_reply, context, search, await context.read(search), request.app.state.metrics)


def _reply(context: RequestContext, search: SearchBody, query: Query, metrics: Metrics) -> Response:
    with metrics.search_seconds.time():
        result = context.collection.search(search, search.limit, query)
    hits = result.hits
    return context.json(
        {"query": {"smiles": result.query.smiles, "id": result.id}, "total": hits.total},
        hits=similar_items(context.open_generation.encode_items(hits.ids.tolist()), hits.similarity),
    )
