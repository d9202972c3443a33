"""Access control: every route with every kind of key that does not permit it."""

import itertools
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic, time

import httpx
import pytest
from starlette.routing import Route as StarletteRoute

from graphkin.api.app import create_app
from graphkin.api.http.access import Caller
from graphkin.api.http.quotas import Quotas
from graphkin.api.http.route import Route
from graphkin.api.settings import Settings
from graphkin.cli import run
from graphkin.protocol.errors import StoreDamaged, TooManyRequests
from graphkin.protocol.keys import Quota, create_key
from graphkin.protocol.values import Access
from graphkin.store import open_store
from tests.until import until, until_available

C = "/v1/collections/{c}"
REQUIRED_ACCESS: dict[str, Access] = {
    "GET /v1/collections": "read",
    f"GET {C}": "read",
    f"GET {C}/cliffs": "read",
    f"GET {C}/clusters": "read",
    f"GET {C}/map": "read",
    f"GET {C}/lineage": "read",
    f"GET {C}/clusters/{{id}}": "read",
    f"GET {C}/clusters/{{id}}/mcs": "read",
    f"GET {C}/clusters/{{id}}/mcs.svg": "read",
    f"GET {C}/components": "read",
    f"GET {C}/components/{{id}}": "read",
    f"GET {C}/export": "export",
    f"POST {C}/clusters": "read",
    f"POST {C}/cliffs": "read",
    f"POST {C}/matched-pairs": "read",
    f"POST {C}/compare": "read",
    f"POST {C}/compare/rows": "read",
    f"POST {C}/export": "export",
    f"GET {C}/hops": "read",
    f"GET {C}/items": "read",
    f"GET {C}/items/{{id}}": "read",
    f"GET {C}/items/{{id}}/cluster": "read",
    f"GET {C}/items/{{id}}/depiction.svg": "read",
    f"GET {C}/items/{{id}}/matched-pairs": "read",
    f"GET {C}/items/{{id}}/neighbors": "read",
    f"GET {C}/items/{{id}}/positives": "sample",
    f"GET {C}/items/{{id}}/subgraph": "read",
    f"POST {C}/items/query": "read",
    f"GET {C}/matched-pairs": "read",
    f"GET {C}/negatives": "sample",
    f"GET {C}/paths": "read",
    f"POST {C}/pick": "read",
    f"POST {C}/positives/batch": "sample",
    f"GET {C}/positives/epochs/{{e}}": "sample",
    f"GET {C}/rejections": "read",
    f"GET {C}/reports": "read",
    f"GET {C}/reports/{{report}}.svg": "read",
    f"POST {C}/rgroups": "read",
    f"POST {C}/scaffolds": "read",
    f"POST {C}/search": "read",
    f"POST {C}/search/batch": "read",
    f"GET {C}/descriptors": "read",
    f"GET {C}/structure": "read",
    f"GET {C}/structure/descriptors": "read",
    f"GET {C}/structure.svg": "read",
    "POST /v1/collections": "write",
    f"POST {C}/append": "write",
    f"POST {C}/remove": "write",
    "POST /v1/previews": "write",
    "GET /v1/jobs": "write",
    "GET /v1/jobs/{job}": "write",
    "GET /v1/jobs/{job}/rejections": "write",
    "POST /v1/jobs/{job}/cancel": "write",
    f"POST {C}/values": "read",
    "GET /metrics": "metrics",
}
"""Required access of every operation that is not public."""

PUBLIC = {"GET /livez", "GET /readyz", "GET /", "GET /docs", "GET /licenses", "GET /assets/{name}", "GET /openapi.json"}

APP = create_app(Settings(store="unused"))
SCOPES: tuple[Access, ...] = ("read", "sample", "export", "write", "metrics", "admin")

WRONG = (None, b"Bearer gk_" + b"x" * 43, b"Bearer", b"Basic YTpi", b"Bearer \xe9", b"gk_" + b"x" * 43)
"""Authorization headers without a valid key."""

Keys = Mapping[str, str]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def build_request(operation: str, collection: str = "nci") -> tuple[str, str]:
    """Return method and path of a request for existing data."""
    method, path = operation.split()
    path = path.replace("{c}", collection).replace("{id}", "0").replace("{e}", "0").replace("{report}", "hops")
    return method, path


