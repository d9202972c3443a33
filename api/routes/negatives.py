"""GET negatives: shared negatives, batch by batch."""

from collections.abc import Iterator
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.reply import ROWS
from graphkin.api.gate.route import needing
from graphkin.api.gate.rows import write
from graphkin.api.reading import RowsReading
from graphkin.api.work.classes import Feeding
from graphkin.protocol.replies import NegativesRow
from graphkin.protocol.requests import NegativesQuery
from graphkin.store.sampling.base import Sampler
from graphkin.store.sampling.rows import negatives_rows, negatives_schema

_BLOCK = 2**20  # ids drawn at a time

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["negatives"],
    route_class=needing("sample", Feeding),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/negatives", response_class=Response, responses=replies(*ROWS, row=NegativesRow))
def negatives(read: RowsReading, query: Annotated[NegativesQuery, Query()]) -> Response:
    """Distinct within a batch, drawn with probability proportional to degree^0.75; items without neighbours never."""
    batches = _batches(read.opened.sampler(), query)
    read.spend(query.batches)
    provenance = {"generation": read.generation.id, "seed": query.seed, "epoch": query.epoch}
    return read.stream(write(read.media_type, negatives_schema(query.count), batches, provenance))


def _batches(sampler: Sampler, query: NegativesQuery) -> Iterator[pa.RecordBatch]:
    end, step = query.first + query.batches, max(1, _BLOCK // query.count)
    for first in range(query.first, end, step):
        ids = sampler.negatives(query.seed, query.epoch, first, min(step, end - first), query.count)
        yield negatives_rows(first, ids)
