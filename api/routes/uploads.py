"""POST collections, append, remove and previews: requests that change the store, or prepare a change."""

from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.http.access import CALLER, Caller
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import JSON
from graphkin.api.http.route import with_access
from graphkin.api.http.uploads import WriteRoute, form_body, read_form
from graphkin.api.state import state_of
from graphkin.protocol.errors import Conflict, Forbidden, NotFound
from graphkin.protocol.uploads import AppendForm, CollectionForm, JobReference, Preview, PreviewForm, RemoveBody
from graphkin.protocol.values import JobCommand
from graphkin.store.base import require_collection_name

_NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(
    prefix="/v1",
    tags=["uploads"],
    route_class=with_access("write", WriteRoute),
    responses=problems(400, 406, 413, 415, 422, 500, 503),
)


@router.post(
    "/collections",
    status_code=202,
    response_model=JobReference,
    responses=problems(409),
    openapi_extra=form_body(CollectionForm),
)
async def create_collection(request: Request) -> Response:
    """Create a collection from a file of molecules, with the settings of `graphkin ingest molecules`.

    The reply names a job, which publishes the collection.
    """
    with state_of(request)["jobs"].slot() as slot:
        async with read_form(request, CollectionForm) as form:
            require_collection_name(form.name)
            _require_reach(request, form.name)
            await anyio.to_thread.run_sync(_require_new, request, form.name)
            return await _start(request, slot, "ingest", form.name, form)


@router.post(
    "/collections/{c}/append",
    status_code=202,
    response_model=JobReference,
    responses=problems(404, 409),
    openapi_extra=form_body(AppendForm),
)
async def append(request: Request, c: CollectionName) -> Response:
    """Add the items of a file to a collection, as `graphkin append` does.

    The reply names a job, which publishes the new generation.
    """
    await anyio.to_thread.run_sync(_require_collection, request, c)
    with state_of(request)["jobs"].slot() as slot:
        async with read_form(request, AppendForm) as form:
            return await _start(request, slot, "append", c, form)


@router.post(
    "/collections/{c}/remove",
    status_code=202,
    response_model=JobReference,
    responses=problems(404, 409),
    openapi_extra=json_body(RemoveBody),
)
def remove(
    request: Request,
    c: CollectionName,
    body: RemoveBody = Depends(body_dependency(RemoveBody)),  # noqa: B008
) -> Response:
    """Remove items from a collection by their names or SMILES, as `graphkin remove` does.

    The reply names a job, which publishes the new generation. Names and SMILES that match no item are its rejected
    records.
    """
    _require_collection(request, c)
    by, source = ("smiles", "list of SMILES") if body.names is None else ("name", "list of names")
    jobs = state_of(request)["jobs"]
    with jobs.slot() as slot:
        return _accepted(jobs.start(slot, "remove", c, source, {"by": by, "items": body.names or body.smiles}))


@router.post("/previews", response_model=Preview, openapi_extra=form_body(PreviewForm))
async def preview(request: Request) -> Response:
    """Read the first 200 records of a file of molecules, without changing anything.

    The reply has the format, the columns with their types and units, and the records that would be rejected. The file
    shows what the request does not set.
    """
    previews = state_of(request)["previews"]
    async with previews.place() as place, read_form(request, PreviewForm) as form:
        fields, upload = form.model_dump(exclude={"file"}, exclude_none=True), form.file
        reply = await previews.preview(place, upload.file, upload.filename or "", fields)
    return Response(reply.model_dump_json(), headers=_NO_STORE, media_type=JSON)


async def _start(request: Request, slot: int, command: JobCommand, collection: str, form: Any) -> Response:
    arguments, upload = form.model_dump(mode="json", exclude={"file", "name"}), form.file
    id = await anyio.to_thread.run_sync(
        state_of(request)["jobs"].start, slot, command, collection, upload.filename or "", arguments, upload.file
    )
    return _accepted(id)


def _accepted(id: str) -> Response:
    return Response(to_json({"job": id}), 202, {**_NO_STORE, "Location": f"/v1/jobs/{id}"}, JSON)


def _require_collection(request: Request, name: str) -> None:
    """Raise `NotFound` unless there is a collection of this name."""
    state_of(request)["generations"].catalog_entry(name)


def _require_new(request: Request, name: str) -> None:
    """Raise `Conflict` if there is a collection of this name."""
    try:
        _require_collection(request, name)
    except NotFound:
        return
    raise Conflict(
        "there is a collection of this name",
        given=name,
        expected="the name of a new collection",
        hint="choose another name, or append the file to the collection",
    )


def _require_reach(request: Request, name: str) -> None:
    """Raise `Forbidden` if the key of the request is limited to other collections."""
    caller: Caller | None = request.scope.get(CALLER)
    if caller is not None and not caller.key.reaches(name):
        raise Forbidden(
            "this key does not grant access to a collection of this name",
            given=name,
            expected=f"one of {', '.join(caller.key.collections)}",
            hint="choose one of these names, or ask the administrator for another key",
        )
