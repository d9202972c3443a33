"""GET map: a whole collection in the plane."""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.reply import ARROW, ROWS
from graphkin.api.gate.route import needing
from graphkin.api.gate.rows import write
from graphkin.api.reading import RowsReading
from graphkin.api.state import state_of
from graphkin.api.work.classes import Querying
from graphkin.protocol.errors import Conflict
from graphkin.protocol.replies import MapRow
from graphkin.protocol.requests import ClusteringFields, MapQuery
from graphkin.protocol.values import MAX_MAPPED
from graphkin.similarity.clusters.partition import Clusters
from graphkin.similarity.columns import numeric
from graphkin.similarity.layout import Layout
from graphkin.store.records import Float64, shortest

_ROWS = 65_536

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["hierarchy"],
    route_class=needing("read", Querying),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/map", response_class=Response, responses=replies(*ROWS, row=MapRow))
async def map(request: Request, read: RowsReading, query: Annotated[MapQuery, Query()]) -> Response:
    """Where each item lies on a map of the whole, in id order: the spanning forest of the hierarchy laid out, and below
    it what is alone. With a property its value, with a method its cluster.

    It is computed when it is first asked for: 503 says how far it is. Then it is kept on this machine.
    """
    if read.generation.size > MAX_MAPPED:
        raise Conflict(
            "this collection has too many items for a map here",
            given=f"{read.generation.size:,}",
            expected=f"at most {MAX_MAPPED:,}",
            hint="`map` of graphkin.open has no such bound",
        )
    values = None if query.property is None else await run_in_threadpool(numeric, read.generation, query.property)
    clusters = None
    if query.method is not None:
        asked = ClusteringFields(method=query.method, threshold=query.threshold)
        clusters = (await read.clusters(asked)).found
    found = await state_of(request)["layouts"].get(read.opened)
    read.spend(read.generation.size)
    rows = _rows(found, values, clusters, read.media_type)
    provenance = {"generation": read.generation.id}
    return await run_in_threadpool(
        lambda: read.stream(write(read.media_type, _SCHEMA[read.media_type], rows, provenance))
    )


def _schema(place: pa.DataType) -> pa.Schema:
    return pa.schema([("id", pa.int32()), ("x", place), ("y", place), ("value", pa.float64()), ("cluster", pa.int32())])


_SCHEMA = {media_type: _schema(pa.float32() if media_type == ARROW else pa.float64()) for media_type in ROWS}
"""In JSON Lines places are the doubles with the shortest texts of the float32s."""


def _rows(
    found: Layout, values: Float64 | None, clusters: Clusters | None, media_type: str
) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(found.x), _ROWS):
        part = slice(begin, begin + _ROWS)
        places = (found.x[part], found.y[part])
        length = len(places[0])
        yield pa.record_batch(
            [
                pa.array(np.arange(begin, begin + length, dtype=np.int32)),
                *(pa.array(each if media_type == ARROW else shortest(each)) for each in places),
                pa.nulls(length, pa.float64()) if values is None else pa.array(values[part], from_pandas=True),
                pa.nulls(length, pa.int32()) if clusters is None else pa.array(clusters.label[part] + np.int32(1)),
            ],
            schema=_SCHEMA[media_type],
        )
