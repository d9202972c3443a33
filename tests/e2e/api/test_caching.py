from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import requests
from cachecontrol import CacheControl

from graphkin.protocol.keys import create_key
from graphkin.store import open_store

URL = "/v1/collections/nci"

READS = [
    "/v1/collections",
    URL,
    f"{URL}/items",
    f"{URL}/items/5",
    f"{URL}/items/5/neighbors?limit=2",
    f"{URL}/items/5/positives?policy=first_order",
    f"{URL}/negatives?count=3",
    f"{URL}/items/5/subgraph",
    f"{URL}/paths?from=5&to=6",
    f"{URL}/items/5/depiction.svg",
    f"{URL}/rejections",
    f"{URL}/structure?smiles=CCO",
    f"{URL}/structure.svg?smiles=CCO",
    f"{URL}/export?what=items&format=csv",
]


@pytest.mark.parametrize("read", READS)
def test_who_has_a_reply_is_told_so(client: httpx.Client, read: str) -> None:
    plain = {"Accept-Encoding": "identity"}
    first = client.get(read, headers=plain)
    tag = first.headers["ETag"]
    assert first.headers["Vary"] == "Accept, Authorization, Accept-Encoding"
    for known, told in ((tag, tag), (f'"other", {tag}', tag), (f"W/{tag}", f"W/{tag}")):
        again = client.get(read, headers={**plain, "If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert (again.headers["ETag"], again.headers["Vary"]) == (told, "Accept, Authorization, Accept-Encoding")
    other = client.get(read, headers={**plain, "If-None-Match": '"other"'})
    assert (other.status_code, other.content) == (200, first.content)


@pytest.mark.parametrize("read", READS[2:])
def test_every_read_names_its_generation(client: httpx.Client, read: str) -> None:
    generation = client.get(URL).json()["generation"]
    reply = client.get(read)
    assert reply.headers["Graphkin-Generation"] == generation
    if reply.headers["content-type"] == "application/json":
        assert reply.json()["generation"] == generation


def test_tags_differ_by_query_and_media_type(client: httpx.Client) -> None:
    arrow = {"Accept": "application/vnd.apache.arrow.stream"}
    replies = [
        client.get(f"{URL}/negatives?count=3"),
        client.get(f"{URL}/negatives?count=2"),
        client.get(f"{URL}/negatives?count=3", headers=arrow),
        client.get("/v1/collections/graphs/negatives?count=2"),
    ]
    assert len({reply.headers["ETag"] for reply in replies}) == len(replies)


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        ("*/*", "application/x-ndjson"),
        ("application/*", "application/x-ndjson"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("application/jsonl", "application/jsonl"),
        ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"),
        ("application/x-ndjson;q=0.5, application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"),
        ("text/html, application/jsonl;q=0.1", "application/jsonl"),
        ("application/x-ndjson;q=0, */*", "application/jsonl"),
    ],
)
def test_rows_come_in_the_media_type_asked_for(client: httpx.Client, accept: str, answered: str) -> None:
    reply = client.get(f"{URL}/negatives?count=3", headers={"Accept": accept})
    assert (reply.status_code, reply.headers["content-type"]) == (200, answered)


def test_no_accept_header_is_any(client: httpx.Client) -> None:
    request = client.build_request("GET", f"{URL}/items/5")
    del request.headers["Accept"]
    assert client.send(request).status_code == 200


@pytest.mark.parametrize(
    ("read", "accept"),
    [
        (f"{URL}/items/5", "text/html"),
        (f"{URL}/items/5", "application/json;q=0"),
        (f"{URL}/items/5", "nonsense"),
        (f"{URL}/items/5/neighbors", "image/png"),
        (f"{URL}/negatives", "application/json"),
        (f"{URL}/items/5/depiction.svg", "image/png"),
        (f"{URL}/export?what=edges&format=csv", "application/json"),
        ("/v1/collections", "text/csv"),
        (URL, "text/csv"),
    ],
)
def test_what_is_not_offered_is_refused_naming_what_is(client: httpx.Client, read: str, accept: str) -> None:
    reply = client.get(read, headers={"Accept": accept})
    assert reply.status_code == 406
    assert "/" in reply.json()["expected"]


def test_other_origins_are_not_let_in(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/items/5", headers={"Origin": "https://example.org"})
    assert not [name for name in reply.headers if name.startswith("access-control")]


def pinned(client: httpx.Client, read: str, collection: str = "nci") -> str:
    generation = client.get(f"/v1/collections/{collection}").json()["generation"]
    return f"{read}{'&' if '?' in read else '?'}generation={generation}"


@pytest.mark.parametrize("read", READS[2:])
def test_what_names_its_generation_need_not_be_asked_for_again(client: httpx.Client, read: str) -> None:
    assert client.get(read).headers["Cache-Control"] == "no-cache"
    url = pinned(client, read)
    reply = client.get(url)
    again = client.get(url, headers={"If-None-Match": reply.headers["ETag"]})
    assert (reply.status_code, again.status_code) == (200, 304)
    for each in (reply, again):
        assert each.headers["Cache-Control"] == "max-age=31536000, immutable"


@pytest.mark.parametrize(
    "read", [URL, f"{URL}/reports", f"{URL}/items/5/depiction.svg?highlight=6", f"{URL}/reports/hops.svg"]
)
def test_what_may_change_all_the_same_is_asked_for_again(client: httpx.Client, read: str) -> None:
    reply = client.get(pinned(client, read))
    assert (reply.status_code, reply.headers["Cache-Control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    ("read", "status"),
    [(f"{URL}/items/1000000", 404), (f"{URL}/items?limit=0", 422), (f"{URL}/items/5/neighbors?cursor=x", 400)],
)
def test_no_error_is_kept(client: httpx.Client, read: str, status: int) -> None:
    reply = client.get(pinned(client, read))
    assert (reply.status_code, reply.headers["Cache-Control"]) == (status, "no-store")


def test_a_cache_of_somebody_elses_asks_once(client: httpx.Client) -> None:
    def asked() -> float:
        text = client.get("/metrics").text
        return float(text.split('{method="GET",route="/v1/collections/{c}/items/{id}",status="200"} ')[1].split()[0])

    with CacheControl(requests.Session()) as session:
        url = str(client.base_url) + pinned(client, f"{URL}/items/5")
        first = session.get(url)
        before = asked()
        assert [session.get(url).content for _ in range(3)] == [first.content] * 3
        assert asked() == before
        session.get(f"{client.base_url}{URL}/items/5")
        session.get(f"{client.base_url}{URL}/items/5")
        assert asked() == before + 1  # and the second was told that it has it


@pytest.mark.parametrize("read", [*READS, "/docs"])
def test_if_none_match_of_anything_is_304_for_what_there_is(client: httpx.Client, read: str) -> None:
    tag = client.get(read, headers={"Accept-Encoding": "identity"}).headers["ETag"]
    for method in ("GET", "HEAD"):
        reply = client.request(method, read, headers={"If-None-Match": "*", "Accept-Encoding": "identity"})
        assert (reply.status_code, reply.content, reply.headers["ETag"]) == (304, b"", tag)


@pytest.mark.parametrize("path", ["items/100000", "items/100000/neighbors", "items/5/subgraph?hops=9", "nowhere"])
def test_if_none_match_of_anything_changes_no_error(client: httpx.Client, path: str) -> None:
    plain = client.get(f"{URL}/{path}")
    assert client.get(f"{URL}/{path}", headers={"If-None-Match": "*"}).status_code == plain.status_code >= 400


def test_a_post_is_answered_whatever_the_client_has(client: httpx.Client) -> None:
    body = {"smiles": "CCO"}
    assert client.post(f"{URL}/search", json=body, headers={"If-None-Match": "*"}).status_code == 200


def test_no_shared_cache_keeps_a_reply_to_a_key(own_folder: Path, serve: Callable) -> None:
    secret, key = create_key("all", ["admin"])
    with open_store(own_folder) as store:
        store.keys().add(key)
    with serve(own_folder) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        generation = client.get(URL).json()["generation"]
        caching = {
            path: client.get(path).headers["Cache-Control"]
            for path in (URL, f"{URL}/items/5?generation={generation}", "/metrics", f"{URL}/items/x")
        }
        assert [*caching.values()] == [
            "private, no-cache",
            "private, max-age=31536000, immutable",
            "private",
            "private, no-store",
        ]
        assert "Cache-Control" not in client.get("/livez").headers
