"""GET /v1/collections and GET /v1/collections/{c}: collections and the provenance of their generations."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import reply_by_content
from graphkin.api.http.access import CALLER, Caller
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.protocol.errors import Damage
from graphkin.protocol.replies import CollectionDetail, Collections
from graphkin.protocol.requests import GenerationQuery, NoQuery

router = APIRouter(
    prefix="/v1/collections",
    tags=["collections"],
    route_class=with_access("read"),
    responses=problems(400, 406, 422, 500, 503),
)


@router.get("", response_model=Collections)
def collections(request: Request, _: Annotated[NoQuery, Query()]) -> Response:
    """Every collection with its current generation, by name; of those that the request's key is for."""
    caller: Caller | None = request.scope.get(CALLER)
    summaries = [
        {
            "name": listed.name,
            "kind": listed.kind,
            "generation": listed.current,
            "items": manifest.counts.kept,
            "edges": manifest.edges,
            "published_at": manifest.published_at,
            "damaged": _told(damage),
        }
        for listed, manifest, damage in state_of(request)["generations"].overview()
        if caller is None or caller.key.reaches(listed.name)
    ]
    return reply_by_content(request, to_json({"collections": summaries}))


@router.get("/{c}", response_model=CollectionDetail, responses=problems(404, 410))
def collection(request: Request, c: CollectionName, query: Annotated[GenerationQuery, Query()]) -> Response:
    """One generation's provenance, and the ids of all generations, oldest first."""
    listed, manifest, damage = state_of(request)["generations"].overview_of(c, query.generation)
    kept = state_of(request)["generations"].store.rerun(c, manifest.generation)
    body = {
        "name": c,
        "kind": manifest.kind,
        "generation": manifest.generation,
        "generations": listed.generations,
        "manifest": manifest,
        "rerun": kept and kept.rerun,
        "histograms": manifest.histograms,
        "damaged": _told(damage),
    }
    return reply_by_content(request, to_json(body))


def _told(damage: Damage | None) -> dict[str, str] | None:
    return None if damage is None else {"file": damage.file, "problem": damage.problem}
