"""Recipes: the settings that decide the edges. A preset is a named recipe that explicit options override."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.frozen import Frozen

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")


class Recipe(Frozen):
    """The settings common to all recipes, with every default resolved.

    Later versions may change defaults without changing a stored recipe; `schema_version` identifies its format.
    """

    schema_version: Literal[1] = 1
    candidates: Literal["exact", "window"] = "exact"
    ties: Literal["hash", "index"] = (
        "hash"  # order of equal items: by seeded content hash, or by id as in the authors' code
    )
    tie_seed: int = 0
    threshold: float
    top_k: Annotated[int, Field(ge=0)] = 70  # 0: no limit

    @model_validator(mode="after")
    def _ties(self) -> Self:
        if self.ties == "index" and self.candidates != "window":
            raise ValueError("ties by index exist only for parity with the authors' window candidates")
        return self


def override_preset(presets: dict[str, dict[str, Any]], preset: str, explicit: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a preset, overridden by every option that is not None.

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
        InvalidInput: A value is invalid; the error names the first invalid field.
    """
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InvalidInput(f"{field}: {first['msg']}", given=str(first["input"])) from error
