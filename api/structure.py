"""GET structure and GET structure.svg: a structure as a collection understands it, whether it holds it or not."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api.openapi import problems, replies
from api.queries import StructureDepictionQuery, StructureQuery
from api.reading import JsonReading, Reading, SvgReading
from api.reply import SVG
from api.schemas import StructureReply
from api.state import state_of

router = APIRouter(
    prefix="/v1/collections/{c}", tags=["structure"], responses=problems(400, 404, 406, 409, 410, 422, 500, 503)
)


@router.get("/structure", response_model=StructureReply)
def structure(read: JsonReading, query: Annotated[StructureQuery, Query()]) -> Response:
    """Canonical SMILES after the collection's own standardisation, and the id of the item if it is stored."""
    smiles = _standardised(read, query)
    stored = read.generation.find("smiles", smiles, limit=1)
    return read.json({"smiles": smiles, "id": stored[0] if stored else None})


@router.get("/structure.svg", response_class=Response, responses=replies(SVG))
async def structure_depiction(
    request: Request, read: SvgReading, query: Annotated[StructureDepictionQuery, Query()]
) -> Response:
    """The structure as it was understood, drawn."""
    smiles = await run_in_threadpool(_standardised, read, query)
    artist = state_of(request)["artist"]
    svg = await artist.draw(
        kind=read.generation.manifest.kind, structure=smiles, title=smiles, width=query.width, height=query.height
    )
    return read.whole(svg.encode("latin-1"))


def _standardised(read: Reading, query: StructureQuery) -> str:
    return read.opened.read(smiles=query.smiles, inchi=query.inchi).text
