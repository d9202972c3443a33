"""Broken connections, unreachable or busy servers, and foreign servers at the same URL."""

import io
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graphkin.client import Graphkin
from graphkin.protocol.errors import (
    Closed,
    Deleted,
    GenerationChanged,
    InvalidInput,
    NotFound,
    ServerFault,
    Unavailable,
    VersionMismatch,
)
from graphkin.store import open_store
from tests.until import until

BLOCK = 65_536  # Anchors in one block of a stream.
OWN_VERSION = version("graphkin")
MAJOR, MINOR, PATCH = map(int, OWN_VERSION.split("."))
VERSION_FIELD = b'"version":"%b"'  # The field of the version in the OpenAPI document.


@pytest.fixture(scope="module")
def expected_epoch(url: str) -> Any:
    with Graphkin(url) as server:
        return server.collection("many").epoch(0, "first_order", seed=3)


@pytest.fixture
def server(connect: Any, proxy: Any) -> Iterator[Graphkin]:
    """Yield a client that reaches the shared server through the proxy."""
    with connect(proxy.url, retry_seconds=60) as server:
        yield server


def adjacent_number(number: int) -> int:
    """Return the next or previous number with as many digits, so that the length of a reply stays the same."""
    return number - 1 if number % 10 else number + 1


def epoch_starts(proxy: Any) -> list[int]:
    """Return the first anchor of each request for an epoch."""
    return [int(start) for _, line in proxy.requests for start in re.findall(r"/epochs/.*start=(\d+)", line)]


def test_broken_stream_continues_after_its_last_anchor(proxy: Any, server: Graphkin, expected_epoch: Any) -> None:
    many = server.collection("many")
    # The OpenAPI document is read again each time. The first and the last limit exceed it and a block.
    proxy.cut_after(2_500_000, 500_000, 2_080_000)
    assert many.epoch(0, "first_order", seed=3).equals(expected_epoch, check_metadata=True)
    assert proxy.cuts_left == 0
    assert epoch_starts(proxy) == [0, BLOCK, BLOCK, 2 * BLOCK]


def test_negatives_and_items_survive_broken_connections(connect: Any, proxy: Any, server: Graphkin, url: str) -> None:
    with connect(url) as direct:
        expected = direct.collection("many").negatives(1, batches=3000)
        edges = direct.collection("many").edges()
        smiles = [*direct.collection("nci").column("smiles")]
        direct.collection("nci").export(items := io.BytesIO(), "items", "csv")
    many, nci = server.collection("many"), server.collection("nci")
    proxy.cut_after(2_000_000, 70_000)
    assert many.negatives(1, batches=3000).equals(expected, check_metadata=True)
    proxy.cut_after(5_000)
    assert [*nci.column("smiles")] == smiles
    proxy.cut_after(1_000_000, 1_000_000)
    assert many.edges().equals(edges)
    proxy.cut_after(100)
    assert len(nci.neighbors(0, min_similarity=0.4)) == nci.item(0).degree
    proxy.cut_after(9_000, 12_000)
    file = io.BytesIO(b"before ")
    file.seek(0, io.SEEK_END)
    nci.export(file, "items", "csv")
    assert file.getvalue() == b"before " + items.getvalue()
    assert proxy.cuts_left == 0


def test_restarted_server_loses_no_data(proxy: Any, server: Graphkin, expected_epoch: Any) -> None:
    many = server.collection("many")
    proxy.hold_after(2_000_000)
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(many.epoch, 0, "first_order", seed=3)
        proxy.held.wait()
        proxy.vanish()
        proxy.release()
        until(lambda: proxy.refused_connections)
        proxy.come_back()
        assert answer.result().equals(expected_epoch, check_metadata=True)


