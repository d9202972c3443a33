"""Pages of other origins, in a browser that keeps to what they may."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

ASK = """async url => {
    try {
        const reply = await fetch(`${url}/v1/collections/chembl/search`, {
            method: "POST", body: '{"smiles": "CCO"}', headers: {"Content-Type": "application/json"},
        });
        const item = await fetch(`${url}/v1/collections/chembl/items/100000`);
        return [reply.status, (await reply.json()).query.smiles, reply.headers.get("graphkin-generation"), item.status];
    } catch (refused) { return refused.name; }
}"""


class Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *given: object) -> None:
        """Nothing."""


@contextmanager
def elsewhere() -> Iterator[str]:
    """An origin that serves an empty page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def origins() -> Iterator[tuple[str, str]]:
    with elsewhere() as named, elsewhere() as other:
        yield named, other


def test_a_page_asks_from_an_origin_that_is_named_and_from_no_other(
    browser: Browser, origins: tuple[str, str], store_folder: Path, serve: Callable
) -> None:
    named, other = origins
    with serve(store_folder, cors_origins=(named,)) as client:
        found = {}
        for origin in origins:
            tab = browser.new_page()
            tab.goto(origin)
            found[origin] = tab.evaluate(ASK, str(client.base_url))
            tab.close()
        generation = client.get("/v1/collections/chembl").json()["generation"]
    assert found == {named: [200, "CCO", generation, 404], other: "TypeError"}
