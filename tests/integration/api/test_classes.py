"""Queues of work, by a server of their own whose work the tests hold up."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graphkin.api.http.access import AccessControl
from graphkin.api.http.errors import HANDLERS
from graphkin.api.http.head import HeadMiddleware
from graphkin.api.http.route import Route
from graphkin.api.work.classes import (
    CLASSES,
    BatchRoute,
    DepictionRoute,
    ExportRoute,
    FeedRoute,
    PickRoute,
    QueryRoute,
    Queue,
    SearchRoute,
    UnqueuedRoute,
    in_work_class,
)
from graphkin.store.keys import NoKeys


class Work:
    """What the routes below are at; all of it waits until `go`."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self.queues = {name: Queue(name) for name in CLASSES}

    async def do(self, name: str) -> Response:
        self.begun.append(name)
        try:
            while not self.go.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.stopped.append(name)
            raise
        return Response(name)

    async def turn_out(self, request: Request, name: str) -> Response:
        async with in_work_class("substructure"):
            return await self.do(name)

    def stream(self, name: str) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            self.begun.append(name)
            try:
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)
            finally:
                self.stopped.append(name)

        return StreamingResponse(pieces())


def application(work: Work) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        yield {"queues": work.queues, "access_control": AccessControl(NoKeys())}

    queued = {
        kind.work: kind
        for kind in (SearchRoute, QueryRoute, BatchRoute, PickRoute, DepictionRoute, FeedRoute, ExportRoute)
    }
    routers = {name: APIRouter(route_class=kind) for name, kind in {"none": Route, **queued}.items()}
    for path, router in routers.items():
        router.add_api_route(f"/{path}/{{name}}", work.do)
    routers["export"].add_api_route("/stream/{name}", work.stream)
    routers["substructure"] = APIRouter(route_class=UnqueuedRoute)
    for router, path in ((routers["substructure"], "/substructure"), (routers["query"], "/query/turns/out")):
        router.add_api_route(f"{path}/{{name}}", work.turn_out)

    return FastAPI(
        lifespan=lifespan,
        routes=[route for router in routers.values() for route in router.routes],
        middleware=[Middleware(HeadMiddleware, allowed_hosts=["127.0.0.1"])],
        exception_handlers=HANDLERS,
    )


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def url(work: Work) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(work), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        work.go.set()
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def asking(url: str, paths: list[str], headers: Mapping[str, str] | None = None) -> Iterator[list[Any]]:
    """Ask them all at once, in threads; gives the replies as they come."""
    replies: list[Any] = []

    def ask(path: str) -> None:
        replies.append(httpx.get(url + path, headers=headers, timeout=60))

    threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    try:
        yield replies
    finally:
        for thread in threads:
            thread.join()


def until(holds: Callable[[], bool]) -> None:
    """Wait for what must come about; the test's own limit ends what does not."""
    pause = threading.Event()
    while not holds():
        pause.wait(0.005)


@pytest.mark.parametrize("name", CLASSES)
def test_so_many_are_worked_on_at_once(url: str, work: Work, name: str) -> None:
    at_once = CLASSES[name].max_running
    asked = {"part": "/export/{}", "comparison": "/drawing/{}?highlight=1"}.get(name, f"/{name}/{{}}")
    headers = {"Range": "bytes=0-9"} if name == "part" else {}
    with asking(url, [asked.format(number) for number in range(at_once + 3)], headers) as replies:
        until(lambda: work.queues[name].waiting == 3)
        assert len(work.begun) == at_once
        work.go.set()
    assert [reply.status_code for reply in replies] == [200] * (at_once + 3)


def test_other_classes_do_not_wait(url: str, work: Work) -> None:
    exports = [f"/export/{number}" for number in range(CLASSES["export"].max_running + 2)]
    comparisons = [f"/drawing/{number}?highlight=1" for number in range(CLASSES["comparison"].max_running + 2)]
    with asking(url, [*exports, *comparisons]):
        until(lambda: work.queues["export"].waiting == work.queues["comparison"].waiting == 2)
        with asking(url, ["/search/a", "/drawing/b", "/feed/c", "/none/d", "/query/e"]):
            until(lambda: {"a", "b", "c", "d", "e"} <= set(work.begun))
            work.go.set()


def test_who_turns_out_to_be_of_another_class_keeps_nobody_of_the_first_waiting(url: str, work: Work) -> None:
    at_once = CLASSES["substructure"].max_running
    with asking(url, [f"/query/turns/out/{number}" for number in range(at_once + CLASSES["query"].max_running)]):
        until(lambda: work.queues["substructure"].waiting == CLASSES["query"].max_running)
        with asking(url, ["/query/a", "/substructure/b"]):
            until(lambda: work.queues["substructure"].waiting == CLASSES["query"].max_running + 1)
            until(lambda: "a" in work.begun)
            assert "b" not in work.begun
            work.go.set()
    assert all(queue.working == queue.waiting == 0 for queue in work.queues.values())


def test_beyond_what_may_wait_one_is_told_to_come_back(url: str, work: Work) -> None:
    limits = CLASSES["export"]
    with asking(url, [f"/export/{number}" for number in range(limits.max_running + limits.max_waiting)]) as replies:
        until(lambda: work.queues["export"].waiting == limits.max_waiting)
        refused = httpx.get(f"{url}/export/more")
        work.go.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, str(limits.retry_after))
    assert refused.headers["content-type"] == "application/problem+json"
    assert [reply.status_code for reply in replies] == [200] * (limits.max_running + limits.max_waiting)
    assert httpx.get(f"{url}/export/more").status_code == 200


def test_who_goes_away_is_no_longer_waited_for(url: str, work: Work) -> None:
    at_once = CLASSES["drawing"].max_running
    with asking(url, [f"/drawing/{number}" for number in range(at_once)]):
        until(lambda: len(work.begun) == at_once)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{url}/drawing/gone", timeout=0.2)
        until(lambda: work.queues["drawing"].waiting == 0)
        work.go.set()
    assert httpx.get(f"{url}/drawing/last").text == "last"
    assert "gone" not in work.begun


@pytest.mark.parametrize("name", ["drawing", "feed", "export", "query/turns/out"])
def test_work_for_who_has_gone_away_is_stopped(url: str, work: Work, name: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{url}/{name}/gone", timeout=0.2)
    until(lambda: work.stopped == ["gone"])


def test_what_is_not_there_in_time_is_told_to_come_back(url: str, work: Work) -> None:
    refused = httpx.get(f"{url}/drawing/slow", timeout=20)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, str(CLASSES["drawing"].retry_after))
    assert refused.json()["detail"] == "this drawing work was not done in time"
    assert work.stopped == ["slow"]


def test_who_has_waited_long_enough_is_told_to_come_back(url: str, work: Work) -> None:
    at_once = CLASSES["feed"].max_running
    work.queues["feed"].limits = replace(CLASSES["feed"], patience=0.2)
    with asking(url, [f"/feed/{number}" for number in range(at_once)]):
        until(lambda: len(work.begun) == at_once)
        assert httpx.get(f"{url}/feed/late", timeout=20).status_code == 503
        work.go.set()
    assert "late" not in work.begun


def test_a_stream_ends_with_who_reads_it(url: str, work: Work) -> None:
    for number in range(2 * CLASSES["export"].max_running):
        with httpx.stream("GET", f"{url}/stream/{number}") as reply:
            next(reply.iter_raw())
    until(lambda: sorted(work.stopped) == sorted(work.begun))
