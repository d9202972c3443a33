"""Where the neo4j extra is not installed."""

import sys

import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.store import open_store


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphkin.store.neo4j.store", None)  # as what cannot be imported is marked
    with pytest.raises(InvalidInput, match="need the neo4j extra") as refused:
        open_store("neo4j://nowhere")
    assert refused.value.hint == "pip install 'graphkin[neo4j]', or '.[neo4j]' in a clone"
