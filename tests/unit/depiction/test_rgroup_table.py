"""The picture of an R-group table has a head, a row per molecule, and values on colors."""

from io import BytesIO
from typing import cast
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from PIL import Image

from graphkin.depiction.rgroup_table import MAX_ROWS, draw_rgroup_table
from graphkin.protocol.errors import InvalidInput

CORE = "c1cc([*:2])ccc1[*:1]"
ROWS = pa.table(
    {
        "id": [4, 5, 6, 7],
        "names": [["A-1"], ["β-Ünïcode <i>"], ["x" * 100], []],
        "smiles": ["Fc1ccc(Cl)cc1", "Clc1ccccc1", "Fc1ccc(Br)cc1", "Fc1ccccc1"],
        "core": [CORE] * 4,
        "R1": ["Cl[*:1]", "Cl[*:1]", "Br[*:1]", "[H][*:1]"],
        "R2": ["F[*:2]", None, "F[*:2]", "F[*:2]"],
        "pKi": [5.0, None, 7.0, 6.0],
    }
)
OTHERS = pa.Table.from_pylist([{"id": 1, "names": ["B"], "smiles": "CCO", "core": None, "pKi": 9.0}] * 3)


def picture(table: pa.Table, property: str | None = "pKi") -> Image.Image:
    return Image.open(BytesIO(draw_rgroup_table(table, ["R1", "R2"], property, "png")))


def row_height() -> int:
    return picture(ROWS[:2]).height - picture(ROWS[:1]).height


def test_svg_and_png_have_the_same_size_with_a_band_for_each_molecule() -> None:
    for count in (1, 2, 3, 4):
        svg = ElementTree.fromstring(draw_rgroup_table(ROWS[:count], ["R1", "R2"], "pKi", "svg"))
        image = picture(ROWS[:count])
        assert (svg.get("width"), svg.get("height")) == (f"{image.width}px", f"{image.height}px")
        assert image.height == picture(ROWS[:1]).height + (count - 1) * row_height()
    assert picture(ROWS, property=None).width < image.width


def test_larger_values_have_darker_cells_and_missing_values_have_none() -> None:
    image = picture(ROWS).convert("L")
    corners = [(image.width - 10, number * row_height() + 20) for number in (1, 2, 3, 4)]
    low, missing, high, middle = (cast(int, image.getpixel(corner)) for corner in corners)
    assert low == missing == 255 > middle > high


def test_molecules_without_the_core_are_left_out() -> None:
    both = pa.concat_tables([ROWS, OTHERS], promote_options="default")
    assert picture(both).size == picture(ROWS).size
    assert picture(both).tobytes() != picture(ROWS).tobytes()  # The line under the table counts them.
    with pytest.raises(InvalidInput, match="nothing to draw") as error:
        picture(pa.concat_tables([ROWS[:0], OTHERS], promote_options="default"))
    assert error.value.given == "3 molecules"


def test_equal_values_have_the_color_of_the_smallest() -> None:
    image = picture(pa.concat_tables([ROWS[:1]] * 2)).convert("L")
    assert image.getpixel((image.width - 10, row_height() + 20)) == 255


def test_a_picture_has_at_most_100_molecules() -> None:
    many = pa.concat_tables([ROWS[:1]] * (MAX_ROWS + 20))
    assert picture(many).height == picture(ROWS[:1]).height + (MAX_ROWS - 1) * row_height()


def test_parts_of_aromatic_rings_are_drawn() -> None:
    row = {"id": [1], "names": [["A"]], "smiles": ["Clc1ccccc1"], "core": ["c[*:1]"], "R1": ["c(Cl)ccc(c:[*:1]):[*:1]"]}
    part, nothing = pa.table(row), pa.table({**row, "R1": pa.array([None], pa.string())})
    sizes = [len(draw_rgroup_table(table, ["R1"], None, "svg")) for table in (part, nothing)]
    assert sizes[0] > sizes[1] + 1000
