"""GET descriptors and GET structure/descriptors: computed columns, and the descriptors of a structure."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonContext
from graphkin.api.http.openapi import problems
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.descriptors import DESCRIPTORS, DescriptorsReply, StructureDescriptorsReply
from graphkin.protocol.requests import GenerationQuery, StructureFields, StructureQuery
from graphkin.store.columns import activities

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["structure"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/descriptors", response_model=DescriptorsReply)
async def descriptors(context: JsonContext, _: Annotated[GenerationQuery, Query()]) -> Response:
    """The computed columns of a collection: molecular descriptors, and activities on a logarithmic scale such as pIC50.

    Filters, orders, `columns` and `property` of all requests accept their names. The first request with a descriptor
    computes all descriptors of all molecules and caches them on the server's machine. If this takes longer than 0.5 s,
    503 reports the progress. Only molecules have descriptors.
    """
    manifest = context.generation.manifest
    has_descriptors = manifest.structure == "smiles"
    return context.json(
        {
            "descriptors": [each.model_dump() for each in DESCRIPTORS.values()] if has_descriptors else [],
            "activities": [each.model_dump() for each in activities(manifest)],
        }
    )


@router.get("/structure/descriptors", response_model=StructureDescriptorsReply)
async def structure_descriptors(context: JsonContext, query: Annotated[StructureQuery, Query()]) -> Response:
    """The descriptors of a structure, standardized as in the collection. It need not be an item.

    `id` is null if the collection has no item with this structure.
    """
    request = StructureFields(smiles=query.smiles, inchi=query.inchi)
    structure, id, values = await context.run(context.collection.structure_descriptors, request)
    return context.json({"smiles": structure.text, "id": id, "descriptors": values})
