"""GET map: a map of a whole collection in the plane."""

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import Reading, RowsReading
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.reply import ARROW, ROWS
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.work.classes import Querying
from graphkin.collection.layout import ROWS as MAP
from graphkin.protocol.errors import Conflict
from graphkin.protocol.replies import MapRow
from graphkin.protocol.requests import MapQuery
from graphkin.protocol.values import MAX_MAPPED
from graphkin.store.records import shortest

_ROWS = 65_536

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["hierarchy"],
    route_class=with_access("read", Querying),
    responses=problems(400, 404, 406, 409, 410, 422, 500, 503),
)


@router.get("/map", response_class=Response, responses=replies(*ROWS, row=MapRow))
async def map(read: RowsReading, query: Annotated[MapQuery, Query()]) -> Response:
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
    return await read.run(_reply, read, query)


def _reply(read: Reading, query: MapQuery) -> Response:
    placed = read.collection.map(query)
    read.spend(read.generation.size)
    parts = (placed.rows(slice(start, start + _ROWS)) for start in range(0, read.generation.size, _ROWS))
    batches = parts if read.media_type == ARROW else (_shortest(part) for part in parts)
    schema = MAP if read.media_type == ARROW else _TEXTS
    provenance = {"generation": read.generation.id}
    return read.stream(encode_rows(read.media_type, schema, batches, provenance))


_PLACES = ("x", "y")
_TEXTS = pa.schema([each.with_type(pa.float64()) if each.name in _PLACES else each for each in MAP])
"""Schema of JSON Lines. Coordinates are the doubles with the shortest texts of the float32 values."""


def _shortest(part: pa.RecordBatch) -> pa.RecordBatch:
    told = {name: shortest(part[name].to_numpy()) if name in _PLACES else part[name] for name in MAP.names}
    return pa.record_batch(told, schema=_TEXTS)
