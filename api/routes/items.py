"""GET items/{id} and GET items?...: items by id, structure, name or InChIKey."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.openapi import problems
from graphkin.api.gate.paths import ItemId
from graphkin.api.gate.reply import array
from graphkin.api.gate.route import needing
from graphkin.api.reading import JsonReading, Reading
from graphkin.protocol.replies import ItemReply, ItemsPage
from graphkin.protocol.requests import GenerationQuery, ItemsQuery
from graphkin.store.base import Field, Generation

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["items"],
    route_class=needing("read"),
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
    wanted = await _wanted(read, query)
    return await run_in_threadpool(_page, read, wanted, query.limit)


async def _wanted(read: Reading, query: ItemsQuery) -> tuple[Field, str] | None:
    """What items are looked up by; SMILES as the collection writes them."""
    if query.smiles is not None:
        return "smiles", (await read.structure(smiles=query.smiles)).text
    if query.name is not None:
        return "name", query.name
    if query.inchikey is not None:
        return "inchikey", query.inchikey
    return None


def _page(read: Reading, wanted: tuple[Field, str] | None, limit: int) -> Response:
    begin = read.position
    if wanted is None:
        ids = list(range(begin, min(begin + limit + 1, read.generation.size)))
    else:
        ids = _found(read.generation, *wanted, after=begin - 1, limit=limit + 1)
    page, rest = ids[:limit], ids[limit:]
    read.spend(len(page))
    next_cursor = read.cursor_at(rest[0]) if rest else None
    return read.json({"next_cursor": next_cursor}, items=array(read.opened.item_texts(page)))


def _found(generation: Generation, field: Field, value: str, after: int, limit: int) -> list[int]:
    return generation.named(value, after, limit) if field == "name" else generation.find(field, value, after, limit)
