"""GET negatives: shared negatives of contrastive learning, one row per batch."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import RowsContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.reply import ROWS
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.work.classes import FeedRoute
from graphkin.protocol.replies import NegativesRow
from graphkin.protocol.requests import NegativesQuery
from graphkin.store.sampling.rows import negatives_schema

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["negatives"],
    route_class=with_access("sample", FeedRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/negatives", response_class=Response, responses=replies(*ROWS, row=NegativesRow))
def negatives(context: RowsContext, query: Annotated[NegativesQuery, Query()]) -> Response:
    """The shared negatives of an epoch, one row per batch.

    The items of a batch are distinct. Items are sampled with a probability proportional to degree^0.75, so items
    without neighbors are never sampled.
    """
    context.spend(query.batches)
    provenance = {"generation": context.generation.id, "seed": query.seed, "epoch": query.epoch}
    batches = context.collection.negatives(query)
    return context.stream(encode_rows(context.media_type, negatives_schema(query.count), batches, provenance))
