"""GET reports and GET reports/{report}.svg: reports of `python -m studies.report` about a generation."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import respond_by_content
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import SVG
from graphkin.api.http.route import with_access
from graphkin.api.http.security import SVG_HEADERS
from graphkin.api.state import state_of
from graphkin.protocol.replies import ReportsReply
from graphkin.protocol.requests import GenerationQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["collections"],
    route_class=with_access("read"),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/reports", response_model=ReportsReply)
def reports(request: Request, c: CollectionName, query: Annotated[GenerationQuery, Query()]) -> Response:
    """The reports of a generation, sorted by name. The list is empty if the server has no folder of reports."""
    id = _generation_id(request, c, query)
    listed = [each.summary() for each in state_of(request)["reports"].for_generation(id)]
    return respond_by_content(request, to_json({"generation": id, "reports": listed}), headers=_headers(id))


@router.get("/reports/{report}.svg", response_class=Response, responses=replies(SVG))
def report_charts(
    request: Request,
    c: CollectionName,
    report: Annotated[str, Path(description="Name of the report.", examples=["hops"])],
    query: Annotated[GenerationQuery, Query()],
) -> Response:
    """The charts of a report."""
    id = _generation_id(request, c, query)
    svg = state_of(request)["reports"].read_svg(id, report)
    return respond_by_content(request, svg, SVG, {**SVG_HEADERS, **_headers(id)})


def _generation_id(request: Request, collection: str, query: GenerationQuery) -> str:
    _, manifest, _ = state_of(request)["generations"].overview_of(collection, query.generation)
    return manifest.generation


def _headers(generation: str) -> dict[str, str]:
    return {"Graphkin-Generation": generation}
