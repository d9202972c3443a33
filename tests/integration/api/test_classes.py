"""Queues of the classes of work, in a server whose routes wait until the test releases them."""

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
    SeriesRoute,
    UnqueuedRoute,
    in_work_class,
)
from graphkin.store.keys import NoKeys


class Work:
    """The work of the routes below, which waits until `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.queues = {name: Queue(name) for name in CLASSES}

    async def do(self, name: str) -> Response:
        self.started.append(name)
        try:
            while not self.go.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.stopped.append(name)
            raise
        return Response(name)

    async def do_as_substructure(self, request: Request, name: str) -> Response:
        async with in_work_class("substructure"):
            return await self.do(name)

    def stream(self, name: str) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            self.started.append(name)
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
        for kind in (
            SearchRoute,
            QueryRoute,
            BatchRoute,
            PickRoute,
            DepictionRoute,
            FeedRoute,
            ExportRoute,
            SeriesRoute,
        )
    }
    routers = {name: APIRouter(route_class=kind) for name, kind in {"none": Route, **queued}.items()}
    for path, router in routers.items():
        router.add_api_route(f"/{path}/{{name}}", work.do)
    routers["export"].add_api_route("/stream/{name}", work.stream)
    routers["substructure"] = APIRouter(route_class=UnqueuedRoute)
    for router, path in ((routers["substructure"], "/substructure"), (routers["query"], "/query/turns/out")):
        router.add_api_route(f"{path}/{{name}}", work.do_as_substructure)

    return FastAPI(
        lifespan=lifespan,
        routes=[route for router in routers.values() for route in router.routes],
        middleware=[Middleware(HeadMiddleware, allowed_hosts=["127.0.0.1"], upload_bytes=1)],
        exception_handlers=HANDLERS,
    )


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def url(work: Work) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(work), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        work.go.set()
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def send_concurrently(url: str, paths: list[str], headers: Mapping[str, str] | None = None) -> Iterator[list[Any]]:
    """Send requests for all paths in threads, and yield the list of replies, which grows."""
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


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for a condition; the time limit of the test is the limit."""
    pause = threading.Event()
    while not condition():
        pause.wait(0.005)


@pytest.mark.parametrize("name", CLASSES)
def test_class_limits_concurrent_work(url: str, work: Work, name: str) -> None:
    max_running = CLASSES[name].max_running
    path_template = {"part": "/export/{}", "comparison": "/drawing/{}?highlight=1"}.get(name, f"/{name}/{{}}")
    headers = {"Range": "bytes=0-9"} if name == "part" else {}
    with send_concurrently(
        url, [path_template.format(number) for number in range(max_running + 3)], headers
    ) as replies:
        wait_for(lambda: work.queues[name].waiting == 3)
        assert len(work.started) == max_running
        work.go.set()
    assert [reply.status_code for reply in replies] == [200] * (max_running + 3)


def test_full_class_does_not_delay_other_classes(url: str, work: Work) -> None:
    exports = [f"/export/{number}" for number in range(CLASSES["export"].max_running + 2)]
    comparisons = [f"/drawing/{number}?highlight=1" for number in range(CLASSES["comparison"].max_running + 2)]
    with send_concurrently(url, [*exports, *comparisons]):
        wait_for(lambda: work.queues["export"].waiting == work.queues["comparison"].waiting == 2)
        with send_concurrently(url, ["/search/a", "/drawing/b", "/feed/c", "/none/d", "/query/e"]):
            wait_for(lambda: {"a", "b", "c", "d", "e"} <= set(work.started))
            work.go.set()


def test_request_that_changes_class_releases_its_first_slot(url: str, work: Work) -> None:
    max_running = CLASSES["substructure"].max_running
    with send_concurrently(
        url, [f"/query/turns/out/{number}" for number in range(max_running + CLASSES["query"].max_running)]
    ):
        wait_for(lambda: work.queues["substructure"].waiting == CLASSES["query"].max_running)
        with send_concurrently(url, ["/query/a", "/substructure/b"]):
            wait_for(lambda: work.queues["substructure"].waiting == CLASSES["query"].max_running + 1)
            wait_for(lambda: "a" in work.started)
            assert "b" not in work.started
            work.go.set()
    assert all(queue.working == queue.waiting == 0 for queue in work.queues.values())


def test_full_queue_returns_503(url: str, work: Work) -> None:
    limits = CLASSES["export"]
    with send_concurrently(
        url, [f"/export/{number}" for number in range(limits.max_running + limits.max_waiting)]
    ) as replies:
        wait_for(lambda: work.queues["export"].waiting == limits.max_waiting)
        refused = httpx.get(f"{url}/export/more")
        work.go.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, str(limits.retry_after))
    assert refused.headers["content-type"] == "application/problem+json"
    assert [reply.status_code for reply in replies] == [200] * (limits.max_running + limits.max_waiting)
    assert httpx.get(f"{url}/export/more").status_code == 200


def test_disconnected_client_leaves_the_queue(url: str, work: Work) -> None:
    max_running = CLASSES["drawing"].max_running
    with send_concurrently(url, [f"/drawing/{number}" for number in range(max_running)]):
        wait_for(lambda: len(work.started) == max_running)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{url}/drawing/gone", timeout=0.2)
        wait_for(lambda: work.queues["drawing"].waiting == 0)
        work.go.set()
    assert httpx.get(f"{url}/drawing/last").text == "last"
    assert "gone" not in work.started


@pytest.mark.parametrize("name", ["drawing", "feed", "export", "query/turns/out"])
def test_work_of_a_disconnected_client_is_canceled(url: str, work: Work, name: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{url}/{name}/gone", timeout=0.2)
    wait_for(lambda: work.stopped == ["gone"])


def test_work_beyond_its_time_limit_returns_503(url: str, work: Work) -> None:
    refused = httpx.get(f"{url}/drawing/slow", timeout=20)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, str(CLASSES["drawing"].retry_after))
    assert refused.json()["detail"] == "this drawing request took too long"
    assert work.stopped == ["slow"]


def test_long_wait_in_the_queue_returns_503(url: str, work: Work) -> None:
    max_running = CLASSES["feed"].max_running
    work.queues["feed"].limits = replace(CLASSES["feed"], patience=0.2)
    with send_concurrently(url, [f"/feed/{number}" for number in range(max_running)]):
        wait_for(lambda: len(work.started) == max_running)
        assert httpx.get(f"{url}/feed/late", timeout=20).status_code == 503
        work.go.set()
    assert "late" not in work.started


def test_stream_ends_when_its_client_disconnects(url: str, work: Work) -> None:
    for number in range(2 * CLASSES["export"].max_running):
        with httpx.stream("GET", f"{url}/stream/{number}") as reply:
            next(reply.iter_raw())
    wait_for(lambda: sorted(work.stopped) == sorted(work.started))
