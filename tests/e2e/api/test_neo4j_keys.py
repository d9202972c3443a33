"""Keys in a Neo4j store, checked by the API over it."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__)


def test_every_operation_refuses_keys_without_its_access(load_neo4j: Callable[[], str], serve: Callable) -> None:
    folder: dict[str, Any] = runpy.run_path(str(HERE.with_name("test_keys.py")))
    server = load_neo4j()
    with serve(server) as client:
        assert client.get("/v1/collections").status_code == 200
        keys = folder["make_keys"](server)
        folder["wait_for_status"](client, None, 401)
        few = ("GET /v1/collections", "GET /v1/collections/{c}/export", "POST /v1/collections/{c}/positives/batch")
        folder["require_refused"](client, keys, {each: folder["REQUIRED_ACCESS"][each] for each in few})
