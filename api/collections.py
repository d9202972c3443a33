"""GET /v1/collections and GET /v1/collections/{c}: what there is, and how it was made."""

from typing import Annotated, Any

from cachetools import LRUCache, cached
from cachetools.keys import hashkey
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.library import Library
from api.openapi import problems
from api.queries import GenerationQuery, NoQuery
from api.reading import JsonReading
from api.reply import JSON, content_tagged, document, negotiate
from api.schemas import CollectionDetail, Collections
from api.state import state_of
from store.base import Collection

router = APIRouter(prefix="/v1/collections", tags=["collections"], responses=problems(400, 404, 406, 422, 500, 503))
