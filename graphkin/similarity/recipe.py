"""Recipes: all settings that decide the edges of a similarity graph.

A preset is a set of values with a name. Options that the user sets explicitly override its values.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.parameters import parameter
from graphkin.protocol.validation import describe, expectation, first_error, next_step, quote

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
            raise ValueError("ties hash, unless candidates are window")
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
        raise InvalidInput(
            "there is no preset of this name",
            given=preset,
            expected=f"one of {', '.join(presets)}",
            hint="choose one of the accepted presets, or leave it out",
        )
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
        first = first_error(error)
        parts = [part for part in first["loc"] if isinstance(part, str)] or ["the options"]
        name = parts[-2] if parts[-1] == "name" and len(parts) > 1 else parts[-1]  # --fingerprint is a name
        raise InvalidInput(
            describe(first, name),
            given=quote(first),
            expected=expectation(first),
            hint=_hint(first, name),
        ) from error


def _hint(error: Mapping[str, Any], name: str) -> str:
    """Return the hint for an invalid option, or for options that do not fit together."""
    is_combination = error["type"] == "value_error" and isinstance(error["input"], Mapping)
    values = error["input"].items() if is_combination else [(name, name)]
    names = [option for option, value in values if isinstance(value, str | int | float) and option != "name"]
    if not error["loc"] and not is_combination:
        return next_step(error, name)
    options = " or ".join(parameter(f"--{option.replace('_', '-')}") for option in names or [name])
    return f"correct {options}"
