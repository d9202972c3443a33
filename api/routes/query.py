"""POST items/query: filter, sort and count the items of a collection."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import Reading, open_reading
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import Querying
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.replies import QueryPage
from graphkin.protocol.requests import GenerationQuery, QueryBody
from graphkin.store.base import Generation
from graphkin.store.columns import shown

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["items"],
    route_class=with_access("read", Querying),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/items/query", response_model=QueryPage, openapi_extra=json_body(QueryBody))
async def query(
    request: Request,
    c: CollectionName,
    body: Annotated[QueryBody, Depends(body_dependency(QueryBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The items that pass all filters, of the whole collection, in order, and how many they are.

    Filters are ranges of numbers, values, and parts of texts; names and texts are compared in any case. Molecules that
    have a `substructure` are those in which RDKit finds it, whatever the configuration. Items are shown with the
    properties `columns`; `similarity` is to the structure or the item that they are similar to or neighbours of, where
    there is one.

    The first request with a substructure describes the molecules that it is about, which takes a while; what it needs
    is kept on this machine. Where matching them takes longer than 2 s, 503 says how many are matched of how many; it
    goes on for as long as somebody asks again, and what is known by then stays known. So it is wherever else there is
    a substructure.
    """
    read = await open_reading(request, c, (JSON,), said=_said(body))
    return await read.run(_page, read, body)


def _said(body: QueryBody) -> dict[str, str]:
    said = {name: to_json(value).decode() for name, value in body.model_dump(exclude={"cursor"}).items()}
    return said if body.cursor is None else {**said, "cursor": body.cursor}


def _page(read: Reading, body: QueryBody) -> Response:
    shown = None if body.columns is None else _properties(read.generation, body.columns)
    found = read.collection.query(body)
    begin, total = read.position, len(found.ids)
    end = min(begin + body.limit, total)
    read.spend(max(0, end - begin))
    texts = _texts(read, found.ids[begin:end].tolist(), shown)
    none = [b"null"] * len(texts)
    similarity = none if found.similarity is None else similarity_texts(found.similarity[begin:end])
    pairs = zip((text[:-1] for text in texts), similarity, strict=True)
    return read.json(
        {"total": total, "next_cursor": read.cursor_at(end) if end < total else None},
        items=array(b'%b,"similarity":%b}' % pair for pair in pairs),
    )


def _properties(generation: Generation, columns: list[str]) -> set[str]:
    """Return the properties with these names in exports.

    Raises:
        InvalidInput: There is no such property.
    """
    named = {title: column.name for title, column in shown(generation.manifest).items()}
    for column in columns:
        if column not in named:
            raise InvalidInput("items have no such property", given=column, expected=f"of {', '.join(named) or 'none'}")
    return {named[column] for column in columns}


def _texts(read: Reading, ids: list[int], shown: set[str] | None) -> list[bytes]:
    """Return the items as JSON with the given properties, or with all if `shown` is None."""
    if shown is None:
        return read.open_generation.item_texts(ids)
    return [
        to_json({**item, "properties": {name: value for name, value in item["properties"].items() if name in shown}})
        for item in read.generation.items(ids)
    ]
