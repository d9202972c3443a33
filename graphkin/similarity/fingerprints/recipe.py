"""Recipes of fingerprints."""

from typing import Annotated, Any, Literal

from pydantic import Field

from graphkin.similarity.packed import MAX_BITS
from graphkin.similarity.recipe import Recipe, validate_recipe


class BitsRecipe(Recipe):
    """Settings for comparing fingerprints by Tanimoto similarity.

    Attributes:
        bits: Number of bits of a fingerprint.
        type: Name of the type of the fingerprints in the file that they come from, such as "RDKit-Morgan/1 radius=2".
    """

    candidates: Literal["exact"] = "exact"
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.4
    bits: Annotated[int, Field(ge=1, le=MAX_BITS)]
    type: Annotated[str, Field(max_length=1000)] = ""


def resolve_bits(**explicit: Any) -> BitsRecipe:
    """Return the default recipe, overridden by every option that is not None.

    Raises:
        InvalidInput: A value is invalid.
    """
    return validate_recipe(BitsRecipe, {key: value for key, value in explicit.items() if value is not None})
