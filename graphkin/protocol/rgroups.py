"""Request for the R groups of a series, and the reply."""

from typing import Annotated, Literal

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromGeneration, Item
from graphkin.protocol.requests import QueryFields
from graphkin.protocol.values import MAX_PATTERN

CoreSource = Literal["request", "scaffold", "mcs"]
"""Origin of a core: the request, the scaffold that selects the series, or its maximum common substructure."""


class RGroupsBody(QueryFields):
    """A series, and the core that its molecules are compared at.

    The series is the result of a query: a source, conditions that molecules must all meet, and an order. The source is
    at most one of similar, neighbors_of and cluster. The default is all molecules of the collection.
    """

    core: Annotated[
        str | None,
        Field(
            max_length=MAX_PATTERN,
            description="Core as SMILES, or as SMARTS if it is no SMILES. Atoms `*` and `[*:1]` are R positions, and R "
            "groups at other atoms of the core get further positions. The default is the scaffold that selects "
            "the series, or else its maximum common substructure.",
            examples=["c1ccccc1"],
        ),
    ] = None
    property: Annotated[
        str | None,
        Field(description="Numeric property whose value each row has, by its column name in exports.", examples=[None]),
    ] = None
    matrix: Annotated[
        list[str] | None,
        Field(
            min_length=2,
            max_length=2,
            description="Two positions whose R groups are the rows and the columns of the matrix. The default is the "
            "first two positions.",
            examples=[["R1", "R2"]],
        ),
    ] = None


class RGroupRow(Frozen):
    """A molecule of a series: its core and its R groups.

    `core` is the core as SMILES, with `[*:1]` at position R1. `groups` maps each position to its R group, a SMILES with
    the same label; `[H][*:1]` is hydrogen. A group that closes a ring stands at each of its positions. `value` is the
    value of the property, null without a property or a value.
    """

    item: Item
    core: str
    groups: dict[str, str]
    value: float | None


class GroupContribution(Frozen):
    """The contribution of one R group to the property, against the reference group of its position.

    The reference group is the most frequent one: its contribution is 0, without a standard error. `contribution` is
    null if the data do not determine it, because the group occurs only together with certain groups at other positions,
    or if nothing was fitted. `compounds` is the number of fitted molecules with this group.
    """

    position: str
    group: str
    compounds: int
    contribution: float | None
    standard_error: float | None
    is_reference: bool


class FreeWilson(Frozen):
    """A Free-Wilson analysis: the property as a baseline plus one contribution for each R group, by least squares.

    Only molecules with a value are fitted. `problem` is the reason why nothing was fitted, null if there is enough
    data: at least 5 more molecules with a value than independent parameters, two groups at one position or more, and
    at most 500 groups in all. `baseline` is the property of a molecule with the reference groups. `residual_sd` is the
    residual standard deviation, and `r_squared` the share of the variance that the model explains.
    """

    compounds: int
    parameters: int
    problem: str | None
    baseline: float | None
    baseline_error: float | None
    residual_sd: float | None
    r_squared: float | None
    contributions: list[GroupContribution]


class MatrixCell(Frozen):
    """The molecules with one R group at each of two positions: the mean of the property, and how many have a value.

    `row` and `column` are indices of the R groups in the matrix.
    """

    row: int
    column: int
    ids: list[int]
    values: int
    mean: float | None


class GroupMatrix(Frozen):
    """The R groups at two positions, the most frequent first, and their combinations that a molecule has."""

    positions: list[str]
    rows: list[str]
    columns: list[str]
    cells: list[MatrixCell]


class RGroupsReply(FromGeneration):
    """The R groups of a series.

    `core` is the core of most rows, as SMILES with labels. `pattern` is the SMILES or SMARTS that RDKit matched; as
    `core` of another request, it leads to the same positions. `source` says where the pattern comes from. `compared` is
    the number of molecules whose maximum common substructure it is: evenly spaced molecules of the series, at most 100;
    0 for other sources. `complete` is false if the search for that substructure reached its time limit of 2 s,
    so that a larger core may exist.

    `columns` are the positions in order. `rows` are the molecules with the core, in the order of the series.
    `unmatched` are the ids of the molecules that do not contain the core.

    `free_wilson` is null without a property. `matrix` is null if there are fewer than two positions.
    """

    core: str
    pattern: str
    source: CoreSource
    compared: int
    complete: bool
    property: str | None
    columns: list[str]
    rows: list[RGroupRow]
    unmatched: list[int]
    free_wilson: FreeWilson | None
    matrix: GroupMatrix | None
