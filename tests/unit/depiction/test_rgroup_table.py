"""The picture of an R-group table has a head, a row per molecule, and values on colors."""

from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree

import pytest
from PIL import Image

from graphkin.depiction.rgroup_table import PictureRow, draw_rgroup_table
from graphkin.protocol.errors import InvalidInput

CORE = "c1cc([*:2])ccc1[*:1]"
ROWS: list[PictureRow] = [
    {"name": "A-1", "smiles": "Fc1ccc(Cl)cc1", "core": CORE, "groups": ["[*:1]Cl", "[*:2]F"], "value": 5.0},
    {"name": "β-Ünïcode <i>", "smiles": "Clc1ccccc1", "core": CORE, "groups": ["[*:1]Cl", "[H][*:2]"], "value": None},
    {"name": "x" * 100, "smiles": "Fc1ccc(Br)cc1", "core": CORE, "groups": ["[*:1]Br", "[*:2]F"], "value": 7.0},
]


def picture(rows: list[PictureRow], property: str | None) -> Image.Image:
    return Image.open(BytesIO(b64decode(draw_rgroup_table(CORE, ["R1", "R2"], rows, property, "note", "png"))))


def test_svg_and_png_have_the_same_size_and_a_band_for_each_row() -> None:
    sizes = []
    for count in (1, 2, 3):
        svg = ElementTree.fromstring(draw_rgroup_table(CORE, ["R1", "R2"], ROWS[:count], "pKi", "note", "svg"))
        image = picture(ROWS[:count], "pKi")
        assert (svg.get("width"), svg.get("height")) == (f"{image.width}px", f"{image.height}px")
        sizes.append(image.size)
    assert sizes[2][1] - sizes[1][1] == sizes[1][1] - sizes[0][1] > 0
    assert picture(ROWS, None).width < sizes[2][0]


def test_larger_values_have_darker_cells_and_missing_values_have_none() -> None:
    image = picture(ROWS, "pKi").convert("L")
    height = image.height - picture(ROWS[:2], "pKi").height
    low, missing, high = (image.getpixel((image.width - 10, number * height + 20)) for number in (1, 2, 3))
    assert low == missing == 255
    assert isinstance(high, int)
    assert high < 200


def test_equal_values_and_no_rows_are_drawn() -> None:
    same: list[PictureRow] = [{**row, "value": 6.0} for row in ROWS]
    assert picture(same, "pKi").size == picture(ROWS, "pKi").size
    assert picture([], "pKi").height < picture(ROWS[:1], "pKi").height


def test_unreadable_core_is_invalid_input() -> None:
    with pytest.raises(InvalidInput):
        draw_rgroup_table("c1", [], [], None, "", "svg")
