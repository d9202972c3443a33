"""Where an extra is not installed."""

import sys

import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.store import open_store


@pytest.mark.parametrize(
    ("extra", "url"), [("neo4j", "neo4j://nowhere"), ("lake", "s3://nowhere/lake"), ("lake", "memory://lake")]
)
def test_without_it_one_is_told_what_to_install(extra: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"graphkin.store.{extra}.store", None)  # as what cannot be imported is marked
    with pytest.raises(InvalidInput, match=f"need the {extra} extra") as refused:
        open_store(url)
    assert refused.value.hint == f"pip install 'graphkin[{extra}]', or '.[{extra}]' in a clone"
