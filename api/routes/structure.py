"""GET structure: a structure as the collection standardizes it, and the id of the item with this structure."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonContext
from graphkin.api.http.openapi import problems
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.replies import StructureReply
from graphkin.protocol.requests import StructureFields, StructureQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["structure"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/structure", response_model=StructureReply)
async def structure(context: JsonContext, query: Annotated[StructureQuery, Query()]) -> Response:
    """The canonical SMILES of a structure, standardized as in the collection, and the id of the item with this SMILES.

    `id` is null if the collection has no such item.
    """
    request = StructureFields(smiles=query.smiles, inchi=query.inchi)
    structure, id = await context.run(context.collection.structure, request)
    return context.json({"smiles": structure.text, "id": id})
