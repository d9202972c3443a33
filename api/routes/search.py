"""POST search: any structure against a whole collection."""

from functools import partial

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.body import as_body, received
from graphkin.api.gate.given import validated
from graphkin.api.gate.metrics import Metrics
from graphkin.api.gate.openapi import parameters, problems
from graphkin.api.gate.reply import JSON, similar_items
from graphkin.api.gate.route import needing
from graphkin.api.reading import Reading, open_reading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Searching
from graphkin.api.work.structures import Search
from graphkin.collection.having import Having
from graphkin.collection.query import point_to_name
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.replies import SearchReply
from graphkin.protocol.requests import CollectionPath, GenerationQuery, SearchBody

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(GenerationQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=needing("read", Searching),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/search", response_model=SearchReply, openapi_extra={**as_body(SearchBody), "parameters": _PARAMETERS})
async def search(request: Request) -> Response:
    """The most similar items, exactly: the whole collection, or all that pass filters and have a substructure,
    whatever the hierarchy's threshold and cap.

    By the collection's own measure or by another. The first search by counts describes all molecules, which takes a
    while; what it needs is kept on this machine.
    """
    path = validated(CollectionPath, request.path_params, "path")  # by hand, as for neighbours
    validated(GenerationQuery, dict(request.query_params.multi_items()), "query")
    read = await open_reading(request, path.c, (JSON,))
    try:
        asked = await state_of(request)["structures"].read_search(read.generation, await received(request))
    except InvalidInput as error:
        await run_in_threadpool(point_to_name, read.generation, error)
        raise
    having = None
    if asked.substructure is not None:
        chosen = partial(read.opened.selections.selected, asked.filters)
        having = await read.having(asked.substructure, lambda: chosen().ids)
    return await run_in_threadpool(_hits, read, asked, having, request.app.state.metrics)


def _hits(read: Reading, asked: Search, having: Having | None, metrics: Metrics) -> Response:
    searched = read.opened.search()
    if asked.measure is not None:
        searched = searched.measured(asked.measure)
    with metrics.search_seconds.time():
        hits = read.opened.selections.hits(
            searched, asked.query, asked.min_similarity, asked.limit, asked.filters, having
        )
    texts = read.opened.item_texts(hits.ids.tolist())
    return read.json(
        {"query": {"smiles": asked.query.smiles, "id": searched.identical(asked.query)}, "total": hits.total},
        hits=similar_items(texts, hits.similarity),
    )
