"""GET map: the map of a whole collection, with a position in the plane for each item."""

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import RequestContext, RowsContext
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.reply import ARROW, ROWS
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.work.classes import QueryRoute
from graphkin.collection.layout import ROWS as MAP_SCHEMA
from graphkin.protocol.errors import Conflict
from graphkin.protocol.replies import MapRow
from graphkin.protocol.requests import MapQuery
from graphkin.protocol.values import MAX_MAPPED
from graphkin.store.records import to_decimal_floats

_BATCH_ROWS = 65_536

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["similarity graph"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/map", response_class=Response, responses=replies(*ROWS, row=MapRow))
async def map(context: RowsContext, query: Annotated[MapQuery, Query()]) -> Response:
    """The position of each item on a map of the collection, sorted by id.

    The map is a layout of the spanning forest of the similarity graph. Items without neighbors lie below it. `property`
    adds a value to each item, and `method` adds its cluster. The first request starts the computation of the map. Until
    the map is ready, 503 reports the progress. Maps are cached on the server's machine.
    """
    if context.generation.size > MAX_MAPPED:
        raise Conflict(
            "the collection has too many items for a map on this server",
            given=f"{context.generation.size:,}",
            expected=f"at most {MAX_MAPPED:,} items",
            hint="compute the map on your machine: `graphkin map`, or the method map of a collection in Python",
        )
    return await context.run(_reply, context, query)


def _reply(context: RequestContext, query: MapQuery) -> Response:
    item_map = context.collection.map(query)
    context.spend(context.generation.size)
    parts = (
        item_map.rows(slice(start, start + _BATCH_ROWS)) for start in range(0, context.generation.size, _BATCH_ROWS)
    )
    batches = parts if context.media_type == ARROW else (_shortest(part) for part in parts)
    schema = MAP_SCHEMA if context.media_type == ARROW else _JSON_SCHEMA
    provenance = {"generation": context.generation.id}
    return context.stream(encode_rows(context.media_type, schema, batches, provenance))


_COORDINATES = ("x", "y")
_JSON_SCHEMA = pa.schema([each.with_type(pa.float64()) if each.name in _COORDINATES else each for each in MAP_SCHEMA])
"""Schema of JSON Lines. Coordinates are float64 values with the shortest texts for the float32 values."""


def _shortest(part: pa.RecordBatch) -> pa.RecordBatch:
    columns = {
        name: to_decimal_floats(part[name].to_numpy()) if name in _COORDINATES else part[name]
        for name in MAP_SCHEMA.names
    }
    return pa.record_batch(columns, schema=_JSON_SCHEMA)
