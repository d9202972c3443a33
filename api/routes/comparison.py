"""POST compare and POST compare/rows: another collection compared with the collection."""

from itertools import chain
from typing import Annotated

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from graphkin.api.context import RequestContext, open_context
from graphkin.api.generations.open_generation import OpenGeneration
from graphkin.api.http.body import body_dependency, cursor_parameters, json_body
from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import ARROW, JSON, ROWS, json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.http.rows import encode_rows
from graphkin.api.state import state_of
from graphkin.api.work.classes import QueryRoute
from graphkin.collection.open_collection import OpenCollection
from graphkin.protocol.comparison import ComparisonBody, ComparisonFields, ComparisonPage, ComparisonRow
from graphkin.protocol.comparison import ComparisonRowsBody as RowsBody
from graphkin.protocol.requests import GenerationQuery
from graphkin.store.records import to_decimal_floats

_BATCH_ROWS = 65_536

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["comparison"],
    route_class=with_access("read", QueryRoute),
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/compare", response_model=ComparisonPage, openapi_extra=json_body(ComparisonBody))
async def compare(
    request: Request,
    c: CollectionName,
    body: Annotated[ComparisonBody, Depends(body_dependency(ComparisonBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The items of another collection, each with the nearest item of this one and its relation.

    An item is `identical` if this collection has the same structure: the same canonical SMILES, or the same bits in
    collections of fingerprints. It is a `near duplicate` if it is not identical and its nearest item reaches the
    threshold, and `novel` otherwise. Every pair is compared. Both collections need the same kind, fingerprint and
    standardization, and the key needs access to both.

    The first request starts the comparison. Until it is ready, 503 reports the progress. The threshold, the relation
    and the order need no new comparison. Comparisons are cached on the server's machine.
    """
    other = await _open_other(request, body)
    parameters = {**cursor_parameters(body), "other_generation": other.generation.id}
    context = await open_context(request, c, (JSON,), parameters=parameters)
    return await context.run(_page, context, other, body)


@router.post(
    "/compare/rows",
    response_class=Response,
    responses=replies(*ROWS, row=ComparisonRow),
    openapi_extra=json_body(RowsBody),
)
async def compare_rows(
    request: Request,
    c: CollectionName,
    body: Annotated[RowsBody, Depends(body_dependency(RowsBody))],
    _: Annotated[GenerationQuery, Query()],
) -> Response:
    """The rows of a comparison with another collection, as `POST compare`, but without pages.

    The nearest item is an id of this collection. `structures` adds the names and the structures of both items.
    """
    other = await _open_other(request, body)
    context = await open_context(request, c, ROWS)
    return await context.run(_rows, context, other, body)


async def _open_other(request: Request, body: ComparisonFields) -> OpenGeneration:
    """Return the requested generation of the other collection. The key of the request must reach the collection."""
    state = state_of(request)
    state["access_control"].require_collection(request.scope, body.other)
    return await run_in_threadpool(state["generations"].get, body.other, body.other_generation)


def _page(context: RequestContext, other: OpenGeneration, body: ComparisonBody) -> Response:
    comparison, begin = context.collection.compare(other.collection, body), context.position
    total = len(comparison.rows)
    end = min(begin + body.limit, total)
    context.spend(max(0, end - begin))
    rows = comparison.table(begin, end)
    items = other.encode_items(rows["id"].to_pylist())
    nearest_ids = rows["nearest"].to_pylist()
    known = [id for id in nearest_ids if id is not None]
    nearest = dict(zip(known, context.open_generation.encode_items(known), strict=True))
    texts = iter(similarity_texts(rows["similarity"].drop_null().to_numpy()))
    members = (
        b'{"item":%b,"relation":%b,"similarity":%b,"nearest":%b}'
        % (item, to_json(relation), b"null" if id is None else next(texts), b"null" if id is None else nearest[id])
        for item, relation, id in zip(items, rows["relation"].to_pylist(), nearest_ids, strict=True)
    )
    return context.json(
        {
            "other": other.generation.collection,
            "other_generation": other.generation.id,
            "threshold": body.threshold,
            "counts": comparison.counts,
            "total": total,
            "next_cursor": context.cursor_at(end) if end < total else None,
        },
        rows=json_array(members),
    )


def _rows(context: RequestContext, other: OpenGeneration, body: RowsBody) -> Response:
    comparison = context.collection.compare(other.collection, body)
    context.spend(len(comparison.rows))
    provenance = {
        "generation": context.generation.id,
        "other": other.generation.collection,
        "other_generation": other.generation.id,
        "threshold": body.threshold,
    }

    def part(first: int) -> pa.Table:
        rows = comparison.table(first, first + _BATCH_ROWS)
        if body.structures:
            items = _item_columns(other.collection, rows["id"], "")
            nearest = _item_columns(context.collection, rows["nearest"], "nearest_")
            for title, column in {**items, **nearest}.items():
                rows = rows.append_column(title, column)
        if context.media_type != ARROW:
            texts = pa.array(to_decimal_floats(rows["similarity"].to_numpy()), from_pandas=True)
            rows = rows.set_column(rows.schema.get_field_index("similarity"), "similarity", texts)
        return rows

    first = part(0)
    later = (part(start) for start in range(_BATCH_ROWS, len(comparison.rows), _BATCH_ROWS))
    batches = (batch for table in chain([first], later) for batch in table.combine_chunks().to_batches())
    return context.stream(encode_rows(context.media_type, first.schema, batches, provenance))


def _item_columns(collection: OpenCollection, ids: pa.ChunkedArray, prefix: str) -> dict[str, pa.Array]:
    """Return the columns `name`, the first name, and `smiles` of items, with a prefix. A null id gives nulls.

    `smiles` is null for items that are not molecules.
    """
    known, rows = np.unique(ids.fill_null(0).to_numpy(), return_inverse=True)
    has_smiles = collection.generation.manifest.structure == "smiles"
    items = collection.items_of(known.astype(np.int32), ["names", *(["smiles"] if has_smiles else [])])
    names = pa.array([next(iter(each or ()), None) for each in items["names"].to_pylist()], pa.string())
    smiles = items["smiles"].combine_chunks() if has_smiles else pa.nulls(len(known), pa.string())
    taken = pa.array(rows, mask=ids.is_null().to_numpy())
    return {f"{prefix}name": names.take(taken), f"{prefix}smiles": smiles.take(taken)}
