"""The kinds that there are."""

from graphkin.protocol.errors import Conflict
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.kind import Kind
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation

_KINDS: dict[str, Kind] = {kind.name: kind for kind in (MoleculeKind(), GraphKind())}
_OF_RECIPES = {kind.recipe_type: kind for kind in _KINDS.values()}


def kind_of(generation: Generation) -> Kind:
    """The kind of a generation's items. Raises as `kind_named` does."""
    return kind_named(generation.manifest.kind)


def kind_named(name: str) -> Kind:
    """Raises `Conflict` for a kind of items that this version does not know."""
    if name not in _KINDS:
        raise Conflict("this kind of items is not known here", given=name, expected=f"one of {', '.join(_KINDS)}")
    return _KINDS[name]


def kind_of_recipe(recipe: Recipe) -> Kind:
    """The kind of items that a recipe is for."""
    return _OF_RECIPES[type(recipe)]


def recipe_of(generation: Generation) -> Recipe:
    """What decided a generation's edges. Raises as `kind_of` does."""
    return kind_of(generation).recipe(generation.manifest.recipe)
