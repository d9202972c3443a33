"""Cursors: what one encodes comes back, and nothing else is one."""

import pytest

from graphkin.api.http.cursor import Cursor, query_key
from graphkin.protocol.errors import BadRequest

CURSOR = Cursor("0f" * 32, b"\x00\xff" * 4, 2**32 - 1)
TEXT = CURSOR.encode()


def test_a_cursor_comes_back() -> None:
    assert Cursor.decode(TEXT) == CURSOR


@pytest.mark.parametrize(
    "text",
    [
        *("", TEXT[:-1], TEXT[:-4], TEXT * 2, TEXT + "AAAA", TEXT + "=", TEXT + "===="),
        *(f" {TEXT}", f"{TEXT}\n", f"{TEXT}\0", f"{TEXT[:9]}!{TEXT[9:]}", f"{TEXT[:9]}\n{TEXT[9:]}"),
        *(TEXT.replace("_", "/"), TEXT + "\ufeff", "ｅ" * len(TEXT), "\ud800"),
    ],
)
def test_nothing_else_is_a_cursor(text: str) -> None:
    with pytest.raises(BadRequest, match="the cursor is malformed"):
        Cursor.decode(text)


PATH = "/v1/collections/nci/items"
KEY = query_key(PATH, [("name", "x"), ("limit", "5")])


@pytest.mark.parametrize(
    "parameters",
    [
        [("name", "x")],
        [("limit", "7"), ("name", "x")],
        [("name", "x"), ("cursor", "anything")],
        [("generation", "0" * 64), ("name", "x"), ("limit", "5")],
    ],
)
def test_pages_of_one_query_share_their_key(parameters: list[tuple[str, str]]) -> None:
    assert query_key(PATH, parameters) == KEY


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        (PATH, []),
        (PATH, [("name", "X")]),
        (PATH, [("smiles", "x")]),
        (PATH, [("name", "x"), ("name", "x")]),
        (PATH, [("name", "x"), ("smiles", "x")]),
        (PATH.replace("nci", "zinc"), [("name", "x")]),
        (f"{PATH}/5/neighbors", [("name", "x")]),
        (f"{PATH}name", [("", "x")]),
    ],
)
def test_another_query_has_another_key(path: str, parameters: list[tuple[str, str]]) -> None:
    assert query_key(path, parameters) != KEY
    assert len(KEY) == len(CURSOR.query)
