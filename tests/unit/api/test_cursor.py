"""Cursors: what one encodes comes back, and nothing else is one."""

import pytest

from graphkin.api.gate.cursor import Cursor
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
    with pytest.raises(BadRequest, match="not a cursor"):
        Cursor.decode(text)
