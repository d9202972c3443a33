"""Query structures, standardized by the recipe of the collection, and the identifiers of items."""

import json
from collections.abc import Sequence

import numpy as np

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.requests import StructureFields, Substructure
from graphkin.similarity.kind import Query
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation


def read_structure(recipe: Recipe, **structure: str | None) -> Query:
    """Read a structure in exactly one notation.

    Args:
        recipe: The recipe of the collection.
        **structure: The text of the structure, by the name of its notation. Other notations may be None. Molecules of
            at most 1,000 atoms: smiles or inchi (10 kB each) or molblock (1 MB). Graphs: graph, as JSON. Collections
            with fingerprints: fingerprint, in hexadecimal. Every kind: structure, which stands for the main notation of
            the kind.

    Raises:
        InvalidInput: The structure cannot be read, or does not have exactly one notation.
        Conflict: The kind of the collection does not support the notation.
    """
    kind = kind_of_recipe(recipe)
    texts = [(text, notation) for notation, text in structure.items() if text is not None]
    if len(texts) != 1:
        raise InvalidInput(
            "a query structure must be written in exactly one notation",
            given=", ".join(notation for _, notation in texts) or "none",
            expected=f"exactly one of {', '.join([*kind.notations, 'structure'])}",
            hint="keep one notation and leave the others out" if texts else f"write it as {kind.notations[0]}",
        )
    ((text, notation),) = texts
    if notation == "structure":
        notation = kind.notations[0]
    if notation not in kind.notations:
        raise Conflict(
            f"a collection of {kind.plural} has no structures in this notation",
            given=notation,
            expected=f"one of {', '.join(kind.notations)}",
            hint=f"write the structure as {kind.notations[0]}",
        )
    return kind.read(recipe, text, notation)


def add_name_hint(generation: Generation, error: InvalidInput) -> None:
    """Add a hint to the error of an unreadable structure if its text is the name of an item."""
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
    """Return the keyword arguments of `read_structure` for the structure of a request."""
    graph = None if request.graph is None else request.graph.model_dump_json(exclude_none=True)
    vector = None if request.vector is None else json.dumps(request.vector)
    notations = ("smiles", "inchi", "molblock", "fingerprint", "structure")
    texts = {**{notation: getattr(request, notation) for notation in notations}, "graph": graph, "vector": vector}
    return {notation: text for notation, text in texts.items() if text is not None}


def pattern_arguments(substructure: str | Substructure) -> tuple[str, str]:
    """Return the text and the notation of a substructure, which are the arguments of `Kind.pattern`."""
    if isinstance(substructure, str):
        return substructure, "smarts"
    ((notation, text),) = substructure.by_notation().items()
    return text, notation


def require_single_id(
    ids: Sequence[int],
    collection: str,
    *,
    smiles: str | None = None,
    name: str | None = None,
    similar_names: Sequence[str] = (),
) -> int:
    """Return the id of the item that a request names, if exactly one item matches.

    Args:
        ids: The ids of all matching items.
        collection: The name of the collection, for the error.
        smiles: The SMILES by which the request names the item, or None.
        name: The name by which the request names the item, or None.
        similar_names: Names to suggest if there is no item.

    Raises:
        NotFound: There is no matching item.
        InvalidInput: Several items share the name.
    """
    if not ids:
        hint = (
            "names are compared without regard to case"
            if smiles is None
            else "search finds similar items for any structure"
        )
        suggestion = f"did you mean {', '.join(map(repr, similar_names))}?" if similar_names else hint
        raise NotFound(
            f"collection {collection!r} has no such item",
            given=smiles or name,
            expected="the name or the SMILES of an item",
            hint=suggestion,
        )
    if len(ids) > 1:
        raise InvalidInput(
            "several items have this name",
            given=name,
            expected=f"one of the ids {', '.join(map(str, ids))}",
            hint="select the item by its id",
        )
    return ids[0]


def require_molecules(manifest: Manifest, results: str, hint: str = "open a collection of molecules") -> None:
    """Raise `Conflict` unless the items of a generation are molecules.

    Args:
        manifest: The manifest of the generation.
        results: The results that only molecules have, such as "scaffolds".
        hint: The hint of the error.
    """
    if manifest.structure != "smiles":
        raise Conflict(f"these items have no {results}", given=manifest.kind, expected="molecules", hint=hint)


def require_one_identifier(id: int | None, smiles: str | None, name: str | None) -> None:
    """Check that a request names an item by exactly one of its id, SMILES and name.

    Raises:
        InvalidInput: There is no identifier, or more than one.
    """
    identifiers = [field for field, value in (("id", id), ("smiles", smiles), ("name", name)) if value is not None]
    if len(identifiers) != 1:
        raise InvalidInput(
            "select an item in exactly one way",
            given=" and ".join(identifiers) or "none",
            expected="exactly one of id, smiles, name",
            hint="keep one of id, smiles and name",
        )