def test_busy_server_is_retried_after_the_indicated_delay(
    connect: Any, serve: Any, store_folder: Path, open_proxy: Any, expected_epoch: Any
) -> None:
    replies: list[bytes] = []

    def watch(data: bytes) -> bytes:
        replies.append(data)
        return data

    with serve(store_folder) as fresh, open_proxy(fresh) as proxy, connect(proxy.url) as server:
        proxy.rewrite = watch
        many = server.collection("many")
        assert many.epoch(0, "first_order", seed=3).equals(expected_epoch, check_metadata=True)
    busy = [reply for reply in replies if reply.startswith(b"HTTP/1.1 503")]
    assert busy, "the positive sets were there already"
    assert all(b"retry-after: 1\r\n" in reply.lower() for reply in busy)
    request_times = [when for when, line in proxy.requests if "/epochs/" in line]
    assert len(request_times) == len(busy) + 1
    assert all(later - earlier >= 1 for earlier, later in pairwise(request_times))


def test_exhausted_patience_raises_unavailable(connect: Any, proxy: Any) -> None:
    with connect(proxy.url, retry_seconds=2) as server:
        nci = server.collection("nci")
        proxy.vanish()
        with pytest.raises(Unavailable, match="cannot be reached, or closed the connection") as unavailable:
            nci.item(0)
        assert unavailable.value.given == proxy.url
        assert "2 seconds" in str(unavailable.value.hint)
        assert proxy.refused_connections > 1
        proxy.come_back()
        assert nci.item(0).id == 0


