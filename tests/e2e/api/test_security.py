"""What browsers are told not to do with replies. The page's own policy is tested in test_page.py."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

URL = "/v1/collections/nci"
EVERY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def told(reply: httpx.Response) -> dict[str, str]:
    """Each of these headers of a reply; one that came twice has both values."""
    return {name: ", ".join(reply.headers.get_list(name)) for name in EVERY}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/docs", 200),
        ("/metrics", 200),
        (URL, 200),
        (f"{URL}/items/5/depiction.svg", 200),
        (f"{URL}/export?what=items&format=csv", 200),
        (f"{URL}/items?limit=0", 422),
        ("/nowhere", 404),
        ("/assets/nowhere.js", 404),
    ],
)
def test_what_every_reply_tells_browsers(client: httpx.Client, path: str, status: int) -> None:
    reply = client.get(path)
    assert reply.status_code == status
    assert told(reply) == EVERY


def test_pages_that_may_read_replies_may_show_them(store_folder: Path, serve: Callable) -> None:
    with serve(store_folder, cors_origins="https://lab.example.org") as open_client:
        assert told(open_client.get("/livez")) == {**EVERY, "Cross-Origin-Resource-Policy": "cross-origin"}


def test_so_does_what_a_client_has_or_a_refusal_by_host(client: httpx.Client) -> None:
    tag = client.get(URL).headers["ETag"]
    for status, headers in ((304, {"If-None-Match": tag}), (400, {"Host": "example.org"})):
        reply = client.get(URL, headers=headers)
        assert reply.status_code == status
        assert told(reply) == EVERY


@pytest.mark.parametrize(
    "path",
    [f"{URL}/items/5/depiction.svg", f"{URL}/structure.svg?smiles=CCO", "/v1/collections/social/items/0/depiction.svg"],
)
def test_a_drawing_opened_alone_may_do_nothing_but_be_styled(client: httpx.Client, path: str) -> None:
    reply = client.get(path)
    again = client.get(path, headers={"If-None-Match": reply.headers["ETag"]})
    assert (reply.status_code, again.status_code) == (200, 304)
    for each in (reply, again):
        policy = each.headers["Content-Security-Policy"]
        assert sorted(policy.split("; ")) == ["default-src 'none'", "style-src 'unsafe-inline'"]
