"""Stores whose extra is not installed."""

import sys

import pytest

from graphkin.protocol.errors import InvalidInput, install_hint
from graphkin.store import open_store


@pytest.mark.parametrize(
    ("extra", "url"), [("neo4j", "neo4j://nowhere"), ("lake", "s3://nowhere/lake"), ("lake", "memory://lake")]
)
def test_missing_extra_is_named_in_the_hint(extra: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"graphkin.store.{extra}.store", None)  # None makes the import fail
    with pytest.raises(InvalidInput, match="need the package") as error:
        open_store(url)
    assert error.value.hint == install_hint(extra)
