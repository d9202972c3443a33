from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from graphkin.protocol.manifest import Provenance
from graphkin.store import open_store
from graphkin.store.columns import item_schema

URL = "/v1/collections/nci"
MEMBERS = {"type", "title", "status", "detail", "instance", "given", "expected", "hint"}


def require_problem(reply: httpx.Response, status: int) -> dict[str, Any]:
    """Check the status, and return the problem document."""
    assert reply.status_code == status, reply.text[:300]
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert set(problem) == MEMBERS
    assert problem["status"] == status
    assert problem["detail"]
    assert len(reply.content) < 2000
    assert "Traceback" not in reply.text
    return problem


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/assets/nowhere.js", 404),
        ("/v1/collections/", 404),
        (f"{URL}/nowhere", 404),
        (f"{URL}/items/", 404),
        ("/v1/collections/unknown", 404),
        ("/v1/collections/unknown/items/0", 404),
        ("/v1/collections/%00%ff/items/0", 404),
        (f"{URL}/items/400000", 404),
        (f"{URL}/items/400000/neighbors", 404),
        (f"{URL}/items/400000/subgraph", 404),
        (f"{URL}/items/400000/positives?policy=first_order", 404),
        (f"{URL}/items/400000/depiction.svg", 404),
        (f"{URL}/items/5/depiction.svg?highlight=400000", 404),
        (f"{URL}/paths?from=5&to=400000", 404),
        (f"{URL}/items/5?generation=unknown", 404),
        (f"{URL}/items/5?generation={'0' * 64}", 404),
        (f"{URL}/items/5/neighbors?generation={'0' * 64}", 404),
    ],
)
def test_unknown_paths_and_items_return_404(client: httpx.Client, path: str, status: int) -> None:
    require_problem(client.get(path), status)


@pytest.mark.parametrize(
    ("path", "expected_text"),
    [
        (f"{URL}/items/abc", "id"),
        (f"{URL}/items/-1", "id"),
        (f"{URL}/items/{10**30}", "id"),
        (f"{URL}/items/{10**30}/neighbors", "id"),
        (f"{URL}/items/1.5/neighbors", "id"),
        (f"{URL}/items/5?unknown=1", "unknown"),
        (f"{URL}/items/5/neighbors?unknown=1", "unknown"),
        ("/v1/collections?unknown=1", "unknown"),
        (f"{URL}/items?limit=1001", "1000"),
        (f"{URL}/items?limit=0", "limit"),
        (f"{URL}/items?limit=", "limit"),
        (f"{URL}/items?smiles=C&name=x", "at most one"),
        (f"{URL}/items?smiles=CC(", "CC("),
        (f"{URL}/items?smiles=", "empty"),
        (f"{URL}/items/5/neighbors?limit=1001", "1000"),
        (f"{URL}/items/5/neighbors?min_similarity=nan", "min_similarity"),
        (f"{URL}/items/5/neighbors?min_similarity=inf", "min_similarity"),
        (f"{URL}/items/5/neighbors?min_similarity=1.01", "min_similarity"),
        (f"{URL}/items/5/neighbors?min_similarity=0.3", "0.4 to 1"),
        (f"{URL}/items/5/subgraph?min_similarity=0.3", "0.4 to 1"),
        (f"{URL}/items/5/subgraph?hops=5", "4"),
        (f"{URL}/items/5/subgraph?max_items=1001", "1000"),
        (f"{URL}/items/5/subgraph?max_edges=5001", "5000"),
        (f"{URL}/paths?from=5", "to"),
        (f"{URL}/paths?from=5&to=6&max_hops=9", "8"),
        (f"{URL}/paths?from=5&to=6&min_similarity=0.3", "0.4 to 1"),
        (f"{URL}/items/5/positives", "policy"),
        (f"{URL}/items/5/positives?policy=guess", "policy"),
        (f"{URL}/items/5/positives?policy=first_order&k={10**9}", "64"),
        (f"{URL}/items/5/positives?policy=first_order&k=0", "k"),
        (f"{URL}/items/5/positives?policy=random_walk&length=33", "32"),
        (f"{URL}/items/5/positives?policy=random_walk&walks=257", "256"),
        (f"{URL}/items/5/positives?policy=random_walk&p=0", "p"),
        (f"{URL}/items/5/positives?policy=random_walk&q=inf", "q"),
        (f"{URL}/items/5/positives?policy=random_walk&p_end=1", "p_end"),
        (f"{URL}/items/5/positives?policy=random_walk&p_end=nan", "p_end"),
        (f"{URL}/items/5/positives?policy=random_walk&restart=1", "restart"),
        (f"{URL}/items/5/positives?policy=random_walk&rank=best", "rank"),
        (f"{URL}/items/5/positives?policy=first_order&pad=none", "pad"),
        (f"{URL}/items/5/positives?policy=first_order&seed={2**53}", "seed"),
        (f"{URL}/items/5/positives?policy=first_order&seed=-1", "seed"),
        (f"{URL}/items/5/positives?policy=first_order&epoch=-1", "epoch"),
        (f"{URL}/positives/epochs/-1?policy=first_order", "e"),
        (f"{URL}/negatives?count=4097", "4096"),
        (f"{URL}/negatives?batches=65537", "65536"),
        (f"{URL}/items/5/depiction.svg?width=49", "50"),
        (f"{URL}/items/5/depiction.svg?height=1001", "1000"),
        (f"{URL}/items/5/depiction.svg?bond_length=4", "5"),
        (f"{URL}/items/5/depiction.svg?highlight=6&highlight_smiles=C", "at most one"),
        (f"{URL}/items/5/depiction.svg?highlight_smiles=CC(", "CC("),
        (f"{URL}/export?what=edges", "format"),
        (f"{URL}/export?what=nodes&format=csv", "what"),
        (f"{URL}/export?what=items&format=graphml", "csv"),
        (f"{URL}/export?what=edges&format=sdf", "csv"),
    ],
)
def test_invalid_values_are_named(client: httpx.Client, path: str, expected_text: str) -> None:
    problem = require_problem(client.get(path), 422)
    assert expected_text in f"{problem['detail']} {problem['given']} {problem['expected']}"


