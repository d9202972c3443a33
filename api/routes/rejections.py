"""GET rejections: the rejected records of the input, with the reasons."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import JsonContext, respond_by_content
from graphkin.api.http.openapi import problems
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.protocol.replies import RejectionsPage
from graphkin.protocol.requests import RejectionsQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["collections"],
    route_class=with_access("read"),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/rejections", response_model=RejectionsPage)
def rejections(request: Request, context: JsonContext, query: Annotated[RejectionsQuery, Query()]) -> Response:
    """The rejected records in input order, each with its position, its text (up to 4,096 characters) and the reason."""
    end = context.position + query.limit
    if query.rerun:
        generation = context.generation
        rerun = state_of(request)["generations"].store.rerun(generation.collection, generation.id)
        rejected = [] if rerun is None else rerun.rejections.slice(context.position, query.limit).to_pylist()
        rest = rerun is not None and end < rerun.rejections.num_rows
        page = {"rejections": rejected, "next_cursor": context.cursor_at(end) if rest else None}
        body = to_json({"generation": generation.id, **page})
        return respond_by_content(request, body, headers={"Graphkin-Generation": generation.id})
    rest = end < context.generation.manifest.counts.rejected
    rows = (row for batch in context.collection.rejections(context.position) for row in batch.to_pylist())
    return context.json(
        {
            "rejections": list(islice(rows, query.limit)),
            "next_cursor": context.cursor_at(end) if rest else None,
        }
    )
