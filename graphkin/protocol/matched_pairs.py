"""Requests and replies about matched molecular pairs."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromGeneration, NextCursor
from graphkin.protocol.requests import Digits, NextPage, PageQuery, QueryFields
from graphkin.protocol.values import MAX_ID, MAX_LISTED, MAX_PAGE, Change, TransformationOrder

Property = Annotated[str, Field(description="Numeric property, by its column name in exports.", examples=["molwt"])]
MinCount = Annotated[
    int,
    Field(ge=1, le=MAX_ID, description="Smallest number of pairs with a value of the property.", examples=[3]),
    Digits,
]
Pairs = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_LISTED,
        description="Largest number of pairs to list for each transformation. `count` counts all of them.",
        examples=[10],
    ),
    Digits,
]


class MatchedPairsFields(Frozen):
    """The property and the transformations to list."""

    property: Property
    min_count: MinCount = 3
    by: Annotated[
        TransformationOrder,
        Field(
            description="Order: `count` lists the most pairs first, `mean` the largest mean difference.",
            examples=["count"],
        ),
    ] = "count"
    source: Annotated[
        str | None,
        Field(
            alias="from",
            description="List only the transformation of this part, as a reply writes it. It requires `to`.",
            examples=["[*:1][H]"],
        ),
    ] = None
    target: Annotated[
        str | None,
        Field(
            alias="to",
            description="List only the transformation into this part. It requires `from`.",
            examples=["[*:1]F"],
        ),
    ] = None

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.source is None) != (self.target is None):
            raise ValueError("both from and to, or neither")
        return self


class MatchedPairsQuery(MatchedPairsFields, PageQuery):
    """A query for a page of transformations."""

    pairs: Pairs = 10
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Transformations per page."), Digits] = 100


class MatchedPairsBody(MatchedPairsFields, QueryFields):
    """The transformations to list, and a query that both items of a pair must match.

    The source of the query is at most one of similar, neighbors_of and cluster. The default is all items.
    """

    pairs: Pairs = 10
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Transformations per page.")] = 100
    cursor: NextPage = None


class AppliedFields(Frozen):
    """The property, and the transformations to apply to one item."""

    property: Property
    min_count: MinCount = 3
    change: Annotated[
        Change,
        Field(
            description="List transformations that `raise` the property on average, or that `lower` it.",
            examples=["raise"],
        ),
    ] = "raise"


class ItemMatchedPairsQuery(AppliedFields, PageQuery):
    """A query for a page of transformations that can be applied to an item."""

    pairs: Pairs = 10
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Transformations per page."), Digits] = 100


class Transformation(Frozen):
    """An exchange of a part of a molecule, and the change of the property with it.

    `from` and `to` are SMILES with the attachment points `[*:1]` to `[*:3]`, at most 10 heavy atoms each. `count` is
    the number of pairs of items with a value of the property. `mean` and `sd` are the mean and the standard deviation
    of the difference, the value of the second item less that of the first. `sd` is null for one pair. `pairs` lists
    pairs of item ids, the largest difference first.
    """

    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    count: int
    mean: float
    sd: float | None
    pairs: list[tuple[int, int]]


class Uncut(Frozen):
    """Molecules that are not cut, so that they have no pairs.

    `count` is their number, and `ids` are the first 100 of them.
    """

    reason: str
    count: int
    ids: list[int]


class MatchedPairsPage(FromGeneration):
    """A page of transformations.

    Each transformation is listed in the direction in which the mean difference is 0 or more. `total` is the number of
    transformations that meet the conditions. `uncut` lists the molecules that have no pairs because they are not cut.
    """

    transformations: list[Transformation]
    total: int
    uncut: list[Uncut]
    next_cursor: NextCursor


class Product(Frozen):
    """A molecule that a transformation makes of an item.

    `id` is the id of the stored item with this structure, null if there is none.
    """

    smiles: str
    id: int | None


class AppliedTransformation(Transformation):
    """A transformation that can be applied to an item, and the molecules that it makes of the item."""

    products: list[Product]


class ItemMatchedPairsPage(FromGeneration):
    """A page of transformations that can be applied to an item, the largest mean change first.

    `value` is the value of the property of the item, null if it has none. `reason` says why the item is not cut, null
    if it is. `total` is the number of transformations that meet the conditions.
    """

    value: float | None
    reason: str | None
    transformations: list[AppliedTransformation]
    total: int
    next_cursor: NextCursor
