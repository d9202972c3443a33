"""POST search/batch: many structures against a whole collection."""

import os
from collections.abc import Generator

import anyio
import pyarrow as pa
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.body import as_body, received
from graphkin.api.gate.given import parsed, validated
from graphkin.api.gate.openapi import parameters, problems, replies
from graphkin.api.gate.reply import ARROW, ROWS
from graphkin.api.gate.route import needing
from graphkin.api.gate.rows import write
from graphkin.api.reading import open_reading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Batching
from graphkin.collection.queries import Answers, Queries, written_each
from graphkin.protocol.replies import SearchRow
from graphkin.protocol.requests import CollectionPath, GenerationQuery, SearchBatchBody
from graphkin.similarity.hits import Matches
from graphkin.store.records import shortest

_PARAMETERS = [*parameters(CollectionPath, "path"), *parameters(GenerationQuery, "query")]
_THREADS = max(1, (os.cpu_count() or 1) // 2)  # the others answer everybody else

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    route_class=needing("read", Batching),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post(
    "/search/batch",
    response_class=Response,
    responses=replies(*ROWS, row=SearchRow),
    openapi_extra={**as_body(SearchBatchBody), "parameters": _PARAMETERS},
)
async def search_batch(request: Request) -> Response:
    """What is most similar to each of many structures, as single searches find it, in the order asked for.

    A structure that cannot be read, or a name that no item has, is a row with an error, and costs no other.
    """
    path = validated(CollectionPath, request.path_params, "path")  # by hand, as for neighbours
    validated(GenerationQuery, dict(request.query_params.multi_items()), "query")
    read = await open_reading(request, path.c, ROWS)
    asked = await run_in_threadpool(parsed, SearchBatchBody, await received(request))
    read.spend(len(asked.structures))
    searched = await run_in_threadpool(read.opened.search)
    written = await run_in_threadpool(written_each, read.generation, asked.structures)
    given = await state_of(request)["structures"].read_each(read.generation, written)
    queries = await run_in_threadpool(Queries.of, searched, given)
    parts = await _all(queries.parts(asked.min_similarity, asked.limit, _THREADS))
    answers = await run_in_threadpool(queries.found, parts)
    rows = await run_in_threadpool(_rows, answers, read.media_type)
    provenance = {"generation": read.generation.id, "min_similarity": asked.min_similarity, "limit": asked.limit}
    return await run_in_threadpool(
        lambda: read.whole(b"".join(write(read.media_type, rows.schema, [rows], provenance)))
    )


async def _all(parts: Generator[Matches]) -> list[Matches]:
    """All of them, unless whoever asked goes away: then nothing is begun any longer."""
    found = list[Matches]()
    try:
        while (part := await run_in_threadpool(next, parts, None)) is not None:
            found.append(part)
    finally:
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(parts.close)
    return found


def _rows(answers: Answers, media_type: str) -> pa.RecordBatch:
    """One a structure. Similarities are float32; in JSON Lines the floats with their shortest texts."""
    hits = answers.hits
    similarity = pa.array(hits.similarity if media_type == ARROW else shortest(hits.similarity))
    structs = pa.StructArray.from_arrays([pa.array(hits.ids), similarity], ["id", "similarity"])
    columns = {
        "index": pa.array(range(len(answers.errors)), pa.int32()),
        "id": answers.ids,
        "error": pa.array(answers.errors, pa.string()),
        "hits": pa.ListArray.from_arrays(answers.offsets, structs),
    }
    return pa.record_batch(columns)
