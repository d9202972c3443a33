"""GET and POST matched-pairs, GET items/{id}/matched-pairs: exchanges of parts of molecules that change a property."""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.context import JsonContext, RequestContext, open_context
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName, ItemId
from graphkin.api.http.reply import JSON
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import ComparisonRoute
from graphkin.collection.sar.matched_pairs.ranking import Summary
from graphkin.protocol.matched_pairs import (
    ItemMatchedPairsPage,
    ItemMatchedPairsQuery,
    MatchedPairsBody,
    MatchedPairsFields,
    MatchedPairsPage,
    MatchedPairsQuery,
)
from graphkin.protocol.requests import GenerationQuery, QueryFields

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["structure and activity"],
    route_class=with_access("read", ComparisonRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.get("/matched-pairs", response_model=MatchedPairsPage)
async def matched_pairs(context: JsonContext, query: Annotated[MatchedPairsQuery, Query()]) -> Response:
    """Transformations between matched molecular pairs, and the change of a property with them.

    A matched pair is two molecules that differ in one part: one to three acyclic single bonds are cut, and what they
    leave on the other side of each cut is the same. Pairs are found once for a generation. Until that is done, 503
    reports the progress. They are cached on the server's machine.
    """
    return await context.run(_page, context, query, None, query.pairs, query.limit)


@router.post("/matched-pairs", response_model=MatchedPairsPage, openapi_extra=json_body(MatchedPairsBody))
async def matched_pairs_among(
    request: Request,
    c: CollectionName,
    body: Annotated[MatchedPairsBody, Depends(body_dependency(MatchedPairsBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """Transformations between matched molecular pairs among the items of a query.

    Both molecules of a pair match the query, and only such pairs count. The order and the reply are those of
    `GET matched-pairs`.
    """
    context = await open_context(request, c, (JSON,), parameters=cursor_parameters(body))
    return await context.run(_page, context, body, body, body.pairs, body.limit)


@router.get("/items/{id}/matched-pairs", response_model=ItemMatchedPairsPage)
async def item_matched_pairs(
    context: JsonContext, id: ItemId, query: Annotated[ItemMatchedPairsQuery, Query()]
) -> Response:
    """Transformations that can be applied to an item and raise or lower a property on average.

    Each one lists the molecules that it makes of the item. Its pairs may have other surroundings than the item.
    """
    return await context.run(_item_page, context, id, query)


def _page(
    context: RequestContext, request: MatchedPairsFields, among: QueryFields | None, pairs: int, limit: int
) -> Response:
    summary, begin = context.collection.matched_pairs(request, among), context.position
    end = begin + limit
    return context.json(
        {
            "transformations": _transformations(summary.take(slice(begin, end)), pairs),
            "total": len(summary),
            "uncut": [vars(each) for each in summary.transformations.uncut],
            "next_cursor": context.cursor_at(end) if end < len(summary) else None,
        }
    )


def _item_page(context: RequestContext, id: int, query: ItemMatchedPairsQuery) -> Response:
    applicable, begin = context.collection.matched_pairs_of(id, query), context.position
    end = begin + query.limit
    part = applicable.part(begin, end)
    value = float(applicable.summary.values[id])
    products = context.collection.products(id, part)
    return context.json(
        {
            "value": value if math.isfinite(value) else None,
            "reason": applicable.reason,
            "transformations": [
                {**fields, "products": [{"smiles": smiles, "id": item} for smiles, item in molecules]}
                for fields, molecules in zip(_transformations(part.summary, query.pairs), products, strict=True)
            ],
            "total": len(applicable.summary),
            "next_cursor": context.cursor_at(end) if end < len(applicable.summary) else None,
        }
    )


def _transformations(summary: Summary, limit: int) -> list[dict[str, Any]]:
    """Return the fields of each transformation, with at most `limit` pairs."""
    rows = []
    for row in range(len(summary)):
        source, target = summary.ends(row)
        first, second, _ = summary.pairs(row, limit)
        sd = float(summary.sd[row])
        rows.append(
            {
                "from": source,
                "to": target,
                "count": int(summary.count[row]),
                "mean": float(summary.mean[row]),
                "sd": sd if math.isfinite(sd) else None,
                "pairs": [*zip(first.tolist(), second.tolist(), strict=True)],
            }
        )
    return rows
