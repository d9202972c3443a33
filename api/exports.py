"""GET export and POST export: a hierarchy, or a selection of it, in the formats other programs open."""

from collections.abc import Iterator
from typing import Annotated, Literal, cast

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api.body import require_json
from api.export import MEDIA_TYPES, EdgeFormat, ItemFormat, export_edges, export_items, media_type
from api.export.table import Comparison
from api.library import Opened
from api.openapi import problems, replies
from api.queries import ExportBody, ExportQuery, GenerationQuery
from api.reading import CollectionName, Reading, open_reading
from store.records import Float32, Int32

_OFFERED = tuple(sorted({type for formats in MEDIA_TYPES.values() for type in formats.values()}))

router = APIRouter(
    prefix="/v1/collections/{c}", tags=["export"], responses=problems(400, 404, 406, 409, 410, 422, 500, 503)
)


@router.get("/export", response_class=Response, responses=replies(*_OFFERED))
async def export(request: Request, c: CollectionName, query: Annotated[ExportQuery, Query()]) -> Response:
    """All items or all edges."""
    read = await open_reading(request, c, (media_type(query.what, query.format),))
    return await run_in_threadpool(_exported, read, query.what, query.format)


@router.post(
    "/export",
    response_class=Response,
    dependencies=[Depends(require_json)],
    responses={**problems(413, 415), **replies(*_OFFERED)},
)
async def export_selection(
    request: Request, c: CollectionName, body: ExportBody, _: Annotated[GenerationQuery, Query()]
) -> Response:
    """Some items in the order given, or the edges that have both ends among them.

    With `query_smiles` each item has its exact similarity to that molecule, and GraphML has the molecule itself.
    """
    read = await open_reading(request, c, (media_type(body.what, body.format),))
    ids = np.array(body.ids, dtype=np.int32)
    return await run_in_threadpool(_exported, read, body.what, body.format, ids, body.min_similarity, body.query_smiles)


def _exported(
    read: Reading,
    what: Literal["items", "edges"],
    format: str,
    ids: Int32 | None = None,
    min_similarity: float | None = None,
    query_smiles: str | None = None,
) -> Response:
    comparison = None if query_smiles is None else _comparison(read.opened, query_smiles)
    chunks: Iterator[bytes]
    if what == "items":
        chunks = export_items(read.generation, cast(ItemFormat, format), ids, comparison)
    else:
        threshold = read.threshold(min_similarity)
        chunks = export_edges(read.generation, cast(EdgeFormat, format), threshold, ids, comparison)
    name = f"{read.generation.collection}-{read.generation.id[:12]}-{what}.{format}"
    return read.stream(chunks, {"Content-Disposition": f'attachment; filename="{name}"'})


def _comparison(opened: Opened, smiles: str) -> Comparison:
    query = opened.read(smiles=smiles)
    search = opened.search()

    def similarity(ids: Int32) -> Float32:
        return search.similarities(query, ids).astype(np.float32)

    return Comparison(query.text, search.stored(query), similarity)