@pytest.mark.parametrize(
    ("body", "expected_text"),
    [
        ({}, "exactly one"),
        ({"smiles": "C", "inchi": "InChI=1S/CH4/h1H4"}, "exactly one"),
        ({"smiles": "C", "unknown": 1}, "unknown"),
        ({"smiles": "C", "limit": 1001}, "1000"),
        ({"smiles": "C", "limit": "ten"}, "limit"),
        ({"smiles": "C", "min_similarity": 0}, "min_similarity"),
        ({"smiles": "C", "min_similarity": 1.1}, "min_similarity"),
        ({"smiles": 5}, "smiles"),
        ({"smiles": "C(("}, "C(("),
        ({"smiles": "C\0C"}, "molecule"),
        ({"smiles": ""}, "empty"),
        ({"smiles": "C" * 100_000}, "100000 bytes"),
        ({"smiles": "C" * 5_000}, "5000 atoms"),
        ({"inchi": "InChI=1S/" + "C" * 100_000}, "bytes"),
        ({"inchi": "no"}, "inchi"),
        ({"molblock": "\n" * 1_000_001}, "bytes"),
        ({"molblock": "no\nmolblock"}, "molblock"),
        ([], "an object"),
        ("CCO", "an object"),
    ],
)
def test_invalid_searches_are_named(client: httpx.Client, body: Any, expected_text: str) -> None:
    problem = require_problem(client.post(f"{URL}/search", json=body), 422)
    assert expected_text in f"{problem['detail']} {problem['given']} {problem['expected']}"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"policy": "first_order"}, 422),
        ({"policy": "first_order", "ids": []}, 422),
        ({"policy": "first_order", "ids": [0] * 65_537}, 422),
        ({"policy": "first_order", "ids": ["x"] * 65_536}, 422),
        ({"policy": "first_order", "ids": [-1]}, 422),
        ({"policy": "first_order", "ids": [0.5]}, 422),
        ({"policy": "first_order", "ids": [10**30]}, 422),
        ({"policy": "first_order", "ids": [0], "k": 10**9}, 422),
        ({"policy": "first_order", "ids": [0], "unknown": 1}, 422),
        ({"policy": "first_order", "ids": [0, 400_000]}, 404),
        ({"ids": [0]}, 422),
    ],
)
def test_invalid_positive_batches_are_refused(client: httpx.Client, body: dict[str, Any], status: int) -> None:
    require_problem(client.post(f"{URL}/positives/batch", json=body), status)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"what": "edges", "format": "csv"}, 422),
        ({"what": "edges", "format": "csv", "ids": []}, 422),
        ({"what": "edges", "format": "csv", "ids": [0] * 10_001}, 422),
        ({"what": "edges", "format": "csv", "ids": [0], "min_similarity": 0.3}, 422),
        ({"what": "items", "format": "csv", "ids": [0], "min_similarity": 0.5}, 422),
        ({"what": "items", "format": "graphml", "ids": [0]}, 422),
        ({"what": "items", "format": "csv", "ids": [400_000]}, 404),
        ({"what": "items", "format": "csv", "ids": [400_000], "query_smiles": "C"}, 404),
        ({"what": "items", "format": "csv", "ids": [0], "query_smiles": 5}, 422),
        ({"what": "edges", "format": "csv", "ids": [0], "query_smiles": "C"}, 422),
        ({"what": "edges", "format": "graphml", "ids": [0], "query_smiles": "C", "min_similarity": 0.3}, 422),
    ],
)
def test_invalid_exports_are_refused(client: httpx.Client, body: dict[str, Any], status: int) -> None:
    require_problem(client.post(f"{URL}/export", json=body), status)


