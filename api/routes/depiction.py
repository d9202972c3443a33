"""GET items/{id}/depiction.svg and GET structure.svg: pictures, and what an item shares with another."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.paths import ItemId
from graphkin.api.gate.reply import SVG
from graphkin.api.gate.route import needing
from graphkin.api.reading import SvgReading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Drawing
from graphkin.protocol.requests import DepictionQuery, StructureDepictionQuery
from graphkin.store.base import Generation

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["depiction"],
    route_class=needing("read", Drawing),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/items/{id}/depiction.svg", response_class=Response, responses=replies(SVG))
async def depiction(
    request: Request, read: SvgReading, id: ItemId, query: Annotated[DepictionQuery, Query()]
) -> Response:
    """A molecule, a small graph, or a summary of a large one, as SVG.

    `highlight` and `highlight_smiles`, for molecules: it lies as that one does in its own picture, unless it is not to
    be `turned`, by the largest substructure that both share, looked for during 2 s. `mark` says what of it is
    highlighted.
    """
    manifest = read.generation.manifest
    ids = [id] if query.highlight is None else [id, query.highlight]
    item, *other = await run_in_threadpool(_rows, read.generation, ids)
    like = other[0][manifest.structure] if other else None
    if query.highlight_smiles is not None:
        like = (await read.structure(smiles=query.highlight_smiles)).text
    svg = await state_of(request)["artist"].draw(
        kind=manifest.kind,
        structure=item[manifest.structure],
        title=item["names"][0] if item["names"] else item[manifest.structure][:100],
        width=query.width,
        height=query.height,
        like=like,
        mark=query.mark,
        turned=query.turned,
    )
    return read.whole(svg.encode("latin-1"))


@router.get("/structure.svg", response_class=Response, responses=replies(SVG))
async def structure_depiction(
    request: Request, read: SvgReading, query: Annotated[StructureDepictionQuery, Query()]
) -> Response:
    """A structure as the collection understands it, drawn."""
    smiles = (await read.structure(smiles=query.smiles, inchi=query.inchi)).text
    svg = await state_of(request)["artist"].draw(
        kind=read.generation.manifest.kind, structure=smiles, title=smiles, width=query.width, height=query.height
    )
    return read.whole(svg.encode("latin-1"))


def _rows(generation: Generation, ids: list[int]) -> list[dict[str, Any]]:
    return [row for batch in generation.scan(np.array(ids, np.int32)) for row in batch.to_pylist()]
