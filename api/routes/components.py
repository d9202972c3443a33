"""GET components and components/{id}: connected components at a threshold, and their splits at higher thresholds."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonContext, RequestContext
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ComponentId
from graphkin.api.http.reply import json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.errors import NotFound
from graphkin.protocol.replies import ComponentReply, ComponentsPage
from graphkin.protocol.requests import ComponentQuery, ComponentsQuery
from graphkin.store.components import Components
from graphkin.store.records import Int32

_MAX_CHILDREN = 1000
_MAX_NAMED = 10  # children whose ids and medoids are in `named`

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["components"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/components", response_model=ComponentsPage)
def components(context: JsonContext, query: Annotated[ComponentsQuery, Query()]) -> Response:
    """The connected components of the similarity graph at a threshold, the largest first, then by id.

    The id of a component is the lowest id of its members. The medoid is the member with the largest sum of stored
    similarities to the other members. `named` holds the items whose ids are component ids or medoids, sorted by id.
    """
    partition = context.collection.components(query.min_similarity)
    ranked, begin = partition.ids_by_size(query.min_size), context.position
    end = begin + query.limit
    page = ranked[begin:end]
    medoids = partition.medoids(page)
    return context.json(
        {
            "total": len(ranked),
            "singletons": partition.singletons,
            "next_cursor": context.cursor_at(end) if end < len(ranked) else None,
        },
        components=json_array(_texts(partition, page, medoids)),
        named=_named(context, page, medoids),
    )


@router.get("/components/{id}", response_model=ComponentReply)
def component(context: JsonContext, id: ComponentId, query: Annotated[ComponentQuery, Query()]) -> Response:
    """One component, its members sorted by id, and the parts into which it splits.

    A component splits if the threshold rises above the smallest similarity that it needs to be connected. `children`
    holds the largest parts, at most 1,000. `named` holds the items whose ids are the component's id, its medoid, or the
    ids and medoids of the 10 largest parts, sorted by id.
    """
    partition = context.collection.components(query.min_similarity)
    if id >= len(partition.label) or partition.label[id] != id:
        raise NotFound(
            f"there is no component {id} at this threshold",
            given=id,
            expected="the id of a component, which is the id of its lowest member",
            hint="list the components at the same min_similarity for their ids",
        )
    members, begin = partition.members(id), context.position
    parts, ids = partition.children(id)
    end = begin + query.limit
    parent, page = np.array([id], np.int32), ids[:_MAX_CHILDREN]
    medoid, medoids = partition.medoids(parent), parts.medoids(page)
    texts = context.open_generation.encode_items(members[begin:end].tolist())
    return context.json(
        {"children_total": len(ids), "next_cursor": context.cursor_at(end) if end < len(members) else None},
        component=b"".join(_texts(partition, parent, medoid)),
        items=json_array(texts),
        children=json_array(_texts(parts, page, medoids)),
        named=_named(context, parent, medoid, page[:_MAX_NAMED], medoids[:_MAX_NAMED]),
    )


def _named(context: RequestContext, *ids: Int32) -> bytes:
    return json_array(context.open_generation.encode_items(np.unique(np.concatenate(ids)).tolist()))


def _texts(partition: Components, ids: Int32, medoids: Int32) -> list[bytes]:
    weakest = partition.weakest[ids]
    texts = [b"null" if np.isinf(each) else text for each, text in zip(weakest, similarity_texts(weakest), strict=True)]
    columns = (ids.tolist(), partition.sizes[ids].tolist(), medoids.tolist(), texts)
    return [b'{"id":%d,"size":%d,"medoid":%d,"similarity":%b}' % row for row in zip(*columns, strict=True)]
