"""Recipes of vectors."""

from typing import Annotated, Any, Literal

from pydantic import Field

from graphkin.protocol.values import MAX_NUMBERS
from graphkin.similarity.recipe import Recipe, validate_recipe


class VectorRecipe(Recipe):
    """Settings for comparing vectors, with `dimension` numbers each, by their cosine."""

    candidates: Literal["exact"] = "exact"
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    dimension: Annotated[int, Field(ge=1, le=MAX_NUMBERS)]


def resolve_vectors(**explicit: Any) -> VectorRecipe:
    """Return the default recipe, overridden by every option that is not None.

    Raises:
        InvalidInput: A value is invalid.
    """
    return validate_recipe(VectorRecipe, {key: value for key, value in explicit.items() if value is not None})