def make_keys(place: str | Path) -> Keys:
    """Create keys of every kind in a store and return their secrets."""
    settings: dict[str, tuple[Sequence[Access], list[str], timedelta | None]] = {
        **{scope: ([scope], [], None) for scope in SCOPES},
        "several": (["read", "export"], [], timedelta(days=1)),
        "elsewhere": (list(SCOPES[:4]), ["keyed"], None),
        "expired": (["admin"], [], timedelta(seconds=-1)),
        "revoked": (["admin"], [], None),
    }
    secrets = {}
    with open_store(place) as store:
        for name, (access, collections, lifetime) in settings.items():
            secrets[name], key = create_key(name, access, collections, lifetime)
            store.keys().add(key)
            if name == "revoked":
                store.keys().revoke(key.id, key.created_at)
    return secrets


def require_refused(client: httpx.Client, keys: Keys, operations: Mapping[str, Access]) -> None:
    """Check that every key is refused every operation that it does not permit."""
    for operation, required_access in operations.items():
        method, url = build_request(operation)
        for used_method in (method, "HEAD") if method == "GET" else (method,):
            for wrong in WRONG:
                reply = client.request(used_method, url, headers=[] if wrong is None else [(b"Authorization", wrong)])
                assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, 'Bearer realm="graphkin"'), url
            twice = [("Authorization", f"Bearer {keys['admin']}")] * 2
            assert client.request(used_method, url, headers=twice).status_code == 401, url
            for over in ("expired", "revoked"):
                reply = client.request(used_method, url, headers=bearer(keys[over]))
                assert reply.status_code == 401, url
            for other in SCOPES:
                reply = client.request(used_method, url, headers=bearer(keys[other]))
                assert (reply.status_code == 403) == (other not in (required_access, "admin")), (
                    used_method,
                    url,
                    other,
                )
                assert reply.status_code != 401, (used_method, url, other)
            if "{c}" in operation:
                assert client.request(used_method, url, headers=bearer(keys["elsewhere"])).status_code == 403, url


@pytest.fixture(scope="module")
def folder(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(store_folder, tmp_path_factory.mktemp("keys") / "store"))


@pytest.fixture(scope="module")
def keys(folder: Path) -> Keys:
    return make_keys(folder)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "access.jsonl"


@pytest.fixture(scope="module")
def guarded_client(
    folder: Path, keys: Keys, reports_folder: Path, log: Path, serve: Callable
) -> Iterator[httpx.Client]:
    with serve(folder, reports=reports_folder, access_log=log) as client:
        yield client


def test_every_route_declares_its_access() -> None:
    declared_access: dict[str, Access | None] = {}
    for route in APP.routes:
        assert isinstance(route, StarletteRoute)
        declared = vars(type(route)) if isinstance(route, Route) else {"required_access": None}
        for method in (route.methods or set()) - {"HEAD"}:
            declared_access[f"{method} {route.path_format}"] = declared["required_access"]
    assert {name for name, required_access in declared_access.items() if required_access is None} == PUBLIC
    assert {
        name: required_access for name, required_access in declared_access.items() if required_access is not None
    } == REQUIRED_ACCESS


