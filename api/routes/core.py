"""GET clusters/{id}/core and core.svg: the maximum common substructure of a cluster."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from graphkin.api.context import CoreContext, CoreSvgContext, RequestContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import ClusterId
from graphkin.api.http.reply import SVG
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import ComparisonRoute
from graphkin.collection.clusters.core import ClusterCore
from graphkin.protocol.errors import NotFound
from graphkin.protocol.replies import CoreReply
from graphkin.protocol.requests import ClusteringFields, CoreDepictionQuery, CoreQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", ComparisonRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/clusters/{id}/core", response_model=CoreReply)
async def core(context: CoreContext, id: ClusterId, query: Annotated[CoreQuery, Query()]) -> Response:
    """The largest substructure that the members of a cluster share, found within 2 s.

    In a cluster of more than 100 members the center and 99 other members, at even distances, are compared.
    """
    mcs = await context.run(_core, context, id, query)
    return context.json({"cluster": id, "size": mcs.size, "compared": mcs.compared, **mcs.core._asdict()})


@router.get("/clusters/{id}/core.svg", response_class=Response, responses=replies(SVG))
async def core_depiction(
    request: Request, context: CoreSvgContext, id: ClusterId, query: Annotated[CoreDepictionQuery, Query()]
) -> Response:
    """A depiction of the shared substructure as SVG, with open bonds to the other atoms of the center."""
    mcs = await context.run(_core, context, id, query)
    if mcs.core.smiles is None:
        raise NotFound("the members of this cluster share nothing, or nothing was found in time", given=id)
    title = f"{mcs.core.atoms} atoms in each of {mcs.compared} molecules"
    svg = await state_of(request)["depictor"].draw_core(mcs.core, title, query.width, query.height)
    return context.respond(svg.encode("latin-1"))


def _core(context: RequestContext, id: int, query: ClusteringFields) -> ClusterCore:
    return context.collection.core(id, context.collection.clusters(query))
