"""GET jobs, GET jobs/{job}, GET jobs/{job}/rejections and POST jobs/{job}/cancel: jobs that change the store."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.http.access import CALLER, Caller
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.reply import JSON
from graphkin.api.http.route import with_access
from graphkin.api.http.uploads import WriteRoute
from graphkin.api.state import state_of
from graphkin.protocol.errors import Forbidden
from graphkin.protocol.requests import NoQuery
from graphkin.protocol.uploads import Job, Jobs

CSV = "text/csv"

JobId = Annotated[str, Path(description="Id of the job.", examples=["4f1c2a9be07d3358"])]

_NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(
    prefix="/v1/jobs",
    tags=["uploads"],
    route_class=with_access("write", WriteRoute),
    responses=problems(400, 406, 422, 500, 503),
)


@router.get("", response_model=Jobs)
def jobs(request: Request, _: Annotated[NoQuery, Query()]) -> Response:
    """The latest 50 jobs of the store, newest first."""
    caller: Caller | None = request.scope.get(CALLER)
    listed = [job for job in state_of(request)["jobs"].all() if caller is None or caller.key.reaches(job.collection)]
    return Response(to_json({"jobs": listed}), headers=_NO_STORE, media_type=JSON)


@router.get("/{job}", response_model=Job, responses=problems(404))
def job(request: Request, job: JobId) -> Response:
    """The progress of a job, and its result."""
    return _respond(_visible_job(request, job))


@router.get("/{job}/rejections", response_class=Response, responses={**replies(CSV), **problems(404)})
def job_rejections(request: Request, job: JobId) -> Response:
    """The rejected records of a job as CSV, with their lines and the reasons."""
    collection = _visible_job(request, job).collection
    headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="{collection}.rejections.csv"'}
    return Response(state_of(request)["jobs"].rejections(job), headers=headers, media_type=CSV)


@router.post("/{job}/cancel", response_model=Job, responses=problems(404, 409))
def cancel_job(request: Request, job: JobId) -> Response:
    """Stop a job. Unless its generation is being published, nothing changes."""
    _visible_job(request, job)
    return _respond(state_of(request)["jobs"].cancel(job))


def _visible_job(request: Request, id: str) -> Job:
    """Return a job. Raise `Forbidden` if the key of the request is limited to other collections."""
    job = state_of(request)["jobs"].get(id)
    caller: Caller | None = request.scope.get(CALLER)
    if caller is not None and not caller.key.reaches(job.collection):
        raise Forbidden(
            "this key does not grant access to the collection of the job",
            given=id,
            expected=f"a job of {', '.join(caller.key.collections)}",
            hint="GET /v1/jobs lists the jobs that the key can see",
        )
    return job


def _respond(job: Job) -> Response:
    return Response(job.model_dump_json(), headers=_NO_STORE, media_type=JSON)
