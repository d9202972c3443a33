"""GET items/{id}/subgraph, GET hops and GET paths: queries of the similarity graph."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from graphkin.api.context import JsonReading
from graphkin.api.http.openapi import problems
from graphkin.api.http.paths import ItemId
from graphkin.api.http.reply import array, similarity_texts
from graphkin.api.http.route import with_access
from graphkin.api.work.classes import Searching
from graphkin.protocol.replies import HopsReply, PathReply, Subgraph
from graphkin.protocol.requests import HopsQuery, PathQuery, SubgraphQuery

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["hierarchy"],
    route_class=with_access("read", Searching),
    responses=problems(400, 404, 406, 410, 422, 500, 503),
)


@router.get("/items/{id}/subgraph", response_model=Subgraph)
def subgraph(read: JsonReading, id: ItemId, query: Annotated[SubgraphQuery, Query()]) -> Response:
    """What lies around an item: nodes by hop, similarity, id; edges among them, most similar first."""
    found = read.collection.subgraph(id, query)
    texts = read.open_generation.item_texts(found.nodes.tolist())
    nodes = zip(texts, found.hop.tolist(), found.hidden.tolist(), strict=True)
    ends = zip(found.edges.source.tolist(), found.edges.target.tolist(), strict=True)
    edges = zip(ends, similarity_texts(found.edges.similarity), strict=True)
    return read.json(
        {"truncated": found.truncated},
        nodes=array(b'{"item":%b,"hop":%d,"hidden":%d}' % node for node in nodes),
        edges=array(b'{"source":%d,"target":%d,"similarity":%b}' % (*pair, text) for pair, text in edges),
    )


@router.get("/hops", response_model=HopsReply, responses=problems(409))
def hops(read: JsonReading, query: Annotated[HopsQuery, Query()]) -> Response:
    """How similar items are that lie so many edges apart: random targets, each with at most 50 items of every hop."""
    return read.json({"hops": [asdict(hop) for hop in read.collection.hops(query)]})


@router.get("/paths", response_model=PathReply)
def path(read: JsonReading, query: Annotated[PathQuery, Query()]) -> Response:
    """The path between two items: fewest edges, then the largest minimum similarity. Null if they are farther apart."""
    found = read.collection.path(query)
    if found is None:
        return read.json({"path": None})
    steps = zip(found.ids.tolist(), [b"null", *similarity_texts(found.similarity)], strict=True)
    return read.json({}, path=array(b'{"id":%d,"similarity":%b}' % step for step in steps))