@pytest.mark.parametrize(
    ("smiles", "expected_text"),
    [("", "empty"), ("C((", "C(("), ("C" * 5_000, "5000 atoms"), ("C" * 100_000, "100000 bytes")],
)
def test_export_validates_its_query_as_search_does(client: httpx.Client, smiles: str, expected_text: str) -> None:
    body = {"what": "items", "format": "csv", "ids": [0], "query_smiles": smiles}
    problem = require_problem(client.post(f"{URL}/export", json=body), 422)
    assert expected_text in f"{problem['detail']} {problem['given']}"
    search_problem = require_problem(client.post(f"{URL}/search", json={"smiles": smiles}), 422)
    assert {**problem, "instance": None} == {**search_problem, "instance": None}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"smiles": C}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"limit": 1' + b"0" * 5000 + b"}",
        b'{"smiles": "\xff"}',
    ],
    ids=["empty", "open", "bare", "binary", "deep", "huge-number", "not-utf-8"],
)
def test_malformed_json_is_refused(client: httpx.Client, content: bytes) -> None:
    reply = client.post(f"{URL}/search", content=content, headers={"Content-Type": "application/json"})
    require_problem(reply, 400 if content else 422)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_non_finite_numbers_are_refused(client: httpx.Client, number: str) -> None:
    content = f'{{"smiles": "C", "min_similarity": {number}}}'
    reply = client.post(f"{URL}/search", content=content, headers={"Content-Type": "application/json"})
    require_problem(reply, 422)


def test_lone_surrogates_are_refused(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b'{"smiles": "\\ud800"}', b'{"\\udfff": 1, "smiles": "C"}'):
        require_problem(client.post(f"{URL}/search", content=content, headers=headers), 422)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "nonsense"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
@pytest.mark.parametrize("route", ["search", "search/batch", "positives/batch", "export", "values"])
def test_bodies_that_are_not_json_return_415(client: httpx.Client, route: str, headers: dict[str, str]) -> None:
    require_problem(client.post(f"{URL}/{route}", content=b'{"smiles": "C"}', headers=headers), 415)


def test_charset_parameter_is_accepted(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert client.post(f"{URL}/search", content=b'{"smiles": "C"}', headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", f"{URL}/export", "GET, HEAD, POST"),
        ("PUT", f"{URL}/items/5", "GET, HEAD"),
        ("GET", f"{URL}/search", "POST"),
        ("DELETE", "/v1/collections", "GET, HEAD, POST"),
        ("TRACE", f"{URL}/items", "GET, HEAD"),
        ("OPTIONS", f"{URL}/positives/batch", "POST"),
    ],
)
def test_unsupported_methods_return_405(client: httpx.Client, method: str, path: str, allowed: str) -> None:
    reply = client.request(method, path)
    assert reply.headers["Allow"] == allowed
    assert require_problem(reply, 405)["expected"] == allowed


@pytest.mark.parametrize(
    ("path", "status"),
    [(f"{URL}/search", 405), (f"{URL}/items/1000000", 404), (f"{URL}/negatives?count=4096", 422), ("/nowhere", 404)],
)
def test_head_returns_the_error_of_get(client: httpx.Client, path: str, status: int) -> None:
    assert client.get(path).status_code == status
    head = client.head(path)
    assert (head.status_code, head.content) == (status, b"")
    assert head.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "A" * 59, "A" * 60, "A" * 10_000, "%00"])
@pytest.mark.parametrize("route", ["items", "items/5/neighbors"])
def test_malformed_cursors_return_400(client: httpx.Client, route: str, cursor: str) -> None:
    require_problem(client.get(f"{URL}/{route}", params={"cursor": cursor}), 400)


