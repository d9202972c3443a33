"""GET items/{id}/depiction.svg: an item drawn, and what it shares with another."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api.openapi import problems, replies
from api.queries import DepictionQuery, ItemId
from api.reading import SvgReading
from api.reply import SVG
from api.state import state_of
from ingest.query import read_structure

router = APIRouter(
    prefix="/v1/collections/{c}", tags=["depiction"], responses=problems(400, 404, 406, 409, 410, 422, 500, 503)
)


@router.get("/items/{id}/depiction.svg", response_class=Response, responses=replies(SVG))
async def depiction(
    request: Request, read: SvgReading, id: ItemId, query: Annotated[DepictionQuery, Query()]
) -> Response:
    """The molecule as SVG. `highlight`: the largest substructure shared with that item, looked for during 2 s."""
    recipe = read.opened.recipe
    ids = [id] if query.highlight is None else [id, query.highlight]
    item, *other = await run_in_threadpool(read.generation.items, ids)
    shared_with = other[0]["smiles"] if other else None
    if query.highlight_smiles is not None:
        text = query.highlight_smiles.replace(" ", "+")
        shared_with = (await run_in_threadpool(read_structure, recipe, smiles=text)).smiles
    svg = await state_of(request)["artist"].draw(
        smiles=item["smiles"] or "",
        title=item["names"][0] if item["names"] else item["smiles"] or "",
        width=query.width,
        height=query.height,
        shared_with=shared_with,
    )
    return read.whole(svg.encode("latin-1"))
