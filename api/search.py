"""POST search: any structure against a whole collection."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from api.body import require_json
from api.openapi import problems
from api.queries import GenerationQuery, SearchBody
from api.reading import JsonReading
from api.reply import similar_items
from api.schemas import SearchReply

router = APIRouter(
    prefix="/v1/collections/{c}",
    tags=["search"],
    dependencies=[Depends(require_json)],
    responses=problems(400, 404, 406, 409, 410, 413, 415, 422, 500, 503),
)


@router.post("/search", response_model=SearchReply)
def search(read: JsonReading, body: SearchBody, _: Annotated[GenerationQuery, Query()]) -> Response:
    """The most similar items, exactly: the whole collection, whatever the hierarchy's threshold and cap."""
    graph = None if body.graph is None else body.graph.model_dump_json(exclude_none=True)
    query = read.opened.read(smiles=body.smiles, inchi=body.inchi, molblock=body.molblock, graph=graph)
    searched = read.opened.search()
    hits = searched.search(query, body.min_similarity, body.limit)
    texts = read.opened.item_texts(hits.ids.tolist())
    return read.json(
        {"query": {"smiles": query.smiles, "id": searched.stored(query)}, "total": hits.total},
        hits=similar_items(texts, hits.similarity),
    )