def test_cursor_of_another_query_is_refused(client: httpx.Client) -> None:
    cursor = client.get(f"{URL}/items", params={"limit": 1}).json()["next_cursor"]
    assert client.get(f"{URL}/items", params={"limit": 7, "cursor": cursor}).json()["items"][0]["id"] == 1
    for path, query in (
        (f"{URL}/items", {"name": "1"}),
        (f"{URL}/items/5/neighbors", {}),
        ("/v1/collections/keyed/items", {}),
    ):
        require_problem(client.get(path, params={**query, "cursor": cursor}), 400)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/collections/graphs/search", {"smiles": "C"}),
        ("GET", "/v1/collections/graphs/items?smiles=C", None),
        ("GET", "/v1/collections/graphs/items/0/depiction.svg?highlight=1", None),
        ("GET", "/v1/collections/graphs/export?what=items&format=sdf", None),
        (
            "POST",
            "/v1/collections/graphs/export",
            {"what": "items", "format": "csv", "ids": [0], "query_smiles": "C"},
        ),
        ("GET", f"{URL}/items?inchikey=BSYNRYMUTXBXSQ-UHFFFAOYSA-N", None),
    ],
)
def test_requests_that_do_not_fit_the_collection_return_409(
    client: httpx.Client, method: str, path: str, body: Any
) -> None:
    require_problem(client.request(method, path, json=body), 409)


def test_only_search_refuses_fingerprints_of_another_rdkit(own_folder: Path, serve: Callable) -> None:
    """The collections claim to be from another RDKit version; one of them also has different fingerprints."""
    with open_store(own_folder) as store, store.open("nci") as nci:
        words = nci.fingerprints().words
        for name, other_words in (("same-bits", words), ("other-bits", np.roll(words, 1, axis=1))):
            provenance = nci.manifest.model_dump(include=set(Provenance.model_fields))
            with store.draft(name, "molecule") as draft:
                for batch in nci.columns(item_schema(nci.manifest).names):
                    draft.append_items(batch)
                draft.append_fingerprints(other_words)
                for edges in nci.edges():
                    draft.append_edges(edges)
                draft.publish(Provenance(**{**provenance, "versions": {"rdkit": "2001.09.1"}}))
    with serve(own_folder) as client:
        assert client.post("/v1/collections/same-bits/search", json={"smiles": "CCO"}).status_code == 200
        require_problem(client.post("/v1/collections/other-bits/search", json={"smiles": "CCO"}), 409)
        assert client.get("/v1/collections/other-bits/items/5/neighbors").status_code == 200


@pytest.mark.parametrize(
    "number", ["+1", "1_0", "01", "0.0", "1.0", "%201", "1%20", "-0", "%EF%BC%91", "%D9%A1", "1e1", "0x1"]
)
@pytest.mark.parametrize(
    "path",
    [
        f"{URL}/items/{{}}",
        f"{URL}/items/{{}}/neighbors",
        f"{URL}/items/{{}}/positives?policy=first_order",
        f"{URL}/items/{{}}/depiction.svg",
        f"{URL}/components/{{}}",
        f"{URL}/clusters/{{}}",
        f"{URL}/items/{{}}/matched-pairs?property=molwt",
        f"{URL}/matched-pairs?property=molwt&min_count={{}}",
        f"{URL}/positives/epochs/{{}}?policy=first_order",
        f"{URL}/items?limit={{}}",
        f"{URL}/items/5/neighbors?limit={{}}",
        f"{URL}/items/5/subgraph?hops={{}}",
        f"{URL}/paths?from={{}}&to=6",
        f"{URL}/paths?from=5&to={{}}",
        f"{URL}/items/5/depiction.svg?width={{}}",
        f"{URL}/items/5/depiction.svg?highlight={{}}",
        f"{URL}/negatives?seed={{}}",
        f"{URL}/items/5/positives?policy=first_order&epoch={{}}",
        f"{URL}/items/5/positives?policy=first_order&k={{}}",
        f"{URL}/export?what=items&format=csv&stop={{}}",
    ],
)
def test_whole_numbers_are_written_in_plain_digits(client: httpx.Client, path: str, number: str) -> None:
    problem = require_problem(client.get(path.format(number.replace("+", "%2B"))), 422)
    assert problem["detail"].endswith(": expected an integer")


@pytest.mark.parametrize("path", ["items/5", "items", "items/5/neighbors", "export?what=items&format=csv"])
def test_empty_generation_is_refused(client: httpx.Client, path: str) -> None:
    reply = client.get(f"{URL}/{path}{'&' if '?' in path else '?'}generation=")
    assert require_problem(reply, 422)["detail"].startswith(("generation: ", "generation is empty"))
    assert reply.headers["Cache-Control"] == "no-store"
