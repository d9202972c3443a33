"""Connections that break, servers that are away or busy, and what answers in their place."""

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

BLOCK = 65_536  # anchors in one piece of a stream
OURS = version("graphkin")
MAJOR, MINOR, PATCH = map(int, OURS.split("."))
TOLD = b'"version":"%b"'  # in the OpenAPI


@pytest.fixture(scope="module")
def undisturbed(url: str) -> Any:
    with Graphkin(url) as server:
        return server.collection("many").epoch(0, "first_order", seed=3)


@pytest.fixture
def server(connect: Any, proxy: Any) -> Iterator[Graphkin]:
    """Reaches the shared server through the proxy."""
    with connect(proxy.url, retry_seconds=60) as server:
        yield server


def beside(number: int) -> int:
    """The next or the one before, with as many digits: the reply stays as long as it says it is."""
    return number - 1 if number % 10 else number + 1


def epochs_asked(proxy: Any) -> list[int]:
    """Where each request for an epoch started."""
    return [int(start) for _, line in proxy.requests for start in re.findall(r"/epochs/.*start=(\d+)", line)]


def test_a_broken_stream_is_continued_after_its_last_anchor(proxy: Any, server: Graphkin, undisturbed: Any) -> None:
    many = server.collection("many")
    proxy.cut_after(
        2_500_000, 400_000, 1_900_000
    )  # more than the OpenAPI, which is asked for again, and less than a block
    assert many.epoch(0, "first_order", seed=3).equals(undisturbed, check_metadata=True)
    assert proxy.cuts_left == 0
    assert epochs_asked(proxy) == [0, BLOCK, BLOCK, 2 * BLOCK]


def test_negatives_and_items_survive_broken_connections(connect: Any, proxy: Any, server: Graphkin, url: str) -> None:
    with connect(url) as straight:
        wanted = straight.collection("many").negatives(1, batches=3000)
        edges = straight.collection("many").edges()
        smiles = [*straight.collection("nci").column("smiles")]
        straight.collection("nci").export(items := io.BytesIO(), "items", "csv")
    many, nci = server.collection("many"), server.collection("nci")
    proxy.cut_after(2_000_000, 70_000)
    assert many.negatives(1, batches=3000).equals(wanted, check_metadata=True)
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


def test_a_server_that_vanishes_and_comes_back_costs_nothing(proxy: Any, server: Graphkin, undisturbed: Any) -> None:
    many = server.collection("many")
    proxy.hold_after(2_000_000)
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(many.epoch, 0, "first_order", seed=3)
        proxy.held.wait()
        proxy.vanish()
        proxy.release()
        until(lambda: proxy.knocks)
        proxy.come_back()
        assert answer.result().equals(undisturbed, check_metadata=True)


def test_a_busy_server_is_asked_again_not_before_it_said(
    connect: Any, serve: Any, store_folder: Path, open_proxy: Any, undisturbed: Any
) -> None:
    replies: list[bytes] = []

    def watch(passing: bytes) -> bytes:
        replies.append(passing)
        return passing

    with serve(store_folder) as fresh, open_proxy(fresh) as proxy, connect(proxy.url) as server:
        proxy.rewrite = watch
        many = server.collection("many")
        assert many.epoch(0, "first_order", seed=3).equals(undisturbed, check_metadata=True)
    busy = [reply for reply in replies if reply.startswith(b"HTTP/1.1 503")]
    assert busy, "the positive sets were there already"
    assert all(b"retry-after: 1\r\n" in reply.lower() for reply in busy)
    asked = [when for when, line in proxy.requests if "/epochs/" in line]
    assert len(asked) == len(busy) + 1
    assert all(later - earlier >= 1 for earlier, later in pairwise(asked))


def test_patience_has_an_end_that_says_what_happened(connect: Any, proxy: Any) -> None:
    with connect(proxy.url, retry_seconds=2) as server:
        nci = server.collection("nci")
        proxy.vanish()
        with pytest.raises(Unavailable, match="not there, or broke off") as gone:
            nci.item(0)
        assert gone.value.given == proxy.url
        assert "2 seconds" in str(gone.value.hint)
        assert proxy.knocks > 1
        proxy.come_back()
        assert nci.item(0).id == 0


