"""Filters of items, and the order of results."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import MAX_VALUES

Number = Annotated[float, Field(allow_inf_nan=False)]

_CONDITIONS = ("min", "max", "equals", "among", "contains")


class Filter(Frozen):
    """Conditions on one property, or on `names`, of which one must hold them; what lacks it holds none.

    min, max: numbers from and to here. equals, in: a number or text, or any of several. contains: a part of a text.
    Texts are compared in any case.
    """

    model_config = ConfigDict(strict=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    property: Annotated[str, Field(description="As exports call it.", examples=["names"])]
    min: Number | None = None
    max: Number | None = None
    equals: str | Number | None = None
    among: Annotated[list[str | Number] | None, Field(alias="in", max_length=MAX_VALUES, fail_fast=True)] = None
    contains: Annotated[str | None, Field(examples=["acid"])] = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.conditions():
            raise ValueError("at least one of min, max, equals, in, contains")
        return self

    def conditions(self) -> dict[str, float | str | list[str | float]]:
        """Return the conditions that are set, by field name."""
        return {name: value for name in _CONDITIONS if (value := getattr(self, name)) is not None}


class Sort(Frozen):
    """By `id`, by a column as exports call it, by `degree`, or by `similarity` where items are compared. Texts in any
    case, names by the first; what lacks it comes last, equals by id. `degree` is how many stored neighbours an item
    has, unless a property is called so."""

    model_config = ConfigDict(strict=True)

    by: Annotated[str, Field(examples=["id"])]
    descending: bool = False
