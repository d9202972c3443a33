"""Query structures, read exactly as the collection's recipe reads its records."""

import json
from collections.abc import Sequence

import numpy as np

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.requests import StructureFields, Substructure
from graphkin.similarity.kind import Query
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation


def read_structure(recipe: Recipe, **structure: str | None) -> Query:
    """Read a structure that is written in exactly one way.

    Args:
        recipe: of the collection.
        **structure: one text by the name of its notation. Molecules: smiles, inchi (10 kB each) or molblock (1 MB), of
            at most 1,000 atoms. Graphs: graph, as JSON. Collections with fingerprints: fingerprint, in hexadecimal.
            Every kind: structure, which is the first notation of the kind.

    Raises:
        InvalidInput: The structure cannot be read, or it is not written in exactly one way.
        Conflict: Items of this kind have no such notation.
    """
    kind = kind_of_recipe(recipe)
    texts = [(text, writing) for writing, text in structure.items() if text is not None]
    if len(texts) != 1:
        raise InvalidInput(
            "a structure is given in one way",
            given=[writing for _, writing in texts],
            expected=f"exactly one of {', '.join(kind.notations)}",
        )
    ((text, writing),) = texts
    if writing == "structure":
        writing = kind.notations[0]
    if writing not in kind.notations:
        raise Conflict(
            f"collections of {kind.plural} have no such structures",
            given=writing,
            expected=f"one of {', '.join(kind.notations)}",
        )
    return kind.read(recipe, text, writing)


def add_name_hint(generation: Generation, error: InvalidInput) -> None:
    """Add to an error about an unreadable structure the item that has this text as its name, if there is one."""
    name = error.given
    if not isinstance(name, str) or not name.strip():
        return
    ids = generation.ids_by_name(name.strip(), limit=1)
    if ids:
        (structure,) = generation.structures(np.array(ids, np.int32))
        command = f"graphkin neighbors --collection {generation.collection} --name {name.strip()!r}"
        error.hint = (
            f"this is the name of item {ids[0]}, whose structure is {structure[:200]}; `{command}` and "
            f"neighbors(name={name.strip()!r}) find it by its name"
        )


def structure_text(request: StructureFields) -> dict[str, str]:
    """Return the structure of a request as the arguments of `read_structure`."""
    graph = None if request.graph is None else request.graph.model_dump_json(exclude_none=True)
    vector = None if request.vector is None else json.dumps(request.vector)
    texts = {way: getattr(request, way) for way in ("smiles", "inchi", "molblock", "fingerprint", "structure")}
    return {way: text for way, text in {**texts, "graph": graph, "vector": vector}.items() if text is not None}


def pattern_arguments(substructure: str | Substructure) -> tuple[str, str]:
    """Return the text of a substructure and its notation: the arguments of `Kind.pattern`."""
    if isinstance(substructure, str):
        return substructure, "smarts"
    ((writing, text),) = substructure.ways().items()
    return text, writing


def require_single_id(
    ids: Sequence[int],
    collection: str,
    *,
    smiles: str | None = None,
    name: str | None = None,
    like: Sequence[str] = (),
) -> int:
    """Return the only id of `ids`.

    Raises:
        NotFound: There is none; the hint suggests the names in `like`.
        InvalidInput: Several items share the name.
    """
    if not ids:
        hint = "names are matched in any case" if smiles is None else "search finds what is similar to any structure"
        suggestion = f"did you mean {', '.join(map(repr, like))}?" if like else hint
        raise NotFound(f"no such item in {collection!r}", given=smiles or name, hint=suggestion)
    if len(ids) > 1:
        raise InvalidInput("several items share this name", given=name, expected=f"an id: one of {[*ids]}")
    return ids[0]


def require_one_identifier(id: int | None, smiles: str | None, name: str | None) -> None:
    """Raise `InvalidInput` unless an item is named in exactly one of these ways."""
    ways = [way for way, value in (("id", id), ("smiles", smiles), ("name", name)) if value is not None]
    if len(ways) != 1:
        named = " and ".join(ways) or "none"
        raise InvalidInput("an item is asked for in one way", given=named, expected="exactly one of id, smiles, name")
