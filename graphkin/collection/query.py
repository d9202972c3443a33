"""A structure somebody asks about, read exactly as the collection's recipe reads its records."""

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


def point_to_name(generation: Generation, error: InvalidInput) -> None:
    """Add to an error about an unreadable structure the item that has this text as its name, if there is one."""
    name = error.given
    if not isinstance(name, str) or not name.strip():
        return
    ids = generation.named(name.strip(), limit=1)
    if ids:
        (structure,) = generation.structures(np.array(ids, np.int32))
        command = f"graphkin neighbors --collection {generation.collection} --name {name.strip()!r}"
        error.hint = (
            f"this is the name of item {ids[0]}, whose structure is {structure[:200]}; `{command}` and "
            f"neighbors(name={name.strip()!r}) find it by its name"
        )


def written(asked: StructureFields) -> dict[str, str]:
    """How a structure is written: as the arguments of `read_structure`."""
    graph = None if asked.graph is None else asked.graph.model_dump_json(exclude_none=True)
    vector = None if asked.vector is None else json.dumps(asked.vector)
    texts = {way: getattr(asked, way) for way in ("smiles", "inchi", "molblock", "fingerprint", "structure")}
    return {way: text for way, text in {**texts, "graph": graph, "vector": vector}.items() if text is not None}


def written_pattern(asked: str | Substructure) -> tuple[str, str]:
    """The text of a substructure and how it is written: as the arguments of `Kind.pattern`."""
    if isinstance(asked, str):
        return asked, "smarts"
    ((writing, text),) = asked.ways().items()
    return text, writing


def the_one(
    found: Sequence[int],
    collection: str,
    *,
    smiles: str | None = None,
    name: str | None = None,
    like: Sequence[str] = (),
) -> int:
    """The only id among `found`. Raises `NotFound`, which suggests names that are `like` it, and `InvalidInput` for a
    name that several items share."""
    if not found:
        hint = "names are matched in any case" if smiles is None else "search finds what is similar to any structure"
        suggested = f"did you mean {', '.join(map(repr, like))}?" if like else hint
        raise NotFound(f"no such item in {collection!r}", given=smiles or name, hint=suggested)
    if len(found) > 1:
        raise InvalidInput("several items share this name", given=name, expected=f"an id: one of {[*found]}")
    return found[0]


def require_one_way(id: int | None, smiles: str | None, name: str | None) -> None:
    """Raise `InvalidInput` unless an item is named in exactly one of these ways."""
    given = [way for way, value in (("id", id), ("smiles", smiles), ("name", name)) if value is not None]
    if len(given) != 1:
        said = " and ".join(given) or "none"
        raise InvalidInput("an item is asked for in one way", given=said, expected="exactly one of id, smiles, name")
