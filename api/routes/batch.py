"""POST search/batch: search for many structures."""

import pyarrow as pa
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.http.body import json_body, receive_body
from graphkin.api.http.openapi import parameters, problems, replies
from graphkin.api.http.reply import ARROW, ROWS
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.http.validation import parse_body, validate
from graphkin.api.work.classes import BatchRoute
from graphkin.collection.batches import BatchResult
from graphkin.protocol.replies import SearchRow
from graphkin.protocol.requests import CollectionPath, GenerationQuery, SearchBatchBody
from graphkin.store.records import to_decimal_floats

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(GenerationQuery, "query")]

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=with_access("read", BatchRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post(
    "/search/batch",
    response_class=Response,
    responses=replies(*ROWS, row=SearchRow),
    openapi_extra={**json_body(SearchBatchBody), "parameters": _PARAMETERS},
)
async def search_batch(request: Request) -> Response:
    """Searches for many structures. The rows are in the order of the request, with the same hits as single searches.

    The row of a structure that cannot be read, or of a name that no item has, holds an error.
    """
    # FastAPI's own parsing takes as long as the rest of the request.
    path = validate(CollectionPath, request.path_params, "path")
    validate(GenerationQuery, dict(request.query_params.multi_items()), "query")
    context = await open_context(request, path.c, ROWS)
    batch = await run_in_threadpool(parse_body, SearchBatchBody, await receive_body(request))
    context.spend(len(batch.structures))
    return await context.run(_reply, context, batch)


def _reply(context: RequestContext, batch: SearchBatchBody) -> Response:
    rows = _rows(context.collection.search_batch(batch), context.media_type)
    provenance = {"generation": context.generation.id, "min_similarity": batch.min_similarity, "limit": batch.limit}
    return context.respond(b"".join(encode_rows(context.media_type, rows.schema, [rows], provenance)))


def _rows(result: BatchResult, media_type: str) -> pa.RecordBatch:
    """Return one row per structure.

    Similarities are float32 in Arrow. In JSON Lines they are float64 values with the shortest texts for the float32
    values.
    """
    hits = result.hits
    similarity = pa.array(hits.similarity if media_type == ARROW else to_decimal_floats(hits.similarity))
    structs = pa.StructArray.from_arrays([pa.array(hits.ids), similarity], ["id", "similarity"])
    columns = {
        "index": pa.array(range(len(result.errors)), pa.int32()),
        "id": result.ids,
        "error": pa.array(result.errors, pa.string()),
        "hits": pa.ListArray.from_arrays(result.offsets, structs),
    }
    return pa.record_batch(columns)
