"""GET items/{id}/subgraph, GET hops and GET paths: queries of the similarity graph."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonContext
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import json_array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import SearchRoute
from graphkin.protocol.replies import HopsReply, PathReply, Subgraph
from graphkin.protocol.requests import HopsQuery, PathQuery, SubgraphQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["similarity graph"],
    route_class=with_access("read", SearchRoute),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/items/{id}/subgraph", response_model=Subgraph)
def subgraph(context: JsonContext, id: ItemId, query: Annotated[SubgraphQuery, Query()]) -> Response:
    """The neighborhood of an item: nodes sorted by hop, similarity and id, and their edges, most similar first."""
    result = context.collection.subgraph(id, query)
    texts = context.open_generation.encode_items(result.nodes.tolist())
    nodes = zip(texts, result.hop.tolist(), result.hidden.tolist(), strict=True)
    ends = zip(result.edges.source.tolist(), result.edges.target.tolist(), strict=True)
    edges = zip(ends, similarity_texts(result.edges.similarity), strict=True)
    return context.json(
        {"truncated": result.truncated},
        nodes=json_array(b'{"item":%b,"hop":%d,"hidden":%d}' % node for node in nodes),
        edges=json_array(b'{"source":%d,"target":%d,"similarity":%b}' % (*pair, text) for pair, text in edges),
    )


@router.get("/hops", response_model=HopsReply, responses=problems(409))
def hops(context: JsonContext, query: Annotated[HopsQuery, Query()]) -> Response:
    """The similarity of items as a function of the number of edges between them.

    Random items, the targets, are each compared with at most 50 random items at every distance.
    """
    return context.json({"hops": [asdict(hop) for hop in context.collection.hops(query)]})


@router.get("/paths", response_model=PathReply)
def path(context: JsonContext, query: Annotated[PathQuery, Query()]) -> Response:
    """A shortest path between two items. If there are several, the one with the largest minimum similarity is returned.

    `path` is null if the items are more than `max_hops` edges apart.
    """
    result = context.collection.path(query)
    if result is None:
        return context.json({"path": None})
    steps = zip(result.ids.tolist(), [b"null", *similarity_texts(result.similarity)], strict=True)
    return context.json({}, path=json_array(b'{"id":%d,"similarity":%b}' % step for step in steps))
