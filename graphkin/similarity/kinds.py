"""The kinds that there are: ours, and those that installed packages bring.

A package brings one by an entry point of the group `graphkin.kinds` that names its `Kind` class.
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
    """Know this kind from now on, in this process. Raises `Conflict` if its name is another's."""
    known = _KINDS.setdefault(kind.name, cast("Kind[Recipe]", kind))
    if type(known) is not type(kind):
        raise Conflict("there is another kind of this name", given=kind.name, expected="a name of its own")


def kind_of(generation: Generation) -> Kind[Recipe]:
    """The kind of a generation's items. Raises as `kind_named` does."""
    return kind_named(generation.manifest.kind)


def kind_named(name: str) -> Kind[Recipe]:
    """Raises `Conflict` for a kind of items that is not known."""
    if name not in _KINDS:
        raise Conflict("this kind of items is not known here", given=name, expected=f"one of {', '.join(_KINDS)}")
    return _KINDS[name]


def kind_of_recipe(recipe: AnyRecipe) -> Kind[AnyRecipe]:
    """The kind of items that a recipe is for."""
    found = next(kind for kind in _KINDS.values() if kind.recipe_type is type(recipe))
    return cast("Kind[AnyRecipe]", found)


def recipe_of(generation: Generation) -> Recipe:
    """What decided a generation's edges. Raises as `kind_of` does."""
    return kind_of(generation).recipe(generation.manifest.recipe)


register(MoleculeKind())
register(GraphKind())
register(NodeKind())
register(FingerprintKind())
register(VectorKind())
for entry in entry_points(group="graphkin.kinds"):
    register(entry.load()())
