"""A structure somebody asks about, read exactly as the collection's recipe reads its records."""

import json

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.requests import SearchBody
from graphkin.similarity.kind import Query
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe


def read_structure(recipe: Recipe, **structure: str | None) -> Query:
    """Read a structure that is given in exactly one way.

    Molecules: smiles, inchi (10 kB each) or molblock (1 MB), of at most 1,000 atoms. Graphs: graph, as JSON. What is
    compared by fingerprints: fingerprint, in hexadecimal. Of any kind: structure, which is the first of its writings.
    Raises `InvalidInput` with the reason, and `Conflict` where items of this kind are not written so.
    """
    kind = kind_of_recipe(recipe)
    given = [(text, writing) for writing, text in structure.items() if text is not None]
    if len(given) != 1:
        raise InvalidInput(
            "a structure is given in one way",
            given=[writing for _, writing in given],
            expected=f"exactly one of {', '.join(kind.writings)}",
        )
    ((text, writing),) = given
    if writing == "structure":
        writing = kind.writings[0]
    if writing not in kind.writings:
        raise Conflict(
            f"collections of {kind.plural} have no such structures",
            given=writing,
            expected=f"one of {', '.join(kind.writings)}",
        )
    return kind.read(recipe, text, writing)


def read_asked(recipe: Recipe, asked: SearchBody) -> Query:
    """The structure that a search asks for. Raises as `read_structure` does."""
    graph = None if asked.graph is None else asked.graph.model_dump_json(exclude_none=True)
    vector = None if asked.vector is None else json.dumps(asked.vector)
    written = ("smiles", "inchi", "molblock", "fingerprint", "structure")
    given = {writing: getattr(asked, writing) for writing in written}
    return read_structure(recipe, graph=graph, vector=vector, **given)
