"""POST items/query and POST values: filter, sort and count items, and read their numbers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, ROWS, json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.work.classes import QueryRoute
from graphkin.protocol.descriptors import is_computed
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.replies import QueryPage, ValuesRow
from graphkin.protocol.requests import GenerationQuery, QueryBody, ValuesBody
from graphkin.store.base import Generation
from graphkin.store.columns import column_titles, find_column
from graphkin.store.records import Int32

_BATCH_ROWS = 65_536

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["items"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/items/query", response_model=QueryPage, openapi_extra=json_body(QueryBody))
async def query(
    request: Request,
    c: CollectionName,
    body: Annotated[QueryBody, Depends(body_dependency(QueryBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The items of the whole collection that pass all filters, in the requested order, and their number.

    Filters are ranges of numbers, values, and parts of texts. Names and texts are compared without regard to case.
    RDKit matches `substructure` without regard to stereochemistry. `columns` selects the properties of the items; the
    values of descriptors and activities are in `computed`. If
    the query has a structure or an item to compare with, `similarity` is the similarity to it.

    The first request with a substructure computes pattern fingerprints of the molecules and caches them on the
    server's machine, which takes a while. If matching takes longer than 2 s, 503 reports how many molecules are
    matched. Matching continues as long as a client repeats the request, and its results are kept. The same holds for
    substructures in all other requests.
    """
    context = await open_context(request, c, (JSON,), parameters=cursor_parameters(body))
    return await context.run(_page, context, body)


@router.post(
    "/values", response_class=Response, responses=replies(*ROWS, row=ValuesRow), openapi_extra=json_body(ValuesBody)
)
async def values(
    request: Request,
    c: CollectionName,
    body: Annotated[ValuesBody, Depends(body_dependency(ValuesBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """Numeric columns of the items that pass all filters, in the requested order, without pages.

    A plot reads its points from this reply. An Arrow stream is the compact form: it has 4 bytes for each id and 8 for
    each number.
    """
    context = await open_context(request, c, ROWS)
    return await context.run(_values, context, body)


def _values(context: RequestContext, body: ValuesBody) -> Response:
    table = context.collection.values(body)
    context.spend(table.num_rows)
    batches = table.to_batches(_BATCH_ROWS)
    return context.stream(encode_rows(context.media_type, table.schema, batches, {"generation": context.generation.id}))


def _page(context: RequestContext, body: QueryBody) -> Response:
    properties, computed = _columns(context.generation, body.columns)
    hits = context.collection.query(body)
    begin, total = context.position, len(hits.ids)
    end = min(begin + body.limit, total)
    context.spend(max(0, end - begin))
    ids = hits.ids[begin:end]
    texts = _texts(context, ids.tolist(), properties)
    none = [b"null"] * len(texts)
    similarity = none if hits.similarity is None else similarity_texts(hits.similarity[begin:end])
    rows = zip((text[:-1] for text in texts), similarity, _computed(context, ids, computed), strict=True)
    return context.json(
        {"total": total, "next_cursor": context.cursor_at(end) if end < total else None},
        items=json_array(b'%b,"similarity":%b,"computed":%b}' % row for row in rows),
    )


def _computed(context: RequestContext, ids: Int32, columns: list[str]) -> list[bytes]:
    """Return the values of computed columns of some items, each as a JSON object."""
    if not columns:
        return [b"{}"] * len(ids)
    return [to_json(row) for row in context.collection.items_of(ids, columns).to_pylist()]


def _columns(generation: Generation, columns: list[str] | None) -> tuple[set[str] | None, list[str]]:
    """Return the names of properties, None for all, and the computed columns, from column names in exports.

    Raises:
        InvalidInput: There is no such column.
    """
    names, computed = set[str](), list[str]()
    for title in columns or ():
        column = find_column(generation.manifest, title)
        if column is None:
            titles = column_titles(generation.manifest)
            raise InvalidInput(
                "the items have no such property",
                given=title,
                expected=f"one of {', '.join(titles)}" if titles else "no column: the items have no properties",
                hint="GET /v1/collections/NAME lists the properties in its manifest",
            )
        if is_computed(title):
            computed.append(title)
        else:
            names.add(column.name)
    return None if columns is None else names, [*dict.fromkeys(computed)]


def _texts(context: RequestContext, ids: list[int], properties: set[str] | None) -> list[bytes]:
    """Return items as JSON with some of their properties, or with all if `properties` is None."""
    if properties is None:
        return context.open_generation.encode_items(ids)
    return [
        to_json(
            {**item, "properties": {name: value for name, value in item["properties"].items() if name in properties}}
        )
        for item in context.generation.items(ids)
    ]
