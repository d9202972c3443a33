"""A second reader over a read-only database."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphkin.cli import run
from graphkin.protocol.errors import StoreError
from graphkin.store import open_store


@pytest.mark.long  # The test starts its server twice.
def test_read_only_database_is_read_and_served(
    empty_server: Any,
    nci_store: Path,
    assert_same: Callable[..., None],
    molecules: Any,
    serve: Callable[..., AbstractContextManager[str]],
) -> None:
    assert run(["load", "--store", str(nci_store), "--collection", "nci", "--to", empty_server.url]) == 0
    with empty_server.read_only():
        with (
            open_store(nci_store) as folder,
            open_store(empty_server.url) as store,
            folder.open("nci") as one,
            store.open("nci") as other,
        ):
            assert_same(one, other)
            with pytest.raises(StoreError, match=r"(?i)read.only"):
                molecules.publish(store, "mine")
        with serve(empty_server.url) as url, httpx.Client(base_url=f"{url}/v1/collections/nci", timeout=60) as client:
            assert client.get("/items/5/neighbors").status_code == 200
            assert client.post("/search", json={"smiles": "CCO"}).json()["hits"]
