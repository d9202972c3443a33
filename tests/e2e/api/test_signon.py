"""Single sign-on: users that a real reverse proxy has authenticated, in front of the real API."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from urllib.parse import urlencode

import httpx
import pytest

from graphkin.api.http.access import Caller
from graphkin.api.http.quotas import Quotas
from graphkin.protocol.keys import Key, Quota, create_key
from graphkin.store import open_store
from tests.signon import run_proxy
from tests.until import until

NCI = "/v1/collections/nci"
REQUESTS = 6


@dataclass
class Lab:
    """An API behind a proxy.

    Attributes:
        direct: Client of the API that bypasses the proxy.
        proxy: URL of the proxy.
        cache: Cache folder of the API.
        log: Access log of the API.
        key: Key of the proxy.
        secret: Secret of the proxy's key.
        other: Secret of a key that is for no proxy.
        replies: Replies to the clients of `login`.
    """

    direct: httpx.Client
    proxy: str
    cache: Path
    log: Path
    key: Key
    secret: str
    other: str
    replies: list[httpx.Response] = field(default_factory=list)

    def login(self, user: str) -> httpx.Client:
        """Return a client of the proxy with the cookie of this user, and with forged headers."""
        forged = {"Authorization": f"Bearer {self.other}", "X-Forwarded-User": "root"}
        session = httpx.get(f"{self.proxy}/login?{urlencode({'user': user})}").cookies
        hooks = {"response": [self._keep]}
        return httpx.Client(base_url=self.proxy, timeout=60, cookies=session, headers=forged, event_hooks=hooks)

    def _keep(self, reply: httpx.Response) -> None:
        reply.read()
        self.replies.append(reply)

    def lines(self, id: str) -> list[tuple[str, str | None, int]]:
        """Return (key, user, status) of the log lines with a request id, once there are any."""

        def entries() -> list[tuple[str, str | None, int]]:
            lines = map(json.loads, self.log.read_text().splitlines())
            return [(line["key"], line["user"], line["status"]) for line in lines if line["id"] == id]

        return until(entries)


@pytest.fixture(scope="module")
def lab(store_folder: Path, tmp_path_factory: pytest.TempPathFactory, serve: Callable) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("signon")
    secret, key = create_key(
        "proxy", ["read", "export"], ["nci"], quota=Quota(requests=REQUESTS, heavy=1), for_proxy=True
    )
    other, plain = create_key("plain", ["read"], quota=Quota(requests=10**6))
    with open_store(shutil.copytree(store_folder, folder / "store")) as store:
        store.keys().add(key)
        store.keys().add(plain)
    cache, log = folder / "cache", folder / "access.jsonl"
    with (
        serve(folder / "store", cache_dir=cache, access_log=log) as direct,
        run_proxy(str(direct.base_url), secret) as proxy,
    ):
        yield Lab(direct, proxy, cache, log, key, secret, other)


def test_authenticated_user_needs_no_key_and_is_logged(lab: Lab, client: httpx.Client) -> None:
    paths = [f"{NCI}/items/5/neighbors", f"{NCI}/export?what=items&format=csv", f"{NCI}/export?what=edges&format=csv"]
    users = ["ann@lab.example", "Özil, Bo"]
    for user in users:
        with lab.login(user) as browser:
            for number, path in enumerate(paths):
                reply = browser.get(path, headers={"X-Request-ID": f"{number}-of-{users.index(user)}"})
                assert (reply.status_code, reply.content) == (200, client.get(path).content), path
                assert lab.lines(f"{number}-of-{users.index(user)}") == [(lab.key.id, user, 200)]
            assert "<title>" in browser.get("/").text
            assert browser.get("/v1/collections/keyed").status_code == 403
    assert httpx.get(lab.proxy + paths[0]).status_code == 403
    received = str([(reply.text, reply.headers) for reply in lab.replies])
    assert len(received) > 10_000
    assert not [user for user in (*users, "root") if user in received]


def test_user_header_is_ignored_without_a_proxy_key(lab: Lab) -> None:
    forged = {"Authorization": f"Bearer {lab.other}", "X-Forwarded-User": "ann@lab.example", "X-Request-ID": "forged"}
    reply = lab.direct.get(f"{NCI}/items/5", headers=forged)
    assert reply.status_code == 200
    assert f"r={10**6 - 1};" in reply.headers["RateLimit"]
    ((_, user, status),) = lab.lines("forged")
    assert (user, status) == (None, 200)
    unnamed = {"Authorization": f"Bearer {lab.secret}", "X-Request-ID": "unnamed"}
    refused = lab.direct.get(f"{NCI}/items/5", headers=unnamed)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="graphkin"')
    assert {name: "X-Forwarded-User" in refused.json()[name] for name in ("given", "expected")} == {
        "given": True,
        "expected": True,
    }
    assert "proxy" in refused.json()["hint"]
    assert lab.lines("unnamed") == [(lab.key.id, None, 401)]


def test_users_of_one_key_have_separate_quotas(lab: Lab) -> None:
    number = 0
    while True:  # Repeat until an attempt fits into one minute of the clock.
        number, minute = number + 1, time() // 60
        with lab.login(f"ann{number}") as ann, lab.login(f"bob{number}") as bob:
            codes = [ann.get(f"{NCI}/items/{id}").status_code for id in range(REQUESTS + 1)]
            first_reply = bob.get(f"{NCI}/items/5", headers={"X-Request-ID": f"bob{number}"})
        if minute == time() // 60:
            break
    assert codes == [200] * REQUESTS + [429]
    assert (first_reply.status_code, first_reply.headers["RateLimit"].split(";t=")[0]) == (
        200,
        f'"requests";r={REQUESTS - 1}',
    )
    assert lab.lines(f"bob{number}") == [(lab.key.id, f"bob{number}", 200)]
    search = f"{NCI}/structure?smiles=C"
    with (
        lab.login("carl") as carl,
        lab.login("dora") as dora,
        closing(Quotas(lab.cache / "quotas")) as other_quotas,  # As if in another process.
        other_quotas.admit({}, Caller(lab.key, "carl"), heavy=True),
    ):
        assert [each.get(search).status_code for each in (carl, dora)] == [429, 200]
