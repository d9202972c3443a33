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
def test_matching_etag_returns_304(client: httpx.Client, read: str) -> None:
    plain = {"Accept-Encoding": "identity"}
    first = client.get(read, headers=plain)
    tag = first.headers["ETag"]
    assert first.headers["Vary"] == "Accept, Authorization, Accept-Encoding"
    for known, returned_tag in ((tag, tag), (f'"other", {tag}', tag), (f"W/{tag}", f"W/{tag}")):
        again = client.get(read, headers={**plain, "If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert (again.headers["ETag"], again.headers["Vary"]) == (
            returned_tag,
            "Accept, Authorization, Accept-Encoding",
        )
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
    ("accept", "media_type"),
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
def test_rows_come_in_the_requested_media_type(client: httpx.Client, accept: str, media_type: str) -> None:
    reply = client.get(f"{URL}/negatives?count=3", headers={"Accept": accept})
    assert (reply.status_code, reply.headers["content-type"]) == (200, media_type)


def test_missing_accept_header_accepts_anything(client: httpx.Client) -> None:
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
def test_unavailable_media_type_returns_406_with_the_available_ones(
    client: httpx.Client, read: str, accept: str
) -> None:
    reply = client.get(read, headers={"Accept": accept})
    assert reply.status_code == 406
    assert "/" in reply.json()["expected"]


def test_other_origins_get_no_cors_headers(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/items/5", headers={"Origin": "https://example.org"})
    assert not [name for name in reply.headers if name.startswith("access-control")]


def pin_generation(client: httpx.Client, read: str, collection: str = "nci") -> str:
    generation = client.get(f"/v1/collections/{collection}").json()["generation"]
    return f"{read}{'&' if '?' in read else '?'}generation={generation}"


@pytest.mark.parametrize("read", READS[2:])
def test_request_with_generation_is_immutable(client: httpx.Client, read: str) -> None:
    assert client.get(read).headers["Cache-Control"] == "no-cache"
    url = pin_generation(client, read)
    reply = client.get(url)
    again = client.get(url, headers={"If-None-Match": reply.headers["ETag"]})
    assert (reply.status_code, again.status_code) == (200, 304)
    for each in (reply, again):
        assert each.headers["Cache-Control"] == "max-age=31536000, immutable"


@pytest.mark.parametrize(
    "read", [URL, f"{URL}/reports", f"{URL}/items/5/depiction.svg?highlight=6", f"{URL}/reports/hops.svg"]
)
def test_changeable_reply_is_revalidated_even_with_generation(client: httpx.Client, read: str) -> None:
    reply = client.get(pin_generation(client, read))
    assert (reply.status_code, reply.headers["Cache-Control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    ("read", "status"),
    [(f"{URL}/items/1000000", 404), (f"{URL}/items?limit=0", 422), (f"{URL}/items/5/neighbors?cursor=x", 400)],
)
def test_errors_are_not_stored(client: httpx.Client, read: str, status: int) -> None:
    reply = client.get(pin_generation(client, read))
    assert (reply.status_code, reply.headers["Cache-Control"]) == (status, "no-store")


def test_third_party_cache_requests_an_immutable_reply_once(client: httpx.Client) -> None:
    def requests_served() -> float:
        text = client.get("/metrics").text
        return float(text.split('{method="GET",route="/v1/collections/{c}/items/{id}",status="200"} ')[1].split()[0])

    with CacheControl(requests.Session()) as session:
        url = str(client.base_url) + pin_generation(client, f"{URL}/items/5")
        first = session.get(url)
        before = requests_served()
        assert [session.get(url).content for _ in range(3)] == [first.content] * 3
        assert requests_served() == before
        session.get(f"{client.base_url}{URL}/items/5")
        session.get(f"{client.base_url}{URL}/items/5")
        assert requests_served() == before + 1  # The second request was answered with 304.


@pytest.mark.parametrize("read", [*READS, "/docs"])
def test_if_none_match_star_returns_304_for_existing_resources(client: httpx.Client, read: str) -> None:
    tag = client.get(read, headers={"Accept-Encoding": "identity"}).headers["ETag"]
    for method in ("GET", "HEAD"):
        reply = client.request(method, read, headers={"If-None-Match": "*", "Accept-Encoding": "identity"})
        assert (reply.status_code, reply.content, reply.headers["ETag"]) == (304, b"", tag)


@pytest.mark.parametrize("path", ["items/100000", "items/100000/neighbors", "items/5/subgraph?hops=9", "nowhere"])
def test_if_none_match_star_does_not_change_errors(client: httpx.Client, path: str) -> None:
    plain = client.get(f"{URL}/{path}")
    assert client.get(f"{URL}/{path}", headers={"If-None-Match": "*"}).status_code == plain.status_code >= 400


def test_post_ignores_if_none_match(client: httpx.Client) -> None:
    body = {"smiles": "CCO"}
    assert client.post(f"{URL}/search", json=body, headers={"If-None-Match": "*"}).status_code == 200


def test_replies_to_a_key_are_private(own_folder: Path, serve: Callable) -> None:
    secret, key = create_key("all", ["admin"])
    with open_store(own_folder) as store:
        store.keys().add(key)
    with serve(own_folder) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        generation = client.get(URL).json()["generation"]
        cache_control = {
            path: client.get(path).headers["Cache-Control"]
            for path in (URL, f"{URL}/items/5?generation={generation}", "/metrics", f"{URL}/items/x")
        }
        assert [*cache_control.values()] == [
            "private, no-cache",
            "private, max-age=31536000, immutable",
            "private",
            "private, no-store",
        ]
        assert "Cache-Control" not in client.get("/livez").headers
