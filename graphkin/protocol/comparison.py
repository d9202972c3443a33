"""Requests for the comparison of two collections, and the replies."""

from typing import Annotated

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromGeneration, GenerationId, Item, NextCursor, SearchedSimilarity
from graphkin.protocol.requests import Body, NextPage, Similarity
from graphkin.protocol.values import COMPARISON_THRESHOLD, MAX_PAGE, ComparisonOrder, Relation


class ComparisonFields(Body):
    """The other collection, whose items are compared with the collection in the path, and the items to return."""

    other: Annotated[str, Field(description="Name of the other collection.", examples=["nci"])]
    other_generation: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Generation id of the other collection. The default is its current generation.",
            examples=[None],
        ),
    ] = None
    threshold: Annotated[Similarity, Field(description="Lowest similarity of a near duplicate.", examples=[0.7])] = (
        COMPARISON_THRESHOLD
    )
    relation: Annotated[
        Relation | None,
        Field(description="Relation of the items to return. The default is all items.", examples=["novel"]),
    ] = None
    order: Annotated[
        ComparisonOrder,
        Field(description="Order of the items: by id, or by the similarity of their nearest item."),
    ] = "id"


class ComparisonBody(ComparisonFields):
    """A page of a comparison with another collection."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page.")] = 100
    cursor: NextPage = None


class ComparisonRowsBody(ComparisonFields):
    """All rows of a comparison with another collection."""

    structures: Annotated[bool, Field(description="Whether the rows have names and structures.")] = False


class RelationCounts(Frozen):
    """Numbers of items of the other collection by their relation to the collection."""

    identical: int
    near_duplicates: int
    novel: int


class ComparedItem(Frozen):
    """An item of the other collection and the nearest item of the collection.

    `nearest` and `similarity` are null for an item that shares no bit with any item of the collection.
    """

    item: Item
    relation: Relation
    similarity: SearchedSimilarity | None
    nearest: Item | None


class ComparisonPage(FromGeneration):
    """A page of the items of the other collection, compared with the collection.

    `counts` are those of all items of the other collection, and `total` is the number of items that the request
    selects.
    """

    other: str
    other_generation: GenerationId
    threshold: float
    counts: RelationCounts
    rows: list[ComparedItem]
    total: int
    next_cursor: NextCursor


class ComparisonRow(Frozen):
    """An item of the other collection, and the id of the nearest item of the collection.

    The names and the structures are in the rows if the request asks for `structures`. A name is the first name of an
    item.
    """

    id: int
    relation: Relation
    similarity: SearchedSimilarity | None
    nearest: int | None
    name: str | None = None
    smiles: str | None = None
    nearest_name: str | None = None
    nearest_smiles: str | None = None
