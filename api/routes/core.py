"""GET clusters/{id}/core and core.svg: what the members of a cluster have in common."""

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.paths import ClusterId
from graphkin.api.gate.reply import SVG
from graphkin.api.gate.route import needing
from graphkin.api.reading import CorePicture, CoreReading, Reading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Comparing
from graphkin.collection.clusters.core import Core, compared
from graphkin.protocol.errors import NotFound
from graphkin.protocol.replies import CoreReply
from graphkin.protocol.requests import ClusteringFields, CoreDepictionQuery, CoreQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["clusters"],
    route_class=needing("read", Comparing),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/clusters/{id}/core", response_model=CoreReply)
async def core(request: Request, read: CoreReading, id: ClusterId, query: Annotated[CoreQuery, Query()]) -> Response:
    """The largest substructure that the members of a cluster share, looked for during 2 s: of the centre and 99 others,
    evenly by their place, where it has more."""
    found = await _found(request, read, id, query)
    return read.json({"cluster": id, "size": found.size, "compared": found.compared, **found.core._asdict()})


@router.get("/clusters/{id}/core.svg", response_class=Response, responses=replies(SVG))
async def core_depiction(
    request: Request, read: CorePicture, id: ClusterId, query: Annotated[CoreDepictionQuery, Query()]
) -> Response:
    """The same as SVG, open where more hangs on it in the centre."""
    found = await _found(request, read, id, query)
    if found.core.smiles is None:
        raise NotFound("the members of this cluster share nothing, or nothing was found in time", given=id)
    title = f"{found.core.atoms} atoms in each of {found.compared} molecules"
    svg = await state_of(request)["artist"].draw_core(found.core, title, query.width, query.height)
    return read.whole(svg.encode("latin-1"))


class _Found(NamedTuple):
    core: Core
    size: int
    compared: int


async def _found(request: Request, read: Reading, id: int, query: ClusteringFields) -> _Found:
    clusters = (await read.clusters(query)).found
    ids = compared(read.generation, clusters, id - 1)
    smiles = await run_in_threadpool(lambda: [*read.generation.structures(ids)])
    return _Found(await state_of(request)["artist"].core(smiles), len(clusters.members(id - 1)), len(ids))
