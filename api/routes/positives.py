"""GET items/{id}/positives and POST positives/batch: positives of one anchor or of many."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from graphkin.api.context import RowsContext, SampleContext
from graphkin.api.http.body import body_dependency, json_body
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import ROWS, json_array, json_object, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.replies import PositivesReply, PositivesRow
from graphkin.protocol.requests import BatchBody, GenerationQuery, PositivesQuery
from graphkin.store.sampling.base import Positive
from graphkin.store.sampling.rows import positives_provenance, positives_rows

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["positives"],
    route_class=with_access("sample", SearchRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/items/{id}/positives", response_model=PositivesReply)
def positives(context: SampleContext, id: ItemId, query: Annotated[PositivesQuery, Query()]) -> Response:
    """The positives of one anchor, each with the reason for it: its similarity, its visits, and its path."""
    policy = query.to_policy()
    context.name_engine(policy, 1)
    sample = context.collection.explain_positives(id, policy, query.seed, query.epoch)
    texts = context.open_generation.encode_items([positive.id for positive in sample])
    return context.json(
        {
            "anchor": id,
            "policy": policy.model_dump(),
            "seed": query.seed,
            "epoch": query.epoch,
            "isolated": not sample,
        },
        positives=json_array(_explain(*pair) for pair in zip(sample, texts, strict=True)),
    )


def _explain(positive: Positive, item: bytes) -> bytes:
    (similarity,) = [b"null"] if positive.similarity is None else similarity_texts(np.array([positive.similarity]))
    fields = {"direct": positive.direct, "visits": positive.visits, "path": positive.path}
    return json_object(fields, item=item, similarity=similarity)


@router.post(
    "/positives/batch",
    response_class=Response,
    responses={**problems(413, 415), **replies(*ROWS, row=PositivesRow)},
    openapi_extra=json_body(BatchBody),
)
def positives_batch(
    context: RowsContext,
    body: Annotated[BatchBody, Depends(body_dependency(BatchBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The positive sets of many anchors, in the order of the request. They equal those of single requests."""
    policy = body.to_policy()
    anchors = np.array(body.ids, dtype=np.int32)
    context.spend(len(anchors))
    context.name_engine(policy, len(anchors))
    rows = positives_rows(context.collection.positives(anchors, policy, body.seed, body.epoch))
    chunks = encode_rows(
        context.media_type,
        rows.schema,
        [rows],
        positives_provenance(context.generation.id, policy, body.seed, body.epoch),
    )
    return context.respond(b"".join(chunks))
