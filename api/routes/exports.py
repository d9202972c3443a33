"""GET export and POST export: a hierarchy, or a selection of it, in the formats other programs open."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.gate.body import as_body, body_of
from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.paths import CollectionName
from graphkin.api.reading import Reading, open_reading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Exporting
from graphkin.api.work.pool import Ended, Failed, Pool
from graphkin.api.work.reading import packed
from graphkin.export import MEDIA_TYPES, media_type
from graphkin.protocol.errors import StoreError
from graphkin.protocol.requests import ExportBody, ExportQuery, GenerationQuery

_OFFERED = tuple(sorted({type for formats in MEDIA_TYPES.values() for type in formats.values()}))

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["export"],
    route_class=Exporting,
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/export", response_class=Response, responses=replies(*_OFFERED))
async def export(request: Request, c: CollectionName, query: Annotated[ExportQuery, Query()]) -> Response:
    """All items, edges, links or fingerprints, or a range of them; of items some columns, of edges those similar
    enough."""
    read = await open_reading(request, c, (media_type(query.what, query.format),))
    return await _exported(
        request,
        read,
        what=query.what,
        format=query.format,
        columns=query.columns,
        start=query.start,
        stop=query.stop,
        min_similarity=read.threshold(query.min_similarity),
    )


@router.post(
    "/export",
    response_class=Response,
    responses={**problems(413, 415), **replies(*_OFFERED)},
    openapi_extra=as_body(ExportBody),
)
async def export_selection(
    request: Request,
    c: CollectionName,
    body: Annotated[ExportBody, Depends(body_of(ExportBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """Some items or their fingerprints in the order given, or the edges or links that have both ends among them.

    With `query_smiles` each item has its exact similarity to that molecule, and GraphML has the molecule itself.
    """
    read = await open_reading(request, c, (media_type(body.what, body.format),))
    compared = None if body.query_smiles is None else packed(await read.structure(smiles=body.query_smiles))
    return await _exported(
        request,
        read,
        what=body.what,
        format=body.format,
        ids=body.ids,
        min_similarity=read.threshold(body.min_similarity),
        compared_with=compared,
    )


async def _exported(request: Request, read: Reading, **choice: Any) -> Response:
    state, generation = state_of(request), read.generation
    chunks = _made(
        state["exporters"],
        store=state["location"],
        collection=generation.collection,
        generation=generation.id,
        **choice,
    )
    name = f"{generation.collection}-{generation.id[:12]}-{choice['what']}.{choice['format']}"
    return await read.relay(chunks, {"Content-Disposition": f'attachment; filename="{name}"'})


async def _made(exporters: Pool, **what: Any) -> AsyncGenerator[bytes]:
    """The file, made in a process of its own: RDKit, which draws molecules for SD files, holds the interpreter."""
    try:
        async with exporters.worker() as exporter:
            async for piece in exporter.stream("export", **what):
                yield piece
    except (Ended, Failed) as error:
        raise StoreError(f"the export broke off: {error.detail}") from error
