"""Requests of pages from other origins, in a browser that enforces CORS."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

SEND_REQUESTS = """async url => {
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

    def log_message(self, format: str, *arguments: object) -> None:
        """Suppress the log."""


@contextmanager
def serve_empty_page() -> Iterator[str]:
    """Yield an origin that serves an empty page."""
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
    with serve_empty_page() as allowed, serve_empty_page() as other:
        yield allowed, other


def test_only_pages_of_allowed_origins_read_replies(
    browser: Browser, origins: tuple[str, str], store_folder: Path, serve: Callable
) -> None:
    allowed, other = origins
    with serve(store_folder, cors_origins=(allowed,)) as client:
        results = {}
        for origin in origins:
            tab = browser.new_page()
            tab.goto(origin)
            results[origin] = tab.evaluate(SEND_REQUESTS, str(client.base_url))
            tab.close()
        generation = client.get("/v1/collections/chembl").json()["generation"]
    assert results == {allowed: [200, "CCO", generation, 404], other: "TypeError"}
