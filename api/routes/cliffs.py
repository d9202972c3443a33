"""GET cliffs: activity cliffs, pairs of similar items that differ much in a property."""

import math

import numpy as np
from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import Reading, open_reading
from graphkin.api.http.openapi import parameters, problems
from graphkin.api.http.reply import JSON, array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.http.validation import validate
from graphkin.api.work.classes import Querying
from graphkin.protocol.replies import CliffsPage
from graphkin.protocol.requests import CliffsQuery, CollectionPath
from graphkin.protocol.values import MAX_CLIFFS

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(CliffsQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["hierarchy"],
    route_class=with_access("read", Querying),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/cliffs", response_model=CliffsPage, openapi_extra={"parameters": _PARAMETERS})
async def cliffs(request: Request) -> Response:
    """Pairs of stored neighbors whose items both have a property and differ in it, pass filters and have a
    substructure. By default pairs of similarity 0.7 and more, the largest difference first, without pairs of identical
    fingerprints, which are counted as `identical`."""
    path = validate(CollectionPath, request.path_params, "path")
    query = validate(CliffsQuery, dict(request.query_params.multi_items()), "query")
    read = await open_reading(request, path.c, (JSON,))
    return await read.run(_page, read, query)


def _page(read: Reading, query: CliffsQuery) -> Response:
    found, begin = read.collection.cliffs(query, MAX_CLIFFS, query.selection()), read.position
    end = min(begin + query.limit, len(found.a))
    shown = found.part(begin, end)
    ids = np.unique(np.concatenate([shown.a, shown.b])).tolist()
    sali = [to_json(each if math.isfinite(each) else None) for each in shown.sali.tolist()]
    ends = zip(shown.a.tolist(), shown.b.tolist(), strict=True)
    said = zip(similarity_texts(shown.similarity), map(to_json, shown.difference.tolist()), sali, strict=True)
    return read.json(
        {
            "total": found.total,
            "identical": found.identical,
            "truncated": read.generation.manifest.dropped,
            "next_cursor": read.cursor_at(end) if end < len(found.a) else None,
        },
        pairs=array(
            b'{"a":%d,"b":%d,"similarity":%b,"difference":%b,"sali":%b}' % (*pair, *texts)
            for pair, texts in zip(ends, said, strict=True)
        ),
        items=array(read.open_generation.item_texts(ids)),
    )
