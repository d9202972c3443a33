"""Security headers of replies. The page's own policy is tested in test_page.py."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

URL = "/v1/collections/nci"
EXPECTED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def security_headers(reply: httpx.Response) -> dict[str, str]:
    """Return the security headers of a reply. A repeated header has all its values."""
    return {name: ", ".join(reply.headers.get_list(name)) for name in EXPECTED}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/docs", 200),
        ("/licenses", 200),
        ("/metrics", 200),
        (URL, 200),
        (f"{URL}/items/5/depiction.svg", 200),
        (f"{URL}/export?what=items&format=csv", 200),
        (f"{URL}/items?limit=0", 422),
        ("/nowhere", 404),
        ("/assets/nowhere.js", 404),
    ],
)
def test_every_reply_has_the_security_headers(client: httpx.Client, path: str, status: int) -> None:
    reply = client.get(path)
    assert reply.status_code == status
    assert security_headers(reply) == EXPECTED


def test_allowed_origins_may_embed_replies(store_folder: Path, serve: Callable) -> None:
    with serve(store_folder, cors_origins="https://lab.example.org") as open_client:
        assert security_headers(open_client.get("/livez")) == {
            **EXPECTED,
            "Cross-Origin-Resource-Policy": "cross-origin",
        }


def test_304_and_refused_host_have_the_security_headers(client: httpx.Client) -> None:
    tag = client.get(URL).headers["ETag"]
    for status, headers in ((304, {"If-None-Match": tag}), (400, {"Host": "example.org"})):
        reply = client.get(URL, headers=headers)
        assert reply.status_code == status
        assert security_headers(reply) == EXPECTED


@pytest.mark.parametrize(
    "path",
    [f"{URL}/items/5/depiction.svg", f"{URL}/structure.svg?smiles=CCO", "/v1/collections/social/items/0/depiction.svg"],
)
def test_depiction_may_only_use_inline_styles(client: httpx.Client, path: str) -> None:
    reply = client.get(path)
    again = client.get(path, headers={"If-None-Match": reply.headers["ETag"]})
    assert (reply.status_code, again.status_code) == (200, 304)
    for each in (reply, again):
        policy = each.headers["Content-Security-Policy"]
        assert sorted(policy.split("; ")) == ["default-src 'none'", "style-src 'unsafe-inline'"]
