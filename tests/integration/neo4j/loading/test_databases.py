"""The database of a server by name: in the address of a store, or in the environment."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphkin.cli import run
from graphkin.store.neo4j.connection import DATABASE


def collections(capsys: pytest.CaptureFixture[str], address: str) -> list[str]:
    assert run(["info", "--store", address, "--json"]) == 0
    return [entry["name"] for entry in json.loads(capsys.readouterr().out)["collections"]]


def test_database_in_the_address_wins_over_the_environment(
    empty_server: Any, nci_store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"{empty_server.url}/neo4j"
    assert run(["load", "--store", str(nci_store), "--collection", "nci", "--to", named]) == 0
    capsys.readouterr()
    for address in (named, f"{named}/", empty_server.url):
        assert collections(capsys, address) == ["nci"]
    monkeypatch.setenv(DATABASE, "absent")
    assert collections(capsys, named) == ["nci"]
    assert run(["info", "--store", empty_server.url]) == 3


@pytest.mark.parametrize("variable", [None, "absent"])
def test_unknown_database_is_reported(
    empty_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv(DATABASE, variable)
    address = empty_server.url if variable else f"{empty_server.url}/absent"
    assert run(["info", "--store", address]) == 3
    message = capsys.readouterr().err
    assert "the Neo4j server has no database of this name" in message
    assert "absent" in message
    assert DATABASE in message
