"""GET components and components/{id}: connected components at a threshold, and their parts at higher thresholds."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonReading, Reading
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ComponentId
from graphkin.api.http.reply import array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import Searching
from graphkin.protocol.errors import NotFound
from graphkin.protocol.replies import ComponentReply, ComponentsPage
from graphkin.protocol.requests import ComponentQuery, ComponentsQuery
from graphkin.store.components import Components
from graphkin.store.records import Int32

_MOST_CHILDREN = 1000
_NAMED_CHILDREN = 10

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["components"],
    route_class=with_access("read", Searching),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/components", response_model=ComponentsPage)
def components(read: JsonReading, query: Annotated[ComponentsQuery, Query()]) -> Response:
    """The connected components of the hierarchy at a threshold: size descending, then id, which is the lowest member's.

    The medoid is the member with the largest sum of stored similarities inside the component. `named` are the lowest
    members and the medoids, by id.
    """
    found = read.collection.components(query.min_similarity)
    ranked, begin = found.ranked(query.min_size), read.position
    end = begin + query.limit
    shown = ranked[begin:end]
    medoids = found.medoids(shown)
    return read.json(
        {
            "total": len(ranked),
            "singletons": found.singletons,
            "next_cursor": read.cursor_at(end) if end < len(ranked) else None,
        },
        components=array(_texts(found, shown, medoids)),
        named=_named(read, shown, medoids),
    )


@router.get("/components/{id}", response_model=ComponentReply)
def component(read: JsonReading, id: ComponentId, query: Annotated[ComponentQuery, Query()]) -> Response:
    """One component: its members by id, and what it falls into when the threshold rises above its own similarity: the
    1,000 largest parts. `named` are the lowest members and the medoids of it and its 10 largest parts, by id."""
    found = read.collection.components(query.min_similarity)
    if id >= len(found.label) or found.label[id] != id:
        raise NotFound(f"no component {id} at this threshold", given=id, expected="the id of one, its lowest member's")
    members, begin = found.members(id), read.position
    parts, ids = found.children(id)
    end = begin + query.limit
    own, shown = np.array([id], np.int32), ids[:_MOST_CHILDREN]
    medoid, medoids = found.medoids(own), parts.medoids(shown)
    texts = read.open_generation.item_texts(members[begin:end].tolist())
    return read.json(
        {"children_total": len(ids), "next_cursor": read.cursor_at(end) if end < len(members) else None},
        component=b"".join(_texts(found, own, medoid)),
        items=array(texts),
        children=array(_texts(parts, shown, medoids)),
        named=_named(read, own, medoid, shown[:_NAMED_CHILDREN], medoids[:_NAMED_CHILDREN]),
    )


def _named(read: Reading, *ids: Int32) -> bytes:
    return array(read.open_generation.item_texts(np.unique(np.concatenate(ids)).tolist()))


def _texts(found: Components, ids: Int32, medoids: Int32) -> list[bytes]:
    weakest = found.weakest[ids]
    texts = [b"null" if np.isinf(each) else text for each, text in zip(weakest, similarity_texts(weakest), strict=True)]
    columns = (ids.tolist(), found.sizes[ids].tolist(), medoids.tolist(), texts)
    return [b'{"id":%d,"size":%d,"medoid":%d,"similarity":%b}' % row for row in zip(*columns, strict=True)]
