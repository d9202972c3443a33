"""Recipes: all settings that decide the edges of a similarity graph.

A preset is a set of values with a name. Options that the user sets explicitly override its values.
"""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.frozen import Frozen

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")


class Recipe(Frozen):
    """The settings that the recipes of all kinds have in common.

    A stored recipe holds the value of every setting, so later versions can change defaults without changing it.

    Attributes:
        schema_version: Version of the format of stored recipes.
        candidates: Pairs to compare: all ("exact"), or those of the paper's approximate window rule ("window").
        ties: Order of items that are otherwise equal: by content hash, or by id as in the authors' code.
        tie_seed: Seed of the content hash.
        threshold: Lowest similarity τ of an edge.
        top_k: Number of most similar neighbors that each item keeps; 0 for no limit.
    """

    schema_version: Literal[1] = 1
    candidates: Literal["exact", "window"] = "exact"
    ties: Literal["hash", "index"] = "hash"
    tie_seed: int = 0
    threshold: float
    top_k: Annotated[int, Field(ge=0)] = 70

    @model_validator(mode="after")
    def _check_ties(self) -> Self:
        if self.ties == "index" and self.candidates != "window":
            raise ValueError("ties by index exist only for parity with the authors' window candidates")
        return self


def override_preset(presets: dict[str, dict[str, Any]], preset: str, explicit: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a preset, overridden by every explicit option that is not None.

    Args:
        presets: Values by name of the preset.
        preset: Name of the preset.
        explicit: The options by name.

    Raises:
        InvalidInput: There is no preset with this name.
    """
    if preset not in presets:
        raise InvalidInput("no such preset", given=preset, expected=f"one of {', '.join(presets)}")
    values = {**presets[preset], **{key: value for key, value in explicit.items() if value is not None}}
    if values.get("candidates") == "exact" and explicit.get("ties") is None:
        values["ties"] = "hash"
    return values


def validate_recipe(recipe: type[AnyRecipe], values: dict[str, Any]) -> AnyRecipe:
    """Return the recipe with these values.

    Raises:
        InvalidInput: A value is invalid. The error names the first invalid field.
    """
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InvalidInput(f"{field}: {first['msg']}", given=str(first["input"])) from error