def test_first_connection_is_not_retried(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        unused_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with connect(unused_url) as server, pytest.raises(Unavailable, match="cannot be reached") as refused:
        server.collections()
    assert refused.value.given == unused_url
    assert "graphkin serve" in str(refused.value.hint)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://[::1", "", "nonsense"])
def test_invalid_url_is_refused(connect: Any, url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        connect(url)
    assert refused.value.given == url


def test_foreign_server_is_refused(connect: Any, proxy: Any) -> None:
    def rename_title(data: bytes) -> bytes:
        return data.replace(b'"title":"graphkin"', b'"title":"petstore"')

    proxy.rewrite = rename_title
    with connect(proxy.url) as server, pytest.raises(InvalidInput, match="no graphkin server") as refused:
        server.collections()
    assert refused.value.given == proxy.url


def test_gateway_error_is_retried(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    statuses = iter([b"502 Bad Gateway", b"504 Gateway Timeout", b"429 Too Many Requests"])

    def replace_reply(data: bytes) -> bytes:
        if not data.startswith(b"HTTP/1.1 200 OK"):
            return data
        plain = data.replace(b"application/json", b"text/html")
        return plain.replace(b"200 OK", apology) if (apology := next(statuses, None)) else data

    proxy.rewrite = replace_reply
    assert nci.item(0).id == 0
    assert next(statuses, None) is None


def test_reply_that_is_not_from_graphkin_raises_server_fault(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    proxy.rewrite = lambda data: data.replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 302 Found")
    with pytest.raises(ServerFault, match="302 Found") as fault:
        nci.item(0)
    assert str(fault.value.given).startswith(f"{proxy.url}/v1/collections/nci/items/0")
    proxy.rewrite = lambda data: data.replace(b'{"generation"', b'<"generation"')
    with pytest.raises(ServerFault, match="not the JSON that graphkin sends"):
        nci.item(0)


@pytest.mark.parametrize(
    ("server_version", "refused"),
    [
        (f"{MAJOR}.{MINOR}.{adjacent_number(PATCH)}", False),
        (f"{MAJOR}.{adjacent_number(MINOR)}.{PATCH}", True),
        (f"{adjacent_number(MAJOR)}.{MINOR}.{PATCH}", True),
    ],
)
def test_incompatible_versions_are_refused(connect: Any, proxy: Any, server_version: str, refused: bool) -> None:
    proxy.rewrite = lambda data: data.replace(
        VERSION_FIELD % OWN_VERSION.encode(), VERSION_FIELD % server_version.encode()
    )
    with connect(proxy.url) as server:
        if not refused:
            assert server.collections()
            return
        with pytest.raises(VersionMismatch) as mismatch:
            server.collections()
        assert mismatch.value.given == f"server {server_version}"
        assert f"{MAJOR}.{MINOR}," in str(mismatch.value.expected)
        assert f"graphkin {server_version} here, or graphkin {OWN_VERSION} on the server" in str(mismatch.value.hint)
        assert "in a clone" in str(mismatch.value.hint)


def test_changed_server_version_is_detected(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    second_url = VERSION_FIELD % f"{MAJOR}.{adjacent_number(MINOR)}.{PATCH}".encode()
    proxy.rewrite = lambda data: data.replace(VERSION_FIELD % OWN_VERSION.encode(), second_url)
    proxy.cut_after(10)
    with pytest.raises(VersionMismatch):
        nci.item(0)


def test_open_collection_keeps_its_generation(
    connect: Any, serve: Any, own_store: Path, publish: Callable[[Path, int], str]
) -> None:
    with serve(own_store) as url, connect(url) as server:
        first = server.collection("nci")
        before = first.epoch(0, "first_order")
        second = publish(own_store, 80)
        until(lambda: server.collection("nci").generation == second)
        assert first.epoch(0, "first_order").equals(before, check_metadata=True)
        assert [len(block) for block in first.column("smiles")] == [first.size]
        assert server.collection("nci", first.generation).size == first.size
        with open_store(own_store) as store:
            store.delete("nci", first.generation)
        with pytest.raises(Deleted, match="deleted") as deleted:
            read_until_refused(lambda: first.item(0))
        assert deleted.value.exit_code == 3
        with pytest.raises(Deleted):
            first.epoch(1, "first_order")


def read_until_refused(read: Callable[[], object]) -> None:
    """Read until the server refuses, because it caches its catalog for a moment."""
    while True:
        read()


def test_another_store_at_the_same_url_is_refused(
    connect: Any, serve: Any, store_folder: Path, own_store: Path, open_proxy: Any
) -> None:
    with (
        serve(store_folder) as first_url,
        serve(own_store) as second_url,
        open_proxy(first_url) as proxy,
        connect(proxy.url) as server,
    ):
        nci = server.collection("nci")
        proxy.server_url = second_url
        proxy.cut_after(1)
        with pytest.raises(NotFound, match="has no generation with this id"):
            nci.epoch(0, "first_order")


def test_reply_of_another_generation_is_refused(
    connect: Any, serve: Any, own_store: Path, open_proxy: Any, publish: Callable[[Path, int], str]
) -> None:
    """The proxy drops a parameter."""
    with serve(own_store) as url, open_proxy(url) as proxy, connect(proxy.url) as server:
        first = server.collection("nci")
        second = publish(own_store, 80)
        until(lambda: server.collection("nci").generation == second)
        proxy.rewrite = lambda data: re.sub(rb"[?&]generation=[0-9a-f]{64}", b"", data)
        for read in (lambda: first.item(0), lambda: first.epoch(0, "first_order"), lambda: [*first.column("smiles")]):
            with pytest.raises(GenerationChanged) as changed:
                read()
            assert (changed.value.given, changed.value.expected) == (second, first.generation)


def test_stream_does_not_continue_with_another_sample(proxy: Any, server: Graphkin) -> None:
    """The server is replaced by one that interprets the request differently."""
    many = server.collection("many")
    proxy.cut_after(2_500_000)
    proxy.rewrite = lambda data: re.sub(rb"seed=3(.*start=65536)", rb"seed=4\1", data)
    with pytest.raises(GenerationChanged, match="another sample"):
        many.epoch(0, "first_order", seed=3)


def test_close_ends_requests_without_a_reply(connect: Any, proxy: Any) -> None:
    server = connect(proxy.url)
    many = server.collection("many")
    proxy.hold_after(1)
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(many.epoch, 0, "first_order", seed=3)
        proxy.held.wait()
        server.close()
        with pytest.raises(Closed):
            answer.result()
    with pytest.raises(Closed):
        many.item(0)


def test_close_ends_requests_that_wait_for_a_retry(connect: Any, proxy: Any) -> None:
    server = connect(proxy.url)
    nci = server.collection("nci")
    proxy.vanish()
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(nci.item, 0)
        until(lambda: proxy.refused_connections >= 6)  # The client now waits for seconds.
        server.close()
        with pytest.raises(Closed):
            answer.result()
