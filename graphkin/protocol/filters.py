"""Filters of items, and the order of results."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import MAX_VALUES

Number = Annotated[float, Field(allow_inf_nan=False)]

_CONDITIONS = ("min", "max", "equals", "among", "contains")


class Filter(Frozen):
    """A filter on one property, or on `names`. An item passes if it meets all conditions of the filter.

    An item without a value does not pass. Each condition on `names` must hold for at least one name of the item.
    Texts are compared without regard to case.
    """

    model_config = ConfigDict(strict=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    property: Annotated[
        str,
        Field(
            description="Property, by its column name in exports, a descriptor, an activity, or `names`.",
            examples=["names"],
        ),
    ]
    min: Annotated[Number | None, Field(description="Smallest number that passes.")] = None
    max: Annotated[Number | None, Field(description="Largest number that passes.")] = None
    equals: Annotated[str | Number | None, Field(description="Number or text that the value must equal.")] = None
    among: Annotated[
        list[str | Number] | None,
        Field(
            alias="in",
            max_length=MAX_VALUES,
            fail_fast=True,
            description="Numbers or texts, one of which the value must equal.",
        ),
    ] = None
    contains: Annotated[str | None, Field(description="Text that the value must contain.", examples=["acid"])] = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.conditions():
            raise ValueError("at least one of min, max, equals, in, contains")
        return self

    def conditions(self) -> dict[str, float | str | list[str | float]]:
        """Return the conditions that are set, by field name."""
        return {name: value for name in _CONDITIONS if (value := getattr(self, name)) is not None}


class Sort(Frozen):
    """The order of items.

    Items without a value come last in both directions. Ties are ordered by id. Texts are compared without regard to
    case, except structures and InChIKeys. Names are compared by the first name of each item.
    """

    model_config = ConfigDict(strict=True)

    by: Annotated[
        str,
        Field(
            description="Column to sort by: `id`, a column name in exports, a descriptor, an activity, `degree`, the "
            "number of stored neighbors (unless a property has this name), or `similarity`, if the source of the query "
            "has similarities.",
            examples=["id"],
        ),
    ]
    descending: Annotated[bool, Field(description="Whether to sort in descending order.")] = False
