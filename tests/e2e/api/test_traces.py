"""Spans as a collector receives them, read with OpenTelemetry's own message types."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from graphkin.api.app import create_app
from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput

URL = "/v1/collections/nci"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def collected_bodies(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Yield the bodies of requests to a collector, whose address is in the environment."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Suppress the log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        try:
            yield bodies
        finally:
            server.shutdown()
            thread.join()


def test_every_request_is_a_span(store_folder: Path, tmp_path: Path, collected_bodies: list[bytes]) -> None:
    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0, telemetry=True)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        client.get(f"{URL}/items/5", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
        client.get(f"{URL}/structure", params={"smiles": "CCCCCCBr"})
        client.get("/nowhere")
    spans: dict[str, Any] = {}
    for body in collected_bodies:
        (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
        assert ("service.name", "graphkin") in {
            (each.key, each.value.string_value) for each in resource.resource.attributes
        }
        spans |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
    route = "/v1/collections/{c}"
    assert set(spans) == {f"GET {route}/items/{{id}}", f"GET {route}/structure", "GET"}
    span_attributes = {
        name: {each.key: each.value.string_value or each.value.int_value for each in span.attributes}
        for name, span in spans.items()
    }
    assert spans[f"GET {route}/items/{{id}}"].trace_id.hex() == TRACE
    assert span_attributes[f"GET {route}/items/{{id}}"]["http.response.status_code"] == 200
    assert span_attributes["GET"]["http.response.status_code"] == 404
    assert span_attributes[f"GET {route}/structure"]["url.query"] == "REDACTED"
    assert not [body for body in collected_bodies if b"Br" in body]


def test_requests_are_not_traced_without_telemetry(
    store_folder: Path, tmp_path: Path, collected_bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastAPI itself would send spans, with queries, if the environment requests them."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        client.get(f"{URL}/structure", params={"smiles": "CCCCCCBr"})
    assert collected_bodies == []


def test_missing_telemetry_extra_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(InvalidInput, match=r"graphkin\[telemetry\]"):
        create_app(Settings(store="unused", telemetry=True))
