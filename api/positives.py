"""Positives of one anchor, of a batch, and of every anchor of an epoch."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from api.body import require_json
from api.openapi import problems, replies
from api.queries import BatchBody, EpochInPath, EpochQuery, GenerationQuery, ItemId, PositivesQuery
from api.reading import JsonReading, Reading, RowsReading
from api.reply import ARROW, ROWS, array, document, similarity_texts
from api.rows import positives_blocks, positives_rows, positives_schema, write
from api.schemas import PositivesReply, PositivesRow
from api.state import state_of
from store.errors import InvalidInput
from store.sampling.base import Positive
from store.sampling.policy import Policy

router = APIRouter(
    prefix="/v1/collections/{c}", tags=["positives"], responses=problems(400, 404, 406, 410, 422, 500, 503)
)


@router.get("/items/{id}/positives", response_model=PositivesReply)
def positives(read: JsonReading, id: ItemId, query: Annotated[PositivesQuery, Query()]) -> Response:
    """The positives of one anchor, each with the reason why it is one."""
    policy = query.resolved()
    drawn = read.opened.sampler().explain(id, policy, query.seed, query.epoch)
    texts = read.opened.item_texts([positive.id for positive in drawn])
    return read.json(
        {
            "anchor": id,
            "policy": policy.model_dump(),
            "seed": query.seed,
            "epoch": query.epoch,
            "isolated": not drawn,
        },
        positives=array(_explained(*pair) for pair in zip(drawn, texts, strict=True)),
    )


def _explained(positive: Positive, item: bytes) -> bytes:
    (similarity,) = [b"null"] if positive.similarity is None else similarity_texts(np.array([positive.similarity]))
    fields = {"direct": positive.direct, "visits": positive.visits, "path": positive.path}
    return document(fields, item=item, similarity=similarity)


@router.post(
    "/positives/batch",
    response_class=Response,
    dependencies=[Depends(require_json)],
    responses={**problems(413, 415), **replies(*ROWS, row=PositivesRow)},
)
def batch(read: RowsReading, body: BatchBody, _: Annotated[GenerationQuery, Query()]) -> Response:
    """The positives of many anchors, in the order asked for: the same draws as one by one."""
    policy = body.resolved()
    anchors = np.array(body.ids, dtype=np.int32)
    rows = positives_rows(read.opened.sampler().positives(anchors, policy, body.seed, body.epoch))
    chunks = write(read.media_type, rows.schema, [rows], _provenance(read, policy, body.seed, body.epoch))
    return read.whole(b"".join(chunks))


@router.get("/positives/epochs/{e}", response_class=Response, responses=replies(*ROWS, row=PositivesRow))
def epoch(request: Request, read: RowsReading, e: EpochInPath, query: Annotated[EpochQuery, Query()]) -> Response:
    """The positives of all anchors, ascending, from the positive-set cache; 503 while they are being drawn.

    A reply is whole only with its end: the Arrow end of stream, or the line `{"complete":true,"rows":n}`. After a
    cut connection continue with `start` = the last anchor + 1.
    """
    policy, size = query.resolved(), read.generation.size
    start, stop = query.start, size if query.stop is None else query.stop
    if not start <= stop <= size:
        raise InvalidInput("not a range of anchors", given=f"{start} to {stop}", expected=f"0 ≤ start ≤ stop ≤ {size}")
    cache = state_of(request)["positives"]
    sets = cache.get(read.opened.sampler(), read.generation.id, size, policy, query.seed, e)
    blocks = positives_blocks(sets, start, stop)
    chunks = write(read.media_type, positives_schema(policy.k), blocks, _provenance(read, policy, query.seed, e))
    if read.media_type != ARROW:
        chunks = _ended(chunks, stop - start)
    return read.stream(chunks)


def _provenance(read: Reading, policy: Policy, seed: int, epoch: int) -> dict[str, Any]:
    return {"generation": read.generation.id, "policy": policy.model_dump(), "seed": seed, "epoch": epoch}


def _ended(lines: Iterator[bytes], rows: int) -> Iterator[bytes]:
    yield from lines
    yield to_json({"complete": True, "rows": rows}) + b"\n"
