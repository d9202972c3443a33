"""GET clusters/{id}/mcs and mcs.svg: the maximum common substructure of a cluster."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from graphkin.api.context import McsContext, McsSvgContext, RequestContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import ClusterId
from graphkin.api.http.reply import SVG
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import ComparisonRoute
from graphkin.collection.clusters.mcs import ClusterMcs
from graphkin.protocol.errors import NotFound
from graphkin.protocol.replies import McsReply
from graphkin.protocol.requests import ClusteringFields, McsDepictionQuery, McsQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=with_access("read", ComparisonRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/clusters/{id}/mcs", response_model=McsReply)
async def mcs(context: McsContext, id: ClusterId, query: Annotated[McsQuery, Query()]) -> Response:
    """The maximum common substructure (MCS) of the members of a cluster, found within 2 s.

    In a cluster of more than 100 members, only the center and 99 evenly spaced other members are compared.
    """
    mcs = await context.run(_mcs, context, id, query)
    return context.json({"cluster": id, "size": mcs.size, "compared": mcs.compared, **mcs.substructure._asdict()})


@router.get("/clusters/{id}/mcs.svg", response_class=Response, responses=replies(SVG))
async def mcs_depiction(
    request: Request, context: McsSvgContext, id: ClusterId, query: Annotated[McsDepictionQuery, Query()]
) -> Response:
    """A depiction of the maximum common substructure as SVG, with open bonds to the other atoms of the center."""
    mcs = await context.run(_mcs, context, id, query)
    if mcs.substructure.smiles is None:
        raise NotFound(
            "the members of this cluster have no common substructure, or it was not found in time",
            given=id,
            expected="a cluster whose members share a substructure",
            hint="raise the threshold of the clustering: clusters become smaller and their members more alike",
        )
    title = f"{mcs.substructure.atoms} atoms in each of {mcs.compared} molecules"
    svg = await state_of(request)["depictor"].draw_mcs(mcs.substructure, title, query.width, query.height)
    return context.respond(svg.encode("latin-1"))


def _mcs(context: RequestContext, id: int, query: ClusteringFields) -> ClusterMcs:
    return context.collection.mcs(id, context.collection.clusters(query))
