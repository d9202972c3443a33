"""What browsers are told not to do with replies. The page's own policy is tested in test_page.py."""

import httpx
import pytest

URL = "/v1/collections/nci"


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
def test_no_reply_is_taken_for_another_type(client: httpx.Client, path: str, status: int) -> None:
    reply = client.get(path)
    assert reply.status_code == status
    assert reply.headers.get_list("X-Content-Type-Options") == ["nosniff"]


def test_nor_is_what_a_client_has_or_a_refusal_by_host(client: httpx.Client) -> None:
    tag = client.get(URL).headers["ETag"]
    for status, headers in ((304, {"If-None-Match": tag}), (400, {"Host": "example.org"})):
        reply = client.get(URL, headers=headers)
        assert reply.status_code == status
        assert reply.headers.get_list("X-Content-Type-Options") == ["nosniff"]


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
