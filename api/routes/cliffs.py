"""GET and POST cliffs: activity cliffs, which are pairs of similar items that differ much in a property."""

import math
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import parameters, problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.http.validation import validate
from graphkin.api.work.classes import QueryRoute
from graphkin.protocol.replies import CliffsPage
from graphkin.protocol.requests import (
    CliffRanking,
    CliffsBody,
    CliffsQuery,
    CollectionPath,
    GenerationQuery,
    QueryFields,
)
from graphkin.protocol.values import MAX_CLIFFS

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(CliffsQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["similarity graph"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.get("/cliffs", response_model=CliffsPage, openapi_extra={"parameters": _PARAMETERS})
async def cliffs(request: Request) -> Response:
    """Activity cliffs: pairs of stored neighbors whose items differ in a property.

    Both items have the property, pass the filters and contain the substructure. By default, pairs have a similarity of
    at least 0.7, and the largest difference comes first. Pairs with identical fingerprints are left out by default, and
    `identical` counts them.
    """
    path = validate(CollectionPath, request.path_params, "path")
    query = validate(CliffsQuery, dict(request.query_params.multi_items()), "query")
    context = await open_context(request, path.c, (JSON,))
    return await context.run(_page, context, query, query.selection(), query.limit)


@router.post("/cliffs", response_model=CliffsPage, openapi_extra=json_body(CliffsBody))
async def cliffs_among(
    request: Request,
    c: CollectionName,
    body: Annotated[CliffsBody, Depends(body_dependency(CliffsBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """Activity cliffs among the items of a query. Both items of a pair match the query.

    The order, the bounds and the reply are those of `GET cliffs`.
    """
    context = await open_context(request, c, (JSON,), parameters=cursor_parameters(body))
    return await context.run(_page, context, body, body, body.limit)


def _page(context: RequestContext, ranking: CliffRanking, among: QueryFields | None, limit: int) -> Response:
    result, begin = context.collection.cliffs(ranking, MAX_CLIFFS, among), context.position
    end = min(begin + limit, len(result.a))
    part = result.part(begin, end)
    ids = np.unique(np.concatenate([part.a, part.b])).tolist()
    sali = [to_json(value if math.isfinite(value) else None) for value in part.sali.tolist()]
    id_pairs = zip(part.a.tolist(), part.b.tolist(), strict=True)
    values = zip(similarity_texts(part.similarity), map(to_json, part.difference.tolist()), sali, strict=True)
    return context.json(
        {
            "total": result.total,
            "identical": result.identical,
            "truncated": context.generation.manifest.dropped,
            "next_cursor": context.cursor_at(end) if end < len(result.a) else None,
        },
        pairs=json_array(
            b'{"a":%d,"b":%d,"similarity":%b,"difference":%b,"sali":%b}' % (*pair, *texts)
            for pair, texts in zip(id_pairs, values, strict=True)
        ),
        items=json_array(context.open_generation.encode_items(ids)),
    )
