"""POST pick: a diverse subset."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.body import as_body, body_of
from graphkin.api.gate.openapi import problems
from graphkin.api.gate.paths import CollectionName
from graphkin.api.gate.reply import JSON, array, similarity_texts
from graphkin.api.gate.route import needing
from graphkin.api.reading import Reading, open_reading
from graphkin.api.work.classes import Picking
from graphkin.collection.picking import Pick, Picked, Picker
from graphkin.collection.selection import Selected
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.replies import PickReply
from graphkin.protocol.requests import GenerationQuery, PickBody
from graphkin.protocol.values import MAX_COMPARED

_TOGETHER = 1_000_000  # similarities that are computed before it is seen whether anybody still waits

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=needing("read", Picking),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/pick", response_model=PickReply, openapi_extra=as_body(PickBody))
async def pick(
    request: Request,
    c: CollectionName,
    body: Annotated[PickBody, Depends(body_of(PickBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """A diverse subset of a collection, or of what a query finds in it, such as the items with some ids.

    All of them are compared, exactly, so that count x how many there are is at most 1,000,000,000. The same items give
    the same subset, and of a larger count one that begins so.
    """
    read = await open_reading(request, c, (JSON,))
    source = None if body.source is None else await read.query(body.source)
    picker = await run_in_threadpool(_picker, read, body, source)
    picks = picker.picks(body.method, body.threshold, body.count)
    found = await _all(picks, body.count, max(1, _TOGETHER // picker.size))
    return read.json({"ids": found.ids.tolist(), "size": picker.size}, nearest=array(similarity_texts(found.nearest)))


def _picker(read: Reading, body: PickBody, source: Callable[[], Selected] | None) -> Picker:
    among = None if source is None else source().ids
    size = read.generation.size if among is None else len(among)
    if body.count * size > MAX_COMPARED:
        raise InvalidInput(
            "to pick so many of so many takes too long here",
            given=f"{body.count:,} of {size:,}",
            expected=f"count x items at most {MAX_COMPARED:,}",
            hint="pick fewer, or from fewer; `graphkin pick` has no such bound",
        )
    return Picker(read.generation, read.opened.search(), among)


async def _all(picks: Iterator[Pick], count: int, together: int) -> Picked:
    """All of them, unless whoever asked goes away: then no more are picked."""
    found = list[Pick]()
    while part := await run_in_threadpool(lambda: [*islice(picks, together)]):
        found += part
    return Picked.of(iter(found), count)
