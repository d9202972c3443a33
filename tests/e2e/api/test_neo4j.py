"""The API over Neo4j: byte for byte what it replies over the folder whose collections the server holds.

What is published meanwhile is in test_publication.py, servers that are away or struck in tests/faults/neo4j.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

NCI = "/v1/collections/nci"
KEYED = "/v1/collections/keyed"
SOCIAL = "/v1/collections/social"
KARATE = "/v1/collections/karate"
GRAPHS = "/v1/collections/graphs"

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ROWS = ("application/x-ndjson", "application/vnd.apache.arrow.stream")
DRAWS: tuple[dict[str, Any], ...] = (
    {"policy": "first_order", "seed": 7},
    {"policy": "random_walk", "k": 9, "length": 4, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "second_order", "epoch": 1},
)
ODD = (
    "nobody",
    "",
    "é" * 3000,
    "\x00",
    "🧪",
    "' OR 1=1 //",
    "`",
    "$name",
    "{}",
    "\\u0000",
    "<script>alert('&\"]]>')</script>",
)


OWN = re.compile(rb',?"(published_at":"[^"]*"|fragments":\[(\{.*?\}\})?\])')
"""When a store published a generation, and in which files it is."""


@dataclass(frozen=True)
class Request:
    """With a body it is a POST."""

    path: str
    query: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    accept: str = "*/*"

    def answered(self, client: httpx.Client) -> httpx.Response:
        """The reply, once what it is about was drawn or compiled."""
        method = "GET" if self.body is None else "POST"
        while True:
            reply = client.request(
                method, self.path, params=self.query, json=self.body, headers={"Accept": self.accept}
            )
            if reply.status_code != 503:
                return reply
            assert int(reply.headers["Retry-After"]) > 0
            time.sleep(0.02)

    def following(self, cursor: str) -> "Request":
        """The request for the next page."""
        if self.body is None:
            return replace(self, query={**(self.query or {}), "cursor": cursor})
        return replace(self, body={**self.body, "cursor": cursor})


def each(path: str, *queries: dict[str, Any]) -> list[Request]:
    """The same with each query."""
    return [Request(path, query) for query in queries]


OPERATIONS: dict[str, list[Request]] = {
    "GET /v1/collections": [Request("/v1/collections")],
    "GET /v1/collections/{c}": [Request(url) for url in (NCI, KEYED, SOCIAL, GRAPHS, KARATE)],
    "GET /v1/collections/{c}/items": [
        *each(f"{NCI}/items", {"limit": 1000}, {"limit": 150}, {"smiles": "OC(=O)c1ccccc1"}, {"smiles": "CCCCCCCCCCC"}),
        *each(f"{NCI}/items", *({"name": name} for name in ("1", *ODD))),
        *each(f"{KEYED}/items", {}, {"inchikey": "VTWDKFNVVLAELH-UHFFFAOYSA-N"}, *({"inchikey": odd} for odd in ODD)),
        *each(f"{SOCIAL}/items", {"limit": 7}, *({"name": name} for name in ODD)),
        *each(f"{GRAPHS}/items", {}, {"name": "b"}),
        *each(f"{KARATE}/items", {}, {"name": "m7"}),
    ],
    "GET /v1/collections/{c}/items/{id}": [Request(f"{url}/items/{id}") for url in (NCI, SOCIAL) for id in range(60)],
    "POST /v1/collections/{c}/items/query": [
        Request(f"{NCI}/items/query", body=body)
        for body in (
            {"filters": [{"property": "molwt", "min": 150, "max": 250}], "sort": {"by": "molwt"}, "limit": 30},
            {"name": "1", "sort": {"by": "names", "descending": True}, "columns": ["rings"]},
            {"similar": {"smiles": ASPIRIN, "min_similarity": 0.2}, "limit": 1000},
            {"neighbors_of": {"id": 9}, "sort": {"by": "degree", "descending": True}},
            {"ids": [9, 3, 5], "limit": 2},
            {"substructure": "c1ccccc1[N+](=O)[O-]", "filters": [{"property": "rings", "max": 2}], "limit": 1000},
        )
    ],
    "GET /v1/collections/{c}/items/{id}/neighbors": [
        *[Request(f"{url}/items/{id}/neighbors", {"limit": 7}) for url in (NCI, SOCIAL) for id in range(0, 80, 3)],
        *each(f"{NCI}/items/9/neighbors", {"filters": '[{"property": "names", "contains": "1"}]', "limit": 3}),
        *each(f"{NCI}/items/9/neighbors", {"substructure": '{"smiles": "CO"}'}),
        *each(f"{NCI}/items/9/neighbors", {"min_similarity": 0.5}, {"min_similarity": 0.45}, {"min_similarity": 1}),
    ],
    "GET /v1/collections/{c}/items/{id}/subgraph": [
        *[Request(f"{NCI}/items/{id}/subgraph", {"hops": 2}) for id in range(0, 80, 7)],
        *each(f"{NCI}/items/5/subgraph", {"hops": 4, "max_items": 1000}, {"max_items": 5}, {"max_edges": 3}),
        Request(f"{SOCIAL}/items/3/subgraph", {"min_similarity": 0.9}),
    ],
    "GET /v1/collections/{c}/clusters": [
        *each(f"{NCI}/clusters", {"threshold": 0.3, "property": "molwt"}, {"method": "single"}, {"method": "scaffold"}),
        *each(f"{SOCIAL}/clusters", {"property": "nodes"}),
    ],
    "GET /v1/collections/{c}/clusters/{id}": each(f"{NCI}/clusters/2", {"threshold": 0.3}, {"method": "scaffold"}),
    "GET /v1/collections/{c}/map": [
        *each(f"{NCI}/map", {}, {"property": "molwt"}, {"method": "butina", "threshold": 0.3}),
        Request(f"{SOCIAL}/map"),
    ],
    "GET /v1/collections/{c}/clusters/{id}/mcs": each(f"{NCI}/clusters/2/mcs", {"threshold": 0.3}),
    "GET /v1/collections/{c}/clusters/{id}/mcs.svg": each(f"{NCI}/clusters/2/mcs.svg", {"threshold": 0.3}),
    "GET /v1/collections/{c}/items/{id}/cluster": each(f"{NCI}/items/9/cluster", {"threshold": 0.3}),
    "GET /v1/collections/{c}/cliffs": [
        *each(f"{NCI}/cliffs", {"property": "molwt", "limit": 40}, {"property": "rings", "by": "difference"}),
        *each(f"{NCI}/cliffs", {"property": "molwt", "filters": '[{"property": "rings", "min": 2}]'}),
        Request(f"{SOCIAL}/cliffs", {"property": "nodes"}),
    ],
    "POST /v1/collections/{c}/pick": [
        Request(f"{NCI}/pick", body={"count": 20}),
        Request(f"{NCI}/pick", body={"count": 9, "method": "sphere", "from": {"name": "1"}}),
        Request(f"{SOCIAL}/pick", body={"count": 5, "from": {"ids": [*range(30)]}}),
    ],
    "GET /v1/collections/{c}/paths": [
        Request(f"{NCI}/paths", {"from": source, "to": source * 7 % 400, "max_hops": 8}) for source in range(30)
    ],
    "GET /v1/collections/{c}/components": [
        *each(f"{NCI}/components", {}, {"min_similarity": 0.6, "limit": 7}, {"min_size": 1, "limit": 150}),
        Request(f"{SOCIAL}/components"),
    ],
    "GET /v1/collections/{c}/components/{id}": [
        *each(f"{NCI}/components/0", {}, {"min_similarity": 0.4, "limit": 7}),
        Request(f"{SOCIAL}/components/0"),
    ],
    "GET /v1/collections/{c}/hops": [*each(f"{NCI}/hops", {}, {"targets": 20, "min_similarity": 0.5, "seed": 3})],
    "GET /v1/collections/{c}/items/{id}/positives": [
        Request(f"{url}/items/{id}/positives", draw) for url in (NCI, SOCIAL) for id in (0, 5, 33) for draw in DRAWS
    ],
    "POST /v1/collections/{c}/positives/batch": [
        Request(f"{url}/positives/batch", body={"ids": [4, 3, 4, *range(70)], **draw}, accept=rows)
        for url in (NCI, SOCIAL)
        for draw in DRAWS
        for rows in ROWS
    ],
    "GET /v1/collections/{c}/positives/epochs/{e}": [
        Request(f"{NCI}/positives/epochs/3", {"policy": "random_walk", **bounds}, accept=rows)
        for bounds in ({}, {"start": 7, "stop": 50})
        for rows in ROWS
    ],
    "GET /v1/collections/{c}/negatives": [
        Request(f"{url}/negatives", {"count": 30, "batches": 9, "seed": 5}, accept=rows)
        for url in (NCI, SOCIAL)
        for rows in ROWS
    ],
    "POST /v1/collections/{c}/search": [
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "limit": 400}),
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "filters": [{"property": "rings", "max": 1}]}),
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "min_similarity": 0.2}),
        Request(f"{SOCIAL}/search", body={"graph": {"edges": [[0, 1], [1, 2], [2, 0]]}, "limit": 80}),
        Request(f"{KARATE}/search", body={"graph": {"edges": [[0, 1], [1, 2], [2, 0]], "centre": 1}, "limit": 80}),
    ],
    "POST /v1/collections/{c}/search/batch": [
        Request(f"{NCI}/search/batch", body={"structures": [ASPIRIN, "C1CC", {"name": "1"}, {"name": "none"}]}),
        Request(f"{KARATE}/search/batch", body={"structures": [{"name": "m7"}], "min_similarity": 0.5}),
    ],
    "GET /v1/collections/{c}/structure": each(f"{NCI}/structure", {"smiles": "OC(=O)c1ccccc1"}, {"smiles": ASPIRIN}),
    "GET /v1/collections/{c}/structure.svg": each(f"{NCI}/structure.svg", {"smiles": ASPIRIN}),
    "GET /v1/collections/{c}/items/{id}/depiction.svg": [
        *each(f"{NCI}/items/5/depiction.svg", {}, {"highlight": 6}, {"highlight_smiles": ASPIRIN, "width": 400}),
        Request(f"{SOCIAL}/items/3/depiction.svg"),
        Request(f"{KARATE}/items/3/depiction.svg"),
    ],
    "GET /v1/collections/{c}/export": [
        Request(f"{url}/export", {"what": what, "format": format})
        for url in (NCI, SOCIAL)
        for what, formats in (("items", ("csv", "parquet", "arrow")), ("edges", ("csv", "parquet", "graphml", "arrow")))
        for format in formats
    ]
    + [Request(f"{NCI}/export", {"what": "items", "format": "sdf"})]
    + [Request(f"{KARATE}/export", {"what": what, "format": "arrow"}) for what in ("items", "edges", "links")],
    "POST /v1/collections/{c}/export": [
        Request(f"{NCI}/export", body={"ids": [9, 3, 5], "what": "items", "format": "csv", "query_smiles": ASPIRIN}),
        Request(f"{NCI}/export", body={"ids": [9, 3, 5], "what": "items", "format": "sdf"}),
        *(
            Request(f"{url}/export", body={"ids": [*range(60)], "what": "edges", "format": format})
            for url in (NCI, SOCIAL)
            for format in ("csv", "graphml")
        ),
        Request(f"{KARATE}/export", body={"ids": [*range(20)], "what": "links", "format": "csv"}),
    ],
    "GET /v1/collections/{c}/rejections": each(f"{KEYED}/rejections", {}, {"limit": 1}),
    "GET /v1/collections/{c}/reports": [Request(f"{NCI}/reports")],
    "GET /v1/collections/{c}/reports/{report}.svg": [Request(f"{NCI}/reports/hops.svg")],
}
"""Every operation that reads a store, and what is asked of it."""

REFUSED: dict[int, list[Request]] = {
    400: [Request(f"{NCI}/items", {"cursor": "AAAA"})],
    404: [
        *(Request(f"/v1/collections/{name}") for name in ("nobody", "%00%ff", "%60", "x" * 3000)),
        *(Request(f"{NCI}/items/{id}{rest}") for id in (400, 2**31 - 1) for rest in ("", "/neighbors", "/subgraph")),
        *(Request(f"{NCI}/items/5{rest}", {"generation": "0" * 64}) for rest in ("", "/neighbors", "/depiction.svg")),
        Request(NCI, {"generation": "' OR true //"}),
        Request(f"{NCI}/items/400/positives", {"policy": "first_order"}),
        Request(f"{NCI}/paths", {"from": 5, "to": 400}),
        Request(f"{NCI}/positives/batch", body={"ids": [0, 400], "policy": "first_order"}),
        Request(f"{NCI}/export", body={"ids": [0, 400], "what": "items", "format": "csv"}),
    ],
    409: [
        Request(f"{NCI}/items", {"inchikey": "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"}),
        Request(f"{GRAPHS}/search", body={"smiles": "C"}),
    ],
    422: [
        Request(f"{NCI}/items/5/neighbors", {"min_similarity": 0.3}),
        Request(f"{NCI}/components/3", {"min_similarity": 0.3}),
        Request(f"{NCI}/negatives", {"count": 400}),
        Request(f"{NCI}/positives/epochs/0", {"policy": "first_order", "start": 10**6}),
    ],
}


@pytest.fixture(scope="module")
def server(loaded: Callable[[], str]) -> str:
    """The address of a server that nobody writes to meanwhile."""
    return loaded()


@pytest.fixture(scope="module")
def over_neo4j(server: str, reports_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    with serve(server, reports=reports_folder) as client:
        yield client


@pytest.fixture(scope="module")
def over_gds(server: str, serve: Callable) -> Iterator[httpx.Client]:
    """The server draws positives itself."""
    with serve(server, sampler="gds") as client:
        yield client


def require_same(one: httpx.Client, other: httpx.Client, requests: Sequence[Request], status: int) -> None:
    """Both reply the same, down to the headers, also page by page; `OWN` each says for itself."""
    asked = list(requests)
    for request in asked:
        replies = [request.answered(client) for client in (one, other)]
        assert [reply.status_code for reply in replies] == [status, status], request
        told, others = (OWN.sub(b"", reply.content) for reply in replies)
        assert told == others, request
        own = {"date", "x-request-id", *(("etag", "content-length") if told != replies[0].content else ())}
        headers = [{name: value for name, value in reply.headers.items() if name not in own} for reply in replies]
        assert headers[0] == headers[1], request
        if cursor := replies[0].headers["content-type"] == "application/json" and replies[0].json().get("next_cursor"):
            asked.append(request.following(cursor))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_reply_is_that_over_a_folder(client: httpx.Client, over_neo4j: httpx.Client, operation: str) -> None:
    require_same(client, over_neo4j, OPERATIONS[operation], 200)


def test_no_operation_is_left_out(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert served - set(OPERATIONS) == {"GET /livez", "GET /readyz", "GET /metrics"}


@pytest.mark.parametrize("status", REFUSED)
def test_so_is_a_refusal(client: httpx.Client, over_neo4j: httpx.Client, status: int) -> None:
    require_same(client, over_neo4j, REFUSED[status], status)


def test_a_hundred_threads_are_answered(client: httpx.Client, over_neo4j: httpx.Client) -> None:
    """More than there are connections to the server."""
    paths = [f"{NCI}/items/{id}/neighbors" for id in range(100)]
    replies: dict[str, bytes] = {}
    threads = [
        threading.Thread(target=lambda path=path: replies.update({path: over_neo4j.get(path).content}))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {path: client.get(path).content for path in paths}


def rows_of(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.mark.parametrize("draw", DRAWS[:2], ids=lambda draw: draw["policy"])
def test_what_the_server_draws_is_the_same_one_by_one_together_and_for_an_epoch(
    client: httpx.Client, over_gds: httpx.Client, draw: dict[str, Any]
) -> None:
    """And it is drawn from the neighbourhood of each, of whom the folder tells."""
    ids = list(range(400))
    together = rows_of(Request(f"{NCI}/positives/batch", body={"ids": ids, **draw}).answered(over_gds))
    assert rows_of(Request(f"{NCI}/positives/epochs/0", draw).answered(over_gds)) == [
        *together,
        {"complete": True, "rows": 400},
    ]
    for row in together[::50]:
        alone = Request(f"{NCI}/items/{row['anchor']}/positives", draw).answered(over_gds).json()
        assert [positive["item"]["id"] for positive in alone["positives"]] == row["positives"][: row["count"]]
        around = Request(f"{NCI}/items/{row['anchor']}/subgraph", {"hops": draw.get("length", 1), "max_items": 1000})
        near = {node["item"]["id"] for node in around.answered(client).json()["nodes"]}
        assert {*row["positives"][: row["count"]]} <= near - {row["anchor"]}
        assert row["isolated"] == (len(near) == 1)


def test_negatives_are_the_same_whoever_draws_positives(client: httpx.Client, over_gds: httpx.Client) -> None:
    require_same(client, over_gds, OPERATIONS["GET /v1/collections/{c}/negatives"], 200)


@pytest.mark.long
def test_a_signal_ends_the_command_when_its_replies_have_ended(server: str, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("graphkin")), "serve", "--store", server, "--port", "0"]
    environment = {**os.environ, "GRAPHKIN_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1]
        with httpx.stream("GET", f"{url}{NCI}/negatives?batches=16384", timeout=60) as reply:
            chunks = reply.iter_bytes()
            received = len(next(chunks))
            process.send_signal(signal.SIGTERM)
            received += sum(map(len, chunks))
        assert received > 15_000_000
    assert process.returncode == 0


@pytest.mark.parametrize(("path", "settled"), [("positives?policy=first_order&", False), ("neighbors?", True)])
def test_only_what_the_server_draws_itself_is_asked_for_again(
    client: httpx.Client, over_gds: httpx.Client, path: str, settled: bool
) -> None:
    """It may draw otherwise once it has projected anew."""
    generation = client.get("/v1/collections/nci").json()["generation"]
    url = f"/v1/collections/nci/items/5/{path}generation={generation}"
    assert "immutable" in client.get(url).headers["Cache-Control"]
    told = over_gds.get(url).headers["Cache-Control"]
    assert ("immutable" in told) is settled
    assert (told == "no-cache") is not settled
