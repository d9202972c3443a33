"""The registry of kinds of items: the built-in kinds and those of installed packages.

A package adds a kind by declaring an entry point in the group `graphkin.kinds`. The entry point refers to its `Kind`
class.
"""

from importlib.metadata import entry_points
from typing import cast

from graphkin.protocol.errors import Conflict
from graphkin.similarity.fingerprints.kind import FingerprintKind
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.kind import Kind
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.nodes.kind import NodeKind
from graphkin.similarity.recipe import AnyRecipe, Recipe
from graphkin.similarity.vectors.kind import VectorKind
from graphkin.store.base import Generation

_KINDS: dict[str, Kind[Recipe]] = {}


def register(kind: Kind[AnyRecipe]) -> None:
    """Register a kind in this process.

    Raises:
        Conflict: Another kind with this name is registered.
    """
    existing = _KINDS.setdefault(kind.name, cast("Kind[Recipe]", kind))
    if type(existing) is not type(kind):
        raise Conflict(
            "another kind of items is already registered under this name",
            given=kind.name,
            expected="a name that no other kind has",
            hint="rename the kind in the package that registers it as graphkin.kinds",
        )


def kind_of(generation: Generation) -> Kind[Recipe]:
    """Return the kind of a generation's items.

    Raises:
        Conflict: The kind is not registered.
    """
    return kind_named(generation.manifest.kind)


def kind_named(name: str) -> Kind[Recipe]:
    """Return the kind with this name.

    Raises:
        Conflict: No kind with this name is registered.
    """
    if name not in _KINDS:
        raise Conflict(
            "this kind of items is not installed",
            given=name,
            expected=f"one of {', '.join(_KINDS)}",
            hint="install the package that registers this kind",
        )
    return _KINDS[name]


def kind_of_recipe(recipe: AnyRecipe) -> Kind[AnyRecipe]:
    """Return the kind whose recipes have the type of `recipe`."""
    match = next(kind for kind in _KINDS.values() if kind.recipe_type is type(recipe))
    return cast("Kind[AnyRecipe]", match)


def recipe_of(generation: Generation) -> Recipe:
    """Return the recipe of a generation.

    Raises:
        Conflict: The kind of its items is not registered.
    """
    return kind_of(generation).recipe(generation.manifest.recipe)


register(MoleculeKind())
register(GraphKind())
register(NodeKind())
register(FingerprintKind())
register(VectorKind())
for entry in entry_points(group="graphkin.kinds"):
    register(entry.load()())
