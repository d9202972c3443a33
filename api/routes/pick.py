"""POST pick: a diverse subset of a collection."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import PickRoute
from graphkin.protocol.replies import PickReply
from graphkin.protocol.requests import GenerationQuery, PickBody

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=with_access("read", PickRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/pick", response_model=PickReply, openapi_extra=json_body(PickBody))
async def pick(
    request: Request,
    c: CollectionName,
    body: Annotated[PickBody, Depends(body_dependency(PickBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """A diverse subset of a collection, or of the items that a query selects.

    All similarities are exact, so `count` times the number of items may be at most 1,000,000,000. The same items always
    give the same subset, and a smaller subset is the beginning of a larger one.
    """
    context = await open_context(request, c, (JSON,))
    return await context.run(_reply, context, body)


def _reply(context: RequestContext, body: PickBody) -> Response:
    subset = context.collection.pick(body, body.count)
    return context.json(
        {"ids": subset.ids.tolist(), "size": subset.size}, nearest=json_array(similarity_texts(subset.nearest))
    )
