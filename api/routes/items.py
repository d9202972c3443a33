"""GET items/{id} and GET items?...: items by id, structure, name or InChIKey."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import JsonContext, RequestContext
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import json_array
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import ItemsRoute
from graphkin.protocol.replies import ItemReply, ItemsPage
from graphkin.protocol.requests import GenerationQuery, ItemsQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["items"],
    route_class=with_access("read", ItemsRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/items/{id:item}", response_model=ItemReply)
def item(context: JsonContext, id: ItemId, _: Annotated[GenerationQuery, Query()]) -> Response:
    """One item."""
    (row,) = context.generation.items([id])
    return context.json(dict(row))


@router.get("/items", response_model=ItemsPage)
async def items(context: JsonContext, query: Annotated[ItemsQuery, Query()]) -> Response:
    """All items, or the items with a certain SMILES, name or InChIKey, sorted by id. The list may be empty."""
    if query.smiles is not None:
        return await context.run(_page, context, query)
    return await run_in_threadpool(_page, context, query)


def _page(context: RequestContext, query: ItemsQuery) -> Response:
    ids = context.collection.item_ids(query, context.position, query.limit + 1)
    page, rest = ids[: query.limit], ids[query.limit :]
    context.spend(len(page))
    next_cursor = context.cursor_at(rest[0]) if rest else None
    return context.json({"next_cursor": next_cursor}, items=json_array(context.open_generation.encode_items(page)))
