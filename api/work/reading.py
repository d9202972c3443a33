"""The tasks `read`, `read_each` and `read_search`: structures that somebody asks about, as a recipe reads them."""

import json
from base64 import b64decode, b64encode
from collections.abc import Generator
from typing import Any

import numpy as np

from graphkin.api.gate.given import parsed
from graphkin.api.work import crossing
from graphkin.api.work.worker import at_most
from graphkin.collection.query import read_asked, read_structure
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import SearchBody, Substructure
from graphkin.similarity.kind import Query
from graphkin.similarity.kinds import kind_named


def read(kind: str, recipe: dict[str, Any], **structure: str | None) -> dict[str, Any]:
    """The query, packed. Raises as `read_structure` does."""
    return packed(read_structure(kind_named(kind).recipe(recipe), **structure))


def read_each(
    kind: str, recipe: dict[str, Any], structures: list[dict[str, str]], seconds: float
) -> Generator[bytes, None, None]:
    """Of each structure, when it is read, its query, packed, or the error, packed, that `read` raises. One that takes
    more than so many seconds of a processor ends it."""
    read_as = kind_named(kind).recipe(recipe)
    for structure in structures:
        try:
            with at_most(seconds):
                said = {"query": packed(read_structure(read_as, **structure))}
        except InvalidInput as error:
            said = {"error": crossing.packed(error)}
        yield json.dumps(said).encode()


def read_search(kind: str, recipe: dict[str, Any], body: str) -> dict[str, Any]:
    """The body of a search, whose bytes are the first 256 characters: its query, packed, and what else it says.

    Raises as `read` and `api.gate.given.parsed` do.
    """
    asked = parsed(SearchBody, body.encode("latin-1"))
    query = packed(read_asked(kind_named(kind).recipe(recipe), asked))
    measure = None if asked.measure is None else asked.measure.model_dump()
    filters = [each.model_dump() for each in asked.filters or ()]
    drawn = asked.substructure
    substructure = drawn.model_dump() if isinstance(drawn, Substructure) else drawn
    chosen = {"filters": filters, "substructure": substructure}
    rest = {**chosen, "min_similarity": asked.min_similarity, "limit": asked.limit}
    return {"query": query, "measure": measure, **rest}


def packed(query: Query) -> dict[str, Any]:
    """As JSON can hold it."""
    arrays = [(array.dtype.str, b64encode(array.tobytes()).decode()) for array in query.arrays]
    return {"text": query.text, "smiles": query.smiles, "arrays": arrays}


def unpacked(said: dict[str, Any]) -> Query:
    """The query that was packed."""
    arrays = tuple(np.frombuffer(b64decode(content), type) for type, content in said["arrays"])
    return Query(said["text"], arrays, said["smiles"])
