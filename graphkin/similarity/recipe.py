"""Recipes: everything that decides the edges. Presets are recipes with a name; explicit options override them."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.frozen import Frozen

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")


class Recipe(Frozen):
    """What every recipe says, resolved: no field is left to a default that could change (`schema_version`)."""

    schema_version: Literal[1] = 1
    candidates: Literal["exact", "window"] = "exact"
    ties: Literal["hash", "index"] = "hash"  # among equals: by seeded content hash; `index` is the authors' code
    tie_seed: int = 0
    threshold: float
    top_k: Annotated[int, Field(ge=0)] = 70  # 0: no cap

    @model_validator(mode="after")
    def _ties(self) -> Self:
        if self.ties == "index" and self.candidates != "window":
            raise ValueError("ties by index exist only for parity with the authors' window candidates")
        return self


def combined(presets: dict[str, dict[str, Any]], preset: str, explicit: dict[str, Any]) -> dict[str, Any]:
    """A preset's values with every option that is not None put over them. Raises `InvalidInput`."""
    if preset not in presets:
        raise InvalidInput("no such preset", given=preset, expected=f"one of {', '.join(presets)}")
    values = {**presets[preset], **{key: value for key, value in explicit.items() if value is not None}}
    if values.get("candidates") == "exact" and explicit.get("ties") is None:
        values["ties"] = "hash"
    return values


def validated(recipe: type[AnyRecipe], values: dict[str, Any]) -> AnyRecipe:
    """Raises `InvalidInput` with the first thing that is wrong."""
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InvalidInput(f"{where}: {first['msg']}", given=str(first["input"])) from error
