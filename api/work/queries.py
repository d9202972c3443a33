"""Tasks `read_query` and `read_queries`: read query structures with the settings of a recipe."""

import json
from base64 import b64decode, b64encode
from collections.abc import Generator
from typing import Any

import numpy as np

from graphkin.api.work import errors
from graphkin.collection.structures import read_structure
from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.workers.worker import cpu_limit
from graphkin.similarity.kind import Query
from graphkin.similarity.kinds import kind_named


def read_query(kind: str, recipe: dict[str, Any], **structure: str | None) -> dict[str, Any]:
    """Read a query structure and return the query packed.

    Args:
        kind: Kind of the items.
        recipe: Recipe of the generation, as JSON.
        structure: One text, by the name of its notation.

    Raises:
        GraphkinError: The errors of `read_structure`.
    """
    return pack_query(read_structure(kind_named(kind).recipe(recipe), **structure))


def read_queries(
    kind: str, recipe: dict[str, Any], structures: list[dict[str, str]], seconds: float
) -> Generator[bytes, None, None]:
    """Yield, for each structure, a JSON object with the packed query or the packed error.

    Args:
        kind: Kind of the items.
        recipe: Recipe of the generation, as JSON.
        structures: Structures, each as one text by the name of its notation.
        seconds: Limit of processor time per structure. A structure that exceeds it ends this process.
    """
    typed_recipe = kind_named(kind).recipe(recipe)
    for structure in structures:
        try:
            with cpu_limit(seconds):
                message = {"query": pack_query(read_structure(typed_recipe, **structure))}
        except InvalidInput as error:
            message = {"error": errors.pack(error)}
        yield json.dumps(message).encode()


def pack_query(query: Query) -> dict[str, Any]:
    """Return a query as a JSON-serializable dict."""
    arrays = [(array.dtype.str, b64encode(array.tobytes()).decode()) for array in query.arrays]
    return {"text": query.text, "smiles": query.smiles, "arrays": arrays}


def unpack_query(message: dict[str, Any]) -> Query:
    """Return the query in a dict that `pack_query` returned."""
    arrays = tuple(np.frombuffer(b64decode(content), type) for type, content in message["arrays"])
    return Query(message["text"], arrays, message["smiles"])
