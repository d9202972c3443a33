"""POST rgroups: the R groups of a series of molecules."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON, json_array
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.api.work.classes import SeriesRoute
from graphkin.collection.sar.rgroups import RGroups
from graphkin.depiction.rgroup_files import RGROUP_MEDIA_TYPES
from graphkin.protocol.requests import GenerationQuery
from graphkin.protocol.rgroups import RGroupsBody, RGroupsReply

_FORMATS = {media_type: format for format, media_type in RGROUP_MEDIA_TYPES.items()}

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["structure and activity"],
    route_class=with_access("read", SeriesRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post(
    "/rgroups", response_model=RGroupsReply, responses=replies(*_FORMATS), openapi_extra=json_body(RGroupsBody)
)
async def rgroups(
    request: Request,
    c: CollectionName,
    body: Annotated[RGroupsBody, Depends(body_dependency(RGroupsBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The R groups of a series of up to 2,000 molecules: one row for each molecule, one column for each position.

    RDKit's R-group decomposition finds them at the core of the request, at the scaffold of the series, or else at the
    maximum common substructure of the series. Positions that hold hydrogen in all molecules have no column. Molecules
    without the core are listed, too.

    With a property, the reply has the contributions of the R groups to it (Free-Wilson analysis), if there is enough
    data, and the matrix of two positions has the mean of the property for each combination of R groups.

    `Accept` selects JSON, or a file with all molecules: CSV, Parquet, an SD file in which molecules are aligned with
    their core, an Excel workbook that colors the property by value, or a picture of the first 100 molecules with the
    core (SVG, PNG) that shows at most 600 structures.
    """
    context = await open_context(request, c, (*_FORMATS, JSON))
    series = await context.run(context.collection.rgroups, body)
    context.spend(len(series.ids))
    if context.media_type == JSON:
        return await context.run(_reply, context, body, series)
    format = _FORMATS[context.media_type]
    chunks = state_of(request)["exports"].stream(
        context.generation,
        "export_rgroups",
        format=format,
        property=body.property,
        ids=series.ids.tolist(),
        cores=series.cores,
        groups=series.groups,
        unmatched=series.unmatched.tolist(),
    )
    name = f"{context.generation.collection}-{context.generation.id[:12]}-rgroups.{format}"
    return await context.stream_async(chunks, {"Content-Disposition": f'attachment; filename="{name}"'})


def _reply(context: RequestContext, body: RGroupsBody, series: RGroups) -> Response:
    items = context.open_generation.encode_items(series.ids.tolist())
    rows = (b'{"item":%b,%b' % (item, to_json(row)[1:]) for item, row in zip(items, series.rows(), strict=True))
    positions = body.matrix or [*series.groups][:2]
    fields = {
        "core": series.common_core,
        **series.core._asdict(),
        "property": body.property,
        "columns": [*series.groups],
        "unmatched": series.unmatched.tolist(),
        "free_wilson": series.free_wilson(),
        "matrix": series.matrix(*positions) if len(positions) == 2 else None,
    }
    return context.json(fields, rows=json_array(rows))
