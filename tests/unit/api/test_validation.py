import pytest
from pydantic import BaseModel

from graphkin.api.http.validation import parse_body
from graphkin.protocol.errors import BadRequest, InvalidInput


class Given(BaseModel):
    a: str | list[str]


def test_text_is_read_as_written() -> None:
    assert (
        parse_body(Given, b'{"a": "\\ud83d\\ude00 \xc3\xa9"}').a
        == "\N{GRINNING FACE} \N{LATIN SMALL LETTER E WITH ACUTE}"
    )


def test_a_mark_of_byte_order_does_no_harm() -> None:
    assert parse_body(Given, '\N{ZERO WIDTH NO-BREAK SPACE}{"a": "b"}'.encode()).a == "b"


@pytest.mark.parametrize("body", [b'{"a": "\\ud800"}', b'{"\\udfff": 1}', b'{"a": ["\\ude00\\ud83d"]}'])
def test_lone_surrogates_are_no_text(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a Unicode character"):
        parse_body(Given, body)


@pytest.mark.parametrize(
    "body", [b'{"a": "\\ud8"}', b'{"a": "\xff"}', b"[" * 100_000, b"{", b"nothing", '{"a": "b"}'.encode("utf-16")]
)
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(BadRequest, match="the body is not JSON"):
        parse_body(Given, body)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"a": 1}'])
def test_what_the_model_refuses(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse_body(Given, body)
