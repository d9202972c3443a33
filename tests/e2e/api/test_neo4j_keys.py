"""Keys that a Neo4j server keeps, at the API over it."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__)


def test_nothing_is_read_without_a_key_that_is_for_it(loaded: Callable[[], str], serve: Callable) -> None:
    folder: dict[str, Any] = runpy.run_path(str(HERE.with_name("test_keys.py")))
    server = loaded()
    with serve(server) as client:
        assert client.get("/v1/collections").status_code == 200
        keys = folder["make_keys"](server)
        folder["answered"](client, None, 401)
        few = ("GET /v1/collections", "GET /v1/collections/{c}/export", "POST /v1/collections/{c}/positives/batch")
        folder["require_refused"](client, keys, {each: folder["NEEDED"][each] for each in few})