def test_openapi_documents_the_access_of_every_route() -> None:
    document = APP.openapi()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    secured = {
        f"{method.upper()} {path}": operation["security"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "security" in operation
    }
    assert secured == {
        operation: [{"key": [required_access]}, {}] for operation, required_access in REQUIRED_ACCESS.items()
    }
    for operation in REQUIRED_ACCESS:
        method, path = operation.split()
        assert {"401", "403", "429"} < document["paths"][path][method.lower()]["responses"].keys()


def test_every_operation_refuses_keys_without_its_access(guarded_client: httpx.Client, keys: Keys) -> None:
    require_refused(guarded_client, keys, REQUIRED_ACCESS)


def test_key_with_the_right_scope_is_accepted(guarded_client: httpx.Client, keys: Keys) -> None:
    paths = {"read": "/items/5/neighbors", "sample": "/items/5/positives?policy=first_order", "export": "/export"}
    for scope, path in paths.items():
        whole = f"/v1/collections/nci{path}{'?what=items&format=csv' if scope == 'export' else ''}"
        for name in (scope, "admin"):
            assert guarded_client.get(whole, headers=bearer(keys[name])).status_code == 200
    for name in ("metrics", "admin"):
        assert guarded_client.get("/metrics", headers=bearer(keys[name])).status_code == 200
    assert (
        guarded_client.get("/v1/collections/nci", headers={"Authorization": f"bEARER  {keys['several']}"}).status_code
        == 200
    )


def test_public_routes_need_no_key(guarded_client: httpx.Client) -> None:
    for operation in PUBLIC - {"GET /assets/{name}"}:
        method, url = build_request(operation)
        # /readyz returns 503 until the kernels are compiled.
        while (reply := guarded_client.request(method, url)).status_code == 503:
            assert url == "/readyz"
        assert reply.status_code == 200, url
    assert guarded_client.get("/nowhere").status_code == 404


def test_key_for_some_collections_hides_the_others(guarded_client: httpx.Client, keys: Keys) -> None:
    reply_list = guarded_client.get("/v1/collections", headers=bearer(keys["elsewhere"]))
    assert [each["name"] for each in reply_list.json()["collections"]] == ["keyed"]
    assert guarded_client.get("/v1/collections/keyed/items/0", headers=bearer(keys["elsewhere"])).status_code == 200
    for other in ("nci", "nowhere", "keye", "keyed%00"):
        reply = guarded_client.get(f"/v1/collections/{other}/items/0", headers=bearer(keys["elsewhere"]))
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:graphkin:problem:key-not-for-this")
    everything = guarded_client.get("/v1/collections", headers=bearer(keys["read"])).json()["collections"]
    assert len(everything) == 6


def test_comparison_needs_access_to_both_collections(guarded_client: httpx.Client, keys: Keys) -> None:
    for path, other in itertools.product(("compare", "compare/rows"), ("nci", "nowhere")):
        body, headers = {"other": other}, bearer(keys["elsewhere"])
        reply = guarded_client.post(f"/v1/collections/keyed/{path}", json=body, headers=headers)
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:graphkin:problem:key-not-for-this")
        assert reply.json()["given"] == other
    reply = guarded_client.post("/v1/collections/nci/compare", json={"other": "keyed"}, headers=headers)
    assert (reply.status_code, reply.json()["given"]) == (403, "nci")


def test_access_log_has_the_key_id_but_no_secret(
    guarded_client: httpx.Client, keys: Keys, folder: Path, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["read", "revoked", "elsewhere"]
    for name in names:
        guarded_client.get("/v1/collections/nci", headers={**bearer(keys[name]), "X-Request-ID": f"of-{name}"})
    guarded_client.get("/v1/collections/nci", headers={**bearer("gk_wrong"), "X-Request-ID": "of-nobody"})
    with open_store(folder) as store:
        ids = {key.name: key.id for key in store.keys().all()}
    until(lambda: "of-nobody" in log.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    logged = [(line["key"], line["status"]) for line in lines if line["id"].startswith("of-")]
    assert logged == [(ids["read"], 200), (ids["revoked"], 401), (ids["elsewhere"], 403), (None, 401)]
    assert not [secret for secret in (*keys.values(), "gk_wrong") if secret in log.read_text() + caplog.text]


def wait_for_status(client: httpx.Client, secret: str, expected_status: int) -> None:
    """Send requests until one has the expected status."""
    while client.get("/v1/collections", headers=bearer(secret)).status_code != expected_status:
        pass


def test_running_server_applies_key_changes_within_a_second(
    own_folder: Path, serve: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests that begin more than a second after a change follow it."""
    store_options = ["--store", str(own_folder)]
    with serve(own_folder) as client:
        assert client.get("/v1/collections").status_code == 200
        assert run(["keys", "create", *store_options, "--name", "a", "--scope", "read", "--json"]) == 0
        closed, key = monotonic(), json.loads(capsys.readouterr().out)
        while (sent_at := monotonic()) and client.get("/v1/collections").status_code == 200:
            assert sent_at - closed < 1
        assert client.get("/v1/collections", headers=bearer(key["key"])).status_code == 200
        assert run(["keys", "revoke", *store_options, key["id"]]) == 0
        revoked = monotonic()
        while (sent_at := monotonic()) and client.get("/v1/collections", headers=bearer(key["key"])).status_code == 200:
            assert sent_at - revoked < 1
        (own_folder / "keys.sqlite").unlink()  # Anyone with write access to the folder can delete it.
        wait_for_status(client, key["key"], 503)
        for _ in range(3):
            assert client.get("/v1/collections").json()["type"] == "urn:graphkin:problem:damaged"
        capsys.readouterr()
        assert run(["keys", "create", *store_options, "--name", "b", "--scope", "read", "--json"]) == 0
        wait_for_status(client, json.loads(capsys.readouterr().out)["key"], 200)
    (own_folder / "keys.sqlite").unlink()
    with pytest.raises(StoreDamaged, match="missing"), serve(own_folder):
        pass


def test_damaged_key_store_grants_no_access(own_folder: Path, serve: Callable) -> None:
    secret, key = create_key("a", ["admin"])
    with open_store(own_folder) as store:
        store.keys().add(key)
    with serve(own_folder) as client:
        assert client.get("/v1/collections", headers=bearer(secret)).status_code == 200
        (own_folder / "keys.sqlite").write_bytes(b"")
        wait_for_status(client, secret, 503)
        assert client.get("/v1/collections").json()["type"] == "urn:graphkin:problem:damaged"
        assert client.get("/livez").status_code == 200
    with pytest.raises(StoreDamaged), serve(own_folder):
        pass


def test_allowed_origin_may_send_a_key(folder: Path, keys: Keys, serve: Callable) -> None:
    origin = "https://lab.example.org"
    with serve(folder, cors_origins=(origin,)) as client:
        preflight_headers = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        preflight_reply = client.options(
            "/v1/collections", headers={**preflight_headers, "Access-Control-Request-Headers": "authorization"}
        )
        assert preflight_reply.status_code == 200
        refused = client.get("/v1/collections", headers={"Origin": origin})
        assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, origin)


def test_two_servers_share_quotas(own_folder: Path, serve: Callable, tmp_path: Path) -> None:
    secrets = {}
    with open_store(own_folder) as store:
        for name, quota in {
            **{f"requests {number}": Quota(requests=7) for number in range(5)},
            "rows": Quota(rows=1000),
            "heavy": Quota(heavy=1),
            "free": Quota(),
        }.items():
            secrets[name], key = create_key(name, ["admin"], quota=quota)
            store.keys().add(key)
    cache = tmp_path / "shared"
    nci = "/v1/collections/nci"
    with serve(own_folder, cache_dir=cache) as one, serve(own_folder, cache_dir=cache) as other:

        def send(name: str, url: str, which: httpx.Client = one) -> httpx.Response:
            return which.get(url, headers=bearer(secrets[name]))

        tries = (name for name in secrets if name.startswith("requests"))
        while True:  # until one is over within a minute of the clock
            minute, name = time() // 60, next(tries)
            replies = [send(name, f"{nci}/items/{number}", (one, other)[number % 2]) for number in range(9)]
            if minute == time() // 60:
                break
        codes = [reply.status_code for reply in replies]
        assert codes == [200] * 7 + [429] * 2
        assert replies[0].headers["RateLimit-Policy"] == '"requests";q=7;w=60'
        assert replies[-1].json()["type"] == "urn:graphkin:problem:over-the-quota"
        assert 1 <= int(replies[-1].headers["Retry-After"]) <= 60
        assert replies[-1].headers["RateLimit"].startswith('"requests";r=0;t=')
        assert "RateLimit" not in send("free", nci).headers

        whole = send("rows", f"{nci}/export?what=items&format=csv")
        assert whole.text.count("\n") == 401
        for url in ("/items?limit=300", "/positives/epochs/0?policy=first_order"):
            assert until_available(partial(send, "rows", f"{nci}{url}", other)).status_code == 200
        refused = send("rows", nci)
        assert refused.status_code == 429
        assert "1000 rows a minute" in refused.json()["expected"]

        with open_store(own_folder) as store:
            (heavy,) = [key for key in store.keys().all() if key.name == "heavy"]
        search = f"{nci}/structure?smiles=C"
        assert send("heavy", search).status_code == 200
        with ExitStack() as stack:
            while True:  # The previous request may not have ended yet.
                with suppress(TooManyRequests):
                    stack.enter_context(
                        Quotas(cache / "quotas").admit({}, Caller(heavy), heavy=True)
                    )  # As if in another process.
                    break
            assert send("heavy", search).status_code == 429
            assert send("heavy", f"{nci}/items/5").status_code == 200
        assert send("heavy", search, other).status_code == 200
