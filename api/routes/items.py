"""GET items/{id} and GET items?...: items by id, structure, name or InChIKey."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import JsonReading, Reading
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import array
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import ReadingItems
from graphkin.protocol.replies import ItemReply, ItemsPage
from graphkin.protocol.requests import GenerationQuery, ItemsQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["items"],
    route_class=with_access("read", ReadingItems),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/items/{id:item}", response_model=ItemReply)
def item(read: JsonReading, id: ItemId, _: Annotated[GenerationQuery, Query()]) -> Response:
    """One item."""
    (found,) = read.generation.items([id])
    return read.json(dict(found))


@router.get("/items", response_model=ItemsPage)
async def items(read: JsonReading, query: Annotated[ItemsQuery, Query()]) -> Response:
    """All items, or those with one SMILES, name or InChIKey, by id. No match is an empty list."""
    if query.smiles is not None:
        return await read.run(_page, read, query)
    return await run_in_threadpool(_page, read, query)


def _page(read: Reading, query: ItemsQuery) -> Response:
    ids = read.collection.item_ids(query, read.position, query.limit + 1)
    page, rest = ids[: query.limit], ids[query.limit :]
    read.spend(len(page))
    next_cursor = read.cursor_at(rest[0]) if rest else None
    return read.json({"next_cursor": next_cursor}, items=array(read.open_generation.item_texts(page)))
