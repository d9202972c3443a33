"""GET items/{id}/depiction.svg and GET structure.svg: depictions, alone or compared with another molecule."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import RequestContext, SvgContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import SVG
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import DepictionRoute
from graphkin.collection.structures import pattern_arguments
from graphkin.protocol.requests import DepictionQuery, StructureDepictionQuery, StructureFields
from graphkin.similarity.kind import Pattern
from graphkin.store.base import Generation

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["depiction"],
    route_class=with_access("read", DepictionRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/items/{id}/depiction.svg", response_class=Response, responses=replies(SVG))
async def depiction(
    request: Request, context: SvgContext, id: ItemId, query: Annotated[DepictionQuery, Query()]
) -> Response:
    """A depiction of an item as SVG: a molecule, a small graph, or a summary of a large graph.

    `highlight` and `highlight_smiles` compare a molecule with another one by their largest connected common
    substructure. `turned` aligns the depiction with that of the other molecule. `mark` selects the part that is
    highlighted. A comparison takes at most 2 s. If that is not enough, nothing is highlighted, and the `desc` of the
    depiction says so. `core` aligns a molecule with the core of an R-group table instead, and `substructure` highlights
    the matches of a pattern. Neither takes a comparison.
    """
    item = await run_in_threadpool(_row, context.generation, id)
    structure = item[context.generation.manifest.structure]
    title = item["names"][0] if item["names"] else structure[:100]
    pattern: Pattern | None = None
    if query.substructure is not None:
        text, notation = pattern_arguments(query.substructure)
        pattern = await state_of(request)["substructures"].read(context.generation, text, notation)
    core, bond_length = query.core, query.bond_length
    return await _draw(request, context, query, structure, title, core=core, pattern=pattern, bond_length=bond_length)


@router.get("/structure.svg", response_class=Response, responses=replies(SVG))
async def structure_depiction(
    request: Request, context: SvgContext, query: Annotated[StructureDepictionQuery, Query()]
) -> Response:
    """A depiction of any structure as SVG, standardized as in the collection. It can be compared as an item can.

    `fragment` draws a part of a molecule as it is written. Each `*` atom is drawn as a cut bond, with its atom map
    number if there are several.
    """
    if query.fragment and query.smiles is not None and context.generation.manifest.structure == "smiles":
        smiles = query.smiles  # A part of an aromatic ring is no molecule, so it has no canonical SMILES.
    else:
        smiles = await _canonical(context, StructureFields(smiles=query.smiles, inchi=query.inchi))
    return await _draw(request, context, query, smiles, smiles, is_fragment=query.fragment)


async def _draw(
    request: Request,
    context: RequestContext,
    query: DepictionQuery | StructureDepictionQuery,
    structure: str,
    title: str,
    *,
    core: str | None = None,
    pattern: Pattern | None = None,
    is_fragment: bool = False,
    bond_length: int | None = None,
) -> Response:
    manifest = context.generation.manifest
    reference: str | None = None
    if query.highlight is not None:
        reference = (await run_in_threadpool(_row, context.generation, query.highlight))[manifest.structure]
    if query.highlight_smiles is not None:
        reference = await _canonical(context, StructureFields(smiles=query.highlight_smiles))
    svg = await state_of(request)["depictor"].draw(
        kind=manifest.kind,
        structure=structure,
        title=title,
        width=query.width,
        height=query.height,
        reference=reference,
        mark=query.mark,
        align=query.turned,
        core=core,
        pattern=pattern,
        is_fragment=is_fragment,
        bond_length=bond_length,
    )
    return context.respond(svg.encode("latin-1"))


async def _canonical(context: RequestContext, structure: StructureFields) -> str:
    return (await context.read(structure)).text


def _row(generation: Generation, id: int) -> dict[str, Any]:
    (row,) = [row for batch in generation.scan(np.array([id], np.int32)) for row in batch.to_pylist()]
    return row
