"""Units of columns. The title of a column names its unit, so a unit is set or corrected by another title."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from graphkin.protocol.descriptors import ActivityName, without_unit
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter

ColumnUnit = Literal["mM", "uM", "nM", "pM", "none"]
"""Unit of a column of concentrations; none for a column that has no such unit, although its title looks like it."""

UNIT_PATTERN = rf"^.+=({'|'.join(get_args(ColumnUnit))})$"
"""Pattern of a column and its unit in one text, such as `IC50=nM`."""


def parse_units(texts: Iterable[str]) -> dict[str, ColumnUnit]:
    """Return the units in texts such as `IC50=nM`, by the title of the column.

    Raises:
        InvalidInput: A text has another form or unit.
    """
    units: dict[str, ColumnUnit] = {}
    for text in texts:
        title, _, unit = text.rpartition("=")
        unit = unit.replace("µ", "u").replace("μ", "u")
        if not title or unit not in get_args(ColumnUnit):
            raise InvalidInput(
                "this is not a column and its unit",
                given=text,
                expected=f"COLUMN=UNIT with the unit {', '.join(get_args(ColumnUnit))}",
                hint=f"write {parameter('--unit', 'IC50=nM')}",
            )
        units[title] = unit  # type: ignore[assignment]
    return units


def title_with_unit(title: str, unit: ColumnUnit) -> str:
    """Return the title of a column with another unit in it.

    `IC50` in nM becomes `IC50 (nM)`, and `IC50 nM` in uM becomes `IC50 (uM)`, without a unit `IC50`. A title with this
    unit stays as it is.
    """
    name = ActivityName.from_source(title)
    if unit == ("none" if name is None else name.unit):
        return title
    bare = without_unit(title) or "value"
    return bare if unit == "none" else f"{bare} ({unit})"


def titles_with_units(units: Mapping[str, ColumnUnit]) -> dict[str, str]:
    """Return the new title of each column whose title changes with its unit."""
    titles = {title: title_with_unit(title, unit) for title, unit in units.items()}
    return {title: new_title for title, new_title in titles.items() if title != new_title}
