"""Compressed replies, decompressed by zlib and by another zstd package than the server's."""

import gzip
import io
from collections.abc import Callable

import httpx
import pyarrow as pa
import pytest

URL = "/v1/collections/nci"
LARGE = [
    f"{URL}/items?limit=200",
    f"{URL}/items/5/depiction.svg",
    f"{URL}/negatives?batches=9",
    f"{URL}/export?what=items&format=csv",
    f"{URL}/export?what=items&format=sdf",
    f"{URL}/export?what=edges&format=graphml",
    "/openapi.json",
]
DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "zstd": lambda body: pa.CompressedInputStream(io.BytesIO(body), "zstd").read(),
}


def raw(client: httpx.Client, url: str, accepted: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """Return the reply and its body as it was sent."""
    with client.stream("GET", url, headers={"Accept-Encoding": accepted, **headers}) as reply:
        return reply, b"".join(reply.iter_raw())


@pytest.mark.parametrize("url", LARGE)
@pytest.mark.parametrize("coding", DECOMPRESS)
def test_accepted_coding_makes_replies_smaller(client: httpx.Client, url: str, coding: str) -> None:
    plain, body = raw(client, url, "identity")
    reply, compressed = raw(client, url, coding)
    assert "Content-Encoding" not in plain.headers
    assert reply.headers["Content-Encoding"] == coding
    assert DECOMPRESS[coding](compressed) == body
    assert len(compressed) < len(body)
    for each in (plain, reply):
        assert "accept-encoding" in each.headers["Vary"].lower()


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("zstd, gzip", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("GZIP;q=1.0, zstd;q=0.5", "gzip"),
        ("*", "zstd"),
        ("zstd;q=0, *", "gzip"),
        ("gzip;q=0, zstd;q=0", None),
        ("br", None),
        ("gzip;q=much", None),
        ("", None),
    ],
)
def test_coding_follows_accept_encoding(client: httpx.Client, accepted: str, coding: str | None) -> None:
    assert raw(client, LARGE[0], accepted)[0].headers.get("Content-Encoding") == coding


@pytest.mark.parametrize(
    "url",
    [
        f"{URL}/items/5",  # Too small to compress.
        f"{URL}/export?what=items&format=parquet",
        f"{URL}/export?what=edges&format=arrow",
        f"{URL}/items/100000",
    ],
)
def test_small_or_dense_replies_are_not_compressed(client: httpx.Client, url: str) -> None:
    assert "Content-Encoding" not in raw(client, url, "zstd, gzip")[0].headers


@pytest.mark.parametrize("coding", DECOMPRESS)
def test_etag_of_a_compressed_reply_returns_304(client: httpx.Client, coding: str) -> None:
    plain, _ = raw(client, LARGE[0], "identity")
    first, _ = raw(client, LARGE[0], coding)
    tag = first.headers["ETag"]
    assert tag == f"W/{plain.headers['ETag']}"
    again, body = raw(client, LARGE[0], coding, **{"If-None-Match": tag})
    assert (again.status_code, again.headers["ETag"], body) == (304, tag, b"")


def test_range_applies_to_the_uncompressed_file(client: httpx.Client) -> None:
    url = f"{URL}/export?what=items&format=csv"
    _, plain = raw(client, url, "identity")
    reply, body = raw(client, url, "zstd, gzip", Range="bytes=10-2999")
    assert (reply.status_code, body) == (206, plain[10:3000])
    assert "Content-Encoding" not in reply.headers
    assert int(client.head(url, headers={"Accept-Encoding": "zstd"}).headers["Content-Length"]) == len(plain)
