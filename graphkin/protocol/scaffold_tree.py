"""Request for the scaffolds of a series as a tree, and the reply."""

from typing import Annotated

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromGeneration, NextCursor, Range
from graphkin.protocol.requests import NextPage, QueryFields
from graphkin.protocol.values import MAX_ID, MAX_PAGE, MAX_PATTERN


class ScaffoldTreeFields(QueryFields):
    """A series, and the part of its scaffold tree to list.

    The series is the result of a query: a source, and conditions that molecules must all meet. Its order does not
    matter. The source is at most one of similar, neighbors_of and cluster. The default is all molecules of the
    collection.
    """

    property: Annotated[
        str | None,
        Field(
            description="Numeric property, by its column name in exports. Its values are summarized for each scaffold.",
            examples=[None],
        ),
    ] = None
    parent: Annotated[
        str | None,
        Field(
            max_length=MAX_PATTERN,
            description="Scaffold as SMILES. Only scaffolds below it are listed. The default is the whole tree.",
            examples=[None],
        ),
    ] = None
    levels: Annotated[
        int | None,
        Field(ge=1, le=MAX_ID, description="Number of levels to list. The default is all levels.", examples=[1]),
    ] = None
    min_count: Annotated[
        int, Field(ge=1, le=MAX_ID, description="Smallest number of molecules in the branch of a scaffold.")
    ] = 1


class ScaffoldTreeBody(ScaffoldTreeFields):
    __doc__ = ScaffoldTreeFields.__doc__  # Classes do not inherit docstrings, and the OpenAPI document shows this one.

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Scaffolds per page.")] = 100
    cursor: NextPage = None


class Scaffold(Frozen):
    """A scaffold in the tree of a series.

    `scaffold` is a SMILES without stereo, empty for molecules without rings. `parent` is the scaffold that remains
    after one ring system and its linker are removed, null for a root. `depth` is the number of scaffolds above it.
    `children` is the number of scaffolds right below it that the request does not exclude by `min_count`.

    `items` is the number of molecules of the series with exactly this scaffold, and `branch_items` their number in the
    branch: the scaffold and all scaffolds below it. `range` and `branch_range` summarize the property of these
    molecules. They are null unless the request names a property.
    """

    scaffold: str
    parent: str | None
    depth: int
    children: int
    items: int
    branch_items: int
    range: Range | None
    branch_range: Range | None


class ScaffoldTreePage(FromGeneration):
    """A page of the scaffold tree of a series.

    Each scaffold is followed by the scaffolds below it. Among the children of one parent, the largest branch comes
    first. `items` is the number of molecules of the series, and `total` the number of scaffolds that match the request.
    """

    items: int
    total: int
    scaffolds: list[Scaffold]
    next_cursor: NextCursor
