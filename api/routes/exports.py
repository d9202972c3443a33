"""GET export and POST export: a collection, or a selection of its items, in the formats of other programs."""

from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import parts, problems, replies
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import ExportRoute
from graphkin.api.work.queries import pack_query
from graphkin.export import MEDIA_TYPES, media_type
from graphkin.protocol.requests import ExportBody, ExportQuery, GenerationQuery, StructureFields
from graphkin.store.base import Generation, id_range, require_stored_threshold

_OFFERS = tuple(sorted({type for formats in MEDIA_TYPES.values() for type in formats.values()}))

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["export"],
    route_class=with_access("export", ExportRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/export", response_class=Response, responses={**problems(416), **replies(*_OFFERS), **parts(*_OFFERS)})
async def export(request: Request, c: CollectionName, query: Annotated[ExportQuery, Query()]) -> Response:
    """All items, edges, links or fingerprints, or a range of them.

    `columns` selects columns of items, and `min_similarity` selects edges. An export of edges has the header
    `Graphkin-Pairs` with three numbers of similar pairs: found, stored, and truncated by the top-k limit. `?` stands
    for a number that was not counted.

    An export is sent while it is created. For a request with the header `Range`, the server first creates the whole
    file and keeps it for requests for other parts.
    """
    context = await open_context(request, c, (media_type(query.what, query.format),))
    options = {
        "what": query.what,
        "format": query.format,
        "columns": query.columns,
        "start": query.start,
        "stop": query.stop,
        "min_similarity": _threshold(context, query.min_similarity),
    }
    rows = _rows(context.generation, query)
    await context.run(context.collection.prepare_columns, *(query.columns or ()))
    exports, headers = state_of(request)["exports"], {"Accept-Ranges": "bytes", **_headers(context, options)}
    if "range" in request.headers:
        return context.file(await exports.get(context.generation, **options), headers, rows)
    cached = exports.get_cached(context.generation, **options)
    if cached is not None:
        return context.file(cached, headers, rows)
    context.spend(rows)
    return await context.stream_async(exports.stream(context.generation, **options), headers)


@router.post(
    "/export",
    response_class=Response,
    responses={**problems(413, 415), **replies(*_OFFERS)},
    openapi_extra=json_body(ExportBody),
)
async def export_selection(
    request: Request,
    c: CollectionName,
    body: Annotated[ExportBody, Depends(body_dependency(ExportBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """Selected items, their fingerprints, or the edges or links between them.

    The selection is a list of ids, the items that pass a query, or both. Items keep the order of the selection. With
    `query_smiles`, each item has its exact similarity to that molecule, and GraphML files contain the molecule.
    """
    context = await open_context(request, c, (media_type(body.what, body.format),))
    packed_query = None
    if body.query_smiles is not None:
        packed_query = pack_query(await context.read(StructureFields(smiles=body.query_smiles)))
    ids = await _ids(context, body)
    await context.run(context.collection.prepare_columns, *(body.columns or ()))
    context.spend(len(ids))
    return await _stream_export(
        request,
        context,
        what=body.what,
        format=body.format,
        ids=ids,
        min_similarity=_threshold(context, body.min_similarity),
        compared_with=packed_query,
        columns=body.columns,
    )


async def _ids(context: RequestContext, body: ExportBody) -> list[int]:
    """Return the ids of the selected items.

    Raises:
        GraphkinError: The errors of `OpenCollection.query`.
    """
    ids, query = body.ids or [], body.query
    if query is None:
        return ids
    hits = await context.run(context.collection.query, query)
    return [*dict.fromkeys([*ids, *hits.ids.tolist()])]


def _threshold(context: RequestContext, min_similarity: float | None) -> float | None:
    """Return the threshold of exported edges.

    Raises:
        InvalidInput: The threshold is lower than the threshold of the generation.
    """
    require_stored_threshold(context.generation, min_similarity)
    return min_similarity


def _rows(generation: Generation, query: ExportQuery) -> int:
    """Return the number of rows of an export.

    The number of edges is estimated as the average of all ranges of ids of this length.
    """
    ids = len(id_range(generation, query.start, query.stop))
    return ceil(generation.manifest.edges * ids / generation.size) if query.what in ("edges", "links") else ids


async def _stream_export(request: Request, context: RequestContext, **options: Any) -> Response:
    chunks = state_of(request)["exports"].stream(context.generation, **options)
    return await context.stream_async(chunks, _headers(context, options))


def _headers(context: RequestContext, options: dict[str, Any]) -> dict[str, str]:
    name = f"{context.generation.collection}-{context.generation.id[:12]}-{options['what']}.{options['format']}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if options["what"] == "edges":
        pairs = context.generation.manifest.pairs.items()
        headers["Graphkin-Pairs"] = ", ".join(f"{key}={'?' if count is None else count}" for key, count in pairs)
    return headers
