"""POST scaffolds: the Bemis-Murcko scaffolds of a series as a tree."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import QueryRoute
from graphkin.collection.clusters.partition import Ranges
from graphkin.protocol.requests import GenerationQuery
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody, ScaffoldTreePage

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["structure and activity"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/scaffolds", response_model=ScaffoldTreePage, openapi_extra=json_body(ScaffoldTreeBody))
async def scaffold_tree(
    request: Request,
    c: CollectionName,
    body: Annotated[ScaffoldTreeBody, Depends(body_dependency(ScaffoldTreeBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The Bemis-Murcko scaffolds of a series as a tree, with counts and ranges of a property.

    The parent of a scaffold is the scaffold that remains after one ring system and its linker are removed. If several
    can be removed, the parent has the most rings, then the shortest linkers. Roots have one ring system.

    Scaffolds of many molecules take long. Until they are computed, 503 reports the progress. They are cached on the
    server's machine.
    """
    context = await open_context(request, c, (JSON,), parameters=cursor_parameters(body))
    return await context.run(_page, context, body)


def _page(context: RequestContext, body: ScaffoldTreeBody) -> Response:
    counts, begin = context.collection.scaffold_tree(body), context.position
    total = len(counts.order)
    end = min(begin + body.limit, total)
    rows = counts.table(begin, end).to_pylist()
    return context.json(
        {
            "items": counts.series,
            "total": total,
            "scaffolds": [{"range": _range(row, ""), "branch_range": _range(row, "branch_"), **row} for row in rows],
            "next_cursor": context.cursor_at(end) if end < total else None,
        }
    )


def _range(row: dict[str, Any], prefix: str) -> dict[str, Any] | None:
    """Move the range of a property from the columns with this prefix into an object. None without a property."""
    if f"{prefix}values" not in row:
        return None
    return {name: row.pop(f"{prefix}{name}") for name in Ranges._fields}
