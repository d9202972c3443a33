"""GET positives/epochs/{e}: the positives of all anchors in one epoch."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from graphkin.api.context import RowsContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import EpochInPath
from graphkin.api.http.reply import ARROW, ROWS
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.state import state_of
from graphkin.api.work.classes import FeedRoute
from graphkin.protocol.replies import PositivesRow
from graphkin.protocol.requests import EpochQuery
from graphkin.store.base import id_range
from graphkin.store.sampling.rows import positives_blocks, positives_provenance, positives_schema

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["positives"],
    route_class=with_access("sample", FeedRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/positives/epochs/{e}", response_class=Response, responses=replies(*ROWS, row=PositivesRow))
def positives_epoch(
    request: Request, context: RowsContext, e: EpochInPath, query: Annotated[EpochQuery, Query()]
) -> Response:
    """The positive sets of all anchors in one epoch, sorted by anchor.

    The first request samples and caches them. Until they are ready, the status is 503. A response is complete only if
    it ends with the end of the Arrow stream, or with the line `{"complete":true,"rows":n}`. After a broken connection,
    send the request again with `start` = the last received anchor + 1.
    """
    policy, size = query.to_policy(), context.generation.size
    anchors = id_range(context.generation, query.start, query.stop)
    cache = state_of(request)["positives"]
    sets = cache.get(context.collection.sampler, context.generation.id, size, policy, query.seed, e)
    context.spend(len(anchors))
    context.name_engine(policy, size)
    blocks = positives_blocks(sets, anchors.start, anchors.stop)
    chunks = encode_rows(
        context.media_type,
        positives_schema(policy.k),
        blocks,
        positives_provenance(context.generation.id, policy, query.seed, e),
    )
    if context.media_type != ARROW:
        chunks = _with_end_line(chunks, len(anchors))
    return context.stream(chunks)


def _with_end_line(lines: Iterator[bytes], rows: int) -> Iterator[bytes]:
    yield from lines
    yield to_json({"complete": True, "rows": rows}) + b"\n"