def test_where_no_server_ever_answered_nobody_waits(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    with connect(nobody) as server, pytest.raises(Unavailable, match="not there") as refused:
        server.collections()
    assert refused.value.given == nobody
    assert "graphkin serve" in str(refused.value.hint)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://[::1", "", "nonsense"])
def test_what_is_no_url_is_refused(connect: Any, url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        connect(url)
    assert refused.value.given == url


def test_something_else_at_the_address_is_named_so(connect: Any, proxy: Any) -> None:
    def renamed(passing: bytes) -> bytes:
        return passing.replace(b'"title":"graphkin"', b'"title":"petstore"')

    proxy.rewrite = renamed
    with connect(proxy.url) as server, pytest.raises(InvalidInput, match="no graphkin server") as refused:
        server.collections()
    assert refused.value.given == proxy.url


def test_a_gateway_that_apologises_is_asked_again(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    apologies = iter([b"502 Bad Gateway", b"504 Gateway Timeout", b"429 Too Many Requests"])

    def apologising(passing: bytes) -> bytes:
        if not passing.startswith(b"HTTP/1.1 200 OK"):
            return passing
        plain = passing.replace(b"application/json", b"text/html")
        return plain.replace(b"200 OK", apology) if (apology := next(apologies, None)) else passing

    proxy.rewrite = apologising
    assert nci.item(0).id == 0
    assert next(apologies, None) is None


def test_an_answer_that_no_graphkin_server_gives_is_named_so(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    proxy.rewrite = lambda passing: passing.replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 302 Found")
    with pytest.raises(ServerFault, match="302 Found") as fault:
        nci.item(0)
    assert str(fault.value.given).startswith(f"{proxy.url}/v1/collections/nci/items/0")
    proxy.rewrite = lambda passing: passing.replace(b'{"generation"', b'<"generation"')
    with pytest.raises(ServerFault, match="no JSON object"):
        nci.item(0)


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        (f"{MAJOR}.{MINOR}.{beside(PATCH)}", False),
        (f"{MAJOR}.{beside(MINOR)}.{PATCH}", True),
        (f"{beside(MAJOR)}.{MINOR}.{PATCH}", True),
    ],
)
def test_versions_are_compared(connect: Any, proxy: Any, told: str, refused: bool) -> None:
    proxy.rewrite = lambda passing: passing.replace(TOLD % OURS.encode(), TOLD % told.encode())
    with connect(proxy.url) as server:
        if not refused:
            assert server.collections()
            return
        with pytest.raises(VersionMismatch) as mismatch:
            server.collections()
        assert mismatch.value.given == f"server {told}"
        assert f"{MAJOR}.{MINOR}," in str(mismatch.value.expected)
        assert f"'graphkin~={told}' here, or 'graphkin~={OURS}' there" in str(mismatch.value.hint)
        assert "in a clone" in str(mismatch.value.hint)


def test_a_server_that_comes_back_as_another_version_is_noticed(proxy: Any, server: Graphkin) -> None:
    nci = server.collection("nci")
    other = TOLD % f"{MAJOR}.{beside(MINOR)}.{PATCH}".encode()
    proxy.rewrite = lambda passing: passing.replace(TOLD % OURS.encode(), other)
    proxy.cut_after(10)
    with pytest.raises(VersionMismatch):
        nci.item(0)


def test_a_generation_stays_the_same_after_another_is_published(
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
            until_refused(lambda: first.item(0))
        assert deleted.value.exit_code == 3
        with pytest.raises(Deleted):
            first.epoch(1, "first_order")


def until_refused(read: Callable[[], object]) -> None:
    """A server believes its catalogue for a moment."""
    while True:
        read()


def test_another_store_at_the_same_address_is_refused(
    connect: Any, serve: Any, store_folder: Path, own_store: Path, open_proxy: Any
) -> None:
    with (
        serve(store_folder) as one,
        serve(own_store) as other,
        open_proxy(one) as proxy,
        connect(proxy.url) as server,
    ):
        nci = server.collection("nci")
        proxy.beyond = other
        proxy.cut_after(1)
        with pytest.raises(NotFound, match="no such generation"):
            nci.epoch(0, "first_order")


def test_a_reply_of_another_generation_is_refused(
    connect: Any, serve: Any, own_store: Path, open_proxy: Any, publish: Callable[[Path, int], str]
) -> None:
    """Something between client and server forgets a parameter."""
    with serve(own_store) as url, open_proxy(url) as proxy, connect(proxy.url) as server:
        first = server.collection("nci")
        second = publish(own_store, 80)
        until(lambda: server.collection("nci").generation == second)
        proxy.rewrite = lambda passing: re.sub(rb"[?&]generation=[0-9a-f]{64}", b"", passing)
        for read in (lambda: first.item(0), lambda: first.epoch(0, "first_order"), lambda: [*first.column("smiles")]):
            with pytest.raises(GenerationChanged) as changed:
                read()
            assert (changed.value.given, changed.value.expected) == (second, first.generation)


def test_a_stream_is_not_continued_with_another_draw(proxy: Any, server: Graphkin) -> None:
    """The server is exchanged for one that understands the request differently."""
    many = server.collection("many")
    proxy.cut_after(2_500_000)
    proxy.rewrite = lambda passing: re.sub(rb"seed=3(.*start=65536)", rb"seed=4\1", passing)
    with pytest.raises(GenerationChanged, match="another draw"):
        many.epoch(0, "first_order", seed=3)


def test_closing_ends_whoever_waits_for_a_server_that_says_nothing(connect: Any, proxy: Any) -> None:
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


def test_closing_ends_whoever_waits_to_try_again(connect: Any, proxy: Any) -> None:
    server = connect(proxy.url)
    nci = server.collection("nci")
    proxy.vanish()
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(nci.item, 0)
        until(lambda: proxy.knocks >= 6)  # by now it waits for seconds
        server.close()
        with pytest.raises(Closed):
            answer.result()
