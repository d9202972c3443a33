"""The tasks `read` and `read_each`: query structures, as a recipe reads them."""

import json
from base64 import b64decode, b64encode
from collections.abc import Generator
from typing import Any

import numpy as np

from graphkin.api.work import errors
from graphkin.collection.query import read_structure
from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.workers.worker import at_most
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
            said = {"error": errors.packed(error)}
        yield json.dumps(said).encode()


def packed(query: Query) -> dict[str, Any]:
    """As JSON can hold it."""
    arrays = [(array.dtype.str, b64encode(array.tobytes()).decode()) for array in query.arrays]
    return {"text": query.text, "smiles": query.smiles, "arrays": arrays}


def unpacked(said: dict[str, Any]) -> Query:
    """The query that was packed."""
    arrays = tuple(np.frombuffer(b64decode(content), type) for type, content in said["arrays"])
    return Query(said["text"], arrays, said["smiles"])
