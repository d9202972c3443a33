"""Every request of the corpus, several at a time, to a real server: whatever is asked, it answers properly and soon."""

import json
import re
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPException
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from graphkin.api.work.structures import MEMORY
from tests.fuzz.conftest import Server
from tests.fuzz.corpus import content, lines
from tests.fuzz.exchange import Reply, converse, exchange
from tests.fuzz.operations import document, operation_of
from tests.fuzz.process import PRIVATE
from tests.fuzz.requests import Request, requests

AT_A_TIME = 4
LEFT_OPEN = 30  # connections on which half a request is left meanwhile
LONGEST = 5.0  # seconds
LONGEST_LAG = 0.25  # seconds
MOST_MEMORY = 400 * 2**20 + AT_A_TIME * MEMORY  # bytes: all that rests, and what so many requests may take

UNDOCUMENTED = {200, 304, 400, 404, 405, 413, 414, 431}
"""Statuses of the page, the gate and the framework."""

BINARY = {"application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"}
PROBLEM = "application/problem+json"
MEMBERS = {"type", "title", "status", "detail", "instance", "given", "expected", "hint"}

Replay = Mapping[str, Reply | Exception]


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[Request]:
    """All the requests that this run is about."""
    cases: list[Any] = [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_request"
    ]
    return cases


@pytest.fixture(scope="module")
def replay(chosen: list[Request], server: Server, known: Mapping[str, str]) -> Replay:
    """What came back for each."""
    return _replayed(chosen, server, known)


def _replayed(chosen: list[Request], server: Server, known: Mapping[str, str]) -> Replay:
    def ask(case: Request) -> Reply | Exception:
        try:
            return exchange(server.address, case.bytes(known), case.method)
        except (OSError, HTTPException) as error:
            return error

    with ExitStack() as meanwhile, ThreadPoolExecutor(AT_A_TIME) as pool:
        for _ in range(LEFT_OPEN):
            meanwhile.enter_context(socket.create_connection(server.address)).sendall(b"GET /livez HTTP/1.1\r\nHost: l")
        return dict(zip([case.id for case in chosen], pool.map(ask, chosen), strict=True))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in requests()])
def test_request(replay: Replay, case: Request, store_folder: object, server: Server, known: Mapping[str, str]) -> None:
    reply = replay[case.id]
    assert isinstance(reply, Reply), f"no reply: {reply!r}"
    assert reply.status in _documented(case), reply.body[:300]
    text = b"" if reply.media_type in BINARY else reply.body
    said = (text.decode("latin-1") + str(reply.headers)).replace(str(store_folder), "/tmp/")
    found = PRIVATE.search(said)
    assert found is None, said[max(0, found.start() - 100) : found.end() + 200]
    _require_form(case, reply)
    if reply.seconds >= LONGEST:  # others on the machine may hold it up once
        reply = exchange(server.address, case.bytes(known), case.method)
    assert reply.seconds < LONGEST


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in lines("exchanges.jsonl")])
def test_bytes_that_are_no_plain_request(server: Server, case: dict[str, Any]) -> None:
    """Cut, pipelined, piecemeal, malformed."""
    expected = case.get("replies")
    received = converse(server.address, map(content, case["sends"]), half_closed=expected is None)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    assert expected is None or statuses == expected, received[:300]
    assert set(statuses) <= {100, 200, 400, 404, 405, 413, 414, 431}, received[:300]
    assert PRIVATE.search(received.decode("latin-1")) is None
    assert server.ask("/livez")[0] == 200


def test_the_server_is_still_there(server: Server, replay: Replay) -> None:
    assert server.alive
    assert server.ask("/livez")[0] == 200
    assert "Traceback" not in server.said()


def test_its_memory_is_bounded(server: Server, replay: Replay) -> None:
    assert server.peak < MOST_MEMORY


def test_its_event_loop_is_never_blocked(
    chosen: list[Request], server: Server, known: Mapping[str, str], replay: Replay
) -> None:
    """As it measures itself. Others on the machine may hold it up once: what does so twice is one of the requests."""
    measured, late = _lags(server)
    assert measured > 0
    if late:
        _replayed(chosen, server, known)
        assert _lags(server)[1] == late


def _lags(server: Server) -> tuple[float, float]:
    """How many were measured, and how many of them were longer than is allowed."""
    metrics = server.ask("/metrics")[1].decode()
    lags = dict(re.findall(r"^graphkin_event_loop_lag_seconds_(\S+) (\S+)$", metrics, re.MULTILINE))
    measured = float(lags["count"])
    return measured, measured - float(lags[f'bucket{{le="{LONGEST_LAG}"}}'])


def _documented(case: Request) -> set[int]:
    """The statuses that this request may be answered with."""
    operation = operation_of("GET" if case.method == "HEAD" else case.method, case.target.partition("?")[0])
    if operation is None:
        return UNDOCUMENTED
    method, path = operation
    return UNDOCUMENTED | {int(status) for status in document()["paths"][path][method.lower()]["responses"]} - {500}


def _require_form(case: Request, reply: Reply) -> None:
    """A reply is what its status and media type say."""
    if reply.status == 503:
        assert int(reply.headers["Retry-After"]) > 0
    if case.method == "HEAD" or reply.status == 304:
        assert reply.body == b""
    elif reply.status >= 400:
        assert reply.media_type == PROBLEM
        problem = json.loads(reply.body)
        assert set(problem) == MEMBERS
        assert problem["status"] == reply.status
        assert problem["detail"]
    elif reply.media_type == "application/json":
        json.loads(reply.body, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    elif reply.media_type == "image/svg+xml":
        fromstring(reply.body)
