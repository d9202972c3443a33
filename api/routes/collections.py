"""GET /v1/collections and GET /v1/collections/{c}: collections and the provenance of their generations."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import respond_by_content
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
    """The collections that the key of the request may read, sorted by name, each with its current generation."""
    caller: Caller | None = request.scope.get(CALLER)  # None if the store never had a key
    summaries = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "generation": entry.current,
            "items": manifest.counts.kept,
            "edges": manifest.edges,
            "published_at": manifest.published_at,
            "damaged": _damage_fields(damage),
        }
        for entry, manifest, damage in state_of(request)["generations"].overview()
        if caller is None or caller.key.reaches(entry.name)
    ]
    may_upload = caller is None or caller.key.allows("write")
    uploads = state_of(request)["jobs"].limits if may_upload else None
    return respond_by_content(request, to_json({"collections": summaries, "uploads": uploads}))


@router.get("/{c}", response_model=CollectionDetail, responses=problems(404, 410))
def collection(request: Request, c: CollectionName, query: Annotated[GenerationQuery, Query()]) -> Response:
    """The provenance of one generation, and the ids of all generations, oldest first."""
    entry, manifest, damage = state_of(request)["generations"].overview_of(c, query.generation)
    rerun_record = state_of(request)["generations"].store.rerun(c, manifest.generation)
    body = {
        "name": c,
        "kind": manifest.kind,
        "generation": manifest.generation,
        "generations": entry.generations,
        "manifest": manifest,
        "rerun": None if rerun_record is None else rerun_record.rerun,
        "histograms": manifest.histograms,
        "damaged": _damage_fields(damage),
    }
    return respond_by_content(request, to_json(body))


def _damage_fields(damage: Damage | None) -> dict[str, str] | None:
    return None if damage is None else {"file": damage.file, "problem": damage.problem}
